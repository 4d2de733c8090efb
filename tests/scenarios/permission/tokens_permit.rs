//! JSON Web Tokens of an issuer permit what they claim, as long as its keys and their times allow it; no other tokens do.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::{Clip, Process, Server, ServerBuilder, Tool};

use crate::support::token_issuer::{Issuer, SECRET, later};
use crate::support::{DEADLINE, curl_status, metric, publish_rtmp, wait_until};

const ISSUER: &str = "https://issuer.test";

/// Pause between the server's requests to an issuer.
const REST: Duration = Duration::from_secs(30);

/// Returns the claims of a listener's token.
fn claims() -> Value {
    let permissions = json!([{"do": "play", "on": "live/*"}]);
    json!({"iss": ISSUER, "aud": "carillon", "sub": "ann", "exp": later(600), "carillon": permissions})
}

/// Returns these claims with other values; `null` removes one.
fn but(changes: Value) -> Value {
    let mut claims = claims();
    let all = claims.as_object_mut().unwrap();
    for (name, value) in changes.as_object().unwrap() {
        match value {
            Value::Null => all.remove(name),
            value => all.insert(name.clone(), value.clone()),
        };
    }
    claims
}

fn serve(keys: &str) -> ServerBuilder {
    Server::builder()
        .set("auth", "play", "\"key\"")
        .set("log", "level", "\"debug\"")
        .toml(&format!(
            "[auth.jwt]\nissuer = \"{ISSUER}\"\naudience = \"carillon\"\n{keys}"
        ))
}

fn show(server: &Server) -> Process {
    publish_rtmp(server, &Clip::Flv.seconds(120), "live/show")
}

/// Returns the status of a listener with a token.
fn status(server: &Server, token: &str) -> u16 {
    let url = server.http_url(&format!("/live/show.flv?jwt={token}"));
    curl_status(&url, &["-r", "0-1"])
}

