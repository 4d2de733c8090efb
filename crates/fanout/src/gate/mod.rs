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

mod permission;
mod request;

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use media::StreamName;

pub use permission::{
    Authorized, Gatekeeper, IDENTITY_BYTES_MAX, Identity, Ongoing, Revocation, Terms, Witness,
};
pub use request::{Country, Headers, Proof, Remote, Request};

/// How long a gate may take to answer: several times what an authority on another host needs at its worst, and
/// less than encoders wait before they give up.
pub const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

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
