//! Capacity of a viewer's link, estimated from the viewer's reports.
//!
//! A link that is too small loses video and audio alike for as long as more is sent than it carries, and retransmissions fill
//! it further. If a viewer loses that much in two intervals, its video is suspended; audio alone fits most links. No good
//! interval may lie between the two. An interval with few losses does not count as good while the queue is full, since a link
//! that is slightly too small loses most packets with the keyframes, which are seconds apart. After a pause the newest keyframe
//! is sent as a *probe*, in half the time in which the stream produces as many bytes, followed by a sender report. If the probe
//! arrives complete, and the reply to that report is no later than the probe explains, video continues, at first on trial;
//! otherwise the next pause is longer. A trial ends with the first interval that is bad, or that lost anything to a queue: it
//! costs audio, which a probe does not, so the longest pause follows.
//!
//! Random losses are repaired and are no reason to suspend video. They do not lengthen the round trip, as a queue in front of a
//! small link does; so without a longer round trip only very heavy losses count. For a link that was too small from the first
//! packet on, the round trip without a queue is unknown until nothing was lost for a while or audio alone was sent; until then
//! a long round trip counts as a queue.
//!
//! Audio is lost like video and is not repaired, so either of them serves as evidence, each by its own intervals.
//!
//! [`Viewer`](super::viewer::Viewer) queries this module and obeys; the module reads no clock and sends nothing.

mod round_trip;
mod watch;

use std::time::{Duration, Instant};

use packagers::rtp::codes::PICTURE;
use webrtc::rtcp::ReportBlock;

use self::round_trip::RoundTrip;
use self::watch::{LOSS_MAX, Watch, percent};

/// Time of sending audio alone after which a queue is empty.
const DRAINED: Duration = Duration::from_secs(2);

/// Pauses before the first probe and the following ones; the last value repeats.
const PAUSES: [Duration; 3] = [
    Duration::from_secs(5),
    Duration::from_secs(10),
    Duration::from_secs(20),
];

/// Time for which resumed video is on trial, from its first keyframe on.
const TRIAL: Duration = Duration::from_secs(10);

/// Time of carrying the whole stream after which a link is no longer considered small.
const STEADY: Duration = Duration::from_secs(60);

/// Time within which the viewer's report on a probe arrives, if it arrives at all.
pub(super) const PROBE_PATIENCE: Duration = Duration::from_secs(3);

/// Number of a probe's last packets that may be missing from a report on it by chance.
const PROBE_TAIL: u16 = 2;

/// Chance delay allowed for a probe's reply.
const PROBE_MARGIN: Duration = Duration::from_millis(40);

/// Largest rounding error of a report's clock.
const CLOCK_MARGIN: Duration = Duration::from_millis(1);

/// Packets of a probe sent in one visit.
pub(super) const PROBE_PACKETS: usize = 4;

/// Media that the link carries as far as is known, for each visit.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) enum Flow {
    /// Everything.
    #[default]
    Whole,
    /// Audio only.
    Held,
    /// Audio, and a keyframe that is being sent.
    Probe,
}

/// Consequence of a report.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Turn {
    /// Video must be suspended.
    Hold,
    /// Video may continue.
    Resume,
}

/// Arrival time of a report, and the sender report that it answers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Heard {
    pub(super) now: Instant,
    /// Round trip, if the report has one.
    pub(super) round_trip: Option<Duration>,
    /// Time at which the answered sender report was sent.
    pub(super) answers: Option<Instant>,
}

/// Estimate of a link's capacity; pass every report to [`heard`](Self::heard).
#[derive(Debug, Default)]
pub(super) struct Link {
    state: State,
    /// Watches of audio and video.
    watches: [Watch; 2],
    round_trip: RoundTrip,
    /// Video packets lost as of the last report.
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
        /// Pause after [`PROBE_PACKETS`].
        rest: Duration,
        /// Allowed extra delay of the probe's reply.
        later: Duration,
    },
    Probed {
        at: Instant,
        later: Duration,
        /// The viewer's number of the probe's last packet.
        last: u16,
        packets: u32,
        /// Packets lost before the probe.
        lost: i32,
    },
}

impl Link {
    /// Takes the viewer's report on its audio or video.
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

    /// Whether lost video packets may be retransmitted.
    pub(super) fn may_repeat(&self) -> bool {
        let is_crowded = self.watches.iter().any(|watch| watch.is_crowded);
        matches!(self.state, State::Whole) && !is_crowded
    }

    /// Whether the link was too small before and is on trial.
    pub(super) fn is_on_trial(&self, now: Instant) -> bool {
        let since = |resumed| now.saturating_duration_since(resumed);
        self.resumed.is_some_and(|resumed| since(resumed) < TRIAL)
    }

    /// Begins a trial anew when its first keyframe is there.
    pub(super) const fn begin_trial(&mut self, now: Instant) {
        self.resumed = Some(now);
    }

    /// Whether a viewer with suspended video is due for a keyframe.
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

    /// Starts a probe: a keyframe of `packets` packets and `bytes` bytes that ends before `end`, from a stream of `rate` bytes
    /// a second.
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

    /// Returns the end of the probe that is being sent, and the pause between its visits.
    pub(super) const fn probing(&self) -> Option<(u64, Duration)> {
        match self.state {
            State::Probing { end, rest, .. } => Some((end, rest)),
            _ => None,
        }
    }

    /// Records that the probe was sent; the viewer calls its last packet `last`.
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

    /// Whether a probe was sent. The viewer's next report must answer the sender report behind the probe, not a later one.
    pub(super) const fn awaits_answer(&self) -> bool {
        matches!(self.state, State::Probed { .. })
    }

    /// Suspends video until the next probe.
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

    /// Handles a viewer's change of address: the round trip has to be learned anew.
    pub(super) fn moved(&mut self) {
        self.round_trip.forget();
    }

    /// Whether a report answers a sender report that was sent after audio alone had been sent for long enough.
    fn is_drained(&self, heard: Heard) -> bool {
        let State::Held { since, .. } = self.state else {
            return false;
        };
        heard.answers.is_some_and(|sent| sent >= since + DRAINED)
    }

    /// Judges a line's losses since the last report, for a viewer that receives everything.
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
        let loses_to_queue = found.is_queued && !found.is_clean;
        let fails_trial = (found.is_bad || loses_to_queue) && self.is_on_trial(now);
        if fails_trial {
            self.pauses = PAUSES.len() as u8;
        }
        if found.is_too_small || fails_trial {
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

    /// Judges a probe by a report.
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
        // Numbers beyond the last one cannot occur.
        let is_complete = missing <= PROBE_TAIL;
        // A report sent before the probe did not meet the queue that the probe built.
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
