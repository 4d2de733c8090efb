//! Credentials in a request head.

use std::fmt;

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use crate::query::Query;
use crate::text::utf8_or_latin1;

/// User of a source client that names none.
const USER_DEFAULT: &str = "source";

/// Query parameters that are read as a key.
const KEYS: [&str; 4] = ["key", "token", "link", "jwt"];

/// Base64 decoder for source clients: some omit the padding, and one fills the last bits with noise.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// User and password given by a peer.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Credentials {
    /// User; `source` if the peer gave none.
    pub user: String,
    /// Password: everything after the first colon.
    pub password: Password,
}

/// Password or token as received. Its `Debug` hides it, so that it cannot reach a log with the value that holds it; it has no
/// `Display`.
#[derive(Clone, Eq, PartialEq)]
pub struct Password(String);

impl Password {
    /// Wraps a secret.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the secret itself, for the one comparison that needs it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// Reads the value of an Authorization header with the Basic scheme (RFC 7617).
pub fn basic(value: &str) -> Option<Credentials> {
    let bytes = BASE64.decode(scheme(value, "basic")?).ok()?;
    let text = utf8_or_latin1(&bytes);
    let (user, password) = text.split_once(':').unwrap_or(("", &text));
    Some(Credentials::new(user, password))
}

/// Returns the key in a query: the value of its parameter `key`, `token`, `link` or `jwt`.
pub fn key_in(query: &str) -> Option<Password> {
    let query = Query::new(query.as_bytes());
    let key = KEYS.into_iter().find_map(|name| query.get(name));
    key.map(Password::new)
}

/// Reads the value of an Authorization header with the Bearer scheme (RFC 6750).
pub fn bearer(value: &str) -> Option<Password> {
    scheme(value, "bearer").map(Password::new)
}

fn scheme<'a>(value: &'a str, name: &str) -> Option<&'a str> {
    let (scheme, rest) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case(name).then(|| rest.trim())
}

impl Credentials {
    pub(crate) fn new(user: &str, password: &str) -> Self {
        let user = if user.is_empty() { USER_DEFAULT } else { user };
        Self {
            user: user.to_owned(),
            password: Password::new(password),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(text: &str) -> String {
        format!("Basic {}", BASE64.encode(text))
    }

    #[test]
    fn the_password_begins_after_the_first_colon() {
        for (text, user, password) in [
            ("source:hackme", "source", "hackme"),
            ("source:a:b:c", "source", "a:b:c"),
            ("dj anna:pass word", "dj anna", "pass word"),
            (":key", "source", "key"),
            ("key", "source", "key"),
            ("source:", "source", ""),
            ("source:pässword", "source", "pässword"),
        ] {
            let expected = Some(Credentials::new(user, password));
            assert_eq!(basic(&encoded(text)), expected, "{text}");
        }
    }

    #[test]
    fn sloppy_encodings_are_read() {
        let expected = Some(Credentials::new("source", "hackme1"));
        for value in [
            "Basic c291cmNlOmhhY2ttZTE=",
            "basic  c291cmNlOmhhY2ttZTE",
            "BASIC c291cmNlOmhhY2ttZTE= ",
        ] {
            assert_eq!(basic(value), expected, "{value}");
        }
        let digest = "Digest c291cmNlOmhhY2ttZTE=";
        for value in ["Basic", "Basic ***", digest, "Bearer x", ""] {
            assert_eq!(basic(value), None, "{value}");
        }
    }

    #[test]
    fn a_password_is_not_printed() {
        let shown = format!("{:?}", Credentials::new("anna", "opensesame"));
        let is_hidden = !shown.contains("opensesame");
        assert!(is_hidden && shown.contains("anna"), "{shown}");
    }
}
