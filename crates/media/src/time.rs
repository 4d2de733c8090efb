//! Media time as exact integers.
//!
//! One tick is 1/705 600 000 s, the smallest unit in which a sample at 8, 11.025, 16, 22.05, 24,
//! 32, 44.1, 48, 88.2 or 96 kHz, a 90 kHz tick and a millisecond are all whole numbers. Audio time
//! is therefore derived from sample counts without drift.

use std::ops::{Add, AddAssign, Sub};

/// Number of ticks in one second.
pub const TICKS_PER_SECOND: i64 = 705_600_000;

const TICKS_PER_MILLI: i64 = TICKS_PER_SECOND / 1_000;

/// A point on a stream's timeline, in ticks since the stream began.
///
/// An `i64` of ticks covers more than four hundred years either way, so arithmetic on honest values
/// of a live source cannot overflow; it saturates, because a source may send any value.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Timestamp(i64);

/// A signed distance between two [`Timestamp`]s, in ticks.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Span(i64);

impl Timestamp {
    /// Start of every timeline.
    pub const ZERO: Self = Self(0);

    /// Creates a point `ticks` after the start.
    pub const fn from_ticks(ticks: i64) -> Self {
        Self(ticks)
    }

    /// Creates a point `millis` milliseconds after the start.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis.saturating_mul(TICKS_PER_MILLI))
    }

    /// Returns the ticks since the start.
    pub const fn ticks(self) -> i64 {
        self.0
    }

    /// Returns the whole milliseconds since the start, rounded down.
    pub const fn millis(self) -> i64 {
        self.0.div_euclid(TICKS_PER_MILLI)
    }
}

impl Span {
    /// The empty distance.
    pub const ZERO: Self = Self(0);

    /// Creates a distance of `ticks`.
    pub const fn from_ticks(ticks: i64) -> Self {
        Self(ticks)
    }

    /// Creates a distance of `millis` milliseconds.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis.saturating_mul(TICKS_PER_MILLI))
    }

    /// Returns the duration of `count` audio samples at `rate` Hz; zero when the rate is zero.
    ///
    /// Exact for every rate that divides [`TICKS_PER_SECOND`], rounded down for others.
    pub const fn from_samples(count: u64, rate: u32) -> Self {
        if rate == 0 {
            return Self::ZERO;
        }
        let ticks = count as i128 * TICKS_PER_SECOND as i128 / rate as i128;
        Self(if ticks > i64::MAX as i128 {
            i64::MAX
        } else {
            ticks as i64
        })
    }

    /// Returns the ticks, negative when the distance points backwards.
    pub const fn ticks(self) -> i64 {
        self.0
    }

    /// Returns the whole milliseconds, rounded down.
    pub const fn millis(self) -> i64 {
        self.0.div_euclid(TICKS_PER_MILLI)
    }

    /// Returns the seconds, for display and not for arithmetic.
    pub fn seconds(self) -> f64 {
        self.0 as f64 / TICKS_PER_SECOND as f64
    }
}

impl From<std::time::Duration> for Span {
    fn from(duration: std::time::Duration) -> Self {
        let ticks = duration.as_nanos().saturating_mul(TICKS_PER_SECOND as u128) / 1_000_000_000;
        Self(i64::try_from(ticks).unwrap_or(i64::MAX))
    }
}

impl Add<Span> for Timestamp {
    type Output = Self;

    fn add(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Span> for Timestamp {
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

impl Sub<Span> for Timestamp {
    type Output = Self;

    fn sub(self, span: Span) -> Self {
        Self(self.0.saturating_sub(span.0))
    }
}

impl Sub for Timestamp {
    type Output = Span;

    fn sub(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Add for Span {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_clocks_are_whole_ticks() {
        for rate in [
            8_000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 88_200,
        ] {
            assert_eq!(TICKS_PER_SECOND % rate, 0, "{rate} Hz");
        }
        assert_eq!(TICKS_PER_SECOND % 90_000, 0);
        assert_eq!(TICKS_PER_SECOND % 1_000, 0);
    }

    #[test]
    fn sample_counts_do_not_drift() {
        let day_of_frames = 24 * 3600 * 44_100 / 1152;
        let by_count = Span::from_samples(day_of_frames * 1152, 44_100);
        let by_sum = (0..day_of_frames).fold(Timestamp::ZERO, |at, _| {
            at + Span::from_samples(1152, 44_100)
        });
        assert_eq!(by_sum - Timestamp::ZERO, by_count);
    }

    #[test]
    fn hostile_values_saturate() {
        assert_eq!(Timestamp::from_millis(i64::MAX).ticks(), i64::MAX);
        let before = Timestamp::from_ticks(i64::MIN) - Timestamp::from_ticks(1);
        assert_eq!(before.ticks(), i64::MIN);
        assert_eq!(Span::from_samples(u64::MAX, 1).ticks(), i64::MAX);
        assert_eq!(Span::from_samples(1, 0), Span::ZERO);
    }

    #[test]
    fn millis_round_towards_the_past() {
        assert_eq!(Timestamp::from_ticks(-1).millis(), -1);
        assert_eq!(Timestamp::from_millis(-3).millis(), -3);
        let duration = std::time::Duration::from_millis(400);
        assert_eq!(Span::from(duration), Span::from_millis(400));
    }
}
