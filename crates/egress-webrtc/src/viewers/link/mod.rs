//! How much of its stream a viewer's link takes, as the viewer's reports tell.
//!
//! A link that is too small loses picture and sound alike, for as long as more is sent than it takes, and what is sent
//! again fills it further. A viewer that loses that much in two intervals has its picture held: the sound fits most
//! links. Between the two no interval is good: one that loses little while the queue is full is none, since a link
//! that is a little too small loses most of it with the keyframes, which come seconds apart. After a pause the newest
//! keyframe is sent as a *probe*, in half the time in which the stream brings as much, and a sender report behind it. If it
//! arrives whole, and the answer to that report no later than that explains, the picture goes on, at first on trial; otherwise
//! the next pause is longer.
//!
//! Losses by chance are repaired and no reason to hold anything. They do not make the round trip longer, as a queue in
//! front of a small link does; so without that only very many losses count. How long the round trip is without a queue
//! is not known of a link that was too small from the first packet on, until nothing was lost for a while or the sound
//! alone was sent; so long a long one counts as a queue.
//!
//! Sound is lost like the picture and is not repaired, so either of them tells, each by its own intervals.
//!
//! [`Viewer`](super::viewer::Viewer) asks and obeys; this module reads no clock and sends nothing.

use std::time::{Duration, Instant};

use formats::rtp::codes::PICTURE;
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

/// A round trip that is longer than this has a queue on its way as long as none without a queue is known.
const QUEUED_UNKNOWN: Duration = Duration::from_millis(250);

/// Of the distance to the present round trip the shortest one follows this part with each interval that is clean, so that
/// another route counts as another route after a minute and not as a queue.
const ROUTE_WEIGHT: u32 = 32;

/// The share of packets, in percent, up to which an interval is clean, and the clean ones in a row after which the
/// shortest round trip is one without a queue.
const LOSS_CLEAN: i64 = 2;
const CLEAN_MIN: u8 = 10;

/// A queue is gone when the sound alone has been sent for this long.
const DRAINED: Duration = Duration::from_secs(2);

/// Intervals in a row that are not clean, behind a queue, after which the picture is held: it does not empty by itself.
const FULL_MAX: u8 = 8;

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

/// A probe's answer may be later by so much, by chance.
const PROBE_MARGIN: Duration = Duration::from_millis(40);

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
    /// Of sound and picture.
    watches: [Watch; 2],
    shortest: Option<Duration>,
    /// The shortest round trip is one without a queue.
    is_shortest_known: bool,
    /// Clean intervals of the picture since the last other one of either line.
    clean: u8,
    /// Packets of the picture lost as of the last report.
    lost: i32,
    /// Pauses since the link was last steady.
    pauses: u8,
    resumed: Option<Instant>,
}

/// What the reports on one line say while everything is sent.
#[derive(Clone, Copy, Debug, Default)]
struct Watch {
    interval: Option<Interval>,
    /// Bad intervals since the last good one.
    bad: u8,
    /// Intervals since the last clean one, or the last without a queue.
    full: u8,
    /// The last interval was bad, and the round trip longer.
    is_crowded: bool,
}

#[derive(Clone, Copy, Debug, Default)]
enum State {
    #[default]
    Whole,
    Held {
        since: Instant,
        until: Instant,
    },
    /// A keyframe is being sent, up to this packet of the stream.
    Probing {
        end: u64,
        packets: u32,
        /// The pause after [`PROBE_PACKETS`].
        rest: Duration,
        /// By how much later than others its answer may come.
        later: Duration,
    },
    Probed {
        at: Instant,
        later: Duration,
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
    /// A round trip in it was longer.
    is_queued: bool,
}

impl Interval {
    const fn begin(report: &ReportBlock, now: Instant) -> Self {
        Self {
            began: now,
            highest: report.highest_sequence,
            lost: report.lost,
            is_queued: false,
        }
    }
}

impl Link {
    /// Takes the viewer's report on its sound or picture.
    pub(super) fn heard(
        &mut self,
        kind: usize,
        report: &ReportBlock,
        heard: Heard,
    ) -> Option<Turn> {
        if kind == PICTURE {
            self.lost = report.lost;
        }
        self.learn(heard);
        let is_queued = heard.round_trip.is_some_and(|took| self.is_queued(took));
        match self.state {
            State::Whole => self.judge(kind, report, is_queued, heard),
            State::Probed { .. } if kind == PICTURE => self.judge_probe(report, heard),
            State::Held { .. } | State::Probing { .. } | State::Probed { .. } => None,
        }
    }

    /// Whether lost packets of the picture may be sent again.
    pub(super) fn may_repeat(&self) -> bool {
        let is_crowded = self.watches.iter().any(|watch| watch.is_crowded);
        matches!(self.state, State::Whole) && !is_crowded
    }

    /// Whether a link that was too small is trusted again only so far.
    pub(super) fn is_on_trial(&self, now: Instant) -> bool {
        let since = |resumed| now.saturating_duration_since(resumed);
        self.resumed.is_some_and(|resumed| since(resumed) < TRIAL)
    }

