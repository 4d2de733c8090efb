//! Permission as a value, and the requests for it.
//!
//! The core attaches no publisher and no listener without an [`Authorized`] value, and only the registry's one
//! [`Gatekeeper`] can make such a value. `server` owns it; ingest and egress send their requests through [`Gate`].
//!
//! A decision may have to come from elsewhere, so a [`Decision`] is awaited. The contract:
//!
//! * The task of the requesting connection awaits it, in the control plane: never while bytes are decoded, on an intake
//!   thread or on a worker. A slow authority delays that connection and no other.
//! * A gate decides within [`ANSWER_TIMEOUT`], with [`Denied::Unavailable`] if it has no answer by then.
//! * Dropping a decision withdraws the request. A connection whose peer hangs up while it waits does so.
//! * A decision borrows the [`Request`], which its connection holds anyway: the only allocation is the decision's own.

use std::fmt;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use media::StreamName;
use tokio::sync::Notify;

use crate::directory::Permit;
use crate::listener::ListenerId;

/// Time limit of a gate's decision: several times what an authority on another host needs at its worst, and less than
/// encoders wait before they give up.
pub const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// Longest identity, in bytes: an e-mail address or a UUID with a prefix.
pub const IDENTITY_BYTES_MAX: usize = 64;

/// Permission to do `A`, granted by the gate.
///
/// A permission may expire. From [`until`](Self::until) on the permitted action has to stop: the drivers of publishers
/// end the publication with a message of their protocol; a listener that joined by [`join`](crate::join()) is removed
/// by the registry, at its first tick after that.
#[derive(Debug)]
pub struct Authorized<A> {
    action: A,
    terms: Terms,
    witness: Option<Arc<dyn Witness>>,
}

impl<A> Authorized<A> {
    /// Returns the permitted action.
    pub fn action(&self) -> &A {
        &self.action
    }

    /// Returns the time at which the permission expires; `None` if it does not.
    pub fn until(&self) -> Option<Instant> {
        self.terms.until
    }

    /// Whether the permission has expired.
    pub fn is_over(&self, now: Instant) -> bool {
        self.terms.until.is_some_and(|until| until <= now)
    }

    /// Returns the identity that was permitted, if the authority has a name for it.
    pub fn identity(&self) -> Option<&Identity> {
        self.terms.identity.as_ref()
    }

    /// Sets the witness that is notified when the permitted action begins and ends.
    #[must_use]
    pub fn witnessed(self, witness: Option<Arc<dyn Witness>>) -> Self {
        Self { witness, ..self }
    }

    /// Notifies the witness that the permitted action begins. The caller keeps the permit until the action ends; `None`
    /// if there is no witness.
    pub fn begin(&self, ongoing: Ongoing) -> Option<Permit> {
        let witness = self.witness.as_ref();
        witness.map(|witness| witness.begin(ongoing))
    }
}

impl Authorized<Play> {
    /// Returns the permission if it is for this stream; the gate may have redirected the request. For callers that
    /// serve the requested stream or none.
    ///
    /// # Errors
    /// Returns [`Denied::Wrong`] when the permission is for another stream.
    pub fn only_for(self, stream: &StreamName) -> Result<Self, Denied> {
        match self.action.stream == *stream {
            true => Ok(self),
            false => Err(Denied::Wrong),
        }
    }
}

/// Notifies an authority of the actions it has permitted. It is not notified of a permission that comes to nothing
/// because there is no such stream.
pub trait Witness: fmt::Debug + Send + Sync {
    /// Reports that a permitted action begins; it ends when the last copy of the permit is dropped, on any thread.
    fn begin(&self, ongoing: Ongoing) -> Permit;
}

/// A permitted action in progress, with the means to end it early.
#[derive(Clone, Debug)]
pub enum Ongoing {
    /// A listener, ended by [`Directory::end_permission`](crate::Directory::end_permission).
    Listener(ListenerId),
    /// A publication.
    Publication(Revocation),
    /// Another connection that sends a listener data beside its media. It ends with the permission, and is no listener.
    Beside(Revocation),
}

/// Ends a permission early. Copies share their state.
#[derive(Clone, Debug, Default)]
pub struct Revocation(Arc<Revoked>);

