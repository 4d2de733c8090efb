//! How much of its stream a viewer's link takes, as the viewer's reports tell.
//!
//! A link that is too small loses picture and sound alike, for as long as more is sent than it takes, and what is sent
//! again fills it further. A viewer that loses that much in two intervals has its picture held: the sound fits most
//! links. Between the two no interval is good: one that loses little while the queue is full is none, since a link
//! that is a little too small loses most of it with the keyframes, which come seconds apart. After a pause the newest
//! keyframe is sent as a *probe*, in the time in which the stream brings as much, and a sender report behind it. If it
//! arrives whole, and the answer to that report as soon as others, the picture goes on, at first on trial; otherwise
//! the next pause is longer.
//!
//! Losses by chance are repaired and no reason to hold anything. They do not make the round trip longer, as a queue in
//! front of a small link does; so without that only very many losses count.
//!
//! [`Viewer`](super::viewer::Viewer) asks and obeys; this module reads no clock and sends nothing.

use std::time::{Duration, Instant};

use webrtc::rtcp::ReportBlock;

/// Reports are looked at over intervals of this length at the least: most receivers send one a second.
const INTERVAL_MIN: Duration = Duration::from_millis(900);

/// Fewer packets in an interval tell nothing of its losses.
const PACKETS_MIN: u32 = 16;

/// The share of packets, in percent, beyond which an interval is bad: with a longer round trip, and without.
const LOSS_MAX: i64 = 10;
const LOSS_BY_CHANCE_MAX: i64 = 25;

/// A round trip that is longer than the shortest by this much has a queue on its way.
const QUEUED: Duration = Duration::from_millis(100);

/// Of the distance to the present round trip the shortest one follows this part with each report, so that another
/// route counts as another route after a minute and not as a queue.
const ROUTE_WEIGHT: u32 = 32;

/// Bad intervals after which the picture is held, with no good one between them; on trial one is enough.
const BAD_MAX: u8 = 2;

/// Pauses before the first probe and the next ones; the last of them stays.
const PAUSES: [Duration; 3] = [
    Duration::from_secs(5),
    Duration::from_secs(10),
    Duration::from_secs(20),
];

/// A picture that goes on is on trial for this long.
const TRIAL: Duration = Duration::from_secs(10);

/// A link that has taken the whole stream for this long is no longer known as a small one.
const STEADY: Duration = Duration::from_secs(60);

/// The viewer's report on a probe comes within this time, or not at all.
pub(super) const PROBE_PATIENCE: Duration = Duration::from_secs(3);

/// The last packets of a probe that may be missing in a report on it, by chance.
const PROBE_TAIL: u16 = 2;

/// By how much a report's clock is rounded, at the most.
const CLOCK_MARGIN: Duration = Duration::from_millis(1);

/// Packets of a probe in one visit.
pub(super) const PROBE_PACKETS: usize = 4;

/// What the link takes as far as is known, for each visit.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) enum Flow {
    /// Everything.
    #[default]
    Whole,
    /// The sound.
    Held,
    /// The sound, and a keyframe that is being sent.
    Probe,
}

/// What follows from a report.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Turn {
    /// The picture is to be held.
    Hold,
    /// The picture may go on.
    Resume,
}

/// When a report comes, and what it answers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Heard {
    pub(super) now: Instant,
    /// The round trip, if the report has one.
    pub(super) round_trip: Option<Duration>,
    /// When the sender report was sent that it answers.
    pub(super) answers: Option<Instant>,
}

/// See the module's description.
#[derive(Debug, Default)]
pub(super) struct Link {
    state: State,
    interval: Option<Interval>,
    /// Bad intervals since the last good one.
    bad: u8,
    /// The last interval was bad, and the round trip longer.
    is_crowded: bool,
    shortest: Option<Duration>,
    /// Packets lost as of the last report.
    lost: i32,
    /// Pauses since the link was last steady.
    pauses: u8,
    resumed: Option<Instant>,
}

#[derive(Clone, Copy, Debug, Default)]
enum State {
    #[default]
    Whole,
    Held {
        until: Instant,
    },
    /// A keyframe is being sent, up to this packet of the stream.
    Probing {
        end: u64,
        packets: u32,
        /// The pause after [`PROBE_PACKETS`].
        rest: Duration,
    },
    Probed {
        at: Instant,
        /// The viewer's number of its last packet.
        last: u16,
        packets: u32,
        /// Packets lost before it.
        lost: i32,
    },
}

/// The time since an earlier report.
#[derive(Clone, Copy, Debug)]
struct Interval {
    began: Instant,
    highest: u32,
    lost: i32,
}

impl Link {
    /// Takes the viewer's report on its picture.
    pub(super) fn heard(&mut self, report: &ReportBlock, heard: Heard) -> Option<Turn> {
        self.lost = report.lost;
        let is_queued = heard.round_trip.is_some_and(|took| self.is_queued(took));
        match self.state {
            State::Whole => self.judge(report, is_queued, heard.now),
            State::Probed { .. } => self.judge_probe(report, is_queued, heard),
            State::Held { .. } | State::Probing { .. } => None,
        }
    }

    /// Whether lost packets of the picture may be sent again.
    pub(super) const fn may_repeat(&self) -> bool {
        matches!(self.state, State::Whole) && !self.is_crowded
    }

    /// Whether a link that was too small is trusted again only so far.
    pub(super) fn is_on_trial(&self, now: Instant) -> bool {
        let since = |resumed| now.saturating_duration_since(resumed);
        self.resumed.is_some_and(|resumed| since(resumed) < TRIAL)
    }