    /// Whether a held viewer is to be sent a keyframe.
    pub(super) fn is_probe_due(&mut self, now: Instant) -> bool {
        match self.state {
            State::Held { until, .. } => now >= until,
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
        self.state = State::Probing {
            end,
            packets,
            rest: Duration::from_secs_f64(time / 2.0 / visits),
            later: Duration::from_secs_f64(time / 2.0) + PROBE_MARGIN,
        };
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
        if let State::Probing { packets, later, .. } = self.state {
            self.state = State::Probed {
                at: now,
                later,
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
        self.state = State::Held {
            since: now,
            until: now + pause,
        };
        (self.watches, self.resumed, self.clean) = (<[Watch; 2]>::default(), None, 0);
        self.is_shortest_known = false;
    }

    /// The viewer is somewhere else: the round trip has to be learned anew.
    pub(super) const fn moved(&mut self) {
        (self.shortest, self.is_shortest_known, self.clean) = (None, false, 0);
    }

    /// Takes a round trip.
    fn learn(&mut self, heard: Heard) {
        let Some(took) = heard.round_trip else {
            return;
        };
        self.shortest = Some(self.shortest.map_or(took, |shortest| shortest.min(took)));
        if let State::Held { since, .. } = self.state
            && !self.is_shortest_known
            && heard.answers.is_some_and(|sent| sent >= since + DRAINED)
        {
            (self.shortest, self.is_shortest_known) = (Some(took), true);
        }
    }

    fn is_queued(&self, took: Duration) -> bool {
        let is_longer = self
            .shortest
            .is_some_and(|shortest| took >= shortest + QUEUED);
        is_longer || (!self.is_shortest_known && took >= QUEUED_UNKNOWN)
    }

    /// What a line's losses since the last look mean for a viewer that is sent everything.
    fn judge(
        &mut self,
        kind: usize,
        report: &ReportBlock,
        is_queued: bool,
        heard: Heard,
    ) -> Option<Turn> {
        let now = heard.now;
        let watch = &mut self.watches[kind];
        let next = Interval::begin(report, now);
        let interval = watch.interval.get_or_insert(next);
        interval.is_queued |= is_queued;
        let before = *interval;
        let expected = next.highest.wrapping_sub(before.highest);
        // Nothing has come, or the numbers make no sense: the time until then does not count.
        if !(1..1 << 16).contains(&expected) {
            watch.interval = Some(next);
            return None;
        }
        let is_long = now.saturating_duration_since(before.began) >= INTERVAL_MIN;
        if !is_long || expected < PACKETS_MIN {
            return None;
        }
        watch.interval = Some(next);
        let percent = percent(before.lost, next.lost, expected);
        let (is_queued, is_clean) = (before.is_queued, percent <= LOSS_CLEAN);
        let is_bad = percent > LOSS_BY_CHANCE_MAX || (is_queued && percent > LOSS_MAX);
        watch.is_crowded = is_bad && is_queued;
        watch.bad = match (is_bad, is_queued) {
            (true, _) => watch.bad + 1,
            // The link is as full as before: what is lost next depends on the size of the next frames.
            (false, true) => watch.bad,
            (false, false) => 0,
        };
        let is_full = is_queued && self.is_shortest_known && !is_clean;
        watch.full = if is_full { watch.full + 1 } else { 0 };
        let is_too_small = watch.bad >= BAD_MAX || watch.full >= FULL_MAX;
        if is_too_small || (is_bad && self.is_on_trial(now)) {
            self.hold(now);
            return Some(Turn::Hold);
        }
        if is_clean {
            self.was_clean(kind, heard.round_trip);
        } else {
            self.clean = 0;
        }
        let since = |resumed| now.saturating_duration_since(resumed);
        if !is_bad && self.resumed.is_none_or(|resumed| since(resumed) >= STEADY) {
            self.pauses = 0;
        }
        None
    }

    /// What an interval without losses tells of the round trip without a queue.
    fn was_clean(&mut self, kind: usize, round_trip: Option<Duration>) {
        if kind == PICTURE {
            self.clean = self.clean.saturating_add(1);
            self.is_shortest_known |= self.clean >= CLEAN_MIN;
        }
        if let (Some(shortest), Some(took)) = (self.shortest, round_trip) {
            let longer = took.saturating_sub(shortest);
            self.shortest = Some(shortest + longer / ROUTE_WEIGHT);
        }
    }

    /// What became of a probe.
    fn judge_probe(&mut self, report: &ReportBlock, heard: Heard) -> Option<Turn> {
        let State::Probed {
            at,
            later,
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
        let times = heard.round_trip.zip(self.shortest);
        let is_late = times.is_some_and(|(took, shortest)| took > shortest + later);
        if is_late || percent(lost, report.lost, packets) > LOSS_MAX {
            self.hold(heard.now);
            return None;
        }
        self.state = State::Whole;
        self.resumed = Some(heard.now);
        self.watches[PICTURE].interval = Some(Interval::begin(report, heard.now));
        Some(Turn::Resume)
    }
}

/// How many of `expected` packets were lost from one count to the next, in percent.
fn percent(before: i32, after: i32, expected: u32) -> i64 {
    let lost = (i64::from(after) - i64::from(before)).max(0);
    lost * 100 / i64::from(expected.max(1))
}

#[cfg(test)]
mod tests;
