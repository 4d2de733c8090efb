//! What decides on permissions, and how far its answers are believed.
//!
//! The gate asks one [`Authority`], and does what is the same for all of them: it bounds the time of an answer and
//! limits guesses. The built-in authority is [`Keys`](crate::keys::Keys), and with a hook [`Hooked`](crate::hook::Hooked). An
//! authority may ask another host. Its answer is dropped when the client hangs up first.
//!
//! [`Guesses`] counts wrong secrets: they use up a small allowance per address and kind of action. While it is used up no
//! credential that the address presents for that kind is accepted, so guessing gains nothing, and none is looked at that would
//! cost something, so it takes nothing from others. One exception: what was right from that address before is still looked at
//! and accepted. Code that is about to spend time on a secret (a hash, a signature, a question to a hook) asks here first.

use std::borrow::Cow;
use std::fmt;
use std::hash::Hash;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use base::{Bounded, Lock};
use fanout::ListenerId;
use fanout::gate::{Action, Credential, Denied, Ongoing, Request, Terms, Witness};
use hmac::{Hmac, KeyInit, Mac};
use limits::Allowances;
use media::StreamName;
use net::shares::network;
use sha2::Sha256;

use crate::proof::Scope;

/// Wrong credentials an address may present in a row for one kind of action: a person who tries all passwords
/// they know, or a source client that retries while its operator looks for the key.
const ALLOWANCE: u32 = 20;

/// How long until one more wrong credential is allowed again. A guessing script gets 43,200 per day
/// for each kind, of 2¹⁴⁴.
const REFILL: Duration = Duration::from_secs(2);

/// Successes remembered, some 64 KiB of them. Only a right credential makes one, so an attacker cannot flush them.
const SUCCESSES_MAX: usize = 1_024;

/// An authority's permission. By default it is without a credential, an end or an identity.
#[derive(Clone, Debug, Default)]
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
    pub(crate) fn stream(&self, request: &Request<'_>) -> StreamName {
        self.stream.as_ref().unwrap_or(request.stream).clone()
    }

    /// Without a credential, an end or an identity.
    pub fn to_all() -> Self {
        Self::default()
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
    pub(crate) fn of_pair(&self, hash: &str, secret: &str) -> [u8; 32] {
        // A hash has no line breaks.
        self.digest(&[hash, "\n", secret])
    }

    /// Stands for a token that was verified.
    pub(crate) fn of_token(&self, token: &str) -> [u8; 32] {
        self.digest(&[token])
    }

    /// Stands for what a client presents, for who cannot tell which of it counts: its secrets, or the arguments of its address if it
    /// has none; `None` if it presents nothing.
    pub(crate) fn of_presented(&self, request: &Request<'_>) -> Option<Credential> {
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

base::debug!(Fingerprints {});

/// The name and the password that a request presents: where its protocol has them, or in the address, for players over RTMP
/// name no user unless they are asked in a way that takes the password itself.
pub(crate) fn name_and_password<'a>(request: &Request<'a>) -> Option<(Cow<'a, str>, Cow<'a, str>)> {
    if let (Some(user), Some(password)) = (request.user, request.password) {
        return Some((user.into(), password.into()));
    }
    let query = http1::Query::new(request.query.as_bytes());
    Some((query.get("user")?.into(), query.get("pass")?.into()))
}

/// When a permission ends by the monotonic clock, which goes on where the other is set.
///
/// # Errors
/// When that is over.
pub(crate) fn moment(expires: SystemTime, now: SystemTime) -> Result<Instant, Denied> {
    let left = expires.duration_since(now).ok();
    let left = left.filter(|left| !left.is_zero()).ok_or(Denied::Unfit)?;
    let far = Instant::now() + Duration::from_secs(FAR_SECONDS);
    Ok(Instant::now()
        .checked_add(left)
        .map_or(far, |end| end.min(far)))
}

/// Ends later than this, in seconds, come then: ten years, within which the server is started again.
const FAR_SECONDS: u64 = 10 * 366 * 24 * 3600;

/// Who presents a secret, for what: whoever is about to spend time on it has to know.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tried<'a> {
    pub(crate) peer: IpAddr,
    pub(crate) scope: Scope,
    pub(crate) guesses: &'a Guesses,
}

impl Tried<'_> {
    /// Whether its address has no guess left, so that nothing is spent on it.
    pub(crate) fn is_limited(self) -> bool {
        self.guesses.are_used_up(self.peer, self.scope)
    }
}

/// Guesses, and what was right before, of each address.
///
/// Allowances are per scope: an encoder that retries with an old key must not lock out the operator who is about to correct it.
#[derive(Debug)]
pub(crate) struct Guesses {
    /// Of the networks that presented a wrong credential lately.
    wrong: Allowances<(IpAddr, Scope)>,
    right: Remembered<Success>,
    /// Those of listeners, apart from the others, which are few: an audience would have them forgotten.
    of_listeners: Remembered<Success>,
}

impl Default for Guesses {
    fn default() -> Self {
        Self {
            wrong: Allowances::new(ALLOWANCE, REFILL),
            right: Remembered::new(SUCCESSES_MAX),
            of_listeners: Remembered::new(SUCCESSES_MAX),
        }
    }
}

impl Guesses {
    /// Returns whether an address has no guess left.
    pub(crate) fn are_used_up(&self, peer: IpAddr, scope: Scope) -> bool {
        self.wrong
            .is_used_up((network(peer), scope), Instant::now())
    }

    /// Returns whether what an address presents is to be looked at: it has a guess left, or this was right before.
    pub(crate) fn may_try(&self, peer: IpAddr, scope: Scope, presented: Credential) -> bool {
        let success = (network(peer), scope, presented.0);
        !self.are_used_up(peer, scope) || self.successes(scope).has(&success)
    }

