//! Pace at which a file is sent: first as much as a player needs to begin, then somewhat faster than it plays.
//!
//! So a player that is closed after a minute has not been sent an hour, and a client with a fast line does not take
//! bandwidth from the others.

use std::time::Duration;

/// Duration of media sent at once.
const AT_ONCE: Duration = Duration::from_secs(10);

/// Least number of bytes sent at once: the index at the end of an hour, without which players do not begin.
const AT_ONCE_BYTES_MIN: u64 = 4 << 20;

/// Duration of media sent in one go after that. A client that is woken and sent to more often costs more, and one that
/// has ten seconds in hand needs no more.
const IN_ONE_GO: Duration = Duration::from_secs(4);

/// Speed after that, as a multiple of playback speed.
const FACTOR: u64 = 2;

/// Pace of one file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// Bytes sent at once.
    at_once: u64,
    /// Bytes per second after that; not zero.
    rate: u64,
}

impl Pace {
    /// Makes the pace of a file with this length in bytes and this duration; `None` if they yield no bit rate.
    pub(crate) fn of(bytes: u64, plays: Duration) -> Option<Self> {
        let pace = Self::of_audio(bytes, plays)?;
        Some(Self {
            at_once: pace.at_once.max(AT_ONCE_BYTES_MIN),
            ..pace
        })
    }

    /// Makes the pace of audio that has no index: it never sends more than ten seconds at once.
    pub(crate) fn of_audio(bytes: u64, plays: Duration) -> Option<Self> {
        let millis = u64::try_from(plays.as_millis()).ok()?;
        let in_a_second = bytes.saturating_mul(1_000).checked_div(millis)?;
        (in_a_second > 0).then_some(Self {
            at_once: in_a_second.saturating_mul(AT_ONCE.as_secs()),
            rate: in_a_second.saturating_mul(FACTOR),
        })
    }

    /// Returns how many bytes may be sent in one go after `sent` bytes.
    pub(crate) fn window(&self, sent: u64) -> u64 {
        let usual = self.rate / FACTOR * IN_ONE_GO.as_secs();
        usual.max(self.at_once.saturating_sub(sent)).max(1)
    }

    /// Returns how long after the beginning `sent` bytes may have been sent.
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
        for (sent, seconds) in [(0, 0), (12_500_000, 0), (15_000_000, 1), (75_000_000, 25)] {
            assert_eq!(pace.due(sent), Duration::from_secs(seconds), "{sent}");
        }
        assert_eq!(pace.window(0), 12_500_000);
        assert_eq!(pace.window(12_000_000), 5_000_000);
    }

    #[test]
    fn an_index_comes_at_once_however_low_the_rate() {
        let pace = Pace::of(3_600 * 1_000, Duration::from_secs(3_600)).expect("a pace");
        assert_eq!(pace.due(AT_ONCE_BYTES_MIN), Duration::ZERO);
        assert_eq!(pace.due(AT_ONCE_BYTES_MIN + 2_000), Duration::from_secs(1));
        let hour = Duration::from_secs(3_600);
        let pace = Pace::of_audio(3_600 * 1_000, hour).expect("a pace");
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
