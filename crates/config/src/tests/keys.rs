//! Secrets, and the keys that open streams.

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
        let keys = config.publish_keys(&name).map(|key| match key.name {
            Some(name) => format!("{name} {}", key.secret.reveal()),
            None => key.secret.reveal().to_owned(),
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