#[derive(Debug, Default)]
struct Revoked {
    is_over: AtomicBool,
    waiting: Notify,
}

impl Revocation {
    /// Ends the permission now.
    pub fn revoke(&self) {
        self.0.is_over.store(true, Ordering::Release);
        self.0.waiting.notify_waiters();
    }

    /// Whether the permission has ended.
    pub fn is_revoked(&self) -> bool {
        self.0.is_over.load(Ordering::Acquire)
    }

    /// Waits until the permission ends; for ever, if it never does.
    pub async fn revoked(&self) {
        let mut waiting = pin!(self.0.waiting.notified());
        // No end is missed from here on.
        waiting.as_mut().enable();
        if !self.is_revoked() {
            waiting.await;
        }
    }
}

/// Terms of a permission.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Terms {
    /// Time at which it expires; `None` if it does not.
    pub until: Option<Instant>,
    /// Identity that it was granted to.
    pub identity: Option<Identity>,
}

/// An authority's name for a client: of a key, a user, a subject. Shown to the operator; no metric label, because there
/// may be any number of them.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Identity(Arc<str>);

impl Identity {
    /// Creates an identity; `None` if the text is empty, longer than [`IDENTITY_BYTES_MAX`] or contains a control
    /// character.
    pub fn new(text: &str) -> Option<Self> {
        let length = 1..=IDENTITY_BYTES_MAX;
        let is_fit = length.contains(&text.len()) && !text.contains(char::is_control);
        is_fit.then(|| Self(text.into()))
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Maker of [`Authorized`] values. There is one for each registry, and it cannot be copied.
#[derive(Debug)]
pub struct Gatekeeper(());

impl Gatekeeper {
    pub(crate) fn new() -> Self {
        Self(())
    }

    /// Permits `action` for good, to no peer in particular. To be called in one place: after the credentials were
    /// checked.
    pub fn authorize<A>(&self, action: A) -> Authorized<A> {
        self.grant(action, Terms::default())
    }

    /// Permits `action` on terms. To be called only where [`authorize`](Self::authorize) is.
    pub fn grant<A>(&self, action: A, terms: Terms) -> Authorized<A> {
        Authorized {
            action,
            terms,
            witness: None,
        }
    }
}

/// Distinguishes credentials without holding them; equal credentials have equal values.
///
/// A stream may have several keys. Each is a credential of its own: "the same credential takes over" means the same
/// key, and a publisher with another key of the stream waits until the current one has stalled.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Credential(pub u64);

impl Credential {
    /// Credential of a publisher that gives way at once to any other that may publish the stream, whatever its key and
    /// the rule for takeovers, and that takes the stream from none.
    pub const YIELDS: Self = Self(0);
}

/// The action of publishing a stream.
#[derive(Clone, Debug)]
pub struct Publish {
    /// Name of the stream.
    pub stream: StreamName,
    /// Credential of the publisher; decides on takeover.
    pub credential: Credential,
}

/// The action of listening to a stream.
#[derive(Clone, Debug)]
pub struct Play {
    /// Name of the stream.
    pub stream: StreamName,
}

/// The action of changing a running stream's metadata.
#[derive(Clone, Debug)]
pub struct UpdateMetadata {
    /// Name of the stream.
    pub stream: StreamName,
}

/// Kind of a requested action.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Action {
    /// Publish a stream; see [`Publish`].
    Publish,
    /// Listen to a stream; see [`Play`].
    Play,
    /// Change a stream's metadata; see [`UpdateMetadata`].
    UpdateMetadata,
}

/// Origin of a client, as known to the port that it has reached.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Remote {
    /// Its address.
    pub peer: SocketAddr,
    /// Its country, if a trusted proxy reports it.
    pub country: Option<Country>,
}

/// Creates the origin of a client of which only the address is known.
impl From<SocketAddr> for Remote {
    fn from(peer: SocketAddr) -> Self {
        Self {
            peer,
            country: None,
        }
    }
}

/// A country by its code of two letters (ISO 3166-1), or a code that geolocation adds to these, such as `T1`.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Country([u8; 2]);

