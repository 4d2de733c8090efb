//! Waiting for something to become true.

use std::time::{Duration, Instant};

/// How long whatever must happen may take. It is for what hangs and not for what is slow: on a machine that
/// does other work besides, nothing that works comes near it.
pub const DEADLINE: Duration = Duration::from_secs(60);

/// Between two looks at a condition: short beside any deadline, long beside the look itself.
const INTERVAL: Duration = Duration::from_millis(5);

/// Looks at `condition` until it holds; returns how long that took.
///
/// # Panics
/// When `deadline` passes first; the message names `what`.
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
