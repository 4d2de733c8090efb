//! When a delivery that failed is tried again.

use std::time::Duration;

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;

/// Seconds from one attempt to the next, as the specification recommends: three days and four hours together.
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

/// A delay is longer by up to this part of it, so that what failed at one moment is not tried again at one moment.
const JITTER_PART: u64 = 10;

/// The longest wait that a receiver may ask for: the longest of the schedule.
pub(crate) const RETRY_AFTER_MAX: Duration = Duration::from_secs(24 * HOUR);

/// How long after the attempt with this number, from 1, the next one is; `None` if it was the last. `random` is any
/// number. A receiver may ask for a longer time.
pub(crate) fn delay(attempt: u32, random: u64, retry_after: Option<Duration>) -> Option<Duration> {
    let delay = DELAYS.get(attempt.checked_sub(1)? as usize)?;
    let millis = delay * 1_000;
    let jitter = random % (millis / JITTER_PART + 1);
    let asked = retry_after.unwrap_or_default().min(RETRY_AFTER_MAX);
    Some(Duration::from_millis(millis + jitter).max(asked))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_grow_and_end() {
        let seconds = |attempt| delay(attempt, 0, None).map(|it| it.as_secs());
        let all: Vec<_> = (1..).map_while(seconds).collect();
        assert_eq!(all, DELAYS);
        assert_eq!(all.iter().sum::<u64>(), 75 * HOUR + 35 * MINUTE + 5);
        assert_eq!(
            (seconds(0), seconds(10), seconds(u32::MAX)),
            (None, None, None)
        );
    }

    #[test]
    fn delays_differ_by_a_tenth_and_a_receiver_may_ask_for_more() {
        for random in [0, 1, 12_345_678_901, u64::MAX] {
            let delay = delay(2, random, None).expect("not the last").as_millis();
            assert!((300_000..=330_000).contains(&delay), "{delay}");
        }
        let asked = |seconds| delay(1, 0, Some(Duration::from_secs(seconds)));
        assert_eq!(asked(1), Some(Duration::from_secs(5)));
        assert_eq!(asked(600), Some(Duration::from_secs(600)));
        assert_eq!(asked(u64::MAX), Some(RETRY_AFTER_MAX));
    }
}
