//! Verification of token signatures.
//!
//! A public-key signature takes some hundred microseconds of a core. So a token is verified once for as long as the keys stay
//! the same ([`Known`]), and unknown tokens are verified on threads that may block, a few at a time: however many arrive at
//! once, the tasks of publishers and the workers keep the other cores. Waiting requests share the turns by address ([`Turns`]),
//! and nothing is verified for an address that has no guesses left. Tokens signed with a secret are verified at once.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::SystemTime;

use base::shares::Bounds;
use base::{Labelled, Lock};
use net::turns::Turns;

use crate::authority::{Fingerprints, Tried};
use crate::jwt::{self, Claims, KNOWN_BYTES_MAX, KeySet, Known, Refused, Rules};

/// Most signatures verified at a time: 40,000 per second. On smaller machines they take half of the cores.
const AT_ONCE_MAX: usize = 4;

/// Most clients that may wait for a verification. In all as many as one core verifies in a second, so that they are answered
/// within the gate's time; for one address as many as it may have connections not served yet.
const WAITING: Bounds = Bounds {
    max: 10_000,
    share: 1_024,
    reserve: 0,
};

/// Reason why a token was not verified.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub(super) enum Unverified {
    /// The token is not valid.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// Too many tokens wait to be verified.
    #[error("as many tokens as may be wait to be verified")]
    Busy,
    /// The token was not checked.
    #[error("its address has presented too many wrong ones")]
    Limited,
}

base::labels! {
    /// Result of a verification, and its label in the metrics.
    pub enum SignatureResult {
        /// The token was verified before.
        Known = "known",
        /// One of the keys has signed the token.
        Right = "right",
        /// None of the keys has signed the token.
        Wrong = "wrong",
    }
}

/// Verifies the signatures of tokens, and remembers their claims.
#[derive(Debug)]
pub(super) struct Signatures {
    rules: Rules,
    fingerprints: Fingerprints,
    known: Lock<Known>,
    turns: Turns,
    pub(super) counts: Labelled<SignatureResult>,
}

impl Signatures {
    /// Makes a verifier for tokens that satisfy `rules`.
    pub(super) fn new(rules: Rules, fingerprints: Fingerprints) -> Self {
        let cores = available_parallelism().map_or(1, NonZeroUsize::get);
        let at_once = (cores / 2).clamp(1, AT_ONCE_MAX);
        Self {
            rules,
            fingerprints,
            known: Lock::default(),
            turns: Turns::new(at_once, WAITING),
            counts: Labelled::default(),
        }
    }

    /// Returns the claims of a token that one of the sets has signed and that is in force.
    ///
    /// # Errors
    /// Fails when the token is invalid, too many others wait, or the client is limited and the token is not known.
    pub(super) async fn verify(
        &self,
        token: &str,
        sets: &[Arc<KeySet>],
        now: SystemTime,
        by: Tried<'_>,
    ) -> Result<Arc<Claims>, Unverified> {
        if !jwt::is_costly(token) {
            return self.counted(verified(token, sets, &self.rules, now));
        }
        let digest = self.fingerprints.of_token(token);
        if let Some(claims) = self.find(&digest, sets, now) {
            return Ok(claims?);
        }
        if by.is_limited() {
            return Err(Unverified::Limited);
        }
        let turn = self.turns.take(by.peer).await;
        let turn = turn.map_err(|_| Unverified::Busy)?;
        // Meanwhile another client may have presented this token, and others at its address wrong ones.
        if let Some(claims) = self.find(&digest, sets, now) {
            return Ok(claims?);
        }
        if by.is_limited() {
            return Err(Unverified::Limited);
        }
        let (own, own_sets, rules) = (token.to_owned(), sets.to_vec(), self.rules.clone());
        let verifying = tokio::task::spawn_blocking(move || {
            // Held for as long as the thread computes, even if the client disconnects.
            let _turn = turn;
            verified(&own, &own_sets, &rules, now)
        });
        let verified = verifying.await.map_err(|_| Unverified::Busy)?;
        let claims = self.counted(verified)?;
        if token.len() <= KNOWN_BYTES_MAX {
            self.known.lock().note(digest, sets, Arc::clone(&claims));
        }
        Ok(claims)
    }

    /// Returns the claims of a known token, if it is still in force.
    fn find(
        &self,
        digest: &[u8; 32],
        sets: &[Arc<KeySet>],
        now: SystemTime,
    ) -> Option<Result<Arc<Claims>, Refused>> {
        let claims = self.known.lock().find(digest, sets)?;
        self.counts.count(SignatureResult::Known);
        Some(claims.in_force(now).map(|()| claims))
    }

    fn counted(&self, verified: Result<Claims, Refused>) -> Result<Arc<Claims>, Unverified> {
        self.counts.count(match &verified {
            Err(Refused::Forged | Refused::UnknownKey) => SignatureResult::Wrong,
            _ => SignatureResult::Right,
        });
        Ok(Arc::new(verified?))
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
    use net::wait::at_once;

    use super::*;
    use crate::authority::Guesses;
    use crate::tests::{by, use_up};

    /// Key set with a P-256 key, from RFC 7517 appendix A.1.
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
        let (mut signatures, sets) = signatures();
        let turns = signatures.turns.free();
        assert!((1..=AT_ONCE_MAX).contains(&turns), "{turns}");
        signatures.turns = Turns::new(1, WAITING);
        let (now, guesses) = (SystemTime::now(), Guesses::default());
        let other = signatures.turns.take(by(&guesses).peer).await;
        let mut waiting = Box::pin(signatures.verify(OF_KEY, &sets, now, by(&guesses)));
        assert!(at_once(&mut waiting).is_none());
        let of_secret = signatures.verify(OF_SECRET, &sets, now, by(&guesses));
        assert_eq!(of_secret.await, FORGED);
        drop(other);
        assert_eq!(waiting.await, FORGED);
        assert_eq!(signatures.counts.all(), [0, 0, 2]);
    }

    #[tokio::test]
    async fn none_of_an_address_without_a_guess_left_is_verified() {
        let (mut signatures, sets) = signatures();
        signatures.turns = Turns::new(1, WAITING);
        let (now, guesses) = (SystemTime::now(), Guesses::default());
        let turn = signatures.turns.take(by(&guesses).peer).await;
        let mut waiting = Box::pin(signatures.verify(OF_KEY, &sets, now, by(&guesses)));
        assert!(at_once(&mut waiting).is_none());
        use_up(&guesses);
        drop(turn);
        let limited = Err(Unverified::Limited);
        assert_eq!(waiting.await, limited);
        let next = signatures.verify(OF_KEY, &sets, now, by(&guesses)).await;
        assert_eq!(next, limited);
        assert_eq!(signatures.counts.all(), [0; 3]);
    }

    #[tokio::test]
    async fn those_beyond_an_address_s_share_are_asked_to_come_again() {
        let (mut signatures, sets) = signatures();
        let few = Bounds {
            share: 1,
            ..WAITING
        };
        signatures.turns = Turns::new(0, few);
        let (now, guesses) = (SystemTime::now(), Guesses::default());
        let mut first = Box::pin(signatures.verify(OF_KEY, &sets, now, by(&guesses)));
        assert!(at_once(&mut first).is_none());
        let mut second = Box::pin(signatures.verify(OF_KEY, &sets, now, by(&guesses)));
        assert!(at_once(&mut second).is_none());
        assert_eq!(first.await, Err(Unverified::Busy));
    }
}
