//! Hashes of secrets: keys in the configuration, by argon2id (RFC 9106) in the PHC string format, and passwords in files of
//! users; for those see [`Users`](crate::proof::Users).
//!
//! Verifying a secret takes some ten milliseconds and the memory that the hash names, by design. So its parameters are bounded,
//! and verified pairs are remembered by a digest that the caller makes with a key of its own.

use std::fmt;
use std::time::Duration;

use argon2::password_hash::PasswordVerifier;
use argon2::password_hash::phc::PasswordHash;
use argon2::{Argon2, Params};

use crate::proof::legacy;

/// Argon2 version of RFC 9106, 1.3.
const VERSION: u32 = 0x13;

/// Most memory of one verification, in KiB: 64 MiB, the second recommendation of RFC 9106 §4. More would let guesses from
/// several addresses exhaust the server's memory.
const MEMORY_KIB_MAX: u32 = 64 * 1024;

/// Most passes over the memory. With the maximum memory this is a fifth of a second on one core.
const PASSES_MAX: u32 = 8;

/// Most lanes, which are computed one after the other.
const LANES_MAX: u32 = 8;

/// Highest bcrypt cost: a fifth of a second on one core; `htpasswd` itself uses 5.
const BCRYPT_COST_MAX: u32 = 12;

/// Time of one argon2 pass over a MiB on one core (64 MiB and eight passes: 0.29 s), and of one bcrypt round. Measured; other
/// processors take half or twice as long.
const MIB_PASS: Duration = Duration::from_micros(560);
const BCRYPT_ROUND: Duration = Duration::from_micros(58);

/// Time of one verification with the fast hashes.
const APR1: Duration = Duration::from_micros(300);
const MD5: Duration = Duration::from_micros(1);

/// Longest PHC string, in bytes: twice that of a salt of 32 and an output of 64.
const TEXT_BYTES_MAX: usize = 320;

/// Longest secret that is hashed, in bytes; no operator chooses a longer one.
const SECRET_BYTES_MAX: usize = 1024;

/// Hash of a secret, with parameters within bounds. It prints as `***`, because it would allow guessing offline.
#[derive(Clone, Eq, PartialEq)]
pub struct KeyHash {
    kind: Kind,
    text: String,
}

/// Algorithm of a hash.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Kind {
    Argon2id,
    /// Hash that `htpasswd -B` writes.
    Bcrypt,
    /// Hash that `htpasswd` writes by default.
    Apr1,
    /// Hash that Icecast writes, without salt.
    Md5,
}

/// Reason why a text is not a valid [`KeyHash`]. It does not repeat the text.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum HashRejected {
    /// The text is not a PHC string of argon2id.
    #[error("is no PHC string of argon2id, such as $argon2id$v=19$m=19456,t=2,p=1$SALT$HASH")]
    Syntax,
    /// Verifying it would take too long.
    #[error(
        "costs more than m=65536, t=8 or p=8 (bcrypt: 12), which each guess would cost the server"
    )]
    Cost,
    /// The hash is not one that files of users have.
    #[error(
        "is no hash of bcrypt ($2y$…, htpasswd -B), $apr1$… (htpasswd), argon2id or Icecast's MD5"
    )]
    OfUser,
}

impl KeyHash {
    /// Whether a text is meant to be a hash.
    pub fn is_meant(text: &str) -> bool {
        text.starts_with("$argon2")
    }

    /// Parses and checks a PHC string.
    ///
    /// # Errors
    /// See [`HashRejected`].
    pub fn parse(text: &str) -> Result<Self, HashRejected> {
        if text.len() > TEXT_BYTES_MAX || !text.starts_with("$argon2id$") {
            return Err(HashRejected::Syntax);
        }
        let hash = PasswordHash::new(text).map_err(|_| HashRejected::Syntax)?;
        let is_whole = hash.salt.is_some() && hash.hash.is_some();
        if !is_whole || hash.version != Some(VERSION) {
            return Err(HashRejected::Syntax);
        }
        let params = Params::try_from(&hash).map_err(|_| HashRejected::Syntax)?;
        let is_cheap = params.m_cost() <= MEMORY_KIB_MAX
            && params.t_cost() <= PASSES_MAX
            && params.p_cost() <= LANES_MAX;
        match is_cheap {
            true => Ok(Self::new(Kind::Argon2id, text)),
            false => Err(HashRejected::Cost),
        }
    }