    /// Whether a held viewer is to be sent a keyframe.
    pub(super) fn is_probe_due(&mut self, now: Instant) -> bool {
        match self.state {
            State::Held { until } => now >= until,
            State::Probed { at, .. } => {
                if now.saturating_duration_since(at) >= PROBE_PATIENCE {
                    self.hold(now);
                }
                false
            }
            State::Whole | State::Probing { .. } => false,
        }
    }

    /// A keyframe of so many packets and bytes, the last before `end`, begins to be sent as a probe, of a stream of
    /// so many bytes a second.
    pub(super) fn probe(&mut self, end: u64, packets: u32, bytes: u32, rate: u32) {
        let time = f64::from(bytes) / f64::from(rate.max(1));
        let visits = f64::from(packets.max(1)) / PROBE_PACKETS as f64;
        let rest = Duration::from_secs_f64(time / visits);
        self.state = State::Probing { end, packets, rest };
    }

    /// The end of the probe that is being sent, and the pauses in it.
    pub(super) const fn probing(&self) -> Option<(u64, Duration)> {
        match self.state {
            State::Probing { end, rest, .. } => Some((end, rest)),
            _ => None,
        }
    }

    /// The probe was sent; the viewer calls its last packet `last`.
    pub(super) const fn probed(&mut self, last: u16, now: Instant) {
        if let State::Probing { packets, .. } = self.state {
            self.state = State::Probed {
                at: now,
                last,
                packets,
                lost: self.lost,
            };
        }
    }

    /// Whether a probe was sent. The viewer's next report is to answer the sender report behind it, and no later one.
    pub(super) const fn awaits_answer(&self) -> bool {
        matches!(self.state, State::Probed { .. })
    }

    /// Holds the picture until the next probe.
    pub(super) fn hold(&mut self, now: Instant) {
        let pause = PAUSES[usize::from(self.pauses).min(PAUSES.len() - 1)];
        self.pauses = self.pauses.saturating_add(1);
        self.state = State::Held { until: now + pause };
        (self.interval, self.resumed, self.bad, self.is_crowded) = (None, None, 0, false);
    }

    /// The viewer is somewhere else: the round trip has to be learned anew.
    pub(super) const fn moved(&mut self) {
        self.shortest = None;
    }

    fn is_queued(&mut self, took: Duration) -> bool {
        let shortest = match self.shortest {
            Some(shortest) if shortest < took => shortest + (took - shortest) / ROUTE_WEIGHT,
            _ => took,
        };
        self.shortest = Some(shortest);
        took >= shortest + QUEUED
    }

    /// What the losses since the last look mean for a viewer that is sent everything.
    fn judge(&mut self, report: &ReportBlock, is_queued: bool, now: Instant) -> Option<Turn> {
        let next = Interval {
            began: now,
            highest: report.highest_sequence,
            lost: report.lost,
        };
        let before = *self.interval.get_or_insert(next);
        let expected = next.highest.wrapping_sub(before.highest);
        // Nothing has come, or the numbers make no sense: the time until then does not count.
        if !(1..1 << 16).contains(&expected) {
            self.interval = Some(next);
            return None;
        }
        let is_long = now.saturating_duration_since(before.began) >= INTERVAL_MIN;
        if !is_long || expected < PACKETS_MIN {
            return None;
        }
        self.interval = Some(next);
        let percent = percent(before.lost, next.lost, expected);
        let is_bad = percent > LOSS_BY_CHANCE_MAX || (is_queued && percent > LOSS_MAX);
        self.is_crowded = is_bad && is_queued;
        self.bad = match (is_bad, is_queued) {
            (true, _) => self.bad + 1,
            // The link is as full as before: what is lost next depends on the size of the next frames.
            (false, true) => self.bad,
            (false, false) => 0,
        };
        if self.bad >= BAD_MAX || (is_bad && self.is_on_trial(now)) {
            self.hold(now);
            return Some(Turn::Hold);
        }
        let since = |resumed| now.saturating_duration_since(resumed);
        if !is_bad && self.resumed.is_none_or(|resumed| since(resumed) >= STEADY) {
            self.pauses = 0;
        }
        None
    }

    /// What became of a probe.
    fn judge_probe(&mut self, report: &ReportBlock, is_queued: bool, heard: Heard) -> Option<Turn> {
        let State::Probed {
            at,
            last,
            packets,
            lost,
        } = self.state
        else {
            return None;
        };
        let missing = last.wrapping_sub(report.highest_sequence as u16);
        // Numbers beyond the last one cannot be.
        let is_complete = missing <= PROBE_TAIL;
        // A report that was sent before the probe met no queue that it made.
        let is_before = heard.answers.is_some_and(|sent| sent + CLOCK_MARGIN < at);
        if !is_complete || is_before {
            return None;
        }
        if is_queued || percent(lost, report.lost, packets) > LOSS_MAX {
            self.hold(heard.now);
            return None;
        }
        self.state = State::Whole;
        self.resumed = Some(heard.now);
        self.interval = Some(Interval {
            began: heard.now,
            highest: report.highest_sequence,
            lost: report.lost,
        });
        Some(Turn::Resume)
    }
}

/// How many of `expected` packets were lost from one count to the next, in percent.
fn percent(before: i32, after: i32, expected: u32) -> i64 {
    let lost = (i64::from(after) - i64::from(before)).max(0);
    lost * 100 / i64::from(expected.max(1))
}

#[cfg(test)]
mod tests {
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
            let mut reporter = Self {
                link: Link::default(),
                now: Instant::now(),
                highest: 0,
                lost: 0,
            };
            reporter.report(SHORT);
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
            self.link.heard(&report, heard)
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
}
