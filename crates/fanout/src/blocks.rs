//! Blocks: streams that an operator has ended and that must not begin again for a time.
//!
//! The lock is taken when a stream is published or blocked, and when blocks are listed; never for media.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use base::Lock;
use media::StreamName;

/// Upper bound on names blocked at once: an operator ends them one by one.
pub const BLOCKS_MAX: usize = 1_000;

/// Longest time of a block. To keep a publisher out for longer, revoke its key.
pub const BLOCK_MAX: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Error: the number of blocks is at its limit.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{BLOCKS_MAX} streams are blocked already")]
pub struct TooManyBlocks;

/// Blocked names, each with the time at which its block ends.
#[derive(Debug, Default)]
pub(crate) struct Blocks(Lock<HashMap<StreamName, Instant>>);

impl Blocks {
    /// Blocks a name for `time` from `now`, replacing an earlier block.
    pub(crate) fn set(
        &self,
        name: &StreamName,
        time: Duration,
        now: Instant,
    ) -> Result<(), TooManyBlocks> {
        let mut blocks = self.0.lock();
        blocks.retain(|_, until| *until > now);
        if blocks.len() >= BLOCKS_MAX && !blocks.contains_key(name) {
            return Err(TooManyBlocks);
        }
        blocks.insert(name.clone(), now + time.min(BLOCK_MAX));
        Ok(())
    }

    /// Lifts a block. Returns `false` if there is none.
    pub(crate) fn lift(&self, name: &StreamName, now: Instant) -> bool {
        let lifted = self.0.lock().remove(name);
        lifted.is_some_and(|until| until > now)
    }

    /// Returns the remaining time of a name's block, if it is blocked.
    pub(crate) fn remaining(&self, name: &StreamName, now: Instant) -> Option<Duration> {
        let until = *self.0.lock().get(name)?;
        Some(until.saturating_duration_since(now)).filter(|remaining| !remaining.is_zero())
    }

    /// Returns all blocks sorted by name, with their remaining time.
    pub(crate) fn list(&self, now: Instant) -> Vec<(StreamName, Duration)> {
        let blocks = self.0.lock();
        let lasting = blocks.iter().filter(|(_, until)| **until > now);
        let mut all: Vec<_> = lasting
            .map(|(name, until)| (name.clone(), until.saturating_duration_since(now)))
            .collect();
        all.sort_by(|a, b| a.0.cmp(&b.0));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> StreamName {
        StreamName::parse(text).expect("a name")
    }

    #[test]
    fn a_block_lasts_until_its_time_is_over_or_it_is_lifted() {
        let (blocks, now) = (Blocks::default(), Instant::now());
        let (ten, second) = (Duration::from_secs(10), Duration::from_secs(1));
        blocks.set(&name("a"), ten, now).expect("room");
        blocks.set(&name("b"), ten, now).expect("room");
        assert_eq!(blocks.remaining(&name("a"), now + second), Some(9 * second));
        assert_eq!(blocks.remaining(&name("c"), now), None);
        assert_eq!(blocks.list(now), [(name("a"), ten), (name("b"), ten)]);
        assert!(blocks.lift(&name("a"), now) && !blocks.lift(&name("a"), now));
        assert_eq!(blocks.remaining(&name("b"), now + ten), None);
        assert!(blocks.list(now + ten).is_empty());
        assert!(!blocks.lift(&name("b"), now + ten));
    }

    #[test]
    fn blocks_are_bounded_in_number_and_time() {
        let (blocks, now) = (Blocks::default(), Instant::now());
        for number in 0..BLOCKS_MAX {
            let name = name(&format!("s{number}"));
            blocks.set(&name, Duration::MAX, now).expect("room");
        }
        let second = Duration::from_secs(1);
        assert_eq!(blocks.set(&name("more"), second, now), Err(TooManyBlocks));
        assert_eq!(blocks.set(&name("s0"), second, now), Ok(()), "it is known");
        assert_eq!(blocks.remaining(&name("s1"), now), Some(BLOCK_MAX));
        assert_eq!(blocks.set(&name("more"), second, now + second), Ok(()));
    }
}
