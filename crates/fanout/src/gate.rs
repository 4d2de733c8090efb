//! Permission as a value.
//!
//! The core attaches nobody without an [`Authorized`] value, and only the registry's one
//! [`Gatekeeper`] can make such a value. `server` owns it; ingest and egress ask through [`Gate`].

use std::net::SocketAddr;

use media::StreamName;

/// Permission to do `A`, granted by the gate.
#[derive(Debug)]
pub struct Authorized<A> {
    action: A,
}

impl<A> Authorized<A> {
    /// What is permitted.
    pub fn action(&self) -> &A {
        &self.action
    }
}

/// Makes [`Authorized`] values. There is one for each registry, and it cannot be copied.
#[derive(Debug)]
pub struct Gatekeeper(());

impl Gatekeeper {
    pub(crate) fn new() -> Self {
        Self(())
    }

    /// Permits `action`. To be called in one place: after the credentials were checked.
    pub fn authorize<A>(&self, action: A) -> Authorized<A> {
        Authorized { action }
    }
}

/// Tells credentials apart without holding them; equal credentials have equal values.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Credential(pub u64);

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

/// What a client presents in order to publish, listen or administer.
#[derive(Clone, Debug)]
pub struct Presented<'a> {
    /// Where it connects from.
    pub peer: SocketAddr,
    /// The user name, where the protocol has one.
    pub user: Option<&'a str>,
    /// The key or password.
    pub secret: Option<&'a str>,
    /// What shows that it knows a password without telling it.
    pub proof: Option<&'a dyn Proof>,
}

/// The answer to a challenge.
pub trait Proof: Send + Sync {
    /// Whether whoever answered knew `secret`. Takes the same time whatever the secret is.
    fn verifies(&self, secret: &str) -> bool;
}

impl std::fmt::Debug for dyn Proof + '_ {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Proof")
    }
}

/// Why the gate says no. The protocol's driver turns it into the protocol's words.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Denied {
    /// No credential was presented; some clients try that first and then again with one.
    #[error("a credential is required")]
    Missing,
    /// The credential is wrong.
    #[error("the credential is wrong")]
    Wrong,
    /// Too many wrong credentials came from that address lately.
    #[error("too many failed attempts from this address")]
    TooManyAttempts,
}

/// The one place that decides who may do what.
pub trait Gate: Send + Sync {
    /// # Errors
    /// When the credential does not permit publishing `stream`.
    fn publish(
        &self,
        stream: &StreamName,
        presented: &Presented<'_>,
    ) -> Result<Authorized<Publish>, Denied>;

    /// # Errors
    /// When the credential does not permit listening to `stream`.
    fn play(
        &self,
        stream: &StreamName,
        presented: &Presented<'_>,
    ) -> Result<Authorized<Play>, Denied>;

    /// # Errors
    /// When the credential does not permit setting the metadata of `stream`.
    fn update_metadata(
        &self,
        stream: &StreamName,
        presented: &Presented<'_>,
    ) -> Result<Authorized<UpdateMetadata>, Denied>;
}
