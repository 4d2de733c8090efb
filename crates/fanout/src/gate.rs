//! Permission as a value, and how it is asked for.
//!
//! The core attaches no publisher and no listener without an [`Authorized`] value, and only the registry's
//! one [`Gatekeeper`] can make such a value. `server` owns it; ingest and egress ask through [`Gate`].
//!
//! An answer may have to come from elsewhere, so a [`Decision`] is awaited. The contract:
//!
//! * It is awaited by the task of the connection that asks, in the control plane: never while bytes are
//!   decoded, on an intake thread or on a worker. A slow authority delays that connection and no other.
//! * A gate answers within [`ANSWER_TIMEOUT`], with [`Denied::Unavailable`] if it has no answer by then.
//! * Dropping a decision withdraws the question. A connection whose peer hangs up while it waits does so.
//! * A question borrows the [`Request`], which its connection holds anyway: it costs the decision's own
//!   allocation.

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

/// How long a gate may take to answer: several times what an authority on another host needs at its worst, and
/// less than encoders wait before they give up.
pub const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// Longest identity, in bytes: a mail address or a UUID with a prefix.
pub const IDENTITY_BYTES_MAX: usize = 64;

/// Permission to do `A`, granted by the gate.
///
/// It may end. From [`until`](Self::until) on the permitted action has to stop: the drivers of publishers end
/// the publication with words; a listener that joined by [`join`](crate::join()) is removed by the registry, at its
/// first tick after that.
#[derive(Debug)]
pub struct Authorized<A> {
    action: A,
    terms: Terms,
    witness: Option<Arc<dyn Witness>>,
}

impl<A> Authorized<A> {
    /// What is permitted.
    pub fn action(&self) -> &A {
        &self.action
    }

    /// When the permission ends; `None` if it does not.
    pub fn until(&self) -> Option<Instant> {
        self.terms.until
    }

    /// Whether it has ended by now.
    pub fn is_over(&self, now: Instant) -> bool {
        self.terms.until.is_some_and(|until| until <= now)
    }

    /// The identity that was permitted, if the authority has a name for it.
    pub fn identity(&self) -> Option<&Identity> {
        self.terms.identity.as_ref()
    }

    /// Has a witness told when what is permitted goes on, and when it ends.
    #[must_use]
    pub fn witnessed(self, witness: Option<Arc<dyn Witness>>) -> Self {
        Self { witness, ..self }
    }

    /// To be called when what is permitted begins, by what does it, which keeps the permit until it ends. `None` if no
    /// one is to be told.
    pub fn begin(&self, ongoing: Ongoing) -> Option<Permit> {
        let witness = self.witness.as_ref();
        witness.map(|witness| witness.begin(ongoing))
    }
}

impl Authorized<Play> {
    /// The permission, if it is for this stream: the gate may have answered with another one. For callers that serve
    /// what they were asked for or nothing.
    ///
    /// # Errors
    /// [`Denied::Wrong`] when it is for another one.
    pub fn only_for(self, stream: &StreamName) -> Result<Self, Denied> {
        match self.action.stream == *stream {
            true => Ok(self),
            false => Err(Denied::Wrong),
        }
    }
}

/// Tells an authority of what it has permitted. A permission that comes to nothing, because there is no such stream, is not
/// told of.
pub trait Witness: fmt::Debug + Send + Sync {
    /// What is permitted begins, and ends when the last copy of the permit is dropped, on any thread.
    fn begin(&self, ongoing: Ongoing) -> Permit;
}

/// What goes on with a permission, and how it can be ended before its time.
#[derive(Clone, Debug)]
pub enum Ongoing {
    /// A listener: by [`Directory::end_permission`](crate::Directory::end_permission).
    Listener(ListenerId),
    /// A publication.
    Publication(Revocation),
    /// What a listener is told beside what it hears, on another connection. It ends with the permission, and is no listener.
    Beside(Revocation),
}

/// Ends a permission before its time. Copies are one.
#[derive(Clone, Debug, Default)]
pub struct Revocation(Arc<Revoked>);

#[derive(Debug, Default)]
struct Revoked {
    is_over: AtomicBool,
    waiting: Notify,
}