    /// Counts a guess, and refuses even a right one after too many wrong ones. The allowance is looked at when the answer is
    /// there: guesses side by side are worth no more than as many in a row.
    pub(crate) fn believe(
        &self,
        scope: Scope,
        peer: IpAddr,
        answer: Result<Grant, Denied>,
    ) -> Result<Grant, Denied> {
        let is_limited = self.are_used_up(peer, scope);
        let grant = match answer {
            Ok(grant) => grant,
            Err(Denied::Wrong | Denied::Unfit) if is_limited => {
                return Err(Denied::TooManyAttempts);
            }
            Err(Denied::Wrong) => {
                self.wrong.spend((network(peer), scope), Instant::now());
                return Err(Denied::Wrong);
            }
            Err(other) => return Err(other),
        };
        if let Some(presented) = grant.presented.or(grant.credential) {
            let successes = self.successes(scope);
            let success = (network(peer), scope, presented.0);
            if is_limited && !successes.has(&success) {
                return Err(Denied::TooManyAttempts);
            }
            successes.note(success);
        }
        Ok(grant)
    }

    const fn successes(&self, scope: Scope) -> &Remembered<Success> {
        match scope {
            Scope::Play => &self.of_listeners,
            _ => &self.right,
        }
    }
}

/// A right credential, with its network. It does not age: an encoder's connection may last for weeks before it has to
/// reconnect.
type Success = (IpAddr, Scope, u64);

/// The most recent of what was right. Of too many, the one whose last repetition is oldest is forgotten.
#[derive(Debug)]
pub(crate) struct Remembered<K>(Lock<Bounded<K, ()>>);

impl<K: Clone + Eq + Hash> Remembered<K> {
    pub(crate) fn new(max: usize) -> Self {
        Self(Lock::new(Bounded::new(max)))
    }

    pub(crate) fn has(&self, known: &K) -> bool {
        self.0.lock().get(known).is_some()
    }

    pub(crate) fn note(&self, known: K) {
        self.0.lock().insert(known, ());
    }
}

/// Ends what was permitted.
#[derive(Clone)]
pub(crate) struct Ender(Arc<dyn Fn(ListenerId) + Send + Sync>);

base::debug!(Ender {});

impl Ender {
    /// Ends the permissions of listeners by `listener`.
    pub(crate) fn new(listener: impl Fn(ListenerId) + Send + Sync + 'static) -> Self {
        Self(Arc::new(listener))
    }

    pub(crate) fn end(&self, ongoing: Ongoing) {
        match ongoing {
            Ongoing::Listener(listener) => (self.0)(listener),
            Ongoing::Publication(revocation) | Ongoing::Beside(revocation) => revocation.revoke(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv6Addr;

    use super::*;

    fn used_up(guesses: &Guesses, peer: IpAddr, scope: Scope, now: Instant) -> bool {
        guesses.wrong.is_used_up((network(peer), scope), now)
    }

    fn failed(guesses: &Guesses, peer: IpAddr, now: Instant) {
        guesses.wrong.spend((network(peer), Scope::Publish), now);
    }

    #[test]
    fn the_allowance_is_used_up_and_comes_back() {
        let guesses = Guesses::default();
        let (peer, start) = (IpAddr::from([192, 0, 2, 1]), Instant::now());
        for _ in 0..ALLOWANCE {
            assert!(!used_up(&guesses, peer, Scope::Publish, start));
            failed(&guesses, peer, start);
        }
        assert!(used_up(&guesses, peer, Scope::Publish, start));
        assert!(!used_up(&guesses, peer, Scope::Metadata, start));
        assert!(!used_up(&guesses, peer, Scope::Admin, start));
        let other = IpAddr::from([192, 0, 2, 2]);
        assert!(!used_up(&guesses, other, Scope::Publish, start));
        let later = start + REFILL;
        assert!(!used_up(&guesses, peer, Scope::Publish, later));
        failed(&guesses, peer, later);
        assert!(used_up(&guesses, peer, Scope::Publish, later));
    }

    #[test]
    fn neighbours_in_an_ipv6_network_share_one() {
        let (guesses, start) = (Guesses::default(), Instant::now());
        for host in 0..ALLOWANCE as u16 {
            let peer = Ipv6Addr::new(0x2001, 0xdb8, 0, 1, 0, 0, 0, host);
            failed(&guesses, peer.into(), start);
        }
        for (peer, is_used_up) in [("2001:db8:0:1:ffff::1", true), ("2001:db8:0:2::1", false)] {
            let peer = peer.parse().expect("an address");
            assert_eq!(used_up(&guesses, peer, Scope::Publish, start), is_used_up);
        }
    }

    #[test]
    fn the_last_successes_are_remembered() {
        let successes = Guesses::default().right;
        let peer = |number: u32| IpAddr::from(number.to_be_bytes());
        let note = |number| successes.note((peer(number), Scope::Publish, 7));
        note(0);
        for (success, is_known) in [
            ((peer(0), Scope::Publish, 7), true),
            ((peer(0), Scope::Admin, 7), false),
            ((peer(0), Scope::Publish, 8), false),
            ((peer(1), Scope::Publish, 7), false),
        ] {
            assert_eq!(successes.has(&success), is_known, "{success:?}");
        }
        for number in 1..SUCCESSES_MAX as u32 {
            note(number);
        }
        note(0);
        note(9_999);
        let has = |number| successes.has(&(peer(number), Scope::Publish, 7));
        assert!(has(0), "it was repeated");
        assert!(!has(1));
        assert_eq!(successes.0.lock().len(), SUCCESSES_MAX);
    }
}
