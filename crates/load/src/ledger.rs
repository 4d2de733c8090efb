//! Comparison of the frames that a listener received with the source's numbering and stamps.

use media::Kind;
use serde::{Deserialize, Serialize};

use crate::histogram::Histogram;
use crate::stamp::{Flaw, Stamp};
use crate::sums::sums;

sums! {
    /// Counts of the frames of all checked listeners.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub(crate) struct FrameCounts {
        /// Frames with a stamp.
        pub(crate) frames: u64,
        /// Runs of missing frames.
        pub(crate) holes: u64,
        /// Number of frames missing in those runs.
        pub(crate) missing: u64,
        /// Number of them behind a frame that was sent before the listener joined: a WebRTC viewer that is sent the past continues
        /// with the next keyframe when that comes.
        pub(crate) missing_after_past: u64,
        /// Frames that arrived twice, or later than their successor.
        pub(crate) repeated: u64,
        /// Frames that differ from what was sent.
        pub(crate) damaged: u64,
        /// Frames that no synthetic source made; they cannot be judged.
        pub(crate) unstamped: u64,
        /// Number of times that another source followed.
        pub(crate) restarts: u64,
    }
}

sums! {
    /// Findings, summed over all checked listeners.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub(crate) struct Findings {
        pub(crate) counts: FrameCounts,
        /// Time from a listener's request, over WebRTC from its connection, to its first video frame, in nanoseconds.
        pub(crate) first_picture: Histogram,
        /// Time from the stamp to the receipt, in nanoseconds. Frames that were sent before the listener joined are left out,
        /// because a burst is old on purpose.
        pub(crate) delay: Histogram,
    }
}

/// State of a single listener.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ledger {
    /// Last frame of each kind of track; each kind has its own numbers.
    last: [Option<Last>; 2],
}

#[derive(Clone, Copy, Debug)]
struct Last {
    source: u32,
    number: u64,
    /// Whether it was sent before the listener joined.
    is_past: bool,
}

impl Ledger {
    /// Records a frame that arrived at `now` at a listener that connected at `asked`; both wall clock. Returns the frame's
    /// sending time, if it carries one.
    pub(crate) fn enter(
        &mut self,
        kind: Kind,
        sample: &[u8],
        asked: u64,
        now: u64,
        findings: &mut Findings,
    ) -> Option<u64> {
        let stamp = match Stamp::read(sample) {
            Ok(stamp) => stamp,
            Err(Flaw::Damaged) => {
                findings.counts.damaged += 1;
                return None;
            }
            Err(Flaw::Unstamped) => {
                findings.counts.unstamped += 1;
                return None;
            }
        };
        findings.counts.frames += 1;
        if stamp.sent >= asked {
            findings.delay.record(now.saturating_sub(stamp.sent));
        }
        let last = &mut self.last[kind as usize];
        match *last {
            None if matches!(kind, Kind::Video) => {
                findings.first_picture.record(now.saturating_sub(asked));
            }
            None => {}
            Some(last) if last.source != stamp.source => findings.counts.restarts += 1,
            Some(last) if stamp.number <= last.number => {
                findings.counts.repeated += 1;
                return Some(stamp.sent);
            }
            Some(last) => {
                let missing = stamp.number - last.number - 1;
                findings.counts.missing += missing;
                findings.counts.missing_after_past += missing * u64::from(last.is_past);
                findings.counts.holes += u64::from(missing > 0);
            }
        }
        *last = Some(Last {
            source: stamp.source,
            number: stamp.number,
            is_past: stamp.sent < asked,
        });
        Some(stamp.sent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl FrameCounts {
        /// Returns the counts of holes, of repetitions, of damaged frames, and of frames without a stamp.
        pub(crate) fn flaws(&self) -> [u64; 4] {
            [self.holes, self.repeated, self.damaged, self.unstamped]
        }
    }

    /// Returns the findings for a listener that receives these frames, given by source and number.
    fn findings(frames: &[(u32, u64)]) -> Findings {
        let mut findings = Findings::default();
        let mut ledger = Ledger::default();
        for (source, number) in frames {
            let mut frame = Vec::new();
            Stamp::of(*source, *number, 1_000 + number).write(100, &mut frame);
            ledger.enter(Kind::Audio, &frame, 1_003, 1_010, &mut findings);
        }
        findings
    }

    #[test]
    fn a_run_without_a_hole_is_clean() {
        let clean = findings(&[(1, 5), (1, 6), (1, 7)]).counts;
        assert_eq!((clean.frames, clean.missing, clean.restarts), (3, 0, 0));
        assert_eq!(clean.flaws(), [0; 4]);
    }

    #[test]
    fn a_hole_is_found() {
        let holed = findings(&[(1, 5), (1, 8), (1, 9), (1, 11)]);
        assert_eq!((holed.counts.holes, holed.counts.missing), (2, 3));
        assert_eq!(holed.counts.missing_after_past, 0);
        let counts = findings(&[(1, 1), (1, 3), (1, 6)]).counts;
        assert_eq!((counts.missing, counts.missing_after_past), (3, 1));
    }

    #[test]
    fn a_repetition_is_found_and_is_no_hole() {
        let repeated = findings(&[(1, 5), (1, 6), (1, 6), (1, 4), (1, 7)]);
        assert_eq!((repeated.counts.repeated, repeated.counts.holes), (2, 0));
    }

    #[test]
    fn another_source_starts_anew() {
        let restarted = findings(&[(1, 5), (2, 0), (2, 1)]);
        assert_eq!((restarted.counts.restarts, restarted.counts.holes), (1, 0));
        assert_eq!(restarted.counts.repeated, 0);
    }

    #[test]
    fn only_frames_sent_after_the_question_have_a_delay() {
        let delayed = findings(&[(1, 1), (1, 2), (1, 3), (1, 4)]);
        assert_eq!(delayed.delay.count(), 2);
        assert_eq!(delayed.delay.max(), 7);
    }

    #[test]
    fn tracks_are_numbered_apart_and_damage_is_found() {
        let mut findings = Findings::default();
        let mut ledger = Ledger::default();
        for (kind, number) in [(Kind::Audio, 9), (Kind::Video, 4), (Kind::Audio, 10)] {
            let mut frame = Vec::new();
            Stamp::of(1, number, 0).write(100, &mut frame);
            ledger.enter(kind, &frame, 0, 0, &mut findings);
            frame[80] = b'~';
            ledger.enter(kind, &frame, 0, 0, &mut findings);
            ledger.enter(kind, b"music", 0, 0, &mut findings);
        }
        assert_eq!((findings.counts.frames, findings.counts.holes), (3, 0));
        assert_eq!((findings.counts.damaged, findings.counts.unstamped), (3, 3));
        assert_eq!(findings.first_picture.count(), 1);
    }
}
