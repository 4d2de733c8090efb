//! Rate limit on the bytes that a listener sends: it has nothing to send but replies to pings, and each frame costs its thread
//! some work.

use std::time::Duration;

use tokio::time::Instant;

/// Burst in bytes: a greeting of the greatest length and more.
const BYTES_AT_ONCE: u64 = 128 * 1024;

/// Sustained rate in bytes per second: some hundred pings, which no player sends.
const BYTES_PER_SECOND: u64 = 4 * 1024;

/// Remaining allowance, kept as the time at which it will be full again; each byte moves that time forward.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Chatter {
    whole_at: Option<Instant>,
}

impl Chatter {
    /// Takes the given number of bytes; returns false when they exceed the rate.
    pub(super) fn take(&mut self, bytes: usize, now: Instant) -> bool {
        let time = |bytes: u64| Duration::from_micros(bytes * 1_000_000 / BYTES_PER_SECOND);
        let whole = self.whole_at.map_or(now, |whole| whole.max(now)) + time(bytes as u64);
        self.whole_at = Some(whole);
        whole - now <= time(BYTES_AT_ONCE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_says_little_in_the_long_run() {
        let (mut chatter, now) = (Chatter::default(), Instant::now());
        assert!(chatter.take(70 * 1024, now), "a greeting");
        assert!(!chatter.take(70 * 1024, now));
        let mut chatter = Chatter::default();
        let pongs = (0..100_000).all(|at| chatter.take(6, now + Duration::from_secs(20) * at));
        assert!(pongs);
        let pings = (0..1_000_000).take_while(|_| chatter.take(6, now)).count();
        assert!(pings < 25_000, "{pings}");
    }
}
