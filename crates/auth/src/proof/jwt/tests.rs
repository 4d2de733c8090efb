use jsonwebtoken::{EncodingKey, Header, encode};
use serde_json::{Value, json};

use super::*;
use crate::proof::Scope;

const SECRET: &str = "an-issuers-secret-of-32-characters";

/// The moment of all tests, seconds since 1970.
const NOW: u64 = 1_800_000_000;

/// Of P-256, from RFC 7517 appendix A.1, and two that are left out.
const SET: &str = r#"{"keys": [
    {"kty": "EC", "crv": "P-256", "use": "enc", "kid": "sealed",
     "x": "MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4",
     "y": "4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM"},
    {"kty": "EC", "crv": "P-256", "kid": "one", "key_ops": ["verify"],
     "x": "MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4",
     "y": "4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM"},
    {"kty": "oct", "kid": "public-secret", "k": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}]}"#;

fn now() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(NOW)
}

fn token(claims: &Value) -> String {
    let key = EncodingKey::from_secret(SECRET.as_bytes());
    encode(&Header::default(), claims, &key).expect("signed")
}

fn verified_with(claims: &Value, rules: &Rules) -> Result<Claims, Refused> {
    let keys = KeySet::of_secret(SECRET);
    verify(&token(claims), [&keys].into_iter(), rules, now())
}

fn verified(claims: &Value) -> Result<Claims, Refused> {
    verified_with(claims, &Rules::default())
}

/// The streams for which a token with these claims permits to listen and to publish.
fn permits(claims: Value, stream: &str) -> [bool; 2] {
    let mut claims = claims;
    claims["exp"] = json!(NOW + 60);
    let claims = verified(&claims).expect("in force");
    let prefix = |pattern: &str| stream.starts_with(pattern.trim_end_matches('*'));
    let may = |scope| {
        let found = claims.permission(scope, |streams| streams.contain(stream, prefix));
        found.is_some()
    };
    [may(Scope::Play), may(Scope::Publish)]
}

