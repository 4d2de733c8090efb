//! What decides on permissions.
//!
//! The gate asks one authority, and does what is the same for all of them: it bounds the time of an answer and
//! limits guesses. The built-in authority is `keys`. Another one implements [`Authority`]; it may ask another
//! host. Its answer is dropped when the client hangs up first.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use fanout::gate::{Action, Credential, Denied, Request, Terms, Witness};
use hmac::{Hmac, KeyInit, Mac};
use media::StreamName;
use sha2::Sha256;

/// An authority's permission.
#[derive(Clone, Debug)]
pub struct Grant {
    /// The credential that was shown; `None` if none was needed. A publisher's decides on takeover: equal
    /// credentials are the same publisher come back.
    pub credential: Option<Credential>,
    /// What stands for the secret that was shown, where `credential` does not: it is remembered as right.
    pub presented: Option<Credential>,
    /// Until when, and to whom.
    pub terms: Terms,
    /// The stream that it is for, if that is another than the one that was asked for.
    pub stream: Option<StreamName>,
    /// Is told when what is permitted begins and ends.
    pub witness: Option<Arc<dyn Witness>>,
}

impl Grant {
    /// The stream that it is for, which may be another than the one that was asked for.
    pub(super) fn stream(&self, request: &Request<'_>) -> StreamName {
        self.stream.as_ref().unwrap_or(request.stream).clone()
    }

    /// Without a credential, an end or an identity.
    pub fn to_all() -> Self {
        Self {
            credential: None,
            presented: None,
            terms: Terms::default(),
            stream: None,
            witness: None,
        }
    }
}

/// An authority's answer, which is awaited. Dropping it takes the question back.
pub type Verdict<'a> = Pin<Box<dyn Future<Output = Result<Grant, Denied>> + Send + 'a>>;

/// Decides what a client may do.
pub trait Authority: fmt::Debug + Send + Sync {
    /// Whether a client may do something. [`Denied::Missing`], [`Denied::Wrong`] and [`Denied::Unfit`] are about
    /// what it presents, and only `Wrong` counts as a guess; [`Denied::Unavailable`] is the authority's own
    /// failure.
    fn decide<'a>(&'a self, action: Action, request: &'a Request<'a>) -> Verdict<'a>;
}

/// Makes credentials from secrets: equal ones from equal secrets, within this process.
#[derive(Clone)]
pub(crate) struct Fingerprints {
    /// The hash key, so that credentials reveal nothing about the secret.
    key: [u8; 32],
}

impl Fingerprints {
    /// # Errors
    /// When the system has no random bytes.
    pub(crate) fn new() -> Result<Self, getrandom::Error> {
        let mut key = [0; 32];
        getrandom::fill(&mut key)?;
        Ok(Self { key })
    }

    /// Stands for a hash of a key and a secret that was compared with it.
    pub(super) fn of_pair(&self, hash: &str, secret: &str) -> [u8; 32] {
        // A hash has no line breaks.
        self.digest(&[hash, "\n", secret])
    }

    /// Stands for a token that was verified.
    pub(super) fn of_token(&self, token: &str) -> [u8; 32] {
        self.digest(&[token])
    }

    /// Stands for what a client presents, for who cannot tell which of it counts: its secrets, or the arguments of its address if it
    /// has none; `None` if it presents nothing.
    pub(super) fn of_presented(&self, request: &Request<'_>) -> Option<Credential> {
        let text = |text: Option<&str>| format!("{text:?}\n");
        let [user, password, token] = [request.user, request.password, request.token].map(text);
        let digest = match (request.secret(), request.query) {
            (Some(_), _) => self.digest(&["secrets\n", &user, &password, &token]),
            (None, "") => return None,
            (None, query) => self.digest(&["arguments\n", query]),
        };
        Some(credential(digest))
    }

    fn digest(&self, parts: &[&str]) -> [u8; 32] {
        let mut mac =
            Hmac::<Sha256>::new_from_slice(&self.key).expect("HMAC takes keys of any length");
        for part in parts {
            mac.update(part.as_bytes());
        }
        mac.finalize().into_bytes().into()
    }

    /// The credential of a secret; never [`Credential::YIELDS`].
    pub(crate) fn of(&self, secret: &str) -> Credential {
        credential(self.digest(&[secret]))
    }
}

fn credential(digest: [u8; 32]) -> Credential {
    let bytes = digest.iter().take(8);
    let id = bytes.fold(0, |id, byte| id << 8 | u64::from(*byte));
    Credential(id.max(Credential::YIELDS.0 + 1))
}

impl fmt::Debug for Fingerprints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Fingerprints")
    }
}
