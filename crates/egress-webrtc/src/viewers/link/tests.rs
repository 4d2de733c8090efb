//! Reports as a viewer writes them, and what follows from them.

use formats::rtp::codes::SOUND;

use super::round_trip::CLEAN_MIN;
use super::watch::FULL_MAX;
use super::*;

const SECOND: Duration = Duration::from_secs(1);
const SHORT: Duration = Duration::from_millis(20);
const LONG: Duration = Duration::from_millis(500);

/// A viewer that is sent a hundred packets a second, and reports on them.
struct Reporter {
    link: Link,
    now: Instant,
    highest: u32,
    lost: i32,
}

impl Reporter {
    fn new() -> Self {
        Self::joined(SHORT)
    }

    fn joined(round_trip: Duration) -> Self {
        let mut reporter = Self {
            link: Link::default(),
            now: Instant::now(),
            highest: 0,
            lost: 0,
        };
        reporter.report(round_trip);
        reporter
    }

    fn report(&mut self, round_trip: Duration) -> Option<Turn> {
        let report = ReportBlock {
            ssrc: 1,
            fraction_lost: 0,
            lost: self.lost,
            highest_sequence: self.highest,
            jitter: 0,
            last_report: 0,
            since_last_report: 0,
        };
        let heard = Heard {
            now: self.now,
            round_trip: Some(round_trip),
            answers: Some(self.now - round_trip),
        };
        self.link.heard(PICTURE, &report, heard)
    }

    /// A second in which so many of a hundred are lost.
    fn second(&mut self, lost: i32, round_trip: Duration) -> Option<Turn> {
        self.now += SECOND;
        self.highest += 100;
        self.lost += lost;
        self.report(round_trip)
    }

    /// Sends a probe of forty packets, as soon as one is due; returns how long that takes.
    fn probe(&mut self) -> Duration {
        let began = self.now;
        while !self.link.is_probe_due(self.now) {
            self.now += SECOND;
        }
        self.link.probe(40, 40, 40_000, 100_000);
        self.highest += 40;
        self.link.probed(self.highest as u16, self.now);
        self.now - began
    }
}

#[test]
fn a_link_is_too_small_when_it_loses_much_in_two_intervals_or_some_behind_a_queue() {
    for (lost, round_trip, holds) in [
        (26, SHORT, true),
        (25, SHORT, false),
        (11, LONG, true),
        (10, LONG, false),
    ] {
        let mut reporter = Reporter::new();
        assert_eq!(reporter.second(0, SHORT), None);
        assert_eq!(reporter.second(lost, round_trip), None, "once is an outage");
        let turn = reporter.second(lost, round_trip);
        assert_eq!(turn.is_some(), holds, "{lost} of a hundred, {round_trip:?}");
        assert_eq!(reporter.link.may_repeat(), !holds);
    }
    let mut reporter = Reporter::new();
    for _ in 0..10 {
        assert_eq!(reporter.second(90, SHORT), None);
        assert_eq!(reporter.second(0, SHORT), None);
    }
}

#[test]
fn losses_with_each_keyframe_are_one_when_the_queue_stays_full_between_them() {
    for (between, holds) in [(LONG, true), (SHORT, false)] {
        let mut reporter = Reporter::new();
        assert_eq!(reporter.second(0, SHORT), None);
        assert_eq!(reporter.second(20, LONG), None);
        assert_eq!(reporter.second(3, between), None);
        let turn = reporter.second(20, LONG);
        assert_eq!(turn.is_some(), holds, "{between:?} between them");
    }
}

#[test]
fn nothing_is_sent_again_while_a_queue_is_full() {
    let mut reporter = Reporter::new();
    assert_eq!(reporter.second(50, SHORT), None);
    assert!(reporter.link.may_repeat(), "an outage is repaired");
    assert_eq!(reporter.second(0, SHORT), None);
    assert_eq!(reporter.second(50, LONG), None);
    assert!(!reporter.link.may_repeat());
    assert_eq!(reporter.second(0, LONG), None);
    assert!(reporter.link.may_repeat());
}

#[test]
fn time_without_a_packet_says_nothing() {
    let mut reporter = Reporter::new();
    for _ in 0..10 {
        reporter.now += SECOND;
        assert_eq!(reporter.report(SHORT), None);
    }
    assert_eq!(reporter.second(90, SHORT), None, "after an outage");
    // Many reports in a second are one.
    for _ in 0..8 {
        reporter.now += SECOND / 10;
        reporter.highest += 10;
        reporter.lost += 9;
        assert_eq!(reporter.report(SHORT), None);
    }
}

