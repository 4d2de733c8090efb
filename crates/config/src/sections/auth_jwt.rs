//! `[auth.jwt]`: whose JSON Web Tokens are taken.

use std::path::PathBuf;

use authority::jwt::Rules;
use net::url::Url;

use crate::Secret;
use crate::read::Section;

/// Shortest secret of tokens, characters: who has a token can try secrets at home, and HS256 wants as many bytes (RFC 7518
/// §3.2).
const SECRET_CHARS_MIN: usize = 32;

/// Section `[auth.jwt]`.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct AuthJwt {
    /// What tokens are signed with by HMAC.
    pub secret: Option<Secret>,
    /// A file of public keys, which is read again when it changes; see [`read_token_keys`](crate::read_token_keys).
    pub jwks_file: Option<PathBuf>,
    /// Where an issuer publishes its keys.
    pub jwks_url: Option<Url>,
    /// What tokens have to say about themselves.
    pub rules: Rules,
}

impl AuthJwt {
    /// Whether there is a key, so that tokens are taken.
    pub const fn is_used(&self) -> bool {
        self.secret.is_some() || self.jwks_file.is_some() || self.jwks_url.is_some()
    }

    pub(super) fn read(&mut self, s: &mut Section<'_, '_>) {
        s.set("secret", &mut self.secret);
        let is_long = |secret: &Secret| secret.reveal().chars().count() >= SECRET_CHARS_MIN;
        s.require(
            "secret",
            self.secret.as_ref().is_none_or(is_long),
            "is shorter than 32 characters; make one with `openssl rand -hex 32`",
        );
        s.set("jwks_file", &mut self.jwks_file);
        s.set("jwks_url", &mut self.jwks_url);
        let (mut issuer, mut audience) = (String::new(), String::new());
        s.set("issuer", &mut issuer);
        s.set("audience", &mut audience);
        for (key, value) in [("issuer", &issuer), ("audience", &audience)] {
            s.require(
                key,
                value.is_empty() || self.is_used(),
                "is of no use without `secret`, `jwks_file` or `jwks_url`: no token is taken",
            );
        }
        let told = |text: String| Some(text).filter(|text| !text.is_empty());
        self.rules = Rules {
            issuer: told(issuer),
            audience: told(audience),
        };
    }
}
