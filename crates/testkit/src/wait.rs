//! Waiting for something to become true.

use std::time::{Duration, Instant};

/// Time limit for anything that must happen. It is for hangs and not for slowness: even on a busy machine, nothing that works
/// comes near it.
pub const DEADLINE: Duration = Duration::from_secs(60);

/// Interval between two checks of a condition: short compared with any deadline, long compared with the check itself.
const INTERVAL: Duration = Duration::from_millis(5);

/// Checks `condition` until it holds. Returns the time that took.
///
/// # Panics
/// Panics if `deadline` passes first; the message names `what`.
pub fn wait_until(what: &str, deadline: Duration, mut condition: impl FnMut() -> bool) -> Duration {
    let start = Instant::now();
    while !condition() {
        assert!(
            start.elapsed() < deadline,
            "{what}: not within {deadline:?}"
        );
        std::thread::sleep(INTERVAL);
    }
    start.elapsed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn returns_as_soon_as_it_holds() {
        let mut looks = 0;
        let took = wait_until("third look", Duration::from_secs(5), || {
            looks += 1;
            looks == 3
        });
        assert!(took >= 2 * INTERVAL && took < Duration::from_secs(5));
    }

    #[test]
    #[should_panic(expected = "never: not within")]
    fn gives_up_at_the_deadline() {
        wait_until("never", Duration::from_millis(20), || false);
    }
}
