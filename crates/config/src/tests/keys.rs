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
        (
            "live/show",
            &["x7Kq-92mPz", "studio studio-k3y-1", "van van-k3y-number-2"][..],
        ),
        (
            "live/own",
            &[
                "other-k3y-here",
                "studio studio-k3y-1",
                "van van-k3y-number-2",
            ],
        ),
        ("radio", &["x7Kq-92mPz", "van van-k3y-number-2"]),
    ] {
        let name = StreamName::parse(stream).expect("a name");
        let keys = config
            .keys_for(Scope::Publish, &name, &[])
            .map(|key| match key.name {
                Some(name) => format!("{name} {}", plain(key.secret).reveal()),
                None => plain(key.secret).reveal().to_owned(),
            });
        assert_eq!(keys.collect::<Vec<_>>(), expected, "{stream}");
    }
    assert!(!format!("{config:?}").contains("k3y"), "{config:?}");
}

#[test]
fn keys_that_cannot_be_told_apart_are_refused() {
    let with = |rest: &str| {
        format!(
            "[auth]\npublish_key = \"x7Kq-92mPz\"\nadmin_password = \"tower-warden-77\"\n\
             [[auth.key]]\nname = \"studio\"\nkey = \"studio-k3y-1\"\nmatch = \"live/*\"\n\
             [[auth.key]]\n{rest}\n"
        )
    };
    let van = |key: &str| with(&format!("name = \"van\"\nkey = \"{key}\"\nmatch = \"a\""));
    for (source, line, key, words) in [
        (
            with("name = \"studio\"\nmatch = \"a\""),
            9,
            "auth.key.1.name",
            "another key",
        ),
        (
            van("studio-k3y-1"),
            10,
            "auth.key.1.key",
            "a publish key already",
        ),
        (
            van("x7Kq-92mPz"),
            10,
            "auth.key.1.key",
            "a publish key already",
        ),
        (
            van("tower-warden-77"),
            10,
            "auth.key.1.key",
            "administrator's password",
        ),
        (van("hackme"), 10, "auth.key.1.key", "shorter than 8"),
        (
            with("name = \"\"\nmatch = \"a\""),
            9,
            "auth.key.1.name",
            "is empty",
        ),
        (with("match = \"a\""), 8, "auth.key.1.name", "is missing"),
        (with("name = \"van\""), 8, "auth.key.1.match", "is missing"),
    ] {
        one_problem(&source, line, key, words);
    }
    let own = van("other-k3y-here") + "[[stream]]\nmatch = \"a\"\npublish_key = \"other-k3y-here\"";
    one_problem(&own, 10, "auth.key.1.key", "a publish key already");
}

#[test]
fn keys_say_what_they_are_for_and_how_long() {
    let with = |rest: &str| {
        format!(
            "[[auth.key]]\nname = \"van\"\nkey = \"van-k3y-number-2\"\nmatch = \"live/*\"\n{rest}\n"
        )
    };
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
    for (rest, key, words) in [
        ("scopes = []", "scopes", "permits nothing"),
        ("scopes = [\"admin\"]", "scopes", "all streams"),
        ("scopes = [\"listen\"]", "scopes", "\"metadata\""),
        ("expires = \"2027-01-01\"", "expires", "with its zone"),
        (
            "expires = \"2027-01-01T00:00:00\"",
            "expires",
            "with its zone",
        ),
        (
            "expires = \"1969-01-01T00:00:00Z\"",
            "expires",
            "with its zone",
        ),
        ("expires = 5", "expires", "with its zone"),
    ] {
        one_problem(&with(rest), 5, &format!("auth.key.0.{key}"), words);
    }
}