#[test]
fn tokens_are_judged_by_their_key_their_time_and_their_claims() {
    let issuer = Issuer::start();
    let keys = format!(
        "secret = \"{SECRET}\"\njwks_url = \"{}\"",
        issuer.jwks_url()
    );
    let server = serve(&keys).start();
    let _show = show(&server);
    let by =
        |key: &str, alg: &str, kid: &str| issuer.sign(key, alg, &claims(), &json!({ "kid": kid }));
    let rs = |changes: Value| issuer.token(&but(changes));
    let none = Value::Null;
    let tampered = {
        let token = issuer.token(&but(json!({"carillon": none})));
        let signed = issuer.token(&claims());
        let parts: Vec<_> = token.split('.').collect();
        [parts[0], signed.split('.').nth(1).unwrap(), parts[2]].join(".")
    };
    let rows = [
        // Tokens that permit.
        ("RS256", by("rsa", "RS256", "rsa"), 200),
        ("PS256 with the same key", by("rsa", "PS256", "rsa"), 200),
        ("ES256", by("ec", "ES256", "ec"), 200),
        ("Ed25519", by("ed", "EdDSA", "ed"), 200),
        ("HS256", by("secret", "HS256", "any"), 200),
        (
            "no name of a key",
            issuer.sign("rsa", "RS256", &claims(), &json!({})),
            200,
        ),
        // Tokens that no key has signed.
        ("none", by("rsa", "none", "rsa"), 401),
        (
            "the public key as a secret",
            by("public", "HS256", "rsa"),
            401,
        ),
        (
            "another kind of key than named",
            by("ec", "ES256", "rsa"),
            401,
        ),
        (
            "a stranger's signature",
            by("stranger", "RS256", "rsa"),
            401,
        ),
        (
            "a key that is not known",
            by("stranger", "RS256", "stranger"),
            401,
        ),
        (
            "a key for encryption",
            by("rsa", "RS256", "for-encryption"),
            401,
        ),
        ("another secret", by("other-secret", "HS256", "oct"), 401),
        ("other claims than signed", tampered, 401),
        ("claims that are no object", issuer.token(&json!("[]")), 401),
        (
            "what has to be understood",
            issuer.sign(
                "rsa",
                "RS256",
                &claims(),
                &json!({"kid": "rsa", "crit": ["b64"], "b64": true}),
            ),
            401,
        ),
        ("no token", "eyJhbGciOiJIUzI1NiJ9..".to_owned(), 401),
        // Tokens that permit something else, or not now.
        ("over", rs(json!({"exp": later(-60)})), 403),
        ("not yet", rs(json!({"nbf": later(60)})), 403),
        ("without an end", rs(json!({"exp": none})), 403),
        ("an end out of the calendar", rs(json!({"exp": 1e300})), 403),
        ("another audience", rs(json!({"aud": "other"})), 403),
        ("no audience", rs(json!({"aud": none})), 403),
        (
            "another issuer",
            rs(json!({"iss": "https://other.test"})),
            403,
        ),
        ("no issuer", rs(json!({"iss": none})), 403),
        (
            "other streams",
            rs(json!({"carillon": [{"do": "play", "on": "radio"}]})),
            403,
        ),
        (
            "another action",
            rs(json!({"carillon": [{"do": "publish", "on": "live/*"}]})),
            403,
        ),
        ("nothing", rs(json!({"carillon": none})), 403),
    ];
    let mut wrong = Vec::new();
    for (what, token, expected) in &rows {
        let reported = status(&server, token);
        if reported != *expected {
            wrong.push(format!("{what}: {reported} instead of {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    let log = server.log();
    assert!(
        log.contains("a token is refused"),
        "it is the log of this run"
    );
    for (what, token, _) in &rows {
        let signed = token.rsplit('.').next().unwrap();
        assert!(
            signed.is_empty() || !log.contains(signed),
            "{what} is in the log"
        );
    }
}

#[test]
fn keys_of_an_issuer_are_renewed_and_outlast_it() {
    let issuer = Issuer::start();
    issuer.publish(&json!(["rsa"]));
    let server = serve(&format!("jwks_url = \"{}\"", issuer.jwks_url())).start();
    let _show = show(&server);
    wait_until("the keys", || issuer.asked() > 0);
    let fetched = Instant::now();
    let old = issuer.token(&claims());
    let new = issuer.sign("next", "RS256", &claims(), &json!({"kid": "next"}));
    assert_eq!(status(&server, &old), 200);

    // While the issuer is down, its known keys stay valid. A server that starts meanwhile has no keys, and replies so.
    issuer.publish(&Value::Null);
    assert_eq!(status(&server, &old), 200);
    let down = Issuer::start();
    down.publish(&Value::Null);
    let late = serve(&format!("jwks_url = \"{}\"", down.jwks_url())).start();
    let _late_show = show(&late);
    let token = down.token(&claims());
    assert_eq!(status(&late, &token), 503);
    down.publish(&json!(["rsa"]));

    // The keys are renewed: an unknown key name makes the server request the keys, once in half a minute whatever is presented.
    issuer.publish(&json!(["next"]));
    let asked = issuer.asked();
    assert_eq!(status(&server, &new), 401, "it was asked just now");
    assert_eq!(issuer.asked(), asked);
    testkit::wait_until("half a minute", REST * 2, || {
        fetched.elapsed() > REST + Duration::from_secs(1)
    });
    assert_eq!(status(&server, &new), 200);
    assert_eq!(status(&server, &old), 401, "the old one is withdrawn");
    for number in 0..10 {
        let name = json!({"kid": format!("guess-{number}")});
        let guess = issuer.sign("stranger", "RS256", &claims(), &name);
        assert_eq!(status(&server, &guess), 401);
    }
    assert_eq!(issuer.asked(), asked + 1);
    wait_until("the late server's keys", || status(&late, &token) == 200);
}

#[test]
fn keys_of_a_file_are_read_again_and_operators_may_have_tokens() {
    let issuer = Issuer::start();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("jwks.json");
    let publish = |names: Value| {
        issuer.publish(&names);
        let set = Tool::new("curl")
            .args(["-sf", &issuer.jwks_url()])
            .run(DEADLINE);
        let new = file.with_extension("new");
        fs::write(&new, set).unwrap();
        fs::rename(&new, &file).unwrap();
    };
    publish(json!(["rsa"]));
    let server = serve(&format!("jwks_file = {file:?}"))
        .with_admin_password()
        .start();
    let _show = show(&server);
    let old = issuer.token(&claims());
    let new = issuer.sign("ec", "ES256", &claims(), &json!({"kid": "ec"}));
    let count = |result: &str| {
        let label = format!("result={result}");
        metric(&server, "carillon_token_signatures_total", &label)
    };
    let counted = || ["right", "wrong", "known"].map(count);
    assert_eq!((status(&server, &old), status(&server, &new)), (200, 401));
    assert_eq!(counted(), [1.0, 1.0, 0.0]);
    // A token's signature is verified once, and its permissions are checked each time.
    assert_eq!(status(&server, &old), 200);
    let _other = publish_rtmp(&server, &Clip::Flv.seconds(120), "other/show");
    let elsewhere = server.http_url(&format!("/other/show.flv?jwt={old}"));
    assert_eq!(curl_status(&elsewhere, &[]), 403);
    assert_eq!(counted(), [1.0, 1.0, 2.0]);
    publish(json!(["ec"]));
    wait_until("the new keys", || {
        server
            .log()
            .matches("the file of keys of tokens is read")
            .count()
            == 2
    });
    assert_eq!((status(&server, &old), status(&server, &new)), (401, 200));
    assert_eq!(counted(), [2.0, 2.0, 2.0], "no key makes another's known");

    let administers = |permissions: Value| {
        let claims = but(json!({"carillon": permissions}));
        let token = issuer.sign("ec", "ES256", &claims, &json!({"kid": "ec"}));
        let url = format!("http://{}/api/v1/streams", server.addr("admin"));
        curl_status(&url, &["-u", &format!("operator:{token}")])
    };
    assert_eq!(administers(json!([{"do": "admin", "on": "**"}])), 200);
    assert_eq!(administers(json!([{"do": "admin", "on": "live/*"}])), 403);
    assert_eq!(administers(json!([{"do": "play", "on": "**"}])), 403);
}

#[test]
fn a_token_that_is_known_is_refused_when_it_is_over() {
    let issuer = Issuer::start();
    let server = serve(&format!("jwks_url = \"{}\"", issuer.jwks_url())).start();
    let _show = show(&server);
    // Some seconds of the leeway for clocks are left.
    let token = issuer.token(&but(json!({"exp": later(-22)})));
    wait_until("the keys", || status(&server, &token) != 503);
    assert_eq!(status(&server, &token), 200);
    wait_until("its end", || status(&server, &token) == 403);
    let verified = metric(&server, "carillon_token_signatures_total", "result=right");
    assert_eq!(verified, 1.0, "it was not verified again");
}
