//! Verifies the signatures of tokens.
//!
//! That of a public key takes some hundred microseconds of a core. So a token is verified once for as long as the keys stay
//! what they are ([`Known`]), and those that are not known yet are verified on threads that may be blocked, a few at a time:
//! however many come at once, the tasks of publishers and the workers keep the other cores. Clients wait for their turn in the
//! order in which they came. Tokens that are signed with a secret are verified at once.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::available_parallelism;
use std::time::SystemTime;

use authority::jwt::{self, Claims, KNOWN_BYTES_MAX, KeySet, Known, Refused, Rules};
use tokio::sync::Semaphore;

use super::authority::Fingerprints;

/// Signatures that are verified at the same time, at most: 40,000 in a second. On smaller machines they take half of the
/// cores.
const AT_ONCE_MAX: usize = 4;

/// Clients that may wait for a verification: those of a second of one core. Beyond, a client is told to come again, before
/// the gate's time for an answer is over.
const WAITING_MAX: usize = 10_000;

/// Why a token was not verified.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub(super) enum Unverified {
    /// It is of no use.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// There was no time for it.
    #[error("as many tokens as may be wait to be verified")]
    Busy,
}

/// How often what was the case.
#[derive(Debug, Default)]
pub(crate) struct SignatureCounts {
    known: AtomicU64,
    right: AtomicU64,
    wrong: AtomicU64,
}

impl SignatureCounts {
    /// What the metric has, with its label.
    pub(crate) fn all(&self) -> [(&'static str, u64); 3] {
        let value = |count: &AtomicU64| count.load(Ordering::Relaxed);
        [
            ("known", value(&self.known)),
            ("right", value(&self.right)),
            ("wrong", value(&self.wrong)),
        ]
    }
}

/// See the module's description.
#[derive(Debug)]
pub(super) struct Signatures {
    rules: Rules,
    fingerprints: Fingerprints,
    known: Mutex<Known>,
    waiting: Semaphore,
    turns: Arc<Semaphore>,
    counts: SignatureCounts,
}

impl Signatures {
    /// For tokens that say about themselves what `rules` demand.
    pub(super) fn new(rules: Rules, fingerprints: Fingerprints) -> Self {
        let cores = available_parallelism().map_or(1, NonZeroUsize::get);
        let at_once = (cores / 2).clamp(1, AT_ONCE_MAX);
        Self {
            rules,
            fingerprints,
            known: Mutex::default(),
            waiting: Semaphore::new(WAITING_MAX),
            turns: Arc::new(Semaphore::new(at_once)),
            counts: SignatureCounts::default(),
        }
    }

    pub(super) const fn counts(&self) -> &SignatureCounts {
        &self.counts
    }

    /// What a token claims that one of the sets has signed and that is in force.
    ///
    /// # Errors
    /// When it is not, or too many others wait.
    pub(super) async fn verify(
        &self,
        token: &str,
        sets: &[Arc<KeySet>],
        now: SystemTime,
    ) -> Result<Arc<Claims>, Unverified> {
        if !jwt::is_costly(token) {
            return self.counted(verified(token, sets, &self.rules, now));
        }
        let digest = self.fingerprints.of_token(token);
        if let Some(claims) = self.find(&digest, sets, now) {
            return Ok(claims?);
        }
        let busy = |_| Unverified::Busy;
        let _waiting = self.waiting.try_acquire().map_err(busy)?;
        let turn = Arc::clone(&self.turns).acquire_owned().await;
        let turn = turn.map_err(|_| Unverified::Busy)?;
        // Another client may have presented the same one meanwhile.
        if let Some(claims) = self.find(&digest, sets, now) {
            return Ok(claims?);
        }
        let (own, own_sets, rules) = (token.to_owned(), sets.to_vec(), self.rules.clone());
        let verifying = tokio::task::spawn_blocking(move || {
            // Kept for as long as the thread computes, also if the client hangs up.
            let _turn = turn;
            verified(&own, &own_sets, &rules, now)
        });
        let verified = verifying.await.map_err(|_| Unverified::Busy)?;
        let claims = self.counted(verified)?;
        if token.len() <= KNOWN_BYTES_MAX {
            self.known().note(digest, sets, Arc::clone(&claims));
        }
        Ok(claims)
    }

    /// What a token claims that is known, if it is still in force.
    fn find(
        &self,
        digest: &[u8; 32],
        sets: &[Arc<KeySet>],
        now: SystemTime,
    ) -> Option<Result<Arc<Claims>, Refused>> {
        let claims = self.known().find(digest, sets)?;
        self.counts.known.fetch_add(1, Ordering::Relaxed);
        Some(claims.in_force(now).map(|()| claims))
    }

    fn counted(&self, verified: Result<Claims, Refused>) -> Result<Arc<Claims>, Unverified> {
        let count = match &verified {
            Err(Refused::Forged | Refused::UnknownKey) => &self.counts.wrong,
            _ => &self.counts.right,
        };
        count.fetch_add(1, Ordering::Relaxed);
        Ok(Arc::new(verified?))
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn verified(
    token: &str,
    sets: &[Arc<KeySet>],
    rules: &Rules,
    now: SystemTime,
) -> Result<Claims, Refused> {
    jwt::verify(token, sets.iter().map(|set| &**set), rules, now)
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use super::*;

    /// Of P-256, from RFC 7517 appendix A.1.
    const SET: &str = r#"{"keys": [{"kty": "EC", "crv": "P-256",
        "x": "MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4",
        "y": "4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM"}]}"#;

    /// No token of theirs: `{"alg":"ES256"}` and `{"alg":"HS256"}`, with signatures of nobody.
    const OF_KEY: &str = "eyJhbGciOiJFUzI1NiJ9.e30.AAAA";
    const OF_SECRET: &str = "eyJhbGciOiJIUzI1NiJ9.e30.AAAA";

    const FORGED: Result<Arc<Claims>, Unverified> = Err(Unverified::Refused(Refused::Forged));

    fn signatures() -> (Signatures, [Arc<KeySet>; 2]) {
        let fingerprints = Fingerprints::new().expect("randomness");
        let public = KeySet::parse(SET.as_bytes()).expect("a set");
        let secret = KeySet::of_secret("an-issuers-secret-of-32-characters");
        let signatures = Signatures::new(Rules::default(), fingerprints);
        (signatures, [public, secret].map(Arc::new))
    }

    #[tokio::test]
    async fn one_that_is_costly_waits_for_its_turn_and_others_do_not() {
        let (signatures, sets) = signatures();
        let turns = signatures.turns.available_permits();
        assert!((1..=AT_ONCE_MAX).contains(&turns), "{turns}");
        let others = signatures.turns.acquire_many(turns as u32).await;
        let now = SystemTime::now();
        let mut waiting = pin!(signatures.verify(OF_KEY, &sets, now));
        tokio::select! {
            biased;
            _ = &mut waiting => panic!("it did not wait"),
            () = tokio::task::yield_now() => {}
        }
        assert_eq!(signatures.verify(OF_SECRET, &sets, now).await, FORGED);
        drop(others);
        assert_eq!(waiting.await, FORGED);
        assert_eq!(
            signatures.counts.all(),
            [("known", 0), ("right", 0), ("wrong", 2)]
        );
    }

    #[tokio::test]
    async fn those_beyond_the_queue_are_told_to_come_again() {
        let (signatures, sets) = signatures();
        let _others = signatures.waiting.try_acquire_many(WAITING_MAX as u32);
        let answer = signatures.verify(OF_KEY, &sets, SystemTime::now()).await;
        assert_eq!(answer, Err(Unverified::Busy));
    }
}