impl Revocation {
    /// The permission ends now.
    pub fn revoke(&self) {
        self.0.is_over.store(true, Ordering::Release);
        self.0.waiting.notify_waiters();
    }

    /// Whether it has ended.
    pub fn is_revoked(&self) -> bool {
        self.0.is_over.load(Ordering::Acquire)
    }

    /// Waits until it ends; for ever, where it does not.
    pub async fn revoked(&self) {
        let mut waiting = pin!(self.0.waiting.notified());
        // From here on no end is missed.
        waiting.as_mut().enable();
        if !self.is_revoked() {
            waiting.await;
        }
    }
}

/// On which terms a permission is granted.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Terms {
    /// When it ends; `None` if it does not.
    pub until: Option<Instant>,
    /// The identity that it was granted to.
    pub identity: Option<Identity>,
}

/// What an authority calls a client: the name of a key, a user, a subject. Shown to the operator; no metric
/// label, because there may be any number of them.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Identity(Arc<str>);

impl Identity {
    /// `None` if the text is empty, longer than [`IDENTITY_BYTES_MAX`] or holds a control character.
    pub fn new(text: &str) -> Option<Self> {
        let length = 1..=IDENTITY_BYTES_MAX;
        let is_fit = length.contains(&text.len()) && !text.contains(char::is_control);
        is_fit.then(|| Self(text.into()))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Makes [`Authorized`] values. There is one for each registry, and it cannot be copied.
#[derive(Debug)]
pub struct Gatekeeper(());

impl Gatekeeper {
    pub(crate) fn new() -> Self {
        Self(())
    }

    /// Permits `action` without end, to no peer in particular. To be called in one place: after the credentials
    /// were checked.
    pub fn authorize<A>(&self, action: A) -> Authorized<A> {
        self.grant(action, Terms::default())
    }

    /// Permits `action` on terms. To be called where [`authorize`](Self::authorize) is.
    pub fn grant<A>(&self, action: A, terms: Terms) -> Authorized<A> {
        Authorized {
            action,
            terms,
            witness: None,
        }
    }
}

/// Tells credentials apart without holding them; equal credentials have equal values.
///
/// A stream may have several keys. Each is a credential of its own: "the same credential takes over" means
/// the same key, and a publisher with another key of the stream waits until the present one has stalled.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Credential(pub u64);

impl Credential {
    /// A publisher that gives way at once to every other one that may publish the stream, whatever its key and the
    /// condition for takeovers, and takes the stream from none.
    pub const YIELDS: Self = Self(0);
}

/// To publish a stream.
#[derive(Clone, Debug)]
pub struct Publish {
    /// Which stream.
    pub stream: StreamName,
    /// With which credential; decides on takeover.
    pub credential: Credential,
}

/// To listen to a stream.
#[derive(Clone, Debug)]
pub struct Play {
    /// Which stream.
    pub stream: StreamName,
}

/// To change a running stream's metadata.
#[derive(Clone, Debug)]
pub struct UpdateMetadata {
    /// Which stream.
    pub stream: StreamName,
}

/// What a gate is asked for.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Action {
    /// See [`Publish`].
    Publish,
    /// See [`Play`].
    Play,
    /// See [`UpdateMetadata`].
    UpdateMetadata,
}

/// Where a client connects from, as the port that it has reached knows it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Remote {
    /// Its address.
    pub peer: SocketAddr,
    /// Its country, by the word of a proxy that may say so.
    pub country: Option<Country>,
}

/// A client of which only the address is known.
impl From<SocketAddr> for Remote {
    fn from(peer: SocketAddr) -> Self {
        Self {
            peer,
            country: None,
        }
    }
}

/// A country by its code of two letters (ISO 3166-1), or one of those that geolocation adds to them, such as `T1`.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Country([u8; 2]);

impl Country {
    /// `None` if the text is no code. Case does not matter.
    pub fn new(text: &str) -> Option<Self> {
        let code: [u8; 2] = text.as_bytes().try_into().ok()?;
        let is_code = code[0].is_ascii_alphabetic() && code[1].is_ascii_alphanumeric();
        is_code.then(|| Self(code.map(|byte| byte.to_ascii_uppercase())))
    }
}

