//! Unwrapping of numbers on the wire, which wrap around.

use media::{Span, TICKS_PER_SECOND, Timestamp};

/// Unwrapper of truncated numbers: each stands for the number nearest to those before it.
///
/// Sequence numbers have 16 bits, timestamps 32.
#[derive(Clone, Copy, Debug)]
pub struct Unwrapper {
    bits: u32,
    /// Highest number so far.
    highest: Option<i64>,
}

impl Unwrapper {
    /// Creates an unwrapper for sequence numbers.
    pub const fn sequence() -> Self {
        Self {
            bits: 16,
            highest: None,
        }
    }

    /// Creates an unwrapper for timestamps.
    pub const fn timestamp() -> Self {
        Self {
            bits: 32,
            highest: None,
        }
    }

    /// Returns the number that `wire` stands for. The first number stands for itself; a later one may be below it, and
    /// below zero.
    pub fn unwrap(&mut self, wire: u32) -> i64 {
        let number = self.peek(wire);
        self.highest = Some(self.highest.map_or(number, |highest| highest.max(number)));
        number
    }

    /// Returns the number that `wire` would stand for.
    pub fn peek(&self, wire: u32) -> i64 {
        let wire = i64::from(wire);
        let Some(highest) = self.highest else {
            return wire;
        };
        let period = 1 << self.bits;
        let ahead = (wire - highest).rem_euclid(period);
        // Exactly half way round counts as the past.
        highest
            + if ahead < period / 2 {
                ahead
            } else {
                ahead - period
            }
    }
}

/// Converts `count` ticks of a clock at `rate`, which must not be zero, to media ticks.
pub(super) fn span(count: i64, rate: u32) -> Span {
    let ticks = i128::from(count) * i128::from(TICKS_PER_SECOND) / i128::from(rate);
    Span::from_ticks(ticks.clamp(i64::MIN.into(), i64::MAX.into()) as i64)
}

/// Returns the tick of a clock at `rate` that is in force at `at`, modulo 2^32. Exact where a tick of that clock is a
/// whole number of media ticks, as at 90 and at 48 kHz; otherwise rounded down.
pub(super) fn wire_ticks(at: Timestamp, rate: u32) -> u32 {
    let ticks = i128::from(at.ticks()) * i128::from(rate);
    // Truncation is the wrap-around.
    ticks.div_euclid(TICKS_PER_SECOND.into()) as u32
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_continue_past_the_wrap() {
        let mut sequence = Unwrapper::sequence();
        let seen = [65_534, 65_535, 0, 65_533, 1].map(|wire| sequence.unwrap(wire));
        assert_eq!(seen, [65_534, 65_535, 65_536, 65_533, 65_537]);
        let mut timestamp = Unwrapper::timestamp();
        assert_eq!(timestamp.unwrap(u32::MAX), i64::from(u32::MAX));
        assert_eq!(timestamp.unwrap(2_999), i64::from(u32::MAX) + 3_000);
        let mut early = Unwrapper::sequence();
        assert_eq!([0, 65_535].map(|wire| early.unwrap(wire)), [0, -1]);
    }

    #[test]
    fn clocks_are_exact() {
        let at = |rate, count| Timestamp::ZERO + Span::from_samples(count, rate);
        for count in [0, 1, 3_000, 1 << 32, (1 << 40) + 7] {
            assert_eq!(wire_ticks(at(90_000, count), 90_000), count as u32);
            assert_eq!(wire_ticks(at(48_000, count), 48_000), count as u32);
        }
        let before = wire_ticks(Timestamp::from_millis(-1), 90_000);
        assert_eq!(before, 90u32.wrapping_neg());
        assert_eq!(span(-90, 90_000), Span::from_millis(-1));
        assert_eq!(span(i64::MAX, 1), Span::from_ticks(i64::MAX));
    }

    proptest! {
        #[test]
        fn steps_below_half_way_are_followed(
            start: u32,
            steps in proptest::collection::vec(0..0x7FFF_FFFFu32, 1..50),
        ) {
            let mut unwrapper = Unwrapper::timestamp();
            let mut number = i64::from(start);
            prop_assert_eq!(unwrapper.unwrap(start), number);
            for step in steps {
                number += i64::from(step);
                prop_assert_eq!(unwrapper.unwrap(number as u32), number);
            }
        }
    }
}
