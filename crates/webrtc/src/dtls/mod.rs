//! DTLS: from a peer's first record to the keys for SRTP.
//!
//! `rtc-dtls` performs the handshake itself. This module adds what a public server needs: ICE proves an address before its
//! datagrams get here; `hello` reads the ClientHello first, because the library follows the client's order of SRTP profiles and
//! ours is the reverse; a `guard` bounds what a peer can make the library store; and the peer's certificate is compared with
//! its offer.
//!
//! A peer opens the handshake, unless its offer says that it waits for ours. In that case we open it as a client, once ICE has
//! proved a path. `initiator` contains what a client must do beyond the library.
//!
//! A [`ServerIdentity`] is created once per process. Each worker has an [`Acceptor`], each session an [`Association`].
//! Associations are named by a [`Key`] and not by an address, so they survive a change of address. The caller supplies the
//! clock; random numbers are the library's own.

mod acceptor;
mod flight;
mod fragment;
mod guard;
mod hello;
mod identity;
mod initiator;
mod keys;
#[cfg(test)]
pub(crate) mod tests;

use thiserror::Error;

pub(crate) use identity::{config, self_signed};
pub(crate) use initiator::Initiator;
pub(crate) use keys::Side;

pub use acceptor::{Acceptor, Association, Key, Progress};
pub use hello::{HelloReader, OfferedProfiles};
pub use identity::ServerIdentity;

/// Reason why a datagram was dropped or an association ended.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
pub enum Error {
    /// The peer's first records are not a ClientHello.
    #[error("the first records are not a ClientHello")]
    NotHello,
    /// The peer's ClientHello, with all its repetitions, is longer than any real one.
    #[error("the ClientHello is too long")]
    HelloTooLong,
    /// The peer sent more handshake records than a handshake needs, or malformed ones.
    #[error("too many or malformed handshake records")]
    Flood,
    /// The peer offers no SRTP profile that we support.
    #[error("no common SRTP profile")]
    NoProfile,
    /// The peer gave up, or broke the protocol.
    #[error("the handshake failed")]
    Handshake,
    /// The peer was silent beyond the last repetition of the handshake.
    #[error("the handshake timed out")]
    TimedOut,
    /// The peer's certificate is not the one that its offer named.
    #[error("the certificate does not match the offer's fingerprint")]
    WrongFingerprint,
    /// Too many handshakes are under way, and a newer one replaced this one.
    #[error("too many handshakes are under way")]
    Busy,
    /// Our side could not create a certificate or keys.
    #[error("the cryptographic library failed")]
    Crypto,
}

impl Error {
    /// Whether the association cannot continue. Otherwise only the datagram was dropped, and the peer's repetition may succeed.
    pub const fn is_fatal(self) -> bool {
        !matches!(self, Self::NotHello | Self::HelloTooLong | Self::Flood)
    }
}