#[test]
fn hashes_of_keys_are_checked_and_not_shown() {
    let hash = include_str!("../../../auth/src/proof/hash.phc").trim();
    let with = |key: &str| format!("[[auth.key]]\nname = \"van\"\nmatch = \"a\"\nkey = \"{key}\"");
    let config = parse(&with(hash)).expect("valid");
    assert!(matches!(
        config.auth.keys[0].secret,
        Some(KeySecret::Hash(_))
    ));
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
    let keys: Vec<_> = (0..33)
        .map(|number| {
            with(&hash.replace("OJC", &format!("{number:03}")))
                .replace("van", &format!("van{number}"))
        })
        .collect();
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

#[test]
fn listeners_that_need_a_key_can_have_one() {
    let secret = "an-hmac-secret-of-32-characters!";
    let play = "[auth]\nplay = \"key\"\n";
    one_problem(play, 2, "auth.play", "no key for listeners");
    let rule = "[[stream]]\nmatch = \"a\"\nplay = \"key\"\n";
    one_problem(rule, 3, "stream.0.play", "no key for listeners");
    let link = format!("{rule}[auth.link]\nsecrets = [\"{secret}\"]");
    let config = parse(&link).expect("valid");
    let access = |name| config.play_access(&StreamName::parse(name).expect("a name"));
    assert_eq!(access("a"), PlayAccess::Key);
    assert_eq!(access("a~720p"), PlayAccess::Key);
    assert_eq!(access("b"), PlayAccess::Open);
    let listener = "[[auth.key]]\nname = \"ear\"\nmatch = \"a\"\nscopes = [\"play\"]\n";
    parse(&format!("{play}{listener}")).expect("valid");
    one_problem(
        "[auth.link]\nsecret = \"x7Kq-92mPz\"",
        2,
        "auth.link.secret",
        "32",
    );
    one_problem(
        "[auth.link]\nsecrets = [\"x7Kq-92mPz\"]",
        2,
        "auth.link.secrets",
        "32",
    );
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
    for (source, words) in [
        (key("studio", "van-k3y-number-2"), "another key"),
        (key("van", "studio-k3y-1"), "already"),
        (key("van", ""), "is missing"),
        (key("van", "hackme"), "is "),
        (
            format!("{}x = 1", key("van", "van-k3y-number-2")),
            "no such key",
        ),
    ] {
        let report = read(&source).expect_err(&source).to_string();
        assert!(
            report.contains(words) && !report.contains("k3y-"),
            "{report}"
        );
    }
}

#[test]
fn files_of_users_are_checked_with_the_configuration() {
    let rule = "[[auth.htpasswd]]\nfile = \"/nowhere/users\"\n";
    one_problem(rule, 2, "auth.htpasswd.0.file", "cannot be read");
    one_problem(
        "[[auth.htpasswd]]\n",
        1,
        "auth.htpasswd.0.file",
        "say where",
    );
    let admin = "[[auth.htpasswd]]\nfile = \"\"\nscopes = [\"admin\"]";
    one_problem(admin, 3, "auth.htpasswd.0.scopes", "for a key");

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
    let is_for = |scope, name| users.is_for(scope, &StreamName::parse(name).expect("a name"));
    assert!(is_for(Scope::Play, "a/b") && is_for(Scope::Play, "a/b~720p"));
    assert!(!is_for(Scope::Play, "b") && !is_for(Scope::Publish, "a/b"));
}

#[test]
fn tokens_need_a_key_that_can_be_used() {
    one_problem(
        "[auth.jwt]\nsecret = \"x7Kq-92mPz\"",
        2,
        "auth.jwt.secret",
        "32",
    );
    one_problem(
        "[auth.jwt]\nissuer = \"i\"",
        2,
        "auth.jwt.issuer",
        "no token is taken",
    );
    let file = "[auth.jwt]\njwks_file = \"/nowhere/keys.json\"";
    one_problem(file, 2, "auth.jwt.jwks_file", "cannot be opened");
    let url = "[auth.jwt]\njwks_url = \"ftp://id.example\"";
    one_problem(url, 2, "auth.jwt.jwks_url", "http");
    let config = parse(
        "[auth]\nplay = \"key\"\n[auth.jwt]\nsecret = \"an-hmac-secret-of-32-characters!\"\naudience = \"a\"",
    );
    let jwt = config.expect("valid").auth.jwt;
    assert_eq!(jwt.rules.audience.as_deref(), Some("a"));
    assert!(jwt.is_used() && jwt.rules.issuer.is_none());
}
