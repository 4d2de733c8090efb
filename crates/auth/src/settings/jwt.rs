//! Settings of JSON Web Tokens.

use std::path::PathBuf;

use net::url::Url;

use crate::jwt::Rules;
use crate::secret::Secret;

/// Section `[auth.jwt]`.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct AuthJwt {
    /// Secret that tokens are signed with, by HMAC.
    pub secret: Option<Secret>,
    /// File of public keys, read again when it changes; see [`read_token_keys`](crate::read_token_keys).
    pub jwks_file: Option<PathBuf>,
    /// URL of the key set that an issuer publishes.
    pub jwks_url: Option<Url>,
    /// Claims that tokens must have.
    pub rules: Rules,
}

impl AuthJwt {
    /// Whether there is a key, so that tokens are accepted.
    pub const fn is_used(&self) -> bool {
        self.secret.is_some() || self.jwks_file.is_some() || self.jwks_url.is_some()
    }
}
