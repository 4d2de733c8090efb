//! Pseudo-random numbers that keep many clients from doing the same thing at the same moment. They are not
//! secret.

use std::sync::atomic::{AtomicU64, Ordering};

/// Step of Weyl's sequence in SplitMix64: odd, and the golden ratio of 2⁶⁴.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Pseudo-random sequence that its seed determines, shared without a lock.
#[derive(Debug)]
pub struct Jitter(AtomicU64);

impl Jitter {
    /// Begins a sequence. Servers seed it at random, tests do not.
    pub const fn new(seed: u64) -> Self {
        Self(AtomicU64::new(seed))
    }

    /// Returns the next number, by SplitMix64.
    pub fn random(&self) -> u64 {
        let mut mixed = self.0.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_split_mix() {
        // The published first outputs for this seed.
        let jitter = Jitter::new(1_234_567);
        assert_eq!(jitter.random(), 6_457_827_717_110_365_317);
        assert_eq!(jitter.random(), 3_203_168_211_198_807_973);
    }
}
