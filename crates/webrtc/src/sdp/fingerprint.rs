//! Certificate fingerprints (RFC 8122 §5).

use std::fmt;
use std::str::FromStr;

use aws_lc_rs::digest::{SHA256, digest};
use thiserror::Error;

/// The SHA-256 of a certificate: an offer or answer names the one that its sender's DTLS uses.
#[derive(Clone, Copy, Eq, Hash, PartialEq)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// The fingerprint of a certificate in DER.
    pub fn of_certificate(der: &[u8]) -> Self {
        let mut bytes = [0; 32];
        bytes.copy_from_slice(digest(&SHA256, der).as_ref());
        Self(bytes)
    }
}

/// The 32 pairs of hexadecimal digits with colons between them.
impl FromStr for Fingerprint {
    type Err = FingerprintError;

    fn from_str(text: &str) -> Result<Self, FingerprintError> {
        let mut bytes = [0; 32];
        let mut pairs = text.split(':');
        for byte in &mut bytes {
            let pair = pairs.next().ok_or(FingerprintError)?;
            if pair.len() != 2 || !pair.bytes().all(|digit| digit.is_ascii_hexdigit()) {
                return Err(FingerprintError);
            }
            *byte = u8::from_str_radix(pair, 16).map_err(|_| FingerprintError)?;
        }
        match pairs.next() {
            None => Ok(Self(bytes)),
            Some(_) => Err(FingerprintError),
        }
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, byte) in self.0.iter().enumerate() {
            let colon = if at == 0 { "" } else { ":" };
            write!(f, "{colon}{byte:02X}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint({self})")
    }
}

/// The peer wrote something that is no SHA-256 fingerprint.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
#[error("not a SHA-256 fingerprint")]
pub struct FingerprintError;
