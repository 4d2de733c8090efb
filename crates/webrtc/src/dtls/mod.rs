//! DTLS: from a peer's first record to the keys for SRTP.
//!
//! The handshake itself is `rtc-dtls`'s. Around it is what a public server needs: ICE proves an
//! address before its datagrams get here; the `hello` is read first, because the library follows
//! the client's order of SRTP profiles and ours is the other one; a `guard` bounds what a peer can
//! make the library keep; and the peer's certificate is compared with its offer.
//!
//! A peer opens the handshake, unless its offer says that it waits for ours: then we do, as a client, once ICE has
//! proved a path. `initiator` is what a client must do beyond the library.
//!
//! A [`ServerIdentity`] is made once per process. Each worker has an [`Acceptor`], each session an
//! [`Association`]. Associations are named by a [`Key`] and not by an address, so they outlive a
//! change of address. The clock is the caller's; random numbers are the library's own.

mod acceptor;
mod flight;
mod fragment;
mod guard;
mod hello;
mod identity;
mod initiator;
mod keys;
#[cfg(test)]
mod tests;

use thiserror::Error;

pub(crate) use identity::{config, self_signed};
pub(crate) use initiator::Initiator;
pub(crate) use keys::Side;

pub use acceptor::{Acceptor, Association, Key, Progress};
pub use hello::{HelloReader, OfferedProfiles};
pub use identity::ServerIdentity;

/// Why a datagram was dropped or an association ended.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
pub enum Error {
    /// The peer's first records are no ClientHello.
    #[error("the first records are not a ClientHello")]
    NotHello,
    /// The peer's ClientHello, with all its repetitions, is longer than any real one.
    #[error("the ClientHello is too long")]
    HelloTooLong,
    /// The peer sent more handshake records, or other ones, than a handshake needs.
    #[error("too many or malformed handshake records")]
    Flood,
    /// The peer offers no SRTP profile that we have.
    #[error("no common SRTP profile")]
    NoProfile,
    /// The peer gave up, or broke the protocol.
    #[error("the handshake failed")]
    Handshake,
    /// The peer was silent for longer than the handshake's repetitions last.
    #[error("the handshake timed out")]
    TimedOut,
    /// The peer's certificate is not the one its offer named.
    #[error("the certificate does not match the offer's fingerprint")]
    WrongFingerprint,
    /// Too many handshakes are under way, and this one gave way for a newer one.
    #[error("too many handshakes are under way")]
    Busy,
    /// Our side could not make a certificate or keys.
    #[error("the cryptographic library failed")]
    Crypto,
}

impl Error {
    /// Whether the association cannot continue. Otherwise only the datagram was dropped, and the
    /// peer's repetition may succeed.
    pub const fn is_fatal(self) -> bool {
        !matches!(self, Self::NotHello | Self::HelloTooLong | Self::Flood)
    }
}