/// What a client wants of a stream, and what it presents. All texts are untrusted.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// Which stream.
    pub stream: &'a StreamName,
    /// Its protocol: `rtmp`, `icecast`, `whip`, `http`, `webrtc`; the label in the metrics.
    pub protocol: &'static str,
    /// Where it connects from.
    pub peer: SocketAddr,
    /// The country that it connects from, by the word of a proxy that may say so.
    pub country: Option<Country>,
    /// The name of its program; empty if it does not say.
    pub agent: &'a str,
    /// The address of the page that sent it here; empty if it does not say.
    pub referer: &'a str,
    /// The user name, where the protocol has one.
    pub user: Option<&'a str>,
    /// The password that belongs to it.
    pub password: Option<&'a str>,
    /// A bearer token, or the key in the address.
    pub token: Option<&'a str>,
    /// The query of the address as it was sent, without the question mark. It may hold a key.
    pub query: &'a str,
    /// Proof that it knows a password, without the password.
    pub proof: Option<&'a dyn Proof>,
    /// The headers of its request, where its protocol has some.
    pub headers: Option<&'a dyn Headers>,
}

impl<'a> Request<'a> {
    /// A request that presents nothing.
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

    /// The secret that it presents: its token, else its password. An empty one is none.
    pub fn secret(&self) -> Option<&'a str> {
        let mut secrets = [self.token, self.password].into_iter().flatten();
        secrets.find(|secret| !secret.is_empty())
    }
}

/// Shows the client and its request, and nothing that may be secret.
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

/// The answer to a challenge.
pub trait Proof: Send + Sync {
    /// Whether the answer was made with `secret`. Takes the same time whatever the secret is.
    fn verifies(&self, secret: &str) -> bool;
}

/// The headers of a request. Untrusted texts.
pub trait Headers: Sync {
    /// The value of the first one of that name, whatever its case.
    fn header(&self, name: &str) -> Option<&str>;
}

impl fmt::Debug for dyn Proof + '_ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Proof")
    }
}

/// By what a client is told from those that may connect.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Excluded {
    /// Where it connects from.
    #[error("not from this address")]
    Address,
    /// What its program calls itself.
    #[error("not with this program")]
    Agent,
    /// The page that sent it here.
    #[error("not from this page")]
    Referer,
    /// Where it connects from, or that this is not known.
    #[error("not from this country")]
    Country,
}

/// Why the gate denies a request. The protocol's driver turns it into the protocol's words.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Denied {
    /// No credential was presented; some clients try that first and then again with one.
    #[error("a credential is required")]
    Missing,
    /// The credential is wrong.
    #[error("the credential is wrong")]
    Wrong,
    /// The credential is right, and not for this: it has expired, or is for something else. Not a guess.
    #[error("the credential has expired, or is for something else")]
    Unfit,
    /// As many others use the credential as may at a time, and one of them has come in place of this client. Not a guess.
    #[error("as many players as may use this credential at a time")]
    InUse,
    /// Clients like this one are not let in, whatever they present. Not a guess.
    #[error("{0}")]
    Excluded(Excluded),
    /// Too many wrong credentials came from that address recently.
    #[error("too many failed attempts from this address")]
    TooManyAttempts,
    /// The authority has not answered in time, or cannot be reached.
    #[error("it could not be found out whether this is permitted; try again later")]
    Unavailable,
}

/// An answer of the gate that is awaited.
pub type Decision<'a, A> = Pin<Box<dyn Future<Output = Result<Authorized<A>, Denied>> + Send + 'a>>;

/// Decides who may do what; there is one. The module's description has the contract of callers and
/// implementations.
///
/// A permission may be for another stream than the one that was asked for, which the authority has it stand for: what
/// is permitted is what the permission's action says.
///
/// Each decision fails with [`Denied`] when the request does not prove the right to the action.
pub trait Gate: Send + Sync {
    /// Whether a client may publish.
    fn publish<'a>(&'a self, request: &'a Request<'a>) -> Decision<'a, Publish>;

    /// Whether a client may listen.
    fn play<'a>(&'a self, request: &'a Request<'a>) -> Decision<'a, Play>;

    /// Whether a client may set a stream's metadata.
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
