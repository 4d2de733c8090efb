//! Secrets, and the keys that open streams.

use std::time::SystemTime;

use super::*;

#[test]
fn weak_secrets_are_refused_and_no_secret_is_shown() {
    for weak in ["hackme", "password", "x7Kq", "changeme123", "12345678"] {
        let source = format!("[auth]\npublish_key = \"{weak}\"");
        one_problem(&source, 2, "auth.publish_key", "generated at start");
        assert!(!parse(&source).expect_err("weak").to_string().contains(weak));
        let report = with_environment("", &[("CARILLON__AUTH__PUBLISH_KEY", weak)]);
        assert!(!report.expect_err("weak").to_string().contains(weak));
    }
    for broken in [
        "[auth]\npublsh_key = \"x7Kq-92mPz\"",
        "[auth]\npublish_key = \"x7Kq-92mPz",
        "[auth]\npublish_key = [\"x7Kq-92mPz\"]",
        "auth = { publish_key = \"x7Kq-92mPz\", oops = 1 }",
        "[auth]\npublish_key = \"x7Kq-92mPz\"\nadmin_password = \"x7Kq-92mPz\"",
        "[[push]]\nmatch = \"a\"\nurl = \"rtmp://u:x7Kq-92mPz@h\"",
        "[[push]]\nmatch = \"a\"\nurl = \"rtmp:/u:x7Kq-92mPz@h/a/b\"",
        "[[push]]\nmatch = \"a\"\nulr = \"rtmp://h/a/x7Kq-92mPz\"",
        "[[push]]\nmatch = \"a\"\nurl = \"x7Kq-92mPz\"",
        "[[pull]]\nstream = \"a\"\nurl = [\"rtmp://u:x7Kq-92mPz@h/a/b\"]",
        "pull = [\n{ stream = \"a\", url = \"rtmp://u:x7Kq-92mPz@h/a/b\", oops = 1 }]",
    ] {
        let report = parse(broken).expect_err(broken);
        let shown = format!("{report} {report:?}");
        assert!(!shown.contains("x7Kq-92mPz"), "{shown}");
    }
    let config = parse("[auth]\npublish_key = \"x7Kq-92mPz\"").expect("a good key");
    assert!(!format!("{config:?}").contains("x7Kq-92mPz"));
    for link in [
        "[[push]]\nmatch = \"a\"\nurl = \"rtmp://u:x7Kq-92mPz@h/a/{name}\"",
        "[[push]]\nmatch = \"a\"\nurl = \"rtmp://h/a/x7Kq-92mPz\"",
        "[[pull]]\nstream = \"a\"\nurl = \"rtmp://u:x7Kq-92mPz@h/a/b?k=x7Kq-92mPz\"",
    ] {
        let config = parse(link).expect(link);
        assert!(!format!("{config:?}").contains("x7Kq-92mPz"), "{config:?}");
    }
    let report = with_environment("", &[("CARILLON__PUSH__0__URL", "rtmp://x7Kq-92mPz@h")]);
    let report = report.expect_err("no stream");
    assert!(!format!("{report} {report:?}").contains("x7Kq-92mPz"));
}

#[test]
fn named_keys_open_the_streams_that_they_are_for() {
    let (all, own) = ("x7Kq-92mPz", "other-k3y-here");
    let (studio, van_key) = ("studio studio-k3y-1", "van van-k3y-number-2");
    let source = "[auth]\npublish_key = \"x7Kq-92mPz\"\n\
        [[auth.key]]\nname = \"studio\"\nkey = \"studio-k3y-1\"\nmatch = \"live/*\"\n\
        [[stream]]\nmatch = \"live/own\"\npublish_key = \"other-k3y-here\"\n";
    let van = [
        ("CARILLON__AUTH__KEY__1__NAME", "van"),
        ("CARILLON__AUTH__KEY__1__KEY", "van-k3y-number-2"),
        ("CARILLON__AUTH__KEY__1__MATCH", "**"),
    ];
    let config = with_environment(source, &van).expect("valid");
    for (stream, expected) in [
        ("live/show", &[all, studio, van_key][..]),
        ("live/own", &[own, studio, van_key]),
        ("radio", &[all, van_key]),
    ] {
        let stream = name(stream);
        let keys = config
            .keys_for(Scope::Publish, &stream, &[])
            .map(|key| match key.name {
                Some(name) => format!("{name} {}", plain(key.secret).reveal()),
                None => plain(key.secret).reveal().to_owned(),
            });
        assert_eq!(keys.collect::<Vec<_>>(), expected, "{stream}");
    }
    assert!(!format!("{config:?}").contains("k3y"), "{config:?}");
}

