//! Authorities, which decide on permissions, and the limits on their answers.
//!
//! The gate asks one [`Authority`], and does what is common to all: it bounds the time of an answer and limits guesses. The
//! built-in authority is [`Keys`](crate::keys::Keys), or with a hook [`Hooked`](crate::hook::Hooked). An authority may ask
//! another host. Its answer is dropped if the client disconnects first.
//!
//! [`Guesses`] counts wrong secrets, which use up a small allowance per address and kind of action. While it is used up, no
//! credential that the address presents for that kind is accepted, so guessing gains nothing; and no costly check is made, so
//! guessing takes nothing from others. One exception: a credential that was right from that address before is still checked and
//! accepted. Code that is about to spend time on a secret (a hash, a signature, a question to a hook) asks here first.

use std::borrow::Cow;
use std::fmt;
use std::hash::Hash;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use base::shares::network;
use base::{Bounded, Lock};
use fanout::ListenerId;
use fanout::gate::{Action, Credential, Denied, Ongoing, Request, Terms, Witness};
use hmac::{Hmac, KeyInit, Mac};
use limits::Allowances;
use media::StreamName;
use sha2::Sha256;

use crate::proof::Scope;

/// Wrong credentials an address may present in a row for one kind of action. Enough for a person who tries all passwords they
/// know, or a source client that retries while its operator looks for the key.
const ALLOWANCE: u32 = 20;

/// Time until one more wrong credential is allowed. A guessing script gets 43,200 per day for each kind, of 2¹⁴⁴.
const REFILL: Duration = Duration::from_secs(2);

/// Most successes remembered, some 64 KiB. Only a right credential adds one, so an attacker cannot flush them.
const SUCCESSES_MAX: usize = 1_024;

/// Permission by an authority. By default it has no credential, end or identity.
#[derive(Clone, Debug, Default)]
pub struct Grant {
    /// Credential that was presented; `None` if none was needed. For publishers it decides on takeover: an equal credential
    /// means that the same publisher is reconnecting.
    pub credential: Option<Credential>,
    /// Fingerprint of the presented secret if `credential` is not that; it is remembered as right.
    pub presented: Option<Credential>,
    /// End of the permission, and identity of the client.
    pub terms: Terms,
    /// Stream that is permitted, if different from the requested one.
    pub stream: Option<StreamName>,
    /// Observer that is notified when the permitted activity begins and ends.
    pub witness: Option<Arc<dyn Witness>>,
}

impl Grant {
    /// Returns the permitted stream, which may differ from the requested one.
    pub(crate) fn stream(&self, request: &Request<'_>) -> StreamName {
        self.stream.as_ref().unwrap_or(request.stream).clone()
    }

    /// Makes a grant without a credential, an end or an identity.
    pub fn to_all() -> Self {
        Self::default()
    }
}

/// Future of an authority's answer. Dropping it cancels the question.
pub type Verdict<'a> = Pin<Box<dyn Future<Output = Result<Grant, Denied>> + Send + 'a>>;

/// Authority that decides what a client may do.
pub trait Authority: fmt::Debug + Send + Sync {
    /// Decides whether a client may do something. [`Denied::Missing`], [`Denied::Wrong`] and [`Denied::Unfit`] concern what it
    /// presents, and only `Wrong` counts as a guess; [`Denied::Unavailable`] is the authority's own failure.
    fn decide<'a>(&'a self, action: Action, request: &'a Request<'a>) -> Verdict<'a>;
}

/// Keyed hash that makes credentials from secrets: equal ones from equal secrets, within this process.
#[derive(Clone)]
pub(crate) struct Fingerprints {
    /// Random hash key, so that credentials reveal nothing about the secret.
    key: [u8; 32],
}

impl Fingerprints {
    /// Picks a random hash key.
    ///
    /// # Errors
    /// Fails when the system has no random bytes.
    pub(crate) fn new() -> Result<Self, getrandom::Error> {
        let mut key = [0; 32];
        getrandom::fill(&mut key)?;
        Ok(Self { key })
    }

