//! `[auth.jwt]`: issuers of the JSON Web Tokens that are accepted.

use auth::AuthJwt;
use auth::jwt::Rules;

use crate::read::Section;
use auth::Secret;

/// Length of the shortest token secret, in characters. The holder of a token can test secrets offline, and HS256 requires as
/// many bytes (RFC 7518 §3.2).
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
        let reported = s.read::<String>(key).filter(|text| !text.is_empty());
        s.require(
            key,
            reported.is_none() || jwt.is_used(),
            "is of no use without `secret`, `jwks_file` or `jwks_url`: no token is taken",
        );
        reported
    });
    jwt.rules = Rules { issuer, audience };
}
