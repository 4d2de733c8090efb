//! Secure RTP: from the keys of a DTLS handshake to sealed and opened packets.
//!
//! There are two profiles with one key size: AES-128-GCM (RFC 7714) because it costs a third, and AES-128 counter mode with an
//! 80-bit HMAC-SHA1 tag (RFC 3711) because it is mandatory. All keys are expanded once; sealing and opening allocate nothing.
//!
//! Invariants: state for a source is kept only once a packet of it was authentic, and for a bounded number of sources; a packet
//! that fails changes nothing.
//!
//! A listener's worker calls [`Sealer`] for each packet. [`crate::mux`] drives [`RtcpSealer`], [`RtcpOpener`] and [`Opener`].

mod cipher;
mod index;
mod open;
mod rtcp;
mod seal;
mod sources;
#[cfg(test)]
mod tests;
mod window;

use thiserror::Error;

pub use index::Rollover;
pub use open::{Opened, Opener};
pub use rtcp::{RtcpOpener, RtcpSealer};
pub use seal::Sealer;

/// Largest number of bytes that sealing adds to an RTP packet: the tag of AES-GCM.
pub const RTP_OVERHEAD_MAX: usize = 16;

/// Largest number of bytes that sealing adds to an RTCP packet: a tag and the index.
pub const RTCP_OVERHEAD_MAX: usize = RTP_OVERHEAD_MAX + 4;

/// Protection profile, as negotiated by DTLS (RFC 5764 §4.1.2).
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Profile {
    /// `SRTP_AES128_CM_HMAC_SHA1_80`.
    Aes128CmSha1_80,
    /// `SRTP_AEAD_AES_128_GCM`.
    Aes128Gcm,
}

impl Profile {
    /// Returns the bytes of a master salt.
    pub const fn salt_len(self) -> usize {
        match self {
            Self::Aes128CmSha1_80 => 14,
            Self::Aes128Gcm => 12,
        }
    }
}

/// Bytes of a master key in either profile.
pub(crate) const KEY_LEN: usize = 16;

/// Length of the longest master salt, in bytes.
const SALT_LEN_MAX: usize = 14;

/// The master key and salt of one direction. Never printed.
#[derive(Clone, Eq, PartialEq)]
pub struct MasterKey {
    key: [u8; KEY_LEN],
    /// Salt, followed by zeros if the profile's is shorter (RFC 7714 §11).
    salt: [u8; SALT_LEN_MAX],
}

impl MasterKey {
    /// Takes a 16-byte key and a salt of the profile's length.
    pub fn new(profile: Profile, key: &[u8], salt: &[u8]) -> Result<Self, Error> {
        let key = key.try_into().map_err(|_| Error::KeyLength)?;
        if salt.len() != profile.salt_len() {
            return Err(Error::KeyLength);
        }
        let mut wide = [0; SALT_LEN_MAX];
        wide[..salt.len()].copy_from_slice(salt);
        Ok(Self { key, salt: wide })
    }
}

base::debug!(MasterKey {});

/// Result of a DTLS handshake: the protection profile, and the master keys of both directions.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Keys {
    /// Protection profile.
    pub profile: Profile,
    /// Master key that protects what we send.
    pub local: MasterKey,
    /// Master key that protects what the peer sends.
    pub remote: MasterKey,
}

impl Keys {
    /// Returns the bytes of keying material that [`Keys::from_exported`] takes.
    pub const fn exported_len(profile: Profile) -> usize {
        2 * (KEY_LEN + profile.salt_len())
    }

    /// Splits the material exported by the server's side of a DTLS handshake: client key, server key, client salt, server salt
    /// (RFC 5764 §4.2).
    pub fn from_exported(profile: Profile, material: &[u8]) -> Result<Self, Error> {
        if material.len() != Self::exported_len(profile) {
            return Err(Error::KeyLength);
        }
        let (keys, salts) = material.split_at(2 * KEY_LEN);
        let (client_key, server_key) = keys.split_at(KEY_LEN);
        let (client_salt, server_salt) = salts.split_at(profile.salt_len());
        Ok(Self {
            profile,
            local: MasterKey::new(profile, server_key, server_salt)?,
            remote: MasterKey::new(profile, client_key, client_salt)?,
        })
    }
}

/// Reason why a packet was not sealed or opened.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
pub enum Error {
    /// The packet is shorter than a header and a tag.
    #[error("the packet is too short")]
    Truncated,
    /// The packet is not RTP version 2.
    #[error("the packet is not RTP")]
    NotRtp,
    /// The RTCP packet is not encrypted.
    #[error("the RTCP packet is not encrypted")]
    Unencrypted,
    /// The packet was not made with the peer's keys, or was changed on the way.
    #[error("the packet is not authentic")]
    Forged,
    /// The packet was received before, or is too old for the replay window.
    #[error("the packet is a repetition or too old")]
    Replayed,
    /// The peer uses more sources than a session may have.
    #[error("the session has too many sources")]
    TooManySources,
    /// The caller's buffer is too small for the sealed packet.
    #[error("the buffer is too small")]
    NoRoom,
    /// The caller's key material has the wrong length.
    #[error("the key material has the wrong length")]
    KeyLength,
    /// The caller used up the indices that one key may protect.
    #[error("the key is used up")]
    KeyExhausted,
    /// The cryptographic library refused what it should take.
    #[error("the cryptographic library failed")]
    Crypto,
}
