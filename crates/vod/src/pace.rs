//! How fast a file is sent: what a player needs to begin at once, and then faster than it plays, but not by much.
//!
//! A player that is closed after a minute has then not been sent an hour, and one with a fast line does not take it
//! from the others.

use std::time::Duration;

/// Media that is sent at once.
const AT_ONCE: Duration = Duration::from_secs(10);

/// Bytes that are sent at once at the least: the index at the end of an hour, without which players do not begin.
const AT_ONCE_BYTES_MIN: u64 = 4 << 20;

/// Media that is sent in one go after that: a client that is woken and sent to more often costs more, and one that has
/// ten seconds needs no more.
const IN_ONE_GO: Duration = Duration::from_secs(4);

/// How much faster than it plays a file is sent after that.
const FACTOR: u64 = 2;

/// See the module's description.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// Bytes that are sent at once.
    at_once: u64,
    /// Bytes in a second after that; not zero.
    rate: u64,
}

impl Pace {
    /// Of a file that has so many bytes and plays so long; `None` if that tells no bit rate.
    pub(crate) fn of(bytes: u64, plays: Duration) -> Option<Self> {
        let pace = Self::of_sound(bytes, plays)?;
        Some(Self {
            at_once: pace.at_once.max(AT_ONCE_BYTES_MIN),
            ..pace
        })
    }

    /// The same of sound that has no index: what is sent at once is never more than ten seconds.
    pub(crate) fn of_sound(bytes: u64, plays: Duration) -> Option<Self> {
        let millis = u64::try_from(plays.as_millis()).ok()?;
        let in_a_second = bytes.saturating_mul(1_000).checked_div(millis)?;
        (in_a_second > 0).then_some(Self {
            at_once: in_a_second.saturating_mul(AT_ONCE.as_secs()),
            rate: in_a_second.saturating_mul(FACTOR),
        })
    }

    /// How much may be sent in one go behind so many bytes.
    pub(crate) fn window(&self, sent: u64) -> u64 {
        let usual = self.rate / FACTOR * IN_ONE_GO.as_secs();
        usual.max(self.at_once.saturating_sub(sent)).max(1)
    }

    /// How long after the beginning so many bytes may have been sent.
    pub(crate) fn due(&self, sent: u64) -> Duration {
        let late = sent.saturating_sub(self.at_once);
        Duration::from_secs_f64(late as f64 / self.rate as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_seconds_come_at_once_and_the_rest_at_twice_the_rate() {
        let minute = Duration::from_secs(60);
        let pace = Pace::of(60 * 1_250_000, minute).expect("a pace");
        assert_eq!(pace.due(0), Duration::ZERO);
        assert_eq!(pace.due(12_500_000), Duration::ZERO);
        assert_eq!(pace.due(12_500_000 + 2_500_000), Duration::from_secs(1));
        assert_eq!(pace.due(60 * 1_250_000), Duration::from_secs(25));
        assert_eq!(pace.window(0), 12_500_000);
        assert_eq!(pace.window(12_000_000), 5_000_000);
    }

    #[test]
    fn an_index_comes_at_once_however_low_the_rate() {
        let pace = Pace::of(3_600 * 1_000, Duration::from_secs(3_600)).expect("a pace");
        assert_eq!(pace.due(AT_ONCE_BYTES_MIN), Duration::ZERO);
        assert_eq!(pace.due(AT_ONCE_BYTES_MIN + 2_000), Duration::from_secs(1));
        let hour = Duration::from_secs(3_600);
        let pace = Pace::of_sound(3_600 * 1_000, hour).expect("a pace");
        assert_eq!(pace.due(10_000), Duration::ZERO);
        assert_eq!(pace.due(12_000), Duration::from_secs(1));
    }

    #[test]
    fn what_tells_no_bit_rate_has_no_pace() {
        assert!(Pace::of(1_000, Duration::ZERO).is_none());
        assert!(Pace::of(0, Duration::from_secs(1)).is_none());
        assert!(Pace::of(1, Duration::from_secs(10)).is_none());
        assert!(Pace::of(u64::MAX, Duration::from_millis(1)).is_some());
    }
}