/// Behind two keys, that of all streams and one with a name, and the administrator's password.
const AMBIGUOUS: &str = r#"
{key} name = "studio" ; match = "a" => 9 auth.key.1.name: another key
{van} key = "studio-k3y-1" => 11 auth.key.1.key: a publish key already
{van} key = "x7Kq-92mPz" => 11 auth.key.1.key: a publish key already
{van} key = "tower-warden-77" => 11 auth.key.1.key: administrator's password
{van} key = "hackme" => 11 auth.key.1.key: shorter than 8
{key} name = "" ; match = "a" => 9 auth.key.1.name: is empty
{key} match = "a" => 8 auth.key.1.name: is missing
{key} name = "van" => 8 auth.key.1.match: is missing
{van} key = "other-k3y-here" ; [[stream]] ; match = "a" ; publish_key = "other-k3y-here" => 11 auth.key.1.key: a publish key already
"#;

#[test]
fn keys_that_cannot_be_distinguished_are_refused() {
    let own = "[auth] ; publish_key = \"x7Kq-92mPz\" ; admin_password = \"tower-warden-77\"";
    let studio = "[[auth.key]] ; name = \"studio\" ; key = \"studio-k3y-1\" ; match = \"live/*\"";
    let rows = AMBIGUOUS.replace("{van}", "{key} name = \"van\" ; match = \"a\" ;");
    each_has_one_problem(&rows.replace("{key}", &format!("{own} ; {studio} ; [[auth.key]] ;")));
}

const SCOPES_AND_ENDS: &str = r#"
{key} scopes = [] => 5 auth.key.0.scopes: permits nothing
{key} scopes = ["admin"] => 5 auth.key.0.scopes: all streams
{key} scopes = ["listen"] => 5 auth.key.0.scopes: "metadata"
{key} expires = "2027-01-01" => 5 auth.key.0.expires: with its zone
{key} expires = "2027-01-01T00:00:00" => 5 auth.key.0.expires: with its zone
{key} expires = "1969-01-01T00:00:00Z" => 5 auth.key.0.expires: with its zone
{key} expires = 5 => 5 auth.key.0.expires: with its zone
"#;

#[test]
fn keys_say_what_they_are_for_and_how_long() {
    let van = "[[auth.key]]\nname = \"van\"\nkey = \"van-k3y-number-2\"\nmatch = \"live/*\"\n";
    let with = |rest: &str| format!("{van}{rest}\n");
    let config = parse(&with("expires = \"2027-01-01T00:00:00Z\"")).expect("valid");
    let key = &config.auth.keys[0];
    assert_eq!(key.scopes, Scopes::OF_PUBLISHERS);
    let seconds = |source: &str| {
        let expires = parse(&with(source)).expect(source).auth.keys[0].expires;
        let since = expires.map(|at| at.duration_since(SystemTime::UNIX_EPOCH));
        since.expect("an end").expect("after 1970").as_secs()
    };
    for (source, expected) in [
        ("expires = \"2027-01-01T00:00:00Z\"", 1_798_761_600),
        ("expires = 2027-01-01T00:00:00Z", 1_798_761_600),
        ("expires = 2027-01-01T02:00:00+02:00", 1_798_761_600),
        ("expires = \"2024-02-29T12:30:15Z\"", 1_709_209_815),
        ("expires = \"2024-03-01T00:00:00Z\"", 1_709_251_200),
        ("expires = \"2100-03-01T00:00:00Z\"", 4_107_542_400),
        ("expires = \"1970-01-01T00:00:00Z\"", 0),
    ] {
        assert_eq!(seconds(source), expected, "{source}");
    }
    each_has_one_problem(&SCOPES_AND_ENDS.replace("{key}", &van.replace('\n', " ; ")));
}

