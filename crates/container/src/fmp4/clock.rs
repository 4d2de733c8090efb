//! The tracks' clocks: from the stream's times to units of a track's timescale that never go back.

use media::{Span, TICKS_PER_SECOND, Timestamp};

use super::PICTURE_TIMESCALE;

/// Sound whose time is this near to the end of the sound before it follows that without a gap or an overlap.
/// Times rounded to milliseconds are off by one; times that an encoder took when it received a frame are off
/// by up to a frame. Sound may be 40 ms ahead of its picture before that is noticed (EBU R 37), so the
/// correction is inaudible, and a clock that drifts by more is followed again.
const SOUND_DRIFT_MAX: Span = Span::from_millis(40);

/// A picture's time in units of [`PICTURE_TIMESCALE`].
#[derive(Debug, Default)]
pub(super) struct PictureClock {
    /// No picture is decoded before.
    floor: u64,
}

impl PictureClock {
    /// When a picture that should be decoded at `dts` is decoded.
    pub(super) fn place(&mut self, dts: Timestamp) -> u64 {
        let at = to_units(dts, PICTURE_TIMESCALE).max(self.floor);
        self.floor = at + 1;
        at
    }

    /// The last picture was written to last until `end`.
    pub(super) fn hold_until(&mut self, end: u64) {
        self.floor = self.floor.max(end);
    }
}

/// Sound's time in samples: a running count, corrected by the stream's times when it is too far away from
/// them.
#[derive(Debug, Default)]
pub(super) struct SoundClock {
    rate: u32,
    /// Where the sound so far ends; `None` before the first.
    next: Option<u64>,
}

/// Where a frame of sound belongs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum FramePosition {
    /// Right behind the one before it.
    Next(u64),
    /// After a gap.
    Jump(u64),
    /// Nowhere: the sound before it lasts too far beyond its time. With one frame less, the times meet again.
    Behind,
}

impl SoundClock {
    pub(super) fn rate(&self) -> u32 {
        self.rate
    }

    /// Continues in another unit.
    pub(super) fn set_rate(&mut self, rate: u32) {
        if rate != self.rate {
            let old = u128::from(self.rate.max(1));
            let convert = |next: u64| (u128::from(next) * u128::from(rate)).div_ceil(old) as u64;
            self.next = self.next.map(convert);
            self.rate = rate;
        }
    }

    /// The last frame was written to last until `end`.
    pub(super) fn hold_until(&mut self, end: u64) {
        self.next = self.next.map(|next| next.max(end));
    }

    /// Places a frame of `samples` that should be at `dts`.
    pub(super) fn place(&mut self, dts: Timestamp, samples: u32) -> FramePosition {
        let wanted = to_units(dts, self.rate);
        let drift_max = to_units(Timestamp::ZERO + SOUND_DRIFT_MAX, self.rate);
        let place = match self.next {
            None => FramePosition::Jump(wanted),
            Some(next) if wanted > next + drift_max => FramePosition::Jump(wanted),
            Some(next) if wanted + drift_max < next => FramePosition::Behind,
            Some(next) => FramePosition::Next(next),
        };
        if let FramePosition::Next(at) | FramePosition::Jump(at) = place {
            self.next = Some(at + u64::from(samples));
        }
        place
    }
}

/// A time in units of `scale` a second, rounded; times before the stream's beginning count as the beginning.
pub(super) fn to_units(at: Timestamp, scale: u32) -> u64 {
    let ticks = at.ticks().max(0) as u128;
    let second = TICKS_PER_SECOND as u128;
    // An i64 of ticks in any u32 of units fits.
    ((ticks * u128::from(scale) + second / 2) / second) as u64
}

/// The time that is `units` after the start, in units of `scale` a second.
pub(super) fn to_time(units: u64, scale: u32) -> Timestamp {
    Timestamp::ZERO + Span::from_samples(units, scale)
}
