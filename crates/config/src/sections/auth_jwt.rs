//! `[auth.jwt]`: whose JSON Web Tokens are taken.

use auth::AuthJwt;
use auth::jwt::Rules;

use crate::read::Section;
use auth::Secret;

/// Shortest secret of tokens, characters: who has a token can try secrets at home, and HS256 wants as many bytes (RFC 7518
/// §3.2).
const SECRET_CHARS_MIN: usize = 32;

pub(super) fn read(jwt: &mut AuthJwt, s: &mut Section<'_, '_>) {
    s.set("secret", &mut jwt.secret);
    let is_long = |secret: &Secret| secret.reveal().chars().count() >= SECRET_CHARS_MIN;
    s.require(
        "secret",
        jwt.secret.as_ref().is_none_or(is_long),
        "is shorter than 32 characters; make one with `openssl rand -hex 32`",
    );
    s.set("jwks_file", &mut jwt.jwks_file);
    s.set("jwks_url", &mut jwt.jwks_url);
    let [issuer, audience] = ["issuer", "audience"].map(|key| {
        let told = s.read::<String>(key).filter(|text| !text.is_empty());
        s.require(
            key,
            told.is_none() || jwt.is_used(),
            "is of no use without `secret`, `jwks_file` or `jwks_url`: no token is taken",
        );
        told
    });
    jwt.rules = Rules { issuer, audience };
}
