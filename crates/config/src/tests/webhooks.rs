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
    // Only receivers that say so are notified of every listener.
    assert!(!second.wants_kind("session.ended"));
    assert!(!format!("{config:?}").contains("whsec_"));
}

const RECEIVERS: &str = r#"
[[webhook]] ; {secret} => 1 webhook.0.url: say who receives them
{hook} => 1 webhook.0.secret: openssl rand
{hook} ; secret = [] => 3 webhook.0.secret: is empty
{hook} ; secret = "whsec_AAAA" => 3 webhook.0.secret: 24 to 64 bytes
{hook} ; secret_file = "/none" => 3 webhook.0.secret_file: cannot be read
{hook} ; {secret} ; events = ["recordings.*"] => 4 webhook.0.events: fits none of recording.closed
[[webhook]] ; url = "rtmp://h/" ; {secret} => 2 webhook.0.url: is not spoken here
{hook} ; {secret} ; {hook} ; {secret} => 5 webhook.1.url: another webhook
"#;

#[test]
fn a_receiver_of_webhooks_that_cannot_be_reached_is_refused() {
    let rows = RECEIVERS.replace("{hook}", "[[webhook]] ; url = \"http://h/\"");
    let secret = format!("secret = \"{WEBHOOK_KEY}\"");
    each_has_one_problem(&rows.replace("{secret}", &secret));
}
