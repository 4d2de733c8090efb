//! Primitives of both profiles: key derivation, counter mode, GCM, HMAC-SHA1.

use aws_lc_rs::aead::{AES_128_GCM, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::cipher::{AES_128, EncryptingKey, EncryptionContext, UnboundCipherKey};
use aws_lc_rs::hmac::{self, HMAC_SHA1_FOR_LEGACY_USE_ONLY};
use aws_lc_rs::iv::FixedLength;
use subtle::ConstantTimeEq;

use super::{Error, KEY_LEN, MasterKey, Profile, SALT_LEN_MAX};

/// Bytes of the HMAC-SHA1 key.
pub(super) const AUTH_KEY_LEN: usize = 20;

/// Bytes of the truncated HMAC-SHA1 tag.
pub(super) const CM_TAG_LEN: usize = 10;

/// Bytes of the GCM tag.
pub(super) const GCM_TAG_LEN: usize = 16;

/// Labels of the encryption key, the authentication key and the salt of RTP (RFC 3711 §4.3.1).
pub(super) const RTP_LABELS: [u8; 3] = [0, 1, 2];
/// Labels of the same three of RTCP.
pub(super) const RTCP_LABELS: [u8; 3] = [3, 4, 5];

/// Session keys of one direction and purpose.
pub(super) struct Session {
    pub(super) key: [u8; KEY_LEN],
    pub(super) auth: [u8; AUTH_KEY_LEN],
    pub(super) salt: [u8; SALT_LEN_MAX],
}

impl Session {
    /// Derives the keys with a key derivation rate of zero, the only one in use.
    pub(super) fn derive(master: &MasterKey, labels: [u8; 3]) -> Result<Self, Error> {
        let stream = CounterMode::new(&master.key)?;
        let [key_label, auth_label, salt_label] = labels;
        let mut session = Self {
            key: [0; KEY_LEN],
            auth: [0; AUTH_KEY_LEN],
            salt: [0; SALT_LEN_MAX],
        };
        stream.apply(derivation_iv(master, key_label), &mut session.key)?;
        stream.apply(derivation_iv(master, auth_label), &mut session.auth)?;
        stream.apply(derivation_iv(master, salt_label), &mut session.salt)?;
        Ok(session)
    }
}

/// Returns the salt with the label in its eighth octet, times 2^16.
pub(super) fn derivation_iv(master: &MasterKey, label: u8) -> [u8; 16] {
    let mut iv = [0; 16];
    iv[..SALT_LEN_MAX].copy_from_slice(&master.salt);
    iv[7] ^= label;
    iv
}

/// AES-128 in counter mode, with the expanded key.
pub(super) struct CounterMode(EncryptingKey);

impl CounterMode {
    pub(super) fn new(key: &[u8; KEY_LEN]) -> Result<Self, Error> {
        let key = UnboundCipherKey::new(&AES_128, key).map_err(|_| Error::Crypto)?;
        EncryptingKey::ctr(key).map(Self).map_err(|_| Error::Crypto)
    }

    /// Combines `bytes` with the key stream that begins at `iv`.
    pub(super) fn apply(&self, iv: [u8; 16], bytes: &mut [u8]) -> Result<(), Error> {
        let context = EncryptionContext::Iv128(FixedLength::from(iv));
        self.0
            .less_safe_encrypt(bytes, context)
            .map(|_| ())
            .map_err(|_| Error::Crypto)
    }
}

/// Expanded keys of one direction and purpose under its profile.
#[derive(Debug)]
pub(super) enum Cipher {
    Cm(Box<CmSha1>),
    Gcm(Box<Gcm>),
}

impl Cipher {
    pub(super) fn new(profile: Profile, session: &Session) -> Result<Self, Error> {
        Ok(match profile {
            Profile::Aes128CmSha1_80 => Self::Cm(Box::new(CmSha1::new(session)?)),
            Profile::Aes128Gcm => Self::Gcm(Box::new(Gcm::new(session)?)),
        })
    }

    pub(super) fn tag_len(&self) -> usize {
        match self {
            Self::Cm(_) => CM_TAG_LEN,
            Self::Gcm(_) => GCM_TAG_LEN,
        }
    }
}

/// Counter mode and HMAC-SHA1 with their session salt.
pub(super) struct CmSha1 {
    stream: CounterMode,
    auth: hmac::Key,
    salt: [u8; SALT_LEN_MAX],
}

// Keys are never printed.
base::debug!(CmSha1 {});

impl CmSha1 {
    pub(super) fn new(session: &Session) -> Result<Self, Error> {
        Ok(Self {
            stream: CounterMode::new(&session.key)?,
            auth: hmac::Key::new(HMAC_SHA1_FOR_LEGACY_USE_ONLY, &session.auth),
            salt: session.salt,
        })
    }

    /// Encrypts or decrypts a packet's payload (RFC 3711 §4.1.1).
    pub(super) fn apply(&self, ssrc: [u8; 4], index: u64, bytes: &mut [u8]) -> Result<(), Error> {
        let mut iv = [0; 16];
        iv[..SALT_LEN_MAX].copy_from_slice(&self.salt);
        xor(&mut iv[4..8], &ssrc);
        xor(&mut iv[8..14], &index.to_be_bytes()[2..]);
        self.stream.apply(iv, bytes)
    }

    pub(super) fn tag(&self, bytes: &[u8]) -> [u8; CM_TAG_LEN] {
        let whole = hmac::sign(&self.auth, bytes);
        let mut tag = [0; CM_TAG_LEN];
        tag.copy_from_slice(&whole.as_ref()[..CM_TAG_LEN]);
        tag
    }

    /// Checks the tag over the concatenation of both parts, in constant time.
    pub(super) fn check(&self, head: &[u8], tail: &[u8], tag: &[u8]) -> Result<(), Error> {
        let mut context = hmac::Context::with_key(&self.auth);
        context.update(head);
        context.update(tail);
        let whole = context.sign();
        let expected = &whole.as_ref()[..CM_TAG_LEN];
        if bool::from(expected.ct_eq(tag)) {
            Ok(())
        } else {
            Err(Error::Forged)
        }
    }
}

/// AES-128-GCM with its session salt.
pub(super) struct Gcm {
    pub(super) key: LessSafeKey,
    salt: [u8; 12],
}

// Keys are never printed.
base::debug!(Gcm {});

impl Gcm {
    pub(super) fn new(session: &Session) -> Result<Self, Error> {
        let key = UnboundKey::new(&AES_128_GCM, &session.key).map_err(|_| Error::Crypto)?;
        let mut salt = [0; 12];
        salt.copy_from_slice(&session.salt[..12]);
        Ok(Self {
            key: LessSafeKey::new(key),
            salt,
        })
    }

    /// Returns the nonce of an RTP packet's 48-bit or an RTCP packet's 31-bit index (RFC 7714 §8.1, §9.1): either index
    /// occupies the last six octets.
    pub(super) fn nonce(&self, ssrc: [u8; 4], index: u64) -> Nonce {
        let mut iv = self.salt;
        xor(&mut iv[2..6], &ssrc);
        xor(&mut iv[6..12], &index.to_be_bytes()[2..]);
        Nonce::assume_unique_for_key(iv)
    }
}

fn xor(bytes: &mut [u8], with: &[u8]) {
    for (byte, with) in bytes.iter_mut().zip(with) {
        *byte ^= with;
    }
}