    /// Returns the digest of a key's hash and a secret that was compared with it.
    pub(crate) fn of_pair(&self, hash: &str, secret: &str) -> [u8; 32] {
        // A hash has no line breaks.
        self.digest(&[hash, "\n", secret])
    }

    /// Returns the digest of a verified token.
    pub(crate) fn of_token(&self, token: &str) -> [u8; 32] {
        self.digest(&[token])
    }

    /// Returns one credential for everything a client presents, for a caller that does not know which part counts: its secrets,
    /// or the arguments of its address if it has none; `None` if it presents nothing.
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

    /// Returns the credential of a secret; never [`Credential::YIELDS`].
    pub(crate) fn of(&self, secret: &str) -> Credential {
        credential(self.digest(&[secret]))
    }
}

fn credential(digest: [u8; 32]) -> Credential {
    let id = u64::from_be_bytes(std::array::from_fn(|at| digest[at]));
    Credential(id.max(Credential::YIELDS.0 + 1))
}

base::debug!(Fingerprints {});

/// Returns the name and password of a request: from its protocol, or else from the address, because RTMP players name no user
/// unless they are challenged in a way that takes the password itself.
pub(crate) fn name_and_password<'a>(request: &Request<'a>) -> Option<(Cow<'a, str>, Cow<'a, str>)> {
    if let (Some(user), Some(password)) = (request.user, request.password) {
        return Some((user.into(), password.into()));
    }
    let query = http1::Query::new(request.query.as_bytes());
    Some((query.get("user")?.into(), query.get("pass")?.into()))
}

/// Converts the end of a permission to the monotonic clock, which continues when the system clock is set.
///
/// # Errors
/// [`Denied::Unfit`] if the end has passed.
pub(crate) fn moment(expires: SystemTime, now: SystemTime) -> Result<Instant, Denied> {
    let left = expires.duration_since(now).ok();
    let left = left.filter(|left| !left.is_zero()).ok_or(Denied::Unfit)?;
    let far = Instant::now() + Duration::from_secs(FAR_SECONDS);
    Ok(Instant::now()
        .checked_add(left)
        .map_or(far, |end| end.min(far)))
}

/// Furthest end, in seconds: ten years, within which the server is restarted. Later ends are moved here.
const FAR_SECONDS: u64 = 10 * 366 * 24 * 3600;

/// Origin and purpose of a presented secret, for code about to spend time on it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tried<'a> {
    pub(crate) peer: IpAddr,
    pub(crate) scope: Scope,
    pub(crate) guesses: &'a Guesses,
}

impl Tried<'_> {
    /// Whether its address has no guess left, so that nothing is spent on the secret.
    pub(crate) fn is_limited(self) -> bool {
        self.guesses.are_used_up(self.peer, self.scope)
    }
}

/// Guesses and remembered right credentials of each address.
///
/// Allowances are per scope: an encoder that retries with an old key must not lock out the operator who is about to correct it.
#[derive(Debug)]
pub(crate) struct Guesses {
    /// Allowances of the networks that presented a wrong credential lately.
    wrong: Allowances<(IpAddr, Scope)>,
    right: Remembered<Success>,
    /// Right credentials of listeners, kept apart because an audience would push out the few others.
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

    /// Returns whether to check what an address presents: it has a guess left, or this credential was right before.
    pub(crate) fn may_try(&self, peer: IpAddr, scope: Scope, presented: Credential) -> bool {
        let success = (network(peer), scope, presented.0);
        !self.are_used_up(peer, scope) || self.successes(scope).has(&success)
    }

    /// Counts a wrong answer, and refuses even a right one after too many wrong ones. The allowance is checked when the answer
    /// arrives, so that concurrent guesses are worth no more than as many in a row.
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

/// Right credential, with its network. It does not age: an encoder's connection may last for weeks before it has to reconnect.
type Success = (IpAddr, Scope, u64);

/// Bounded set of what was right. When full, the entry whose last repetition is oldest is dropped.
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

/// Ends ongoing sessions whose permission is over.
#[derive(Clone)]
pub(crate) struct Ender(Arc<dyn Fn(ListenerId) + Send + Sync>);

base::debug!(Ender {});

impl Ender {
    /// Makes one that ends listeners by calling `listener`.
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
