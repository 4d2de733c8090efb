//! Secure RTP: from the keys of a DTLS handshake to sealed and opened packets.
//!
//! Two profiles, one key size: AES-128-GCM (RFC 7714) because it costs a third, and AES-128 counter
//! mode with an 80-bit HMAC-SHA1 tag (RFC 3711) because it is mandatory. All keys are expanded
//! once; sealing and opening allocate nothing.
//!
//! Invariants: state for a source is kept only once a packet of it was authentic, and for a bounded
//! number of sources; a packet that fails changes nothing.
//!
//! [`Sealer`] is what a listener's worker calls per packet. [`RtcpSealer`], [`RtcpOpener`] and
//! [`Opener`] are driven by [`crate::mux`].

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

/// The most bytes that sealing adds to an RTP packet: the tag of AES-GCM.
pub const RTP_OVERHEAD_MAX: usize = 16;

/// The most bytes that sealing adds to an RTCP packet: a tag and the index.
pub const RTCP_OVERHEAD_MAX: usize = RTP_OVERHEAD_MAX + 4;

/// How packets are protected, as negotiated by DTLS (RFC 5764 §4.1.2).
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Profile {
    /// `SRTP_AES128_CM_HMAC_SHA1_80`.
    Aes128CmSha1_80,
    /// `SRTP_AEAD_AES_128_GCM`.
    Aes128Gcm,
}

impl Profile {
    /// Bytes of a master salt.
    pub const fn salt_len(self) -> usize {
        match self {
            Self::Aes128CmSha1_80 => 14,
            Self::Aes128Gcm => 12,
        }
    }

    /// A short name for logs and metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Aes128CmSha1_80 => "aes-cm",
            Self::Aes128Gcm => "aes-gcm",
        }
    }
}

/// Bytes of a master key in either profile.
pub(crate) const KEY_LEN: usize = 16;

/// The widest master salt.
const SALT_LEN_MAX: usize = 14;

/// The master key and salt of one direction. Never printed.
#[derive(Clone, Eq, PartialEq)]
pub struct MasterKey {
    key: [u8; KEY_LEN],
    /// The salt, followed by zeros where the profile's is shorter (RFC 7714 §11).
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

/// What a DTLS handshake yields: how packets are protected, and the master keys of both directions.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Keys {
    /// How packets are protected.
    pub profile: Profile,
    /// Protects what we send.
    pub local: MasterKey,
    /// Protects what the peer sends.
    pub remote: MasterKey,
}

impl Keys {
    /// Bytes of keying material that [`Keys::from_exported`] takes.
    pub const fn exported_len(profile: Profile) -> usize {
        2 * (KEY_LEN + profile.salt_len())
    }

    /// Splits the material exported by the server's side of a DTLS handshake: client key, server
    /// key, client salt, server salt (RFC 5764 §4.2).
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

/// Why a packet was not sealed or opened.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
pub enum Error {
    /// The peer sent less than a header and a tag.
    #[error("the packet is too short")]
    Truncated,
    /// The peer sent something that is not RTP version 2.
    #[error("the packet is not RTP")]
    NotRtp,
    /// The peer sent an RTCP packet in the clear.
    #[error("the RTCP packet is not encrypted")]
    Unencrypted,
    /// The packet was not made with the peer's keys, or was changed under way.
    #[error("the packet is not authentic")]
    Forged,
    /// The packet was seen before, or is too old to tell.
    #[error("the packet is a repetition or too old")]
    Replayed,
    /// The peer uses more sources than a session may have.
    #[error("the session has too many sources")]
    TooManySources,
    /// The caller's buffer cannot take the sealed packet.
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
