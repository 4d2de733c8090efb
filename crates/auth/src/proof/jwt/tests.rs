use jsonwebtoken::{EncodingKey, Header, encode};
use serde_json::{Value, json};

use super::*;
use crate::proof::Scope;

const SECRET: &str = "an-issuers-secret-of-32-characters";

/// The moment of all tests, seconds since 1970.
const NOW: u64 = 1_800_000_000;

/// Key set with a P-256 key from RFC 7517 appendix A.1, and two that are left out.
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
    let (soon, latest) = (NOW + 60, NOW + leeway);
    let (over, not_yet) = (Err(Refused::Expired), Err(Refused::NotYet));
    let claim = |name| Err(Refused::Claim(name));
    for (claims, expected) in [
        (json!({"exp": NOW + 60}), Ok(NOW + 60 + leeway)),
        (json!({"exp": NOW - leeway + 1}), Ok(NOW + 1)),
        (json!({"exp": NOW - leeway}), over),
        (json!({"exp": 0}), over),
        (json!({"exp": soon, "nbf": latest}), Ok(soon + leeway)),
        (json!({"exp": soon, "nbf": latest + 1}), not_yet),
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
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        assert_eq!(expires, expected.map(at), "{claims}");
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
    let reported = |claims: Value, rules: &Rules| {
        let mut claims = claims;
        claims["exp"] = json!(NOW + 60);
        verified_with(&claims, rules).err()
    };
    let (any, ours) = (rules(None, None), rules(Some("i"), Some("us")));
    assert_eq!(reported(json!({"iss": "x"}), &any), None);
    let other = Some(Refused::OtherAudience);
    assert_eq!(reported(json!({"aud": "us"}), &any), other);
    assert_eq!(reported(json!({"iss": "i", "aud": "us"}), &ours), None);
    assert_eq!(
        reported(json!({"iss": "i", "aud": ["a", "us"]}), &ours),
        None
    );
    for aud in ["\"usa\"", "[]", "[\"a\"]", "null", "{\"us\": 1}"] {
        let claims = format!("{{\"iss\": \"i\", \"aud\": {aud}}}");
        let claims = serde_json::from_str(&claims).expect("JSON");
        assert_eq!(reported(claims, &ours), other, "{aud}");
    }
    for iss in [json!("I"), json!(["i"]), json!(null)] {
        let reported = reported(json!({"iss": iss, "aud": "us"}), &ours);
        assert_eq!(reported, Some(Refused::OtherIssuer));
    }
}

const OURS: &str =
    r#"{"carillon": [{"do": ["play", "fly"], "on": ["a/*", "b"]}, {"do": "publish", "on": "c"}]}"#;
const MEDIAMTX: &str = r#"{"mediamtx_permissions": [
    {"action": "read", "path": "a/x"}, {"action": "publish", "path": "~^c/[0-9]+$"},
    {"action": "api"}, {"action": "read", "path": "~("}, {"action": "playback", "path": "~^d"}]}"#;

/// Claims, a stream, and what they permit on it.
const PERMITTED: &str = r#"
OURS a/x => play
OURS b => play
OURS c => publish
OURS d => nothing
MEDIAMTX a/x => play
MEDIAMTX a/xy => nothing
MEDIAMTX c/17 => publish
MEDIAMTX c/17b => nothing
MEDIAMTX d/e => play
{"mediamtx_permissions": [{"action": "read"}]} any => play
{"mediamtx_permissions": "[{\"action\": \"read\", \"path\": \"\"}]"} any => play
{"mediamtx_permissions": "all"} any => nothing
{"mediamtx_permissions": [{"action": "read", "path": 5}]} any => nothing
{"video": {"room": "a/x", "roomJoin": true}} a/x => play and publish
{"video": {"room": "a/x", "roomJoin": true}} a/y => nothing
{"video": {"room": "a/x", "roomJoin": true, "canPublish": false}} a/x => play
{"video": {"room": "a/x", "roomJoin": true, "canSubscribe": false}} a/x => publish
{"video": {"room": "a/x", "roomJoin": true, "canPublish": "yes"}} a/x => play
{"video": {"room": "a/x", "roomJoin": false}} a/x => nothing
{"video": {"room": "a/x"}} a/x => nothing
{"carillon": {"do": "play", "on": "**"}} a => nothing
{"carillon": ["play"], "video": [], "sub": 5} a => nothing
{} a => nothing
"#;

#[test]
fn permissions_are_read_in_three_forms() {
    for row in PERMITTED.lines().filter(|row| !row.is_empty()) {
        let (given, permitted) = row.split_once(" => ").expect(row);
        let (claims, stream) = given.rsplit_once(' ').expect(row);
        let claims = claims.replace("OURS", OURS).replace("MEDIAMTX", MEDIAMTX);
        let claims = serde_json::from_str(&claims).expect(row);
        let expected = ["play", "publish"].map(|action| permitted.contains(action));
        assert_eq!(permits(claims, stream), expected, "{row}");
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
    let refused = |text: &str| KeySet::parse(text.as_bytes()).err();
    assert!(matches!(refused(&none), Some(KeysRejected::None)));
    for text in ["", "[]", "{}", "{\"keys\": 5}"] {
        let is_syntax = matches!(refused(text), Some(KeysRejected::Syntax(_)));
        assert!(is_syntax, "{text}");
    }
    let many = format!("{{\"keys\": [{}{{}}]}}", "{},".repeat(KEYS_MAX));
    assert!(matches!(refused(&many), Some(KeysRejected::TooMany)));
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
    let named: Vec<_> = (0..8).map(|it| format!("\"kid\": \"{it}\", ")).collect();
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
fn what_no_key_has_signed_is_distinguished_from_what_an_unknown_one_may_have() {
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
    let by = |alg: &str, kid: &str| json!({"alg": alg, "kid": kid});
    for (header, sets, expected) in [
        (by("ES256", "one"), &[&set][..], forged),
        (by("HS256", "one"), &[&set], forged),
        (json!({"alg": "ES256"}), &[&set], forged),
        (by("ES256", "two"), &[&set], unknown),
        (by("ES256", "two"), &[&set, &secret], unknown),
        (by("HS256", "two"), &[&set, &secret], forged),
        (by("HS256", "public-secret"), &[&set], unknown),
        (by("ES256", &"k".repeat(257)), &[&set], forged),
        (json!({"alg": "none"}), &[&set, &secret], forged),
        (json!({}), &[&set, &secret], forged),
        (json!({"alg": "ES256"}), &[], unknown),
    ] {
        assert_eq!(judged(header.clone(), sets), expected, "{header}");
    }
    let long = token(&json!({"exp": NOW + 60})) + &"A".repeat(TOKEN_BYTES_MAX);
    let reported = verify(&long, [&secret].into_iter(), &Rules::default(), now());
    assert_eq!(reported.err(), Some(Refused::Forged));
}

#[test]
fn tokens_are_distinguished_from_keys() {
    assert!(is_meant(&token(&json!({}))));
    for text in ["", "bells-at-noon-41", "play.2000.cXHXnxcUd4mAi_hT01vjMw"] {
        assert!(!is_meant(text), "{text}");
    }
    for rest in ["", "hbGciOiJub25lIn0.e30"] {
        assert!(!is_meant(&format!("eyJ{rest}")), "{rest}");
    }
    for signature in ["a.b", "a b"] {
        let text = format!("eyJhbGciOiJub25lIn0.e30.{signature}");
        assert!(!is_meant(&text), "{text}");
    }
}
