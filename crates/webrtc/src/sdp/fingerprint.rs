//! Certificate fingerprints (RFC 8122 §5): the values of `a=fingerprint` lines.

use std::fmt;
use std::str::FromStr;

use aws_lc_rs::digest::{Algorithm, SHA256, SHA384, SHA512, digest};
use thiserror::Error;

/// Length of the longest digest, in bytes.
const DIGEST_LEN_MAX: usize = 64;

/// Digest of a certificate. An offer or answer names the digest of the certificate that its sender's DTLS uses.
#[derive(Clone, Copy, Eq, Hash, PartialEq)]
pub struct Fingerprint {
    function: Function,
    /// Digest, followed by zeros if it is shorter.
    digest: [u8; DIGEST_LEN_MAX],
}

/// Accepted hash functions. Digests of older ones can be forged.
#[derive(Clone, Copy, Eq, Hash, PartialEq)]
enum Function {
    Sha256,
    Sha384,
    Sha512,
}

impl Function {
    const ALL: [Self; 3] = [Self::Sha256, Self::Sha384, Self::Sha512];

    const fn name(self) -> &'static str {
        match self {
            Self::Sha256 => "sha-256",
            Self::Sha384 => "sha-384",
            Self::Sha512 => "sha-512",
        }
    }

    fn algorithm(self) -> &'static Algorithm {
        match self {
            Self::Sha256 => &SHA256,
            Self::Sha384 => &SHA384,
            Self::Sha512 => &SHA512,
        }
    }
}

impl Fingerprint {
    /// Returns the fingerprint of a certificate in DER, by SHA-256, which every peer knows.
    pub fn of_certificate(der: &[u8]) -> Self {
        Self::by(Function::Sha256, der)
    }

    /// Whether this is the fingerprint of this certificate in DER.
    pub fn matches(&self, der: &[u8]) -> bool {
        Self::by(self.function, der) == *self
    }

    fn by(function: Function, der: &[u8]) -> Self {
        let made = digest(function.algorithm(), der);
        let mut digest = [0; DIGEST_LEN_MAX];
        digest[..made.as_ref().len()].copy_from_slice(made.as_ref());
        Self { function, digest }
    }

    fn bytes(&self) -> &[u8] {
        &self.digest[..self.function.algorithm().output_len()]
    }
}

/// The text form is the function's name, a space, and pairs of hexadecimal digits with colons between them.
impl FromStr for Fingerprint {
    type Err = FingerprintError;

    fn from_str(text: &str) -> Result<Self, FingerprintError> {
        let (name, digits) = text.split_once(' ').ok_or(FingerprintError)?;
        let mut functions = Function::ALL.into_iter();
        let function = functions.find(|function| function.name().eq_ignore_ascii_case(name));
        let function = function.ok_or(FingerprintError)?;
        let len = function.algorithm().output_len();
        let mut digest = [0; DIGEST_LEN_MAX];
        let mut pairs = digits.trim().split(':');
        for byte in &mut digest[..len] {
            let pair = pairs.next().ok_or(FingerprintError)?;
            if pair.len() != 2 || !pair.bytes().all(|digit| digit.is_ascii_hexdigit()) {
                return Err(FingerprintError);
            }
            *byte = u8::from_str_radix(pair, 16).map_err(|_| FingerprintError)?;
        }
        match pairs.next() {
            None => Ok(Self { function, digest }),
            Some(_) => Err(FingerprintError),
        }
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.function.name())?;
        for (at, byte) in self.bytes().iter().enumerate() {
            let before = if at == 0 { " " } else { ":" };
            write!(f, "{before}{byte:02X}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint({self})")
    }
}

/// Error of a peer whose text is not a fingerprint by one of these functions.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
#[error("not a fingerprint by sha-256, sha-384 or sha-512")]
pub struct FingerprintError;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_matches_its_fingerprint_by_each_function() {
        for (function, len) in Function::ALL.into_iter().zip([32, 48, 64]) {
            let made = Fingerprint::by(function, b"a certificate");
            let text = made.to_string();
            assert_eq!(text.split(':').count(), len, "{text}");
            let read: Fingerprint = text.to_lowercase().parse().expect("a fingerprint");
            assert_eq!(read, made);
            assert!(read.matches(b"a certificate") && !read.matches(b"another"));
        }
    }

    #[test]
    fn a_digest_of_another_length_or_function_is_none() {
        let good = Fingerprint::of_certificate(b"a certificate").to_string();
        let digits = good.strip_prefix("sha-256 ").expect("by SHA-256");
        for text in [
            digits.to_owned(),
            format!("sha-1 {digits}"),
            format!("sha-512 {digits}"),
            format!("{good}:00"),
            good[..good.len() - 3].to_owned(),
            good.replacen(':', "", 1),
            good.replacen(':', "::", 1),
        ] {
            assert_eq!(text.parse::<Fingerprint>(), Err(FingerprintError), "{text}");
        }
    }
}
