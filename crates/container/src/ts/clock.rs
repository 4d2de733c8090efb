//! Program clock (ISO/IEC 13818-1 §2.4.2.2) and the timestamps of media decoded by it (§2.4.3.7).
//!
//! ```text
//! item's time ──────────────► program clock reference
//!      └── + CLOCK_LEAD ────► decoding and presentation stamps
//! ```
//!
//! The reference is taken from the track that carries it, and never steps back except at a discontinuity. While that
//! track pauses, the other tracks' time advances the clock.

use media::{Span, Timestamp};

/// Time by the program clock between the arrival of an access unit's first byte and the unit's decoding. By then the
/// unit's last byte must have arrived, one frame interval later (100 ms at ten frames a second), and the audio of its
/// time that the publisher sent after it. Some players, not browsers, show everything later by as much.
pub const CLOCK_LEAD: Span = Span::from_millis(200);

/// Longest time between two references (§2.7.2).
pub(super) const CLOCK_EVERY: Span = Span::from_millis(100);

/// Smallest sudden move of the clock that is a discontinuity: a jump of the publisher's timeline or a long silence,
/// after which a player must not wait for the clock to get there. Slide shows without audio have less than this between
/// frames.
const JUMP_MIN: Span = Span::from_millis(3_000);

pub(super) const TICKS_PER_90K: i64 = media::TICKS_PER_SECOND / 90_000;

/// Modulus of timestamps, which have 33 bits and wrap after 26.5 hours.
pub(super) const STAMP_MODULUS: i64 = 1 << 33;

/// State of the clock.
#[derive(Debug, Default)]
pub(super) struct Clock {
    /// Last reference.
    time: Option<Timestamp>,
    /// Log time of the first unit of another track since then. Tracks may have any constant distance, so only the
    /// movement of the others counts, not their position.
    others_since: Option<Timestamp>,
    /// Log time of the latest unit of another track.
    others_at: Option<Timestamp>,
    /// Decoding time of the latest access unit of the track that carries the clock, and the recent distance between
    /// such units.
    decoded: Option<Timestamp>,
    apart: Span,
    /// The following media does not continue the media before.
    is_broken: bool,
}

impl Clock {
    /// Records that the following media is another publisher's.
    pub(super) const fn break_off(&mut self) {
        self.is_broken = self.time.is_some();
    }

    /// Returns the references between the last one and that of an access unit of the track that carries the clock. They
    /// are needed where its frames are rare and nothing else advances the clock.
    pub(super) fn between(&self, dts: Timestamp) -> impl Iterator<Item = Reference> + use<> {
        let last = self
            .time
            .filter(|last| !self.is_broken && dts - *last <= JUMP_MIN);
        let next = |time: &Timestamp| Some(*time + CLOCK_EVERY);
        let times = std::iter::successors(last.as_ref().and_then(next), next);
        let times = times.take_while(move |time| *time < dts);
        times.map(|time| Reference {
            time,
            is_discontinuity: false,
        })
    }

    /// Returns the reference for an access unit, to be decoded at `dts`, of the track that carries the clock.
    pub(super) fn set(&mut self, dts: Timestamp) -> Reference {
        self.others_since = None;
        let apart = self
            .decoded
            .replace(dts)
            .map_or(Span::ZERO, |last| dts - last);
        self.apart = apart.max(Span::from_ticks(self.apart.ticks() / 8 * 7));
        match self.time.filter(|_| !self.is_broken) {
            Some(last) if dts - last > JUMP_MIN || last - dts > JUMP_MIN => self.tell(dts, true),
            Some(last) => self.tell(last.max(dts), false),
            None => self.tell(dts, self.is_broken),
        }
    }

    /// Returns the reference that is needed before a unit of another track, which begins at `dts` and has the time
    /// `unit_at` in the log; always one if a listener may start there. Where the access units that carry the clock are
    /// rare, a reference is needed as soon as the next such unit would be too late for it.
    pub(super) fn pass(
        &mut self,
        dts: Timestamp,
        unit_at: Timestamp,
        is_join: bool,
    ) -> Option<Reference> {
        let since = *self.others_since.get_or_insert(unit_at);
        let pace = unit_at - self.others_at.replace(unit_at).unwrap_or(unit_at);
        let Some(last) = self.time.filter(|_| !self.is_broken) else {
            return Some(self.tell(dts, self.is_broken));
        };
        let step = unit_at - since;
        let is_rare = self.apart > CLOCK_EVERY && step + pace + pace > CLOCK_EVERY;
        if step < CLOCK_EVERY && !is_rare && !is_join {
            return None;
        }
        self.others_since = Some(unit_at);
        Some(self.tell(last + step, step > JUMP_MIN))
    }

    fn tell(&mut self, time: Timestamp, is_discontinuity: bool) -> Reference {
        self.time = Some(time);
        self.is_broken = false;
        Reference {
            time,
            is_discontinuity,
        }
    }
}

/// Program clock reference.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reference {
    time: Timestamp,
    /// The reference does not continue those before it.
    pub(super) is_discontinuity: bool,
}

impl Reference {
    pub(super) const BYTES: usize = 6;

    /// Encodes the reference: 33 bits at 90 kHz, six reserved bits, and nine bits that count the 27 MHz in between.
    pub(super) fn to_bytes(self) -> [u8; Self::BYTES] {
        let ticks = self.time.ticks();
        let fraction = ticks.rem_euclid(TICKS_PER_90K) * 300 / TICKS_PER_90K;
        let field = wrap(ticks.div_euclid(TICKS_PER_90K)) << 15 | 0x3F << 9 | fraction as u64;
        let [_, _, bytes @ ..] = field.to_be_bytes();
        bytes
    }
}

/// Returns the timestamp of media decoded or presented at `time`.
pub(super) fn stamp(time: Timestamp) -> u64 {
    wrap((time + CLOCK_LEAD).ticks().div_euclid(TICKS_PER_90K))
}

/// Wraps a count to 33 bits. The result is never negative, so it is its own absolute value.
const fn wrap(count: i64) -> u64 {
    count.rem_euclid(STAMP_MODULUS).unsigned_abs()
}
