//! Clocks of the tracks: conversion of the stream's times to units of a track's timescale that never decrease.

use media::{Span, TICKS_PER_SECOND, Timestamp};

use super::PICTURE_TIMESCALE;

/// Largest average deviation of the audio's timestamps at which audio frames still follow one another without a gap or
/// an overlap. Times rounded to milliseconds are off by one; times that an encoder took when it received a frame are
/// off by up to some frames, in either direction. Audio may be 40 ms ahead of its video before that is noticed (EBU R
/// 37), so the correction is inaudible, and a clock that drifts by more is followed again.
const AUDIO_DRIFT_MAX: Span = Span::from_millis(40);

/// Largest deviation of a single timestamp that counts as jitter. Audio that is further off has a gap before it, or
/// overlaps the audio before.
const AUDIO_JITTER_MAX: Span = Span::from_millis(200);

/// Clock of video, in units of [`PICTURE_TIMESCALE`].
#[derive(Debug, Default)]
pub(super) struct PictureClock {
    /// Earliest decoding time of the next frame.
    floor: u64,
}

impl PictureClock {
    /// Returns the decoding time of a frame that should be decoded at `dts`.
    pub(super) fn place(&mut self, dts: Timestamp) -> u64 {
        let at = to_units(dts, PICTURE_TIMESCALE).max(self.floor);
        self.floor = at + 1;
        at
    }

    /// Records that the last frame was written to last until `end`.
    pub(super) fn hold_until(&mut self, end: u64) {
        self.floor = self.floor.max(end);
    }
}

/// Clock of audio in samples: a running count, corrected by the stream's times when these deviate too far from it on
/// average over a second.
#[derive(Debug, Default)]
pub(super) struct AudioClock {
    rate: u32,
    /// End of the audio so far; `None` before the first frame.
    next: Option<u64>,
    /// Average lead of the stream's times over the count.
    drift: i64,
    /// The next frame belongs to another run.
    is_interrupted: bool,
}

/// Position of an audio frame.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum FramePosition {
    /// Immediately after the frame before, and lasting `longer` samples more than its own.
    Next { at: u64, longer: u32 },
    /// After a gap, which begins where the run before it ends, if it is of the same run.
    Jump { from: Option<u64>, at: u64 },
    /// Nowhere: the audio before lasts too far beyond this frame's time. With one frame less, the times agree again.
    Behind,
}

impl AudioClock {
    pub(super) fn rate(&self) -> u32 {
        self.rate
    }

    /// Changes the unit, and converts the count.
    pub(super) fn set_rate(&mut self, rate: u32) {
        if rate != self.rate {
            let old = u128::from(self.rate.max(1));
            let convert = |next: u64| (u128::from(next) * u128::from(rate)).div_ceil(old) as u64;
            self.next = self.next.map(convert);
            self.rate = rate;
            self.drift = 0;
        }
    }

    /// Records that the last frame was written to last until `end`.
    pub(super) fn hold_until(&mut self, end: u64) {
        self.next = self.next.map(|next| next.max(end));
    }

    /// Records that the following audio does not continue the audio before.
    pub(super) fn interrupt(&mut self) {
        self.is_interrupted = true;
        self.drift = 0;
    }

    /// Places a frame of `samples` samples that should be at `dts`.
    pub(super) fn place(&mut self, dts: Timestamp, samples: u32) -> FramePosition {
        let wanted = to_units(dts, self.rate);
        let is_interrupted = std::mem::take(&mut self.is_interrupted);
        let position = match self.next {
            None => FramePosition::Jump {
                from: None,
                at: wanted,
            },
            Some(next) => self.follow(next, wanted, samples, is_interrupted),
        };
        let end = match position {
            FramePosition::Next { at, longer } => Some(at + u64::from(longer)),
            FramePosition::Jump { at, .. } => Some(at),
            FramePosition::Behind => None,
        };
        self.is_interrupted = is_interrupted && end.is_none();
        self.next = end.map(|end| end + u64::from(samples)).or(self.next);
        position
    }

    fn follow(
        &mut self,
        next: u64,
        wanted: u64,
        samples: u32,
        is_interrupted: bool,
    ) -> FramePosition {
        let units = |span| to_units(Timestamp::ZERO + span, self.rate) as i64;
        let drift_max = units(AUDIO_DRIFT_MAX);
        let jitter_max = match is_interrupted {
            // There is no average yet.
            true => drift_max,
            false => units(AUDIO_JITTER_MAX),
        };
        let off = wanted as i64 - next as i64;
        if off > jitter_max {
            self.drift = 0;
            let from = (!is_interrupted).then_some(next);
            return FramePosition::Jump { from, at: wanted };
        }
        let share = i128::from(samples.min(self.rate));
        let change = i128::from(off - self.drift) * share / i128::from(self.rate.max(1));
        self.drift += change as i64;
        if self.drift > drift_max {
            let longer = std::mem::take(&mut self.drift).unsigned_abs();
            let longer = u32::try_from(longer).unwrap_or(u32::MAX);
            return FramePosition::Next { at: next, longer };
        }
        if self.drift < -drift_max || off < -jitter_max {
            self.drift = (self.drift + i64::from(samples)).min(0);
            return FramePosition::Behind;
        }
        FramePosition::Next {
            at: next,
            longer: 0,
        }
    }
}

/// Converts a time to units of `scale` per second, rounded; times before the stream's beginning count as the beginning.
pub(super) fn to_units(at: Timestamp, scale: u32) -> u64 {
    let ticks = at.ticks().max(0) as u128;
    let second = TICKS_PER_SECOND as u128;
    // An i64 of ticks in any u32 of units fits.
    ((ticks * u128::from(scale) + second / 2) / second) as u64
}

/// Returns the time that is `units` after the start, in units of `scale` per second.
pub(super) fn to_time(units: u64, scale: u32) -> Timestamp {
    Timestamp::ZERO + Span::from_samples(units, scale)
}
