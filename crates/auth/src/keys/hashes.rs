//! Comparison of secrets with hashes of keys. It takes long by design, so it runs on threads that may block, a few at a time,
//! and once for each key in use.
//!
//! A guess costs the server as much as a right key, a second at most (`config` ensures that). So no hash is computed for an
//! address that has no guesses left, even if it used them up while this request waited; and waiting requests share the turns by
//! address ([`Turns`]).

use std::num::NonZeroUsize;
use std::thread::available_parallelism;

use base::shares::Bounds;
use fanout::gate::Denied;
use net::turns::Turns;

use crate::authority::{Fingerprints, Remembered, Tried};
use crate::proof::KeyHash;

/// Most clients whose secrets are compared at a time: 256 MiB at the largest memory that a hash may name. On smaller machines
/// they take half of the cores, so that they do not delay the workers.
const AT_ONCE_MAX: usize = 4;

/// Most clients that wait for a comparison: more would not be answered in time. The share of one address is answered within the
/// gate's time even with the most expensive hashes.
const WAITING: Bounds = Bounds {
    max: 64,
    share: 4,
    reserve: 0,
};

/// Verified pairs remembered: one for each key in use, with room for changed keys. Each takes some hundred bytes.
const VERIFIED_MAX: usize = 1_024;

/// Compares secrets with hashes, and remembers those that match.
#[derive(Debug)]
pub(super) struct Hashes {
    fingerprints: Fingerprints,
    /// Digests of matching pairs of hash and secret. A forgotten one costs one verification.
    verified: Remembered<[u8; 32]>,
    turns: Turns,
}

impl Hashes {
    pub(super) fn new(fingerprints: Fingerprints) -> Self {
        let cores = available_parallelism().map_or(1, NonZeroUsize::get);
        let at_once = (cores / 2).clamp(1, AT_ONCE_MAX);
        Self {
            fingerprints,
            verified: Remembered::new(VERIFIED_MAX),
            turns: Turns::new(at_once, WAITING),
        }
    }

    /// Returns the index of the first hash that matches its secret. For a limited client only pairs already known are
    /// considered.
    ///
    /// # Errors
    /// [`Denied::Unavailable`] when too many others wait.
    pub(super) async fn find(
        &self,
        compared: Vec<(KeyHash, String)>,
        by: Tried<'_>,
    ) -> Result<Option<usize>, Denied> {
        let pairs = compared.iter();
        let pairs = pairs.map(|(hash, secret)| self.fingerprints.of_pair(hash.reveal(), secret));
        let pairs: Vec<_> = pairs.collect();
        let known = self.known(&pairs);
        if known.is_some() || compared.is_empty() || by.is_limited() {
            return Ok(known);
        }
        let turn = self.turns.take(by.peer).await;
        let turn = turn.map_err(|_| Denied::Unavailable)?;
        // Meanwhile others at this address may have guessed, or presented the same secret.
        let known = self.known(&pairs);
        if known.is_some() || by.is_limited() {
            return Ok(known);
        }
        let comparing = tokio::task::spawn_blocking(move || {
            // Held for as long as the thread computes, even if the client disconnects.
            let _turn = turn;
            let mut compared = compared.iter();
            compared.position(|(hash, secret)| hash.verifies(secret))
        });
        let found = comparing.await.map_err(|_| Denied::Unavailable)?;
        if let Some(at) = found {
            self.verified.note(pairs[at]);
        }
        Ok(found)
    }

    /// Returns the index of a pair known to match.
    fn known(&self, pairs: &[[u8; 32]]) -> Option<usize> {
        pairs.iter().position(|pair| self.verified.has(pair))
    }
}

#[cfg(test)]
mod tests {
    use net::wait::at_once;

    use super::*;
    use crate::authority::Guesses;
    use crate::tests::{by, use_up};

    const HASH: &str = include_str!("../proof/hash.phc");

    fn with(secret: &str) -> Vec<(KeyHash, String)> {
        let hash = KeyHash::parse(HASH.trim()).expect("a hash");
        vec![(hash, secret.to_owned())]
    }

    #[test]
    fn the_last_verified_pairs_are_remembered() {
        let pair = |number: usize| {
            let mut pair = [0; 32];
            pair[..8].copy_from_slice(&number.to_le_bytes());
            pair
        };
        let hashes = Hashes::new(Fingerprints::new().expect("randomness"));
        for number in 0..=VERIFIED_MAX {
            hashes.verified.note(pair(number));
            hashes.verified.note(pair(number));
        }
        let known = |number| hashes.known(&[pair(number)]);
        let all: Vec<_> = (0..=VERIFIED_MAX).map(known).collect();
        assert_eq!(all[0], None);
        assert!(all[1..].iter().all(|known| *known == Some(0)));
    }

    #[tokio::test]
    async fn a_pair_is_computed_once_and_then_known_also_to_limited_clients() {
        let hashes = Hashes::new(Fingerprints::new().expect("randomness"));
        let (free, limited) = (Guesses::default(), Guesses::default());
        use_up(&limited);
        let find =
            async |secret: &str, guesses: &Guesses| hashes.find(with(secret), by(guesses)).await;
        let none = find("open-sesame-41", &limited).await;
        assert_eq!(none, Ok(None), "it is not computed");
        assert_eq!(find("open-sesame-41", &free).await, Ok(Some(0)));
        assert_eq!(find("open-sesame-41", &limited).await, Ok(Some(0)));
        assert_eq!(find("open-sesame-42", &free).await, Ok(None));
    }

    #[tokio::test]
    async fn one_that_waits_is_not_computed_when_its_address_has_no_guess_left() {
        let mut hashes = Hashes::new(Fingerprints::new().expect("randomness"));
        hashes.turns = Turns::new(1, WAITING);
        let guesses = Guesses::default();
        let turn = hashes.turns.take(by(&guesses).peer).await.expect("free");
        let mut right = Box::pin(hashes.find(with("open-sesame-41"), by(&guesses)));
        assert!(at_once(&mut right).is_none());
        use_up(&guesses);
        drop(turn);
        assert_eq!(right.await, Ok(None));
    }

    #[tokio::test]
    async fn those_beyond_an_address_s_share_are_asked_to_come_again() {
        let mut hashes = Hashes::new(Fingerprints::new().expect("randomness"));
        hashes.turns = Turns::new(0, WAITING);
        let guesses = Guesses::default();
        let waits = (0..=WAITING.share).map(|_| {
            let mut waits = Box::pin(hashes.find(with("open-sesame-41"), by(&guesses)));
            assert!(at_once(&mut waits).is_none());
            waits
        });
        let mut waits: Vec<_> = waits.collect();
        let reported: Vec<_> = waits.iter_mut().filter_map(at_once).collect();
        assert_eq!(reported, [Err(Denied::Unavailable)]);
    }
}
