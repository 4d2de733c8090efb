//! JSON Web Tokens of an issuer permit what they claim, as long as its keys and their times say so, and no others do.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::{Clip, Process, Server, ServerBuilder, Tool, wait_until};

use crate::support::token_issuer::{Issuer, SECRET, later};
use crate::support::{DEADLINE, publish_rtmp, wait_for_stream};

const ISSUER: &str = "https://issuer.test";

/// How long the server leaves an issuer alone.
const REST: Duration = Duration::from_secs(30);

/// What a listener's token claims.
fn claims() -> Value {
    let permissions = json!([{"do": "play", "on": "live/*"}]);
    json!({"iss": ISSUER, "aud": "carillon", "sub": "ann", "exp": later(600), "carillon": permissions})
}

/// The same with other values, `null` for none.
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
    let publisher = publish_rtmp(server, &Clip::Flv.seconds(120), "live/show");
    wait_for_stream(server, "live/show");
    publisher
}

/// The status of a listener with a token.
fn status(server: &Server, token: &str) -> u16 {
    let printed = Tool::new("curl")
        .args(["-s", "-o", "/dev/null", "-w", "%{http_code}", "-r", "0-1"])
        .arg(server.http_url(&format!("/live/show.flv?jwt={token}")))
        .finish(DEADLINE);
    String::from_utf8(printed.stdout).unwrap().parse().unwrap()
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
    let of_mediamtx = |path: &str| json!([{"action": "read", "path": path}]);
    let of_livekit = |room: &str, joins: bool| json!({"room": room, "roomJoin": joins});
    let none = Value::Null;
    let tampered = {
        let token = issuer.token(&but(json!({"carillon": none})));
        let (parts, signed) = (
            token.split('.').collect::<Vec<_>>(),
            issuer.token(&claims()),
        );
        let payload = signed.split('.').nth(1).unwrap().to_owned();
        [parts[0], &payload, parts[2]].join(".")
    };
    let rows = [
        // Those that permit.
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
        (
            "an audience of several",
            rs(json!({"aud": ["other", "carillon"]})),
            200,
        ),
        (
            "a time with a fraction",
            rs(json!({"exp": later(600) as f64 + 0.5})),
            200,
        ),
        (
            "over, by the other clock",
            rs(json!({"exp": later(-15)})),
            200,
        ),
        (
            "early, by the other clock",
            rs(json!({"nbf": later(15)})),
            200,
        ),
        (
            "MediaMTX's path",
            rs(json!({"carillon": none, "mediamtx_permissions": of_mediamtx("live/show")})),
            200,
        ),
        (
            "MediaMTX's expression",
            rs(json!({"carillon": none, "mediamtx_permissions": of_mediamtx("~^live/s.+$")})),
            200,
        ),
        (
            "MediaMTX's text",
            rs(json!({"carillon": none, "mediamtx_permissions": of_mediamtx("").to_string()})),
            200,
        ),
        (
            "LiveKit's room",
            rs(json!({"carillon": none, "video": of_livekit("live/show", true)})),
            200,
        ),
        // Those that no key has signed.
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
        // Those that permit something else, or not now.
        ("over", rs(json!({"exp": later(-60)})), 403),
        ("not yet", rs(json!({"nbf": later(60)})), 403),
        ("never over", rs(json!({"exp": "never"})), 403),
        (
            "over at a time in words",
            rs(json!({"exp": later(600).to_string()})),
            403,
        ),
        ("without an end", rs(json!({"exp": none})), 403),
        ("an end out of the calendar", rs(json!({"exp": 1e300})), 403),
        ("a beginning in words", rs(json!({"nbf": "now"})), 403),
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
        (
            "MediaMTX's other path",
            rs(json!({"carillon": none, "mediamtx_permissions": of_mediamtx("live/show2")})),
            403,
        ),
        (
            "LiveKit's room, not joined",
            rs(json!({"carillon": none, "video": of_livekit("live/show", false)})),
            403,
        ),
    ];
    let mut wrong = Vec::new();
    for (what, token, expected) in &rows {
        let told = status(&server, token);
        if told != *expected {
            wrong.push(format!("{what}: {told} instead of {expected}"));
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
    wait_until("the keys", DEADLINE, || issuer.asked() > 0);
    let fetched = Instant::now();
    let old = issuer.token(&claims());
    let new = issuer.sign("next", "RS256", &claims(), &json!({"kid": "next"}));
    assert_eq!(status(&server, &old), 200);

    // Down: what was told holds on. A server that begins meanwhile knows nothing, and says so.
    issuer.publish(&Value::Null);
    assert_eq!(status(&server, &old), 200);
    let down = Issuer::start();
    down.publish(&Value::Null);
    let late = serve(&format!("jwks_url = \"{}\"", down.jwks_url())).start();
    let _late_show = show(&late);
    let token = down.token(&claims());
    assert_eq!(status(&late, &token), 503);
    down.publish(&json!(["rsa"]));

    // Renewed: a name that is not known has the issuer asked, once in half a minute whatever is presented.
    issuer.publish(&json!(["next"]));
    let asked = issuer.asked();
    assert_eq!(status(&server, &new), 401, "it was asked just now");
    assert_eq!(issuer.asked(), asked);
    wait_until("half a minute", REST * 2, || {
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
    wait_until("the late server's keys", DEADLINE, || {
        status(&late, &token) == 200
    });
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
        let label = format!("result=\"{result}\"");
        server
            .metrics()
            .sum("carillon_token_signatures_total", &[&label])
    };
    let counted = || ["right", "wrong", "known"].map(count);
    assert_eq!((status(&server, &old), status(&server, &new)), (200, 401));
    assert_eq!(counted(), [1.0, 1.0, 0.0]);
    // A token is verified once, and what it permits is judged each time.
    assert_eq!(status(&server, &old), 200);
    let _other = publish_rtmp(&server, &Clip::Flv.seconds(120), "other/show");
    wait_for_stream(&server, "other/show");
    let elsewhere = server.http_url(&format!("/other/show.flv?jwt={old}"));
    let refused = Tool::new("curl")
        .args(["-s", "-o", "/dev/null", "-w", "%{http_code}", &elsewhere])
        .run(DEADLINE);
    assert_eq!(String::from_utf8_lossy(&refused), "403");
    assert_eq!(counted(), [1.0, 1.0, 2.0]);
    publish(json!(["ec"]));
    wait_until("the new keys", DEADLINE, || {
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
        let printed = Tool::new("curl")
            .args(["-s", "-o", "/dev/null", "-w", "%{http_code}"])
            .args(["-u", &format!("operator:{token}")])
            .arg(format!("http://{}/api/v1/streams", server.addr("admin")))
            .finish(DEADLINE);
        String::from_utf8(printed.stdout).unwrap()
    };
    assert_eq!(administers(json!([{"do": "admin", "on": "**"}])), "200");
    assert_eq!(administers(json!([{"do": "admin", "on": "live/*"}])), "403");
    assert_eq!(administers(json!([{"do": "play", "on": "**"}])), "403");
}

#[test]
fn a_token_that_is_known_is_refused_when_it_is_over() {
    let issuer = Issuer::start();
    let server = serve(&format!("jwks_url = \"{}\"", issuer.jwks_url())).start();
    let _show = show(&server);
    // Of the leeway for clocks some seconds are left.
    let token = issuer.token(&but(json!({"exp": later(-22)})));
    wait_until("the keys", DEADLINE, || status(&server, &token) != 503);
    assert_eq!(status(&server, &token), 200);
    wait_until("its end", DEADLINE, || status(&server, &token) == 403);
    let verified = server
        .metrics()
        .sum("carillon_token_signatures_total", &["result=\"right\""]);
    assert_eq!(verified, 1.0, "it was not verified again");
}