impl Country {
    /// Creates a country; `None` if the text is no code. Case does not matter.
    pub fn new(text: &str) -> Option<Self> {
        let code: [u8; 2] = text.as_bytes().try_into().ok()?;
        let is_code = code[0].is_ascii_alphabetic() && code[1].is_ascii_alphanumeric();
        is_code.then(|| Self(code.map(|byte| byte.to_ascii_uppercase())))
    }
}

/// A client's request to the gate, with everything it presents. All texts are untrusted.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// Name of the stream.
    pub stream: &'a StreamName,
    /// Its protocol, as the label in the metrics: `rtmp`, `icecast`, `whip`, `http`, `webrtc`.
    pub protocol: &'static str,
    /// Address it connects from.
    pub peer: SocketAddr,
    /// Country it connects from, if a trusted proxy reports it.
    pub country: Option<Country>,
    /// Name of its program; empty if it sends none.
    pub agent: &'a str,
    /// Address of the page that referred it here; empty if it sends none.
    pub referer: &'a str,
    /// User name, if the protocol has one.
    pub user: Option<&'a str>,
    /// Password that belongs to the user name.
    pub password: Option<&'a str>,
    /// Bearer token, or the key in the address.
    pub token: Option<&'a str>,
    /// Query of the address as it was sent, without the question mark. It may hold a key.
    pub query: &'a str,
    /// Proof that it knows a password, without the password.
    pub proof: Option<&'a dyn Proof>,
    /// Headers of its request, if its protocol has any.
    pub headers: Option<&'a dyn Headers>,
}

impl<'a> Request<'a> {
    /// Creates a request that presents nothing.
    pub fn new(stream: &'a StreamName, protocol: &'static str, remote: impl Into<Remote>) -> Self {
        let Remote { peer, country } = remote.into();
        Self {
            stream,
            protocol,
            peer,
            country,
            agent: "",
            referer: "",
            user: None,
            password: None,
            token: None,
            query: "",
            proof: None,
            headers: None,
        }
    }

    /// Returns the secret that it presents: its token, else its password. An empty one counts as none.
    pub fn secret(&self) -> Option<&'a str> {
        let mut secrets = [self.token, self.password].into_iter().flatten();
        secrets.find(|secret| !secret.is_empty())
    }
}

/// Formats the client and its request, and nothing that may be secret.
impl fmt::Debug for Request<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("stream", self.stream)
            .field("protocol", &self.protocol)
            .field("peer", &self.peer)
            .field("country", &self.country)
            .field("agent", &self.agent)
            .field("referer", &self.referer)
            .field("user", &self.user)
            .finish_non_exhaustive()
    }
}

/// A client's response to a challenge.
pub trait Proof: Send + Sync {
    /// Whether the answer was made with `secret`. Takes the same time whatever the secret is.
    fn verifies(&self, secret: &str) -> bool;
}

/// Headers of a request. Untrusted texts.
pub trait Headers: Sync {
    /// Returns the value of the first header of that name, whatever its case.
    fn header(&self, name: &str) -> Option<&str>;
}

impl fmt::Debug for dyn Proof + '_ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Proof")
    }
}

/// Property by which a client is excluded.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Excluded {
    /// Its address.
    #[error("not from this address")]
    Address,
    /// The name of its program.
    #[error("not with this program")]
    Agent,
    /// The page that referred it here.
    #[error("not from this page")]
    Referer,
    /// Its country, or the fact that its country is not known.
    #[error("not from this country")]
    Country,
}

/// Reasons why the gate denies a request. The protocol's driver expresses them in the protocol's terms.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Denied {
    /// No credential was presented; some clients try that first and then again with one.
    #[error("a credential is required")]
    Missing,
    /// The credential is wrong.
    #[error("the credential is wrong")]
    Wrong,
    /// The credential is right, but not for this request: it has expired, or is for something else. Not a guess.
    #[error("the credential has expired, or is for something else")]
    Unfit,
    /// As many clients use the credential as may at a time, and one of them has taken this client's place. Not a guess.
    #[error("as many players as may use this credential at a time")]
    InUse,
    /// Clients like this one are excluded, whatever they present. Not a guess.
    #[error("{0}")]
    Excluded(Excluded),
    /// Too many wrong credentials came from that address recently.
    #[error("too many failed attempts from this address")]
    TooManyAttempts,
    /// The authority has not answered in time, or cannot be reached.
    #[error("it could not be found out whether this is permitted; try again later")]
    Unavailable,
}

