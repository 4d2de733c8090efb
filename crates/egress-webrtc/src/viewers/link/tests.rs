//! Reports as a viewer writes them, and what follows from them.

use packagers::rtp::codes::AUDIO;

use super::round_trip::CLEAN_MIN;
use super::watch::FULL_MAX;
use super::*;

const SECOND: Duration = Duration::from_secs(1);
const SHORT: Duration = Duration::from_millis(20);
const LONG: Duration = Duration::from_millis(500);

fn block(highest_sequence: u32, lost: i32) -> ReportBlock {
    ReportBlock {
        lost,
        highest_sequence,
        ..ReportBlock::default()
    }
}

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

    /// One whose link was held after two seconds, and is probed.
    fn probed() -> Self {
        let mut reporter = Self::new();
        reporter.second(80, SHORT);
        reporter.second(80, SHORT);
        reporter.probe();
        reporter
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
        let heard = Heard {
            now: self.now,
            round_trip: Some(round_trip),
            answers: Some(self.now - round_trip),
        };
        self.link
            .heard(PICTURE, &block(self.highest, self.lost), heard)
    }

    /// A second in which so many of a hundred are lost.
    fn second(&mut self, lost: i32, round_trip: Duration) -> Option<Turn> {
        self.now += SECOND;
        self.highest += 100;
        self.lost += lost;
        self.report(round_trip)
    }

    /// Seconds after which no turn is taken.
    fn seconds(&mut self, all: &[(i32, Duration)]) {
        for (lost, round_trip) in all {
            assert_eq!(self.second(*lost, *round_trip), None, "{all:?}");
        }
    }

    /// A report a second later, without a packet more.
    fn later(&mut self, round_trip: Duration) -> Option<Turn> {
        self.now += SECOND;
        self.report(round_trip)
    }

    /// Sends a probe of forty packets as soon as one is due; returns the time until then.
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
        // Once is an outage.
        reporter.seconds(&[(0, SHORT), (lost, round_trip)]);
        let turn = reporter.second(lost, round_trip);
        assert_eq!(turn.is_some(), holds, "{lost} of a hundred, {round_trip:?}");
        assert_eq!(reporter.link.may_repeat(), !holds);
    }
    let mut reporter = Reporter::new();
    reporter.seconds(&[(90, SHORT), (0, SHORT)].repeat(10));
}

#[test]
fn losses_with_each_keyframe_are_one_when_the_queue_stays_full_between_them() {
    for (between, holds) in [(LONG, true), (SHORT, false)] {
        let mut reporter = Reporter::new();
        reporter.seconds(&[(0, SHORT), (20, LONG), (3, between)]);
        let turn = reporter.second(20, LONG);
        assert_eq!(turn.is_some(), holds, "{between:?} between them");
    }
}

#[test]
fn nothing_is_sent_again_while_a_queue_is_full() {
    let mut reporter = Reporter::new();
    assert_eq!(reporter.second(50, SHORT), None);
    assert!(reporter.link.may_repeat(), "an outage is repaired");
    reporter.seconds(&[(0, SHORT), (50, LONG)]);
    assert!(!reporter.link.may_repeat());
    reporter.seconds(&[(0, LONG)]);
    assert!(reporter.link.may_repeat());
}

#[test]
fn time_without_a_packet_says_nothing() {
    let mut reporter = Reporter::new();
    for _ in 0..10 {
        assert_eq!(reporter.later(SHORT), None);
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
    reporter.lost += 5;
    assert_eq!(reporter.later(SHORT), None, "it was not whole");
    assert_eq!(reporter.probe(), 10 * SECOND);
    assert_eq!(reporter.later(LONG), None, "it met a queue");
    assert_eq!(reporter.probe(), 20 * SECOND);
    // Its last packets are lost.
    reporter.highest -= 3;
    assert_eq!(reporter.later(SHORT), None);
    assert_eq!(reporter.probe(), 22 * SECOND, "it waits for the report");
    assert_eq!(reporter.later(SHORT), Some(Turn::Resume));
    assert!(reporter.link.may_repeat());
}

#[test]
fn a_trial_ends_with_the_first_loss_to_a_queue_and_the_longest_pause_follows() {
    for (lost, round_trip, holds) in [
        (26, SHORT, true),
        (25, SHORT, false),
        (3, LONG, true),
        (2, LONG, false),
    ] {
        let mut reporter = Reporter::probed();
        assert_eq!(reporter.later(SHORT), Some(Turn::Resume));
        // Its keyframe comes after the time of a trial.
        reporter.now += TRIAL;
        reporter.link.begin_trial(reporter.now);
        reporter.seconds(&[(0, round_trip)]);
        let turn = reporter.second(lost, round_trip);
        assert_eq!(turn.is_some(), holds, "{lost} of a hundred, {round_trip:?}");
        if holds {
            assert_eq!(reporter.probe(), 20 * SECOND);
        }
    }
}

#[test]
fn a_report_from_before_a_probe_is_not_its_answer() {
    let mut reporter = Reporter::probed();
    reporter.now += SHORT / 2;
    assert_eq!(reporter.report(SHORT), None, "it answers what came before");
    assert_eq!(reporter.later(SHORT), Some(Turn::Resume));
}

#[test]
fn a_steady_link_is_trusted_again() {
    let mut reporter = Reporter::probed();
    assert_eq!(reporter.later(SHORT), Some(Turn::Resume));
    reporter.seconds(&[(1, SHORT); 61]);
    reporter.seconds(&[(80, SHORT)]);
    assert_eq!(reporter.second(80, SHORT), Some(Turn::Hold));
    assert_eq!(reporter.probe(), 5 * SECOND);
}

#[test]
fn another_route_is_no_queue() {
    let mut reporter = Reporter::new();
    for _ in 0..120 {
        reporter.second(0, LONG);
    }
    reporter.seconds(&[(15, LONG); 2]);
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
        reporter.seconds(&[(0, LONG)]);
    }
    reporter.seconds(&[(11, LONG); 10]);
    // Far away, and lossy: known as soon as audio alone was sent.
    let mut reporter = Reporter::joined(LONG);
    assert_eq!(reporter.second(11, LONG), None);
    assert_eq!(reporter.second(11, LONG), Some(Turn::Hold));
    for _ in 0..4 {
        assert_eq!(reporter.later(LONG), None);
    }
    reporter.probe();
    assert_eq!(reporter.later(LONG), Some(Turn::Resume));
    reporter.seconds(&[(11, LONG); 10]);
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
fn the_audio_tells_as_well_and_an_outage_counts_once() {
    let audio = |reporter: &mut Reporter, highest, lost| {
        let heard = Heard {
            now: reporter.now,
            round_trip: None,
            answers: None,
        };
        reporter.link.heard(AUDIO, &block(highest, lost), heard)
    };
    for (of_pictures, of_audio, expected) in [(0, [20, 40], Some(Turn::Hold)), (90, [45, 45], None)]
    {
        let mut reporter = Reporter::new();
        assert_eq!(audio(&mut reporter, 0, 0), None);
        reporter.seconds(&[(of_pictures, SHORT)]);
        assert_eq!(audio(&mut reporter, 50, of_audio[0]), None);
        reporter.seconds(&[(0, SHORT)]);
        assert_eq!(audio(&mut reporter, 100, of_audio[1]), expected);
    }
}