#[test]
fn hashes_of_keys_are_checked_and_not_shown() {
    let hash = include_str!("../../../auth/src/proof/hash.phc").trim();
    let with = |key: &str| format!("[[auth.key]]\nname = \"van\"\nmatch = \"a\"\nkey = \"{key}\"");
    let config = parse(&with(hash)).expect("valid");
    let secret = &config.auth.keys[0].secret;
    assert!(matches!(secret, Some(KeySecret::Hash(_))));
    assert!(!format!("{config:?}").contains("argon2"), "{config:?}");
    for (key, words) in [
        (hash.replace("m=1024", "m=999999"), "each guess"),
        (hash.replace("argon2id", "argon2i"), "argon2id"),
        (hash[..hash.len() - 10].replace('+', "*"), "argon2id"),
    ] {
        let source = with(&key);
        one_problem(&source, 4, "auth.key.0.key", words);
        let shown = parse(&source).expect_err("wrong").to_string();
        assert!(!shown.contains("c29tZXNhbHQ"), "{shown}");
    }
    let numbered = |number: i32| {
        let hash = hash.replace("OJC", &format!("{number:03}"));
        with(&hash).replace("van", &format!("van{number}"))
    };
    let keys: Vec<_> = (0..33).map(numbered).collect();
    let report = parse(&keys.join("\n")).expect_err("too many").to_string();
    assert!(report.contains("more than 32 hashes"), "{report}");
    let dear = |count: usize| {
        let keys = keys.iter().take(count);
        let dear = keys.map(|key| key.replace("m=1024,t=1", "m=65536,t=8"));
        dear.collect::<Vec<_>>().join("\n")
    };
    assert!(parse(&dear(3)).is_ok());
    one_problem(&dear(4), 16, "auth.key.3.key", "may take one second");
    parse(&keys[..32].join("\n")).expect("as many as may be");
}

const UNHEARD: &str = r#"
[auth] ; play = "key" => 2 auth.play: no key for listeners
[[stream]] ; match = "a" ; play = "key" => 3 stream.0.play: no key for listeners
[auth.link] ; secret = "x7Kq-92mPz" => 2 auth.link.secret: 32
[auth.link] ; secrets = ["x7Kq-92mPz"] => 2 auth.link.secrets: 32
"#;

#[test]
fn listeners_that_need_a_key_can_have_one() {
    each_has_one_problem(UNHEARD);
    let secret = "an-hmac-secret-of-32-characters!";
    let play = "[auth]\nplay = \"key\"\n";
    let rule = "[[stream]]\nmatch = \"a\"\nplay = \"key\"\n";
    let link = format!("{rule}[auth.link]\nsecrets = [\"{secret}\"]");
    let config = parse(&link).expect("valid");
    let access = |stream| config.play_access(&name(stream));
    assert_eq!(access("a"), PlayAccess::Key);
    assert_eq!(access("a~720p"), PlayAccess::Key);
    assert_eq!(access("b"), PlayAccess::Open);
    let listener = "[[auth.key]]\nname = \"ear\"\nmatch = \"a\"\nscopes = [\"play\"]\n";
    parse(&format!("{play}{listener}")).expect("valid");
    let both = format!("[auth.link]\nsecret = \"{secret}\"\nsecrets = [\"{secret}\"]");
    let config = parse(&both).expect("valid");
    assert_eq!(config.auth.link_secrets.len(), 2);
    assert!(!format!("{config:?}").contains("hmac"), "{config:?}");
}