#[test]
fn times_are_numbers_and_clocks_may_differ() {
    let leeway = LEEWAY.as_secs();
    let over = Err(Refused::Expired);
    let claim = |name| Err(Refused::Claim(name));
    for (claims, expected) in [
        (json!({"exp": NOW + 60}), Ok(NOW + 60 + leeway)),
        (json!({"exp": NOW - leeway + 1}), Ok(NOW + 1)),
        (json!({"exp": NOW - leeway}), over),
        (json!({"exp": 0}), over),
        (
            json!({"exp": NOW + 60, "nbf": NOW + leeway}),
            Ok(NOW + 60 + leeway),
        ),
        (
            json!({"exp": NOW + 60, "nbf": NOW + leeway + 1}),
            Err(Refused::NotYet),
        ),
        (json!({}), claim("exp")),
        (json!({"exp": null}), claim("exp")),
        (json!({"exp": "never"}), claim("exp")),
        (json!({"exp": (NOW + 60).to_string()}), claim("exp")),
        (json!({"exp": true}), claim("exp")),
        (json!({"exp": -1}), claim("exp")),
        (json!({"exp": 1e18}), claim("exp")),
        (json!({"exp": u64::MAX}), claim("exp")),
        (json!({"exp": NOW + 60, "nbf": []}), claim("nbf")),
    ] {
        let expires = verified(&claims).map(|claims| claims.expires);
        let expected =
            expected.map(|seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(expires, expected, "{claims}");
    }
    let fraction = verified(&json!({"exp": NOW as f64 + 0.5})).expect("in force");
    let left = fraction.expires.duration_since(now()).expect("later");
    assert_eq!(left, LEEWAY + Duration::from_millis(500));
}

#[test]
fn issuer_and_audience_are_those_that_are_expected() {
    let rules = |issuer: Option<&str>, audience: Option<&str>| Rules {
        issuer: issuer.map(str::to_owned),
        audience: audience.map(str::to_owned),
    };
    let told = |claims: Value, rules: &Rules| {
        let mut claims = claims;
        claims["exp"] = json!(NOW + 60);
        verified_with(&claims, rules).err()
    };
    let (any, ours) = (rules(None, None), rules(Some("i"), Some("us")));
    assert_eq!(told(json!({"iss": "x"}), &any), None);
    assert_eq!(
        told(json!({"aud": "us"}), &any),
        Some(Refused::OtherAudience)
    );
    assert_eq!(told(json!({"iss": "i", "aud": "us"}), &ours), None);
    assert_eq!(told(json!({"iss": "i", "aud": ["a", "us"]}), &ours), None);
    for aud in [
        json!("usa"),
        json!([]),
        json!(["a"]),
        json!(null),
        json!({"us": 1}),
    ] {
        let told = told(json!({"iss": "i", "aud": aud}), &ours);
        assert_eq!(told, Some(Refused::OtherAudience));
    }
    for iss in [json!("I"), json!(["i"]), json!(null)] {
        let told = told(json!({"iss": iss, "aud": "us"}), &ours);
        assert_eq!(told, Some(Refused::OtherIssuer));
    }
}

#[test]
fn permissions_are_read_in_three_forms() {
    let ours = json!({"carillon": [{"do": ["play", "fly"], "on": ["a/*", "b"]}, {"do": "publish", "on": "c"}]});
    let media = json!({"mediamtx_permissions": [
        {"action": "read", "path": "a/x"}, {"action": "publish", "path": "~^c/[0-9]+$"},
        {"action": "api"}, {"action": "read", "path": "~("}, {"action": "playback", "path": "~^d"}]});
    let room = |more: Value| {
        let mut grant = json!({"room": "a/x", "roomJoin": true});
        let all = grant.as_object_mut().expect("an object");
        all.extend(more.as_object().expect("an object").clone());
        json!({ "video": grant })
    };
    let (both, neither) = ([true, true], [false, false]);
    let (play, publish) = ([true, false], [false, true]);
    for (claims, stream, expected) in [
        (ours.clone(), "a/x", play),
        (ours.clone(), "b", play),
        (ours.clone(), "c", publish),
        (ours, "d", neither),
        (media.clone(), "a/x", play),
        (media.clone(), "a/xy", neither),
        (media.clone(), "c/17", publish),
        (media.clone(), "c/17b", neither),
        (media, "d/e", play),
        (
            json!({"mediamtx_permissions": [{"action": "read"}]}),
            "any",
            play,
        ),
        (
            json!({"mediamtx_permissions": "[{\"action\": \"read\", \"path\": \"\"}]"}),
            "any",
            play,
        ),
        (json!({"mediamtx_permissions": "all"}), "any", neither),
        (
            json!({"mediamtx_permissions": [{"action": "read", "path": 5}]}),
            "any",
            neither,
        ),
        (room(json!({})), "a/x", both),
        (room(json!({})), "a/y", neither),
        (room(json!({"canPublish": false})), "a/x", play),
        (room(json!({"canSubscribe": false})), "a/x", publish),
        (room(json!({"canPublish": "yes"})), "a/x", play),
        (room(json!({"roomJoin": false})), "a/x", neither),
        (json!({"video": {"room": "a/x"}}), "a/x", neither),
        (
            json!({"carillon": {"do": "play", "on": "**"}}),
            "a",
            neither,
        ),
        (
            json!({"carillon": ["play"], "video": [], "sub": 5}),
            "a",
            neither,
        ),
        (json!({}), "a", neither),
    ] {
        assert_eq!(
            permits(claims.clone(), stream),
            expected,
            "{claims} {stream}"
        );
    }
}

#[test]
fn our_permissions_may_be_for_so_many_players() {
    let counted = |number: Value| {
        let permission = json!({"do": "play", "on": ["a", "b"], "max_sessions": number});
        let claims = json!({"exp": NOW + 60, "jti": "t-1", "carillon": [permission]});
        let claims = verified(&claims).expect("in force");
        assert_eq!(claims.id.as_deref(), Some("t-1"));
        let permissions = claims.permissions.into_iter();
        let numbers = permissions.map(|one| one.players_max.map(std::num::NonZeroU32::get));
        numbers.collect::<Vec<_>>()
    };
    assert_eq!(counted(json!(2)), [Some(2), Some(2)]);
    for wrong in [json!(0), json!(-1), json!("2"), json!(1.5), json!(null)] {
        assert_eq!(counted(wrong.clone()), [], "{wrong}");
    }
    let free = verified(&json!({"exp": NOW + 60, "carillon": [{"do": "play", "on": "a"}]}));
    assert_eq!(free.expect("in force").permissions[0].players_max, None);
}

#[test]
fn a_set_has_the_public_keys_for_signatures_that_are_known() {
    let set = KeySet::parse(SET.as_bytes()).expect("a set");
    assert_eq!(set.len(), 1);
    let none = SET.replace("\"verify\"", "\"encrypt\"");
    assert!(matches!(
        KeySet::parse(none.as_bytes()),
        Err(KeysRejected::None)
    ));
    for text in ["", "[]", "{}", "{\"keys\": 5}"] {
        assert!(matches!(
            KeySet::parse(text.as_bytes()),
            Err(KeysRejected::Syntax(_))
        ));
    }
    let many = format!("{{\"keys\": [{}{{}}]}}", "{},".repeat(KEYS_MAX));
    assert!(matches!(
        KeySet::parse(many.as_bytes()),
        Err(KeysRejected::TooMany)
    ));
}

#[test]
fn a_token_is_tried_with_few_keys() {
    let key = |id: &str| {
        let place = SET.rfind("{\"kty\": \"EC\"").expect("a key");
        let end = SET.rfind(",\n    {\"kty\": \"oct\"").expect("the next");
        SET[place..end].replace("\"kid\": \"one\", ", id)
    };
    let set = |ids: &[&str]| {
        let keys: Vec<_> = ids.iter().map(|id| key(id)).collect();
        KeySet::parse(format!("{{\"keys\": [{}]}}", keys.join(",")).as_bytes())
    };
    let named: Vec<_> = (0..8)
        .map(|number| format!("\"kid\": \"{number}\", "))
        .collect();
    let mut ids: Vec<&str> = named.iter().map(String::as_str).collect();
    ids.extend([""; KEYS_TRIED_MAX]);
    let many = set(&ids).expect("a set");
    let count = |id: Option<&str>, algorithm| {
        let keys: Vec<_> = many.named(id).collect();
        tried(&keys, algorithm, id.is_some()).len()
    };
    assert_eq!(count(Some("7"), Algorithm::ES256), 1, "the one of its name");
    assert_eq!(count(Some("8"), Algorithm::ES256), KEYS_TRIED_MAX);
    assert_eq!(count(None, Algorithm::ES256), KEYS_TRIED_MAX);
    assert_eq!(count(None, Algorithm::RS256), 0);
    let nameless = set(&[""; KEYS_TRIED_MAX + 1]);
    assert!(matches!(nameless, Err(KeysRejected::Nameless)));
}

#[test]
fn what_no_key_has_signed_is_told_from_what_an_unknown_one_may_have() {
    let set = KeySet::parse(SET.as_bytes()).expect("a set");
    let secret = KeySet::of_secret(SECRET);
    let judged = |header: Value, sets: &[&KeySet]| {
        let encoded = |value: &Value| {
            use base64::Engine;
            base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(value.to_string())
        };
        let text = format!("{}.{}.AAAA", encoded(&header), encoded(&json!({})));
        assert_eq!(is_meant(&text), header != json!({}), "{text}");
        let sets = sets.iter().copied();
        verify(&text, sets, &Rules::default(), now()).err()
    };
    let (forged, unknown) = (Some(Refused::Forged), Some(Refused::UnknownKey));
    for (header, sets, expected) in [
        (json!({"alg": "ES256", "kid": "one"}), &[&set][..], forged),
        (json!({"alg": "HS256", "kid": "one"}), &[&set], forged),
        (json!({"alg": "ES256"}), &[&set], forged),
        (json!({"alg": "ES256", "kid": "two"}), &[&set], unknown),
        (
            json!({"alg": "ES256", "kid": "two"}),
            &[&set, &secret],
            unknown,
        ),
        (
            json!({"alg": "HS256", "kid": "two"}),
            &[&set, &secret],
            forged,
        ),
        (
            json!({"alg": "HS256", "kid": "public-secret"}),
            &[&set],
            unknown,
        ),
        (
            json!({"alg": "ES256", "kid": "k".repeat(257)}),
            &[&set],
            forged,
        ),
        (json!({"alg": "none"}), &[&set, &secret], forged),
        (json!({}), &[&set, &secret], forged),
        (json!({"alg": "ES256"}), &[], unknown),
    ] {
        assert_eq!(judged(header.clone(), sets), expected, "{header}");
    }
    let long = format!(
        "{}{}",
        token(&json!({"exp": NOW + 60})),
        "A".repeat(TOKEN_BYTES_MAX)
    );
    let told = verify(&long, [&secret].into_iter(), &Rules::default(), now());
    assert_eq!(told.err(), Some(Refused::Forged));
}

#[test]
fn tokens_are_told_from_keys() {
    assert!(is_meant(&token(&json!({}))));
    for text in [
        "",
        "bells-at-noon-41",
        "play.2000.cXHXnxcUd4mAi_hT01vjMw",
        "eyJ",
        "eyJhbGciOiJub25lIn0.e30",
        "eyJhbGciOiJub25lIn0.e30.a.b",
        "eyJhbGciOiJub25lIn0.e30.a b",
    ] {
        assert!(!is_meant(text), "{text}");
    }
}