    /// Parses a hash of a file of users: bcrypt, Apache's `$apr1$`, Icecast's MD5, or argon2id.
    ///
    /// # Errors
    /// See [`HashRejected`].
    pub fn parse_of_user(text: &str) -> Result<Self, HashRejected> {
        if Self::is_meant(text) {
            return Self::parse(text);
        }
        if text.starts_with("$2") {
            let cost = legacy::bcrypt_cost(text).ok_or(HashRejected::OfUser)?;
            return match cost <= BCRYPT_COST_MAX {
                true => Ok(Self::new(Kind::Bcrypt, text)),
                false => Err(HashRejected::Cost),
            };
        }
        if legacy::Apr1::of(text).is_some() {
            return Ok(Self::new(Kind::Apr1, text));
        }
        let is_md5 = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        match is_md5 {
            true => Ok(Self::new(Kind::Md5, text)),
            false => Err(HashRejected::OfUser),
        }
    }

    fn new(kind: Kind, text: &str) -> Self {
        Self {
            kind,
            text: text.to_owned(),
        }
    }

    /// Whether the secret is the key. Slow; call it on a thread that may block.
    pub fn verifies(&self, secret: &str) -> bool {
        if secret.len() > SECRET_BYTES_MAX {
            return false;
        }
        match self.kind {
            Kind::Argon2id => PasswordHash::new(&self.text).is_ok_and(|hash| {
                let verified = Argon2::default().verify_password(secret.as_bytes(), &hash);
                verified.is_ok()
            }),
            Kind::Bcrypt => legacy::bcrypt_fits(&self.text, secret),
            Kind::Apr1 => legacy::Apr1::of(&self.text).is_some_and(|hash| hash.fits(secret)),
            Kind::Md5 => legacy::md5_fits(&self.text, secret),
        }
    }

    /// Estimates the time to verify a secret, on one core.
    pub fn cost(&self) -> Duration {
        match self.kind {
            Kind::Argon2id => {
                let hash = PasswordHash::new(&self.text).ok();
                let params = hash.and_then(|hash| Params::try_from(&hash).ok());
                params.map_or(Duration::ZERO, |params| {
                    MIB_PASS * params.m_cost().div_ceil(1024) * params.t_cost()
                })
            }
            Kind::Bcrypt => {
                let rounds = legacy::bcrypt_cost(&self.text).unwrap_or_default();
                BCRYPT_ROUND * 2_u32.saturating_pow(rounds)
            }
            Kind::Apr1 => APR1,
            Kind::Md5 => MD5,
        }
    }

    /// Returns the text of the hash, to be digested together with a secret. It must not be shown.
    pub fn reveal(&self) -> &str {
        &self.text
    }
}

impl fmt::Debug for KeyHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Made by argon2-cffi 26.2, which is the reference implementation: `open-sesame-41`, 1 MiB, one pass.
    const HASH: &str = include_str!("hash.phc");

    #[test]
    fn a_hash_of_the_reference_program_fits_its_secret_and_no_other() {
        let hash = KeyHash::parse(HASH.trim()).expect("a hash");
        assert!(hash.verifies("open-sesame-41"));
        for wrong in ["", "open-sesame-4", "open-sesame-41 ", "Open-sesame-41"] {
            assert!(!hash.verifies(wrong), "{wrong:?}");
        }
        assert!(!hash.verifies(&"x".repeat(SECRET_BYTES_MAX + 1)));
        assert_eq!(format!("{hash:?}"), "***");
    }

    #[test]
    fn what_is_no_hash_or_costs_too_much_is_refused() {
        let with = |from: &str, to: &str| KeyHash::parse(&HASH.trim().replace(from, to)).err();
        assert_eq!(with("m=1024", "m=65536"), None);
        assert_eq!(with("m=1024", "m=65537"), Some(HashRejected::Cost));
        assert_eq!(with("t=1", "t=9"), Some(HashRejected::Cost));
        assert_eq!(with("p=1", "p=9"), Some(HashRejected::Cost));
        for (from, to) in [
            ("argon2id", "argon2i"),
            ("argon2id", "scrypt"),
            ("m=1024", "m=x"),
            ("v=19", "v=7"),
            ("$m=", "m="),
        ] {
            assert_eq!(with(from, to), Some(HashRejected::Syntax), "{to}");
        }
        let parsed = |text: &str| KeyHash::parse(text).expect("a hash").cost();
        assert_eq!(parsed(HASH.trim()), MIB_PASS);
        let dearest = HASH.trim().replace("m=1024,t=1", "m=65536,t=8");
        assert_eq!(parsed(&dearest), MIB_PASS * 512);
        let (no_output, _) = HASH.trim().rsplit_once('$').expect("fields");
        assert_eq!(KeyHash::parse(no_output).err(), Some(HashRejected::Syntax));
        assert_eq!(KeyHash::parse("").err(), Some(HashRejected::Syntax));
    }
}
