//! Retry schedule, for a receiver that accepts nothing, and for a message that it refuses.

use std::time::Duration;

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;

/// Seconds between attempts with a refused message, as the specification recommends: three days and four hours together.
const DELAYS: [u64; 9] = [
    5,
    5 * MINUTE,
    30 * MINUTE,
    2 * HOUR,
    5 * HOUR,
    10 * HOUR,
    14 * HOUR,
    20 * HOUR,
    24 * HOUR,
];

/// Largest random extension of a delay, as a divisor, so that what failed at one moment is not retried at one moment.
const JITTER_PART: u64 = 10;

/// First and longest pause, in seconds, for a receiver that accepts nothing. Waiting messages are late by up to that when the
/// receiver is back, and one request a minute costs it nothing.
const BACKOFF: [u64; 2] = [5, MINUTE];

/// Time that a message waits for a receiver that accepts nothing: as long as a refused message is retried.
pub(crate) const PATIENCE: Duration = Duration::from_secs(76 * HOUR);

/// Longest pause that a receiver may request: the longest of the schedule.
pub(crate) const RETRY_AFTER_MAX: Duration = Duration::from_secs(24 * HOUR);

/// Returns the delay after the attempt with this number, from 1; `None` after the last one. `random` is any number.
pub(crate) fn delay(attempt: u32, random: u64) -> Option<Duration> {
    let delay = DELAYS.get(attempt.checked_sub(1)? as usize)?;
    Some(with_jitter(*delay, random))
}

/// Returns the delay after this number of failures in a row, from 1: it doubles each time, up to the limit.
pub(crate) fn backoff(failures: u32, random: u64) -> Duration {
    let [first, most] = BACKOFF;
    let doubled = 1_u64.checked_shl(failures.saturating_sub(1));
    let seconds = doubled.map_or(most, |it| first.saturating_mul(it).min(most));
    with_jitter(seconds, random)
}

fn with_jitter(seconds: u64, random: u64) -> Duration {
    let millis = seconds * 1_000;
    Duration::from_millis(millis + random % (millis / JITTER_PART + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_grow_and_end() {
        let seconds = |attempt| delay(attempt, 0).map(|it| it.as_secs());
        let all: Vec<_> = (1..).map_while(seconds).collect();
        assert_eq!(all, DELAYS);
        assert_eq!(all.iter().sum::<u64>(), 75 * HOUR + 35 * MINUTE + 5);
        assert_eq!([0, 10, u32::MAX].map(seconds), [None; 3]);
    }

    #[test]
    fn a_receiver_that_takes_nothing_is_asked_once_a_minute() {
        let seconds = |failures| backoff(failures, 0).as_secs();
        let all = [1, 2, 3, 4, 5, 99, u32::MAX].map(seconds);
        assert_eq!(all, [5, 10, 20, 40, 60, 60, 60]);
        assert!(backoff(5, u64::MAX) <= Duration::from_secs(66));
    }

    #[test]
    fn delays_differ_by_a_tenth() {
        for random in [0, 1, 12_345_678_901, u64::MAX] {
            let delay = delay(2, random).expect("not the last").as_millis();
            assert!((300_000..=330_000).contains(&delay), "{delay}");
        }
    }
}