#[test]
fn pauses_grow_until_a_probe_arrives_in_time() {
    let mut reporter = Reporter::new();
    reporter.second(80, SHORT);
    assert_eq!(reporter.second(80, SHORT), Some(Turn::Hold));
    assert_eq!(reporter.probe(), 5 * SECOND);
    reporter.now += SECOND;
    reporter.lost += 5;
    assert_eq!(reporter.report(SHORT), None, "it was not whole");
    assert_eq!(reporter.probe(), 10 * SECOND);
    reporter.now += SECOND;
    assert_eq!(reporter.report(LONG), None, "it met a queue");
    assert_eq!(reporter.probe(), 20 * SECOND);
    // Its last packets are lost.
    reporter.highest -= 3;
    reporter.now += SECOND;
    assert_eq!(reporter.report(SHORT), None);
    assert_eq!(reporter.probe(), 22 * SECOND, "it waits for the report");
    reporter.now += SECOND;
    assert_eq!(reporter.report(SHORT), Some(Turn::Resume));
    assert!(reporter.link.may_repeat());
    // On trial once is enough.
    assert_eq!(reporter.second(30, SHORT), Some(Turn::Hold));
    assert_eq!(reporter.probe(), 20 * SECOND);
}

#[test]
fn a_report_from_before_a_probe_is_not_its_answer() {
    let mut reporter = Reporter::new();
    reporter.second(80, SHORT);
    reporter.second(80, SHORT);
    reporter.probe();
    reporter.now += SHORT / 2;
    assert_eq!(reporter.report(SHORT), None, "it answers what came before");
    reporter.now += SECOND;
    assert_eq!(reporter.report(SHORT), Some(Turn::Resume));
}

#[test]
fn a_steady_link_is_trusted_again() {
    let mut reporter = Reporter::new();
    reporter.second(80, SHORT);
    reporter.second(80, SHORT);
    reporter.probe();
    reporter.now += SECOND;
    assert_eq!(reporter.report(SHORT), Some(Turn::Resume));
    for _ in 0..61 {
        assert_eq!(reporter.second(1, SHORT), None);
    }
    assert_eq!(reporter.second(80, SHORT), None);
    assert_eq!(reporter.second(80, SHORT), Some(Turn::Hold));
    assert_eq!(reporter.probe(), 5 * SECOND);
}

#[test]
fn another_route_is_no_queue() {
    let mut reporter = Reporter::new();
    for _ in 0..120 {
        reporter.second(0, LONG);
    }
    assert_eq!(reporter.second(15, LONG), None);
    assert_eq!(reporter.second(15, LONG), None);
}

#[test]
fn a_round_trip_is_a_queue_until_another_is_known() {
    // Too small from the first packet on.
    let mut reporter = Reporter::joined(LONG);
    assert_eq!(reporter.second(11, LONG), None);
    assert_eq!(reporter.second(11, LONG), Some(Turn::Hold));
    // Far away, and clean for a while.
    let mut reporter = Reporter::joined(LONG);
    for _ in 0..CLEAN_MIN {
        assert_eq!(reporter.second(0, LONG), None);
    }
    for _ in 0..10 {
        assert_eq!(reporter.second(11, LONG), None);
    }
    // Far away, and lossy: known as soon as the sound alone was sent.
    let mut reporter = Reporter::joined(LONG);
    assert_eq!(reporter.second(11, LONG), None);
    assert_eq!(reporter.second(11, LONG), Some(Turn::Hold));
    for _ in 0..4 {
        reporter.now += SECOND;
        assert_eq!(reporter.report(LONG), None);
    }
    reporter.probe();
    reporter.now += SECOND;
    assert_eq!(reporter.report(LONG), Some(Turn::Resume));
    for _ in 0..10 {
        assert_eq!(reporter.second(11, LONG), None);
    }
}

#[test]
fn a_queue_that_stays_is_a_small_link_whatever_it_loses() {
    for (lost, round_trip, holds) in [(3, LONG, true), (2, LONG, false), (3, SHORT, false)] {
        let mut reporter = Reporter::new();
        for _ in 0..CLEAN_MIN {
            assert_eq!(reporter.second(0, SHORT), None);
        }
        let turns = (0..2 * FULL_MAX).map(|_| reporter.second(lost, round_trip));
        let turn = turns.flatten().next();
        assert_eq!(turn.is_some(), holds, "{lost} of a hundred, {round_trip:?}");
    }
}

#[test]
fn the_sound_tells_as_well_and_an_outage_counts_once() {
    let sound = |reporter: &mut Reporter, highest, lost| {
        let report = ReportBlock {
            ssrc: 2,
            fraction_lost: 0,
            lost,
            highest_sequence: highest,
            jitter: 0,
            last_report: 0,
            since_last_report: 0,
        };
        let heard = Heard {
            now: reporter.now,
            round_trip: None,
            answers: None,
        };
        reporter.link.heard(SOUND, &report, heard)
    };
    let mut reporter = Reporter::new();
    assert_eq!(sound(&mut reporter, 0, 0), None);
    assert_eq!(reporter.second(0, SHORT), None);
    assert_eq!(sound(&mut reporter, 50, 20), None);
    assert_eq!(reporter.second(0, SHORT), None);
    assert_eq!(sound(&mut reporter, 100, 40), Some(Turn::Hold));
    let mut reporter = Reporter::new();
    assert_eq!(sound(&mut reporter, 0, 0), None);
    assert_eq!(reporter.second(90, SHORT), None);
    assert_eq!(sound(&mut reporter, 50, 45), None);
    assert_eq!(reporter.second(0, SHORT), None);
    assert_eq!(sound(&mut reporter, 100, 45), None);
}
