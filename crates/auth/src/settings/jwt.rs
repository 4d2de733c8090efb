//! Whose JSON Web Tokens are taken.

use std::path::PathBuf;

use net::url::Url;

use crate::jwt::Rules;
use crate::secret::Secret;

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
}
