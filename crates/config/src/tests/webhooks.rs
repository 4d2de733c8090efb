//! `[webhooks]` and `[[webhook]]`.

use super::*;

const WEBHOOK_KEY: &str = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

#[test]
fn a_receiver_of_webhooks_has_an_address_and_keys() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), format!("{WEBHOOK_KEY}\n\n{WEBHOOK_KEY}\n")).expect("written");
    let config = parse(&format!(
        "[webhooks]\ndirectory = \"/a\"\n[[webhook]]\nurl = \"https://h/hook\"\n\
         secret = [\"{WEBHOOK_KEY}\", \"{WEBHOOK_KEY}\"]\nsecret_file = {:?}\n\
         events = [\"recording.*\", \"stream.ended\"]\nstreams = \"live/*\"\n\
         [[webhook]]\nurl = \"http://10.0.0.1:8/\"\nsecret = \"{WEBHOOK_KEY}\"",
        file.path()
    ));
    let config = config.expect("it is valid");
    let [first, second] = &config.hooks[..] else {
        panic!("two: {:?}", config.hooks)
    };
    assert_eq!((first.keys.len(), second.keys.len()), (4, 1));
    for (kind, stream, wanted) in [
        ("recording.closed", Some("live/a"), true),
        ("recording.closed", Some("tv/a"), false),
        ("recording.closed", None, true),
        ("stream.ended", Some("live/a"), true),
        ("stream.published", Some("live/a"), false),
    ] {
        assert_eq!(first.wants(kind, stream), wanted, "{kind} {stream:?}");
        assert!(second.wants(kind, stream));
    }
    // Of every listener only those are told that say so.
    assert!(!second.wants_kind("session.ended"));
    assert!(!format!("{config:?}").contains("whsec_"));
}

#[test]
fn a_receiver_of_webhooks_that_cannot_be_told_is_refused() {
    let hook = |rest: &str| format!("[[webhook]]\nurl = \"http://h/\"\n{rest}");
    let secret = format!("secret = \"{WEBHOOK_KEY}\"\n");
    for (source, line, key, words) in [
        (
            format!("[[webhook]]\n{secret}"),
            1,
            "url",
            "say who is told",
        ),
        (hook(""), 1, "secret", "openssl rand"),
        (hook("secret = []"), 3, "secret", "is empty"),
        (
            hook("secret = \"whsec_AAAA\""),
            3,
            "secret",
            "24 to 64 bytes",
        ),
        (
            hook("secret_file = \"/none\""),
            3,
            "secret_file",
            "cannot be read",
        ),
        (
            hook(&format!("{secret}events = [\"recordings.*\"]")),
            4,
            "events",
            "fits none of recording.closed",
        ),
        (
            format!("[[webhook]]\nurl = \"rtmp://h/\"\n{secret}"),
            2,
            "url",
            "is not spoken here",
        ),
    ] {
        one_problem(&source, line, &format!("webhook.0.{key}"), words);
    }
    let twice = format!("{}{}", hook(&secret), hook(&secret));
    one_problem(&twice, 5, "webhook.1.url", "another webhook");
}
