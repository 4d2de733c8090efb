//! Compares a secret with hashes of keys, which takes long by design: on threads that may be blocked, two at a time, and once for
//! each key that is in use.
//!
//! A guess costs the server what a right key costs. So guesses of an address that has none left are not computed, and at most
//! [`WAITING_MAX`] clients wait for their turn.

use std::sync::{Arc, Mutex, PoisonError};

use authority::{KeyHash, Verified};
use fanout::gate::Denied;
use tokio::sync::Semaphore;

use super::authority::Fingerprints;

/// Clients whose secrets are compared at the same time: 128 MiB at the largest memory that a hash may name, and no more cores
/// than that, so that it does not delay the workers of all.
const AT_ONCE: usize = 2;

/// Clients that are compared or wait for it. Beyond, a client is told to come again: it would not be answered in time.
const WAITING_MAX: usize = 64;

/// See the module's description.
#[derive(Debug)]
pub(super) struct Hashes {
    fingerprints: Fingerprints,
    verified: Mutex<Verified>,
    waiting: Semaphore,
    at_once: Arc<Semaphore>,
}

impl Hashes {
    pub(super) fn new(fingerprints: Fingerprints) -> Self {
        Self {
            fingerprints,
            verified: Mutex::default(),
            waiting: Semaphore::new(WAITING_MAX),
            at_once: Arc::new(Semaphore::new(AT_ONCE)),
        }
    }

    /// The number of the hash that a secret fits. A client that `is_limited` has only pairs compared that are known already.
    ///
    /// # Errors
    /// [`Denied::Unavailable`] when too many others wait.
    pub(super) async fn find(
        &self,
        secret: &str,
        hashes: Vec<KeyHash>,
        is_limited: impl FnOnce() -> bool,
    ) -> Result<Option<usize>, Denied> {
        let pairs: Vec<_> = hashes
            .iter()
            .map(|hash| self.fingerprints.of_pair(hash.reveal(), secret))
            .collect();
        let known = {
            let verified = self.verified.lock();
            let verified = verified.unwrap_or_else(PoisonError::into_inner);
            pairs.iter().position(|pair| verified.has(pair))
        };
        if known.is_some() || is_limited() {
            return Ok(known);
        }
        let _waiting = self
            .waiting
            .try_acquire()
            .map_err(|_| Denied::Unavailable)?;
        let turn = Arc::clone(&self.at_once).acquire_owned().await;
        let turn = turn.map_err(|_| Denied::Unavailable)?;
        let secret = secret.to_owned();
        let compared = tokio::task::spawn_blocking(move || {
            // Kept for as long as the thread computes, also if the client hangs up.
            let _turn = turn;
            hashes.iter().position(|hash| hash.verifies(&secret))
        });
        let found = compared.await.map_err(|_| Denied::Unavailable)?;
        if let Some(at) = found {
            let verified = self.verified.lock();
            let mut verified = verified.unwrap_or_else(PoisonError::into_inner);
            verified.note(pairs[at]);
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASH: &str = include_str!("../../../authority/src/hash.phc");

    #[tokio::test]
    async fn a_pair_is_computed_once_and_then_known_also_to_limited_clients() {
        let hashes = Hashes::new(Fingerprints::new().expect("randomness"));
        let hash = || vec![KeyHash::parse(HASH.trim()).expect("a hash")];
        let limited = hashes.find("open-sesame-41", hash(), || true).await;
        assert_eq!(limited, Ok(None), "it is not computed");
        let found = hashes.find("open-sesame-41", hash(), || false).await;
        assert_eq!(found, Ok(Some(0)));
        let known = hashes.find("open-sesame-41", hash(), || true).await;
        assert_eq!(known, Ok(Some(0)));
        let guess = hashes.find("open-sesame-42", hash(), || false).await;
        assert_eq!(guess, Ok(None));
    }

    #[tokio::test]
    async fn those_beyond_the_queue_are_told_to_come_again() {
        let hashes = Hashes::new(Fingerprints::new().expect("randomness"));
        let _others = hashes.waiting.try_acquire_many(WAITING_MAX as u32);
        let hash = vec![KeyHash::parse(HASH.trim()).expect("a hash")];
        let answer = hashes.find("open-sesame-41", hash, || false).await;
        assert_eq!(answer, Err(Denied::Unavailable));
    }
}
