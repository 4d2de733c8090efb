//! JSON Web Tokens (RFC 7519) in the compact form of RFC 7515: who signed them, whether they are in force, what they permit.
//!
//! * The algorithm follows from the key. What a token's header says can only make it fail, so neither `none` nor a public key
//!   that is taken for a secret is a way in (RFC 8725 §3.1).
//! * Times are numbers, or the token is of no use: a text as `exp` is no token without an end.
//! * A token that names an audience is for that audience (RFC 7519 §4.1.3), and each has an end.

mod claims;
mod keys;
mod known;

use std::time::{Duration, SystemTime};

use jsonwebtoken::{Algorithm, Validation};

pub use self::claims::{Claims, Permission, Streams};
use self::keys::Key;
pub use self::keys::{KEYS_MAX, KeySet, KeysRejected};
pub use self::known::{KNOWN_BYTES_MAX, KNOWN_MAX, Known};

/// Longest token, bytes: some twenty times a usual one. Heads of requests have no more room.
pub const TOKEN_BYTES_MAX: usize = 8 * 1024;

/// By how much the clocks of this host and the issuer's may differ.
pub const LEEWAY: Duration = Duration::from_secs(30);

/// Keys that a token is tried with: an issuer that names none of its keys has one, and another while it changes them.
const KEYS_TRIED_MAX: usize = 4;

/// Longest name of a key that is looked at.
const KEY_ID_BYTES_MAX: usize = 256;

/// What tokens have to say about themselves.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Rules {
    /// Who has made them (`iss`); `None` is anyone with a key.
    pub issuer: Option<String>,
    /// What this server is called in them (`aud`); `None` takes only those that name nobody.
    pub audience: Option<String>,
}

/// Why a token permits nothing.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Refused {
    /// It has another form, or was not signed with one of the keys. It may be a guess.
    #[error("the token was not made with one of the keys")]
    Forged,
    /// It names a key that is not known.
    #[error("the token names a key that is not known")]
    UnknownKey,
    /// It is over.
    #[error("the token has expired")]
    Expired,
    /// It is not in force yet.
    #[error("the token is not valid yet")]
    NotYet,
    /// One of its claims is missing or of another type.
    #[error("the token's claim {0:?} is missing, or not what RFC 7519 says")]
    Claim(&'static str),
    /// It is another issuer's.
    #[error("the token is of another issuer")]
    OtherIssuer,
    /// It is for somebody else.
    #[error("the token is for another audience")]
    OtherAudience,
    /// It permits other actions or streams.
    #[error("the token does not permit this")]
    NotPermitted,
}

/// Whether a text has the form of a token, so that it is meant to be one.
pub fn is_meant(text: &str) -> bool {
    let is_base64url = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    let mut parts = text.split('.');
    // What each header begins with: `{"`.
    let has_header = parts.next().is_some_and(|header| header.starts_with("eyJ"));
    let rest: Vec<&str> = parts.take(3).collect();
    // The signature of `none` is empty; such a token is refused as one, and is no key.
    has_header && rest.len() == 2 && text.bytes().all(|byte| byte == b'.' || is_base64url(byte))
}

/// Whether its signature takes long to verify: a public key's some hundred microseconds, that of a secret two.
pub fn is_costly(token: &str) -> bool {
    let header = jsonwebtoken::decode_header(token);
    header.is_ok_and(|header| {
        !matches!(
            header.alg,
            Algorithm::HS256 | Algorithm::HS384 | Algorithm::HS512
        )
    })
}

/// What a token claims, if one of the keys has signed it and it is in force.
///
/// # Errors
/// See [`Refused`]. Of what is not signed by a key nothing else is looked at.
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
    // A key of that name may make other signatures: the token is not the issuer's.
    let is_known = |key: &&Key| key.is_named() || key.takes(header.alg);
    if !keys.iter().any(is_known) {
        return Err(Refused::UnknownKey);
    }
    for key in tried(&keys, header.alg, id.is_some()) {
        let signed = jsonwebtoken::decode(token, key.decoding(), &of_signature_alone(header.alg));
        if let Ok(signed) = signed {
            // Nothing that a header can declare critical is understood here (RFC 7515 §4.1.11).
            if signed.header.crit.is_some() {
                return Err(Refused::Forged);
            }
            return claims::judge(&signed.claims, rules, now);
        }
    }
    Err(Refused::Forged)
}

/// The keys that a token is tried with: that of the name that it says if there is one, else those without a name and, if the
/// token says none, all.
fn tried<'k>(keys: &[&'k Key], algorithm: Algorithm, is_named: bool) -> Vec<&'k Key> {
    let fitting = keys.iter().copied().filter(|key| key.takes(algorithm));
    let (of_name, nameless): (Vec<_>, Vec<_>) = fitting.partition(|key| key.is_named());
    let tried = match is_named && !of_name.is_empty() {
        true => of_name,
        false => nameless.into_iter().chain(of_name).collect(),
    };
    tried.into_iter().take(KEYS_TRIED_MAX).collect()
}

/// Checks no claim: those are judged here, at a time that is given.
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
