//! JSON Web Tokens signed with a secret of the configuration permit what they claim, until they expire.

use serde_json::{Value, json};
use testkit::Clip;

use crate::support::guarded::{Guarded, assert_secret};
use crate::support::repeat_rtmp;
use crate::support::token_issuer::{SECRET, hs256, later};

/// Returns the claims of a token that expires this many seconds from now.
fn claims(seconds: i64) -> Value {
    let permissions = json!([{"do": ["publish", "play"], "on": "live/*"}]);
    json!({"sub": "ann", "exp": later(seconds), "carillon": permissions})
}

#[test]
fn a_token_of_openssl_is_judged_by_its_signature_and_its_time() {
    let guarded = Guarded::start();
    let _show = repeat_rtmp(&guarded.server, Clip::Flv, "live/show");
    let right = hs256(SECRET, &claims(600));
    let forged = hs256("another-secret-of-32-characters!", &claims(600));
    let over = hs256(SECRET, &claims(-60));
    for (name, token, status) in [
        ("forged", &forged, 401),
        ("over", &over, 403),
        ("right", &right, 200),
    ] {
        let query = format!("jwt={token}");
        let reported = guarded.first_bytes(&format!("/live/show.flv?{query}"), &[]);
        assert_eq!(reported, status, "{name}: a listener");
        let stream = format!("live/{name}");
        let url = guarded.rtmp(&stream, &query);
        let is_published = guarded.publishes(Clip::Flv, &url, &stream);
        assert_eq!(is_published, status == 200, "{name}: a publisher");
    }
    assert_secret(&guarded, &[right, forged, over]);
}