#[test]
fn a_file_of_keys_is_checked_with_the_configuration() {
    let source = "[auth]\nkeys_file = \"/nowhere/keys.toml\"";
    one_problem(source, 2, "auth.keys_file", "cannot be read");
    let auth = parse("[[auth.key]]\nname = \"studio\"\nkey = \"studio-k3y-1\"\nmatch = \"live/*\"")
        .expect("valid")
        .auth;
    let key = |name: &str, key: &str| {
        format!("[[key]]\nname = \"{name}\"\nkey = \"{key}\"\nmatch = \"a\"\n")
    };
    let read = |source: &str| keys_file::parse("keys.toml", source, &auth);
    let keys = read(&key("van", "van-k3y-number-2")).expect("valid");
    assert_eq!(keys[0].name.as_str(), "van");
    let more = format!("{}x = 1", key("van", "van-k3y-number-2"));
    for (source, words) in [
        (key("studio", "van-k3y-number-2"), "another key"),
        (key("van", "studio-k3y-1"), "already"),
        (key("van", ""), "is missing"),
        (key("van", "hackme"), "is "),
        (more, "no such key"),
    ] {
        let report = read(&source).expect_err(&source).to_string();
        assert!(
            report.contains(words) && !report.contains("k3y-"),
            "{report}"
        );
    }
}

const NO_USERS: &str = r#"
[[auth.htpasswd]] ; file = "/nowhere/users" => 2 auth.htpasswd.0.file: cannot be read
[[auth.htpasswd]] => 1 auth.htpasswd.0.file: say where
[[auth.htpasswd]] ; file = "" ; scopes = ["admin"] => 3 auth.htpasswd.0.scopes: for a key
"#;

#[test]
fn files_of_users_are_checked_with_the_configuration() {
    each_has_one_problem(NO_USERS);

    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("users");
    let write = |text: &str, mode: u32| {
        std::fs::write(&path, text).expect("written");
        let rights = std::os::unix::fs::PermissionsExt::from_mode(mode);
        std::fs::set_permissions(&path, rights).expect("set");
    };
    let rule =
        format!("[auth]\nplay = \"key\"\n[[auth.htpasswd]]\nfile = {path:?}\nmatch = \"a/*\"");
    write("ann:0cc175b9c0f1b6a831c399e269772661\n", 0o644);
    one_problem(&rule, 4, "auth.htpasswd.0.file", "open to every user");
    write("ann:secret\n", 0o640);
    one_problem(&rule, 4, "auth.htpasswd.0.file", "line 1");
    write("ann:0cc175b9c0f1b6a831c399e269772661\n", 0o640);
    let config = parse(&rule).expect("valid");
    let users = &config.auth.users[0];
    let is_for = |scope, stream| users.is_for(scope, &name(stream));
    assert!(is_for(Scope::Play, "a/b") && is_for(Scope::Play, "a/b~720p"));
    assert!(!is_for(Scope::Play, "b") && !is_for(Scope::Publish, "a/b"));
}

const NO_TOKENS: &str = r#"
[auth.jwt] ; secret = "x7Kq-92mPz" => 2 auth.jwt.secret: 32
[auth.jwt] ; issuer = "i" => 2 auth.jwt.issuer: no token is taken
[auth.jwt] ; jwks_file = "/nowhere/keys.json" => 2 auth.jwt.jwks_file: cannot be opened
[auth.jwt] ; jwks_url = "ftp://id.example" => 2 auth.jwt.jwks_url: http
"#;

#[test]
fn tokens_need_a_key_that_can_be_used() {
    each_has_one_problem(NO_TOKENS);
    let config = parse(
        "[auth]\nplay = \"key\"\n[auth.jwt]\nsecret = \"an-hmac-secret-of-32-characters!\"\naudience = \"a\"",
    );
    let jwt = config.expect("valid").auth.jwt;
    assert_eq!(jwt.rules.audience.as_deref(), Some("a"));
    assert!(jwt.is_used() && jwt.rules.issuer.is_none());
}
