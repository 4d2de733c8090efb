//! JSON Web Tokens (RFC 7519) in the compact form of RFC 7515: signature, times, and permissions.
//!
//! * The algorithm follows from the key. A token's header can only make it fail, so neither `none` nor a public key mistaken
//!   for a secret is a way in (RFC 8725 §3.1).
//! * Times must be numbers, or the token is invalid: a text as `exp` does not make a token without an end.
//! * A token that names an audience is for that audience only (RFC 7519 §4.1.3), and every token has an end.

mod claims;
mod keys;
mod known;

use std::time::{Duration, SystemTime};

use jsonwebtoken::{Algorithm, Validation};

pub use self::claims::{Claims, Permission, Streams};
use self::keys::Key;
pub use self::keys::{KEYS_MAX, KeySet, KeysRejected};
pub use self::known::{KNOWN_BYTES_MAX, KNOWN_MAX, Known};

/// Longest token, in bytes: some twenty times a usual one. Request heads have no more room.
pub const TOKEN_BYTES_MAX: usize = 8 * 1024;

/// Largest tolerated difference between the clocks of this host and the issuer.
pub const LEEWAY: Duration = Duration::from_secs(30);

/// Most keys a token is tried with. An issuer that does not name its keys has one, and a second during a key change.
const KEYS_TRIED_MAX: usize = 4;

/// Longest key name considered, in bytes.
const KEY_ID_BYTES_MAX: usize = 256;

/// Claims that tokens must have.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Rules {
    /// Required issuer (`iss`); `None` accepts anyone with a key.
    pub issuer: Option<String>,
    /// Name of this server as an audience (`aud`); `None` accepts only tokens without an audience.
    pub audience: Option<String>,
}

/// Reason why a token permits nothing.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Refused {
    /// The token has another form, or was not signed with one of the keys. It may be a guess.
    #[error("the token was not made with one of the keys")]
    Forged,
    /// The token names an unknown key.
    #[error("the token names a key that is not known")]
    UnknownKey,
    /// The token has expired.
    #[error("the token has expired")]
    Expired,
    /// The token is not valid yet.
    #[error("the token is not valid yet")]
    NotYet,
    /// A claim is missing or of another type.
    #[error("the token's claim {0:?} is missing, or not what RFC 7519 says")]
    Claim(&'static str),
    /// The token is from another issuer.
    #[error("the token is of another issuer")]
    OtherIssuer,
    /// The token is for another audience.
    #[error("the token is for another audience")]
    OtherAudience,
    /// The token permits other actions or streams.
    #[error("the token does not permit this")]
    NotPermitted,
}

/// Whether a text has the form of a token, so that it is meant to be one.
pub fn is_meant(text: &str) -> bool {
    let is_base64url = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    let mut parts = text.split('.');
    // Encoding of `{"`, with which every header begins.
    let has_header = parts.next().is_some_and(|header| header.starts_with("eyJ"));
    let rest: Vec<&str> = parts.take(3).collect();
    // The signature of `none` is empty. Such a text is refused as a token, and is not taken for a key.
    has_header && rest.len() == 2 && text.bytes().all(|byte| byte == b'.' || is_base64url(byte))
}

/// Whether a token's signature is slow to verify: some hundred microseconds for a public key, two for a secret.
pub fn is_costly(token: &str) -> bool {
    let header = jsonwebtoken::decode_header(token);
    header.is_ok_and(|header| {
        !matches!(
            header.alg,
            Algorithm::HS256 | Algorithm::HS384 | Algorithm::HS512
        )
    })
}

/// Returns the claims of a token that one of the keys has signed and that is in force.
///
/// # Errors
/// See [`Refused`]. If no key has signed the token, nothing else is checked.
pub fn verify<'k>(
    token: &str,
    sets: impl Iterator<Item = &'k KeySet>,
    rules: &Rules,
    now: SystemTime,
) -> Result<Claims, Refused> {
    if token.len() > TOKEN_BYTES_MAX {
        return Err(Refused::Forged);
    }
    let header = jsonwebtoken::decode_header(token).map_err(|_| Refused::Forged)?;
    let id = header.kid.as_deref();
    if id.is_some_and(|id| id.len() > KEY_ID_BYTES_MAX) {
        return Err(Refused::Forged);
    }
    let keys: Vec<&Key> = sets.flat_map(|set| set.named(id)).collect();
    // A key of that name with another algorithm means that the token is not the issuer's.
    let is_known = |key: &&Key| key.is_named() || key.takes(header.alg);
    if !keys.iter().any(is_known) {
        return Err(Refused::UnknownKey);
    }
    for key in tried(&keys, header.alg, id.is_some()) {
        let signed = jsonwebtoken::decode(token, key.decoding(), &of_signature_alone(header.alg));
        if let Ok(signed) = signed {
            // No header that can be declared critical is supported here (RFC 7515 §4.1.11).
            if signed.header.crit.is_some() {
                return Err(Refused::Forged);
            }
            return claims::judge(&signed.claims, rules, now);
        }
    }
    Err(Refused::Forged)
}

/// Returns the keys to try. If a token names a key, these are the keys with that name, or else those without a name; if it
/// names none, all keys, the unnamed ones first.
fn tried<'k>(keys: &[&'k Key], algorithm: Algorithm, is_named: bool) -> Vec<&'k Key> {
    let fitting = keys.iter().copied().filter(|key| key.takes(algorithm));
    let (of_name, nameless): (Vec<_>, Vec<_>) = fitting.partition(|key| key.is_named());
    let tried = match is_named && !of_name.is_empty() {
        true => of_name,
        false => nameless.into_iter().chain(of_name).collect(),
    };
    tried.into_iter().take(KEYS_TRIED_MAX).collect()
}

/// Makes a validation that checks no claims. [`claims::judge`] does that, at a given time.
fn of_signature_alone(algorithm: Algorithm) -> Validation {
    let mut validation = Validation::new(algorithm);
    validation.required_spec_claims.clear();
    validation.validate_exp = false;
    validation.validate_nbf = false;
    validation.validate_aud = false;
    validation
}

#[cfg(test)]
mod tests;
