//! Password hashes written by other programs: bcrypt, Apache's variant of MD5, and MD5 itself.
//!
//! The latter two are read only for existing files: MD5 is fast to guess, and Icecast's has no salt.

use md5::{Digest, Md5};
use subtle::ConstantTimeEq;

/// Rounds of Apache's hash, which its text does not give.
const APR1_ROUNDS: usize = 1_000;

/// Longest salt of Apache's hash, in bytes.
const APR1_SALT_BYTES_MAX: usize = 8;

/// Bytes of an MD5 digest.
const MD5_BYTES: usize = 16;

/// Digits of crypt's Base64, six bits each, the lowest first.
const DIGITS: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Order in which the digest's bytes are written: three at a time, and one at the end.
const APR1_ORDER: [[usize; 3]; 5] = [[0, 6, 12], [1, 7, 13], [2, 8, 14], [3, 9, 15], [4, 10, 5]];
const APR1_LAST: usize = 11;

/// Returns the cost named by a bcrypt hash; `None` for other texts.
pub(crate) fn bcrypt_cost(text: &str) -> Option<u32> {
    let parts = text.parse::<bcrypt::HashParts>().ok()?;
    Some(parts.get_cost())
}

pub(crate) fn bcrypt_fits(hash: &str, secret: &str) -> bool {
    bcrypt::verify(secret, hash).unwrap_or(false)
}

/// Compares a secret with an MD5 hash in hexadecimal digits.
pub(crate) fn md5_fits(hash: &str, secret: &str) -> bool {
    let digest = Md5::digest(secret.as_bytes());
    let digits: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    let hash = hash.to_ascii_lowercase();
    bool::from(digits.as_bytes().ct_eq(hash.as_bytes()))
}

/// `$apr1$SALT$DIGEST`: MD5 over a thousand rounds (Poul-Henning Kamp's scheme under Apache's name).
pub(crate) struct Apr1<'a> {
    salt: &'a str,
    digest: &'a str,
}

impl<'a> Apr1<'a> {
    pub(crate) fn of(text: &'a str) -> Option<Self> {
        let (salt, digest) = text.strip_prefix("$apr1$")?.split_once('$')?;
        let is_digest = digest.len() == 22 && digest.bytes().all(|byte| DIGITS.contains(&byte));
        let is_salt = (1..=APR1_SALT_BYTES_MAX).contains(&salt.len());
        (is_digest && is_salt).then_some(Self { salt, digest })
    }

    pub(crate) fn fits(&self, secret: &str) -> bool {
        let digits = apr1(self.salt.as_bytes(), secret.as_bytes());
        bool::from(digits.as_bytes().ct_eq(self.digest.as_bytes()))
    }
}

fn apr1(salt: &[u8], secret: &[u8]) -> String {
    let inner = md5(&[secret, salt, secret]);
    let mut first = Md5::new();
    for piece in [secret, b"$apr1$", salt] {
        first.update(piece);
    }
    let filled = inner.iter().copied().cycle().take(secret.len());
    first.update(filled.collect::<Vec<_>>());
    // One byte for each bit of the length: a zero, or the secret's first byte.
    let mut length = secret.len();
    while length > 0 {
        first.update(if length & 1 == 1 {
            &[0][..]
        } else {
            &secret[..1]
        });
        length >>= 1;
    }
    let mut digest: [u8; MD5_BYTES] = first.finalize().into();
    for round in 0..APR1_ROUNDS {
        let (odd, empty) = (round % 2 == 1, &[][..]);
        digest = md5(&[
            if odd { secret } else { &digest },
            if round % 3 == 0 { empty } else { salt },
            if round % 7 == 0 { empty } else { secret },
            if odd { &digest } else { secret },
        ]);
    }
    let mut text = String::new();
    let mut write = |mut bits: usize, digits: usize| {
        for _ in 0..digits {
            text.push(char::from(DIGITS[bits & 0x3f]));
            bits >>= 6;
        }
    };
    for [high, middle, low] in APR1_ORDER {
        let byte = |at: usize| usize::from(digest[at]);
        write(byte(high) << 16 | byte(middle) << 8 | byte(low), 4);
    }
    write(usize::from(digest[APR1_LAST]), 2);
    text
}

fn md5(pieces: &[&[u8]]) -> [u8; MD5_BYTES] {
    let mut md5 = Md5::new();
    for piece in pieces {
        md5.update(piece);
    }
    md5.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Made by `openssl passwd -apr1 -salt SALT SECRET`.
    #[test]
    fn apaches_hashes_are_those_of_openssl() {
        for (salt, secret, digest) in APR1 {
            assert_eq!(apr1(salt.as_bytes(), secret.as_bytes()), digest, "{secret}");
            let text = format!("$apr1${salt}${digest}");
            let hash = Apr1::of(&text).expect("a hash");
            assert!(hash.fits(secret) && !hash.fits("guess"));
        }
        let long = "a".repeat(22);
        for rest in ["$DIGEST", "salt$short", "toolongsalt$DIGEST"] {
            let text = format!("$apr1${}", rest.replace("DIGEST", &long));
            assert!(Apr1::of(&text).is_none(), "{text}");
        }
    }

    const APR1: [(&str, &str, &str); 4] = [
        ("qHDFfhPC", "open-sesame-41", "oG4cngSfCoO6B9U1qwA8g1"),
        ("a", "x", "CwOs8ZUV1Vmp.iAwImfTn1"),
        (
            "saltsalt",
            "a-rather-long-password-of-more-than-sixteen-bytes",
            "mjeMTaXuUmLKUKu.VETmW0",
        ),
        ("z9", "pässword", "auzIyK1S0pAWGP014Revb."),
    ];
}
