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

mod round_trip;
mod watch;

use std::time::{Duration, Instant};

use formats::rtp::codes::PICTURE;
use webrtc::rtcp::ReportBlock;

use self::round_trip::RoundTrip;
use self::watch::{LOSS_MAX, Watch, percent};

/// A queue is gone when the sound alone has been sent for this long.
const DRAINED: Duration = Duration::from_secs(2);

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
    round_trip: RoundTrip,
    /// Packets of the picture lost as of the last report.
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
        if let Some(took) = heard.round_trip {
            self.round_trip.learn(took, self.is_drained(heard));
        }
        let took = heard.round_trip;
        let is_queued = took.is_some_and(|took| self.round_trip.is_queued(took));
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
        (self.watches, self.resumed) = (<[Watch; 2]>::default(), None);
        self.round_trip.doubt();
    }

    /// The viewer is somewhere else: the round trip has to be learned anew.
    pub(super) fn moved(&mut self) {
        self.round_trip.forget();
    }

    /// Whether a report answers one that was sent when only sound had been for long enough.
    fn is_drained(&self, heard: Heard) -> bool {
        let State::Held { since, .. } = self.state else {
            return false;
        };
        heard.answers.is_some_and(|sent| sent >= since + DRAINED)
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
        let is_known = self.round_trip.is_known();
        let found = self.watches[kind].heard(report, is_queued, is_known, now)?;
        if found.is_too_small || (found.is_bad && self.is_on_trial(now)) {
            self.hold(now);
            return Some(Turn::Hold);
        }
        if found.is_clean {
            self.round_trip.was_clean(kind == PICTURE, heard.round_trip);
        } else {
            self.round_trip.was_unclean();
        }
        let since = |resumed| now.saturating_duration_since(resumed);
        let is_steady = self.resumed.is_none_or(|resumed| since(resumed) >= STEADY);
        if !found.is_bad && is_steady {
            self.pauses = 0;
        }
        None
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
        let took = heard.round_trip;
        let is_late = took.is_some_and(|took| self.round_trip.exceeds(took, later));
        if is_late || percent(lost, report.lost, packets) > LOSS_MAX {
            self.hold(heard.now);
            return None;
        }
        self.state = State::Whole;
        self.resumed = Some(heard.now);
        self.watches[PICTURE].begin(report, heard.now);
        Some(Turn::Resume)
    }
}

#[cfg(test)]
mod tests;