/// The gate's pending decision.
pub type Decision<'a, A> = Pin<Box<dyn Future<Output = Result<Authorized<A>, Denied>> + Send + 'a>>;

/// Decides who may do what; there is one. The module's description has the contract of callers and implementations.
///
/// The authority may redirect a request: its permission then names another stream than the request did. Only the
/// permission's action says what is permitted.
///
/// Each decision fails with [`Denied`] when the request does not prove the right to the action.
pub trait Gate: Send + Sync {
    /// Decides whether a client may publish.
    fn publish<'a>(&'a self, request: &'a Request<'a>) -> Decision<'a, Publish>;

    /// Decides whether a client may listen.
    fn play<'a>(&'a self, request: &'a Request<'a>) -> Decision<'a, Play>;

    /// Decides whether a client may set a stream's metadata.
    fn update_metadata<'a>(&'a self, request: &'a Request<'a>) -> Decision<'a, UpdateMetadata>;
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn identities_are_short_and_plain() {
        let longest = "x".repeat(IDENTITY_BYTES_MAX);
        for (text, is_fit) in [
            ("studio", true),
            ("Ünder the böll", true),
            (&*longest, true),
            ("", false),
            ("two\nlines", false),
            (&*format!("{longest}x"), false),
        ] {
            let identity = Identity::new(text);
            assert_eq!(
                identity.as_ref().map(Identity::as_str),
                is_fit.then_some(text)
            );
        }
    }

    #[test]
    fn a_request_shows_no_secret_and_takes_its_token_first() {
        let stream = StreamName::parse("live/show").expect("a name");
        let peer = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
        let request = Request {
            user: Some("source"),
            password: Some("open-sesame"),
            token: Some("bearer-42"),
            query: "key=query-43",
            ..Request::new(&stream, "rtmp", peer)
        };
        let shown = format!("{request:?}");
        for secret in ["sesame", "bearer", "query-43"] {
            assert!(!shown.contains(secret), "{shown}");
        }
        assert!(
            shown.contains("live/show") && shown.contains("source"),
            "{shown}"
        );
        assert_eq!(request.secret(), Some("bearer-42"));
        let token = |token| Request { token, ..request };
        assert_eq!(token(None).secret(), Some("open-sesame"));
        assert_eq!(token(Some("")).secret(), Some("open-sesame"));
        assert_eq!(Request::new(&stream, "http", peer).secret(), None);
    }

    #[test]
    fn countries_are_codes() {
        assert_eq!(Country::new("de"), Country::new("DE"));
        assert_ne!(Country::new("DE"), Country::new("AT"));
        for (text, is_one) in [
            ("T1", true),
            ("xx", true),
            ("", false),
            ("D", false),
            ("DEU", false),
            ("1A", false),
            ("Ä", false),
            ("d e", false),
        ] {
            assert_eq!(Country::new(text).is_some(), is_one, "{text}");
        }
    }

    #[test]
    fn permissions_end_when_their_terms_say() {
        let keeper = Gatekeeper::new();
        let now = Instant::now();
        let forever = keeper.authorize(());
        assert!(!forever.is_over(now) && forever.until().is_none());
        let until = now + Duration::from_secs(60);
        let identity = Identity::new("studio");
        let terms = Terms {
            until: Some(until),
            identity: identity.clone(),
        };
        let bounded = keeper.grant((), terms);
        assert!(!bounded.is_over(now) && bounded.is_over(until));
        assert_eq!(bounded.identity(), identity.as_ref());
    }

    #[tokio::test]
    async fn a_permission_is_revoked_for_those_who_wait_and_those_who_come_later() {
        let revocation = Revocation::default();
        assert!(!revocation.is_revoked());
        let other = revocation.clone();
        let waiting = tokio::spawn(async move { other.revoked().await });
        tokio::task::yield_now().await;
        revocation.revoke();
        waiting.await.expect("no panic");
        revocation.revoked().await;
        assert!(revocation.is_revoked());
    }
}
