//! JSON Web Tokens and key sets: no unsigned text is accepted, whatever a set holds; and claims of any form are judged.

#![no_main]

use std::time::SystemTime;

use auth::jwt::{self, KeySet, Refused, Rules};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, EncodingKey, crypto};
use libfuzzer_sys::fuzz_target;

/// Secret with which no token of the seeds was made.
const SECRET: &str = "what-the-fuzzer-does-not-know-32";

fuzz_target!(|input: (&str, &str, &str)| {
    let (token, set, claims) = input;
    let keys = KeySet::of_secret(SECRET);
    let published = KeySet::parse(set.as_bytes()).ok();
    let judge = |token: &str| {
        let sets = [&keys].into_iter().chain(&published);
        jwt::verify(token, sets, &Rules::default(), SystemTime::UNIX_EPOCH)
    };
    let reported = judge(token);
    assert!(matches!(
        reported,
        Err(Refused::Forged | Refused::UnknownKey)
    ));
    // Signs any claims unchanged.
    let head = URL_SAFE_NO_PAD.encode(r#"{"alg":"HS256"}"#);
    let signed = format!("{head}.{}", URL_SAFE_NO_PAD.encode(claims));
    let key = EncodingKey::from_secret(SECRET.as_bytes());
    let mac = crypto::sign(signed.as_bytes(), &key, Algorithm::HS256).unwrap();
    if let Ok(claims) = judge(&format!("{signed}.{mac}")) {
        assert!(claims.expires > SystemTime::UNIX_EPOCH);
        for permission in claims.permissions {
            permission.streams.contain("live/show", |_| true);
        }
    }
});
