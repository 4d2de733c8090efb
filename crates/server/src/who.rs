//! Permissions for a stream according to the configuration: `carillon check --who`.
//!
//! The output names the ways by which a client is admitted, in the words of the configuration's keys, and contains no secret. A
//! test checks each credential against the gate.

use std::fmt::{self, Write};
use std::path::PathBuf;
use std::time::SystemTime;

use auth::{Permissions as _, fitting};
use config::{Config, HookUnanswered, KeyRule, KeySecretRef, read_keys};
use fanout::gate::{Action, Identity};
use media::StreamName;

use crate::keys;

/// A way by which a client is admitted.
#[derive(Clone, Debug, Eq, PartialEq)]
enum Way {
    /// Nothing has to be presented.
    Everyone,
    /// A key without a name: the stream's own key, or the one for all streams.
    PublishKey {
        is_own: bool,
    },
    Key {
        name: Identity,
        is_over: bool,
    },
    AdminPassword,
    /// A file of users.
    Users(PathBuf),
    Links,
    Tokens,
    /// The hook, at this address.
    Hook {
        address: String,
        is_asked_about_all: bool,
        lets_in_unanswered: bool,
    },
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Everyone => f.write_str("everyone"),
            Self::PublishKey { is_own: true } => f.write_str("publish_key of the [[stream]]"),
            Self::PublishKey { is_own: false } => f.write_str("auth.publish_key"),
            Self::Key { name, is_over } => {
                let over = if *is_over { ", which has expired" } else { "" };
                write!(f, "the key {:?}{over}", name.as_str())
            }
            Self::AdminPassword => f.write_str("auth.admin_password"),
            Self::Users(file) => write!(f, "users of {}", file.display()),
            Self::Links => f.write_str("links ([auth.link]) that are for it"),
            Self::Tokens => f.write_str("tokens ([auth.jwt]) that permit it"),
            Self::Hook {
                address,
                is_asked_about_all,
                lets_in_unanswered,
            } => {
                let whom = match is_asked_about_all {
                    true => "everyone",
                    false => "whoever is none of these",
                };
                write!(f, "{whom} whom the hook {address} permits")?;
                match lets_in_unanswered {
                    true => f.write_str(", and while it gives no answer all of them"),
                    false => Ok(()),
                }
            }
        }
    }
}

/// Returns the ways by which clients may perform an action on a stream. All secrets are set by now; `further` are the keys of
/// the file.
fn ways(
    config: &Config,
    further: &[KeyRule],
    action: Action,
    stream: &StreamName,
    now: SystemTime,
) -> Vec<Way> {
    let auth = &config.auth;
    let needs_none = !config.needs_credential(action.into(), stream);
    let hook = hook(config, action, stream, needs_none);
    if needs_none {
        return vec![hook.unwrap_or(Way::Everyone)];
    }
    let own = config
        .rule(stream)
        .and_then(|rule| rule.publish_key.as_ref());
    let keys = fitting(config, further, action, stream).map(|key| match (key.name, key.secret) {
        (Some(name), _) => Way::Key {
            name: name.clone(),
            is_over: key.expires.is_some_and(|end| end <= now),
        },
        (None, KeySecretRef::Plain(secret)) if auth.admin_password.as_ref() == Some(secret) => {
            Way::AdminPassword
        }
        (None, _) => Way::PublishKey {
            is_own: own.is_some(),
        },
    });
    let users = auth
        .users
        .iter()
        .filter(|rule| rule.is_for(action.into(), stream));
    let users = users.map(|rule| Way::Users(rule.file.clone()));
    let links = (!auth.link_secrets.is_empty()).then_some(Way::Links);
    let tokens = auth.jwt.is_used().then_some(Way::Tokens);
    let all = keys.chain(users).chain(links).chain(tokens).chain(hook);
    let mut ways = Vec::new();
    for way in all {
        // A key for titles may also be an administrator's key.
        if !ways.contains(&way) {
            ways.push(way);
        }
    }
    ways
}

/// Returns the hook, if it decides on this action.
fn hook(
    config: &Config,
    action: Action,
    stream: &StreamName,
    is_asked_about_all: bool,
) -> Option<Way> {
    let hook = &config.auth.hook;
    let is_asked = config.asks_hook(action.into(), stream) && hook.asks.are_for(action);
    let of_listeners = hook
        .play_url
        .as_ref()
        .filter(|_| action == Action::Play)
        .or(hook.url.as_ref());
    let address = of_listeners.filter(|_| is_asked && hook.url.is_some())?;
    Some(Way::Hook {
        address: address.to_string(),
        is_asked_about_all,
        lets_in_unanswered: hook.unanswered == HookUnanswered::Allow && action == Action::Play,
    })
}

/// Returns the numbers, from 1, of the access lists that must admit a client.
fn lists(config: &Config, action: Action, stream: &StreamName) -> Vec<String> {
    let lists = (1..).zip(&config.access);
    let fitting = lists.filter(|(_, rule)| rule.is_for(action.into(), stream));
    fitting.map(|(number, _)| format!("{number}")).collect()
}

/// Describes the permissions for a stream, in lines.
///
/// # Errors
/// Returns an error if the system has no random bytes for the keys that are generated at each start.
pub(crate) fn tell(
    config: &Config,
    stream: &StreamName,
    now: SystemTime,
) -> Result<String, getrandom::Error> {
    let mut config = config.clone();
    let generated = keys::complete(&mut config.auth)?;
    let file = config.auth.keys_file.as_deref();
    // The file was readable when the configuration was checked.
    let further = file.and_then(|file| read_keys(file, &config.auth).ok());
    let further = further.unwrap_or_default();
    let mut reported = format!("{stream}\n");
    for (label, action) in [
        ("publish", Action::Publish),
        ("listen", Action::Play),
        ("titles", Action::UpdateMetadata),
    ] {
        let ways = ways(&config, &further, action, stream, now);
        let mut label = label;
        for way in ways {
            let is_generated = match &way {
                Way::PublishKey { is_own } => generated.publish_key && !is_own,
                Way::AdminPassword => generated.admin_password,
                Way::Key { name, .. } => generated.keys.contains(name),
                _ => false,
            };
            let generated = match is_generated {
                true => ", generated at each start",
                false => "",
            };
            put(&mut reported, label, &format!("{way}{generated}"));
            label = "";
        }
        let lists = lists(&config, action, stream);
        if !lists.is_empty() {
            let lists = lists.join(", ");
            put(
                &mut reported,
                "",
                &format!("of all these only whom [[access]] lets in: number {lists}"),
            );
        }
    }
    if let Some(group) = config.variants.iter().find(|group| group.name == *stream) {
        let streams: Vec<_> = group.streams.iter().map(StreamName::as_str).collect();
        let streams = streams.join(", ");
        put(
            &mut reported,
            "group",
            &format!("listeners are let in to each of its streams by that one's name: {streams}"),
        );
    }
    if let Some(fallback) = config.fallback(stream) {
        put(
            &mut reported,
            "fallback",
            &format!("whoever listens hears {fallback} as well"),
        );
    }
    Ok(reported)
}

/// Adds a line. Writing to a String does not fail.
fn put(reported: &mut String, label: &str, text: &str) {
    writeln!(reported, "  {label:<8} {text}").unwrap_or_default();
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::net::SocketAddr;
    use std::os::unix::fs::PermissionsExt;

    use auth::link::Action as LinkAction;
    use base64::Engine;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use fanout::gate::{Gate, Request};
    use hmac::{Hmac, KeyInit, Mac};
    use sha2::Sha256;

    use super::*;
    use crate::tests::authorities::permissive_hook;
    use crate::tests::permissions::{configured_by, link_to};
    use auth::AuthorityGate;

    const SECRET: &str = "an-hmac-secret-of-32-characters!";
    const AT_HOOK: &str = "known-at-the-hook";

    /// Password hash of `open-sesame-41`, by libxcrypt.
    const USERS: &str = "ann:$2y$05$abcdefghijklmnopqrstuuDzgiI6IA0KylwJIv.80Lj0PeLOydFL.\n";

    const SOURCE: &str = "[auth]\npublish_key = \"bells-at-noon-41\"\nadmin_password = \"tower-warden-77\"\nkeys_file = KEYS\n\
         [[auth.key]]\nname = \"van\"\nkey = \"van-on-the-road\"\nmatch = \"live/*\"\n\
         [[auth.key]]\nname = \"ear\"\nkey = \"ear-to-the-ground\"\nmatch = \"live/*\"\nscopes = [\"play\"]\n\
         [[auth.key]]\nname = \"desk\"\nkey = \"desk-by-the-door\"\nmatch = \"**\"\nscopes = [\"admin\", \"metadata\"]\n\
         [[auth.key]]\nname = \"past\"\nkey = \"past-the-midnight\"\nmatch = \"**\"\nscopes = [\"publish\", \"play\"]\nexpires = \"2020-01-01T00:00:00Z\"\n\
         [[auth.htpasswd]]\nfile = USERS\nmatch = \"paid/*\"\n\
         [auth.link]\nsecret = \"an-hmac-secret-of-32-characters!\"\n\
         [auth.jwt]\nsecret = \"an-hmac-secret-of-32-characters!\"\n\
         [[stream]]\nmatch = \"live/*\"\nplay = \"key\"\n\
         [[stream]]\nmatch = \"paid/*\"\nplay = \"key\"\npublish_key = \"only-for-paid-93\"\n";

    struct World {
        gate: AuthorityGate,
        config: Config,
        further: Vec<KeyRule>,
        /// Files of keys and of users.
        _files: [tempfile::NamedTempFile; 2],
    }

    impl World {
        fn new(more: &str) -> Self {
            let keys = "[[key]]\nname = \"file\"\nkey = \"of-the-file-4711\"\nmatch = \"**\"\nscopes = [\"publish\", \"play\"]\n";
            let files = [keys, USERS].map(|text| {
                let file = tempfile::NamedTempFile::new().expect("a file");
                fs::write(file.path(), text).expect("written");
                fs::set_permissions(file.path(), Permissions::from_mode(0o600)).expect("set");
                file
            });
            let source = SOURCE
                .replace("KEYS", &format!("{:?}", files[0].path()))
                .replace("USERS", &format!("{:?}", files[1].path()))
                + more;
            let config = Config::parse("test", &source, std::iter::empty()).expect("valid");
            let further = read_keys(files[0].path(), &config.auth).expect("keys");
            Self {
                gate: configured_by(&source, None),
                config,
                further,
                _files: files,
            }
        }

        /// Returns whether the gate permits the action to a client with this user, secret and query.
        async fn permits(&self, action: Action, request: &Request<'_>) -> bool {
            match action {
                Action::Publish => self.gate.publish(request).await.is_ok(),
                Action::Play => self.gate.play(request).await.is_ok(),
                Action::UpdateMetadata => self.gate.update_metadata(request).await.is_ok(),
            }
        }
    }

    fn token(stream: &StreamName) -> String {
        let encoded = |value: serde_json::Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let header = encoded(serde_json::json!({"alg": "HS256"}));
        let acts = ["publish", "play", "metadata"];
        let claims = encoded(serde_json::json!({
            "exp": 4_000_000_000_u64,
            "carillon": [{"do": acts, "on": stream.as_str()}],
        }));
        let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).expect("any length");
        mac.update(format!("{header}.{claims}").as_bytes());
        let signature = URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes());
        format!("{header}.{claims}.{signature}")
    }

    fn link(action: Action, stream: &StreamName) -> String {
        let action = match action {
            Action::Play => LinkAction::Play,
            Action::Publish | Action::UpdateMetadata => LinkAction::Publish,
        };
        link_to(action, stream.as_str(), 3_600).sign(SECRET)
    }

    type IsWay = fn(&Way) -> bool;

    /// Returns the credentials that admit a client, each with the way that `ways` gives it.
    fn credentials(action: Action, stream: &StreamName) -> Vec<(IsWay, String)> {
        let named: [(IsWay, &str); 10] = [
            (|way| matches!(way, Way::Everyone), "nobody-knows-this"),
            (|way| is_publish_key(way, false), "bells-at-noon-41"),
            (|way| is_publish_key(way, true), "only-for-paid-93"),
            (|way| is_key(way, "van"), "van-on-the-road"),
            (|way| is_key(way, "ear"), "ear-to-the-ground"),
            (|way| is_key(way, "desk"), "desk-by-the-door"),
            (|way| is_key(way, "past"), "past-the-midnight"),
            (|way| is_key(way, "file"), "of-the-file-4711"),
            (|way| *way == Way::AdminPassword, "tower-warden-77"),
            (|way| matches!(way, Way::Users(_)), "open-sesame-41"),
        ];
        let named = named.map(|(is_reported, secret)| (is_reported, secret.to_owned()));
        let mut all = Vec::from(named);
        all.push((|way| *way == Way::Links, link(action, stream)));
        all.push((|way| *way == Way::Tokens, token(stream)));
        all.push((|way| matches!(way, Way::Hook { .. }), AT_HOOK.to_owned()));
        all
    }

    fn is_publish_key(way: &Way, is_own: bool) -> bool {
        *way == Way::PublishKey { is_own }
    }

    /// An expired key admits nobody.
    fn is_key(way: &Way, called: &str) -> bool {
        matches!(way, Way::Key { name, is_over: false } if name.as_str() == called)
    }

    async fn is_as_reported(world: &World) {
        // Each attempt comes from its own address, since wrong credentials count as guesses.
        let mut host = 0_u32;
        for stream in ["live/a", "live/a~720p", "paid/a", "other"] {
            let stream = StreamName::parse(stream).expect("a name");
            for action in [Action::Publish, Action::Play, Action::UpdateMetadata] {
                let now = SystemTime::now();
                let reported = ways(&world.config, &world.further, action, &stream, now);
                for (is_reported, secret) in credentials(action, &stream) {
                    host += 1;
                    let peer = SocketAddr::from((std::net::Ipv4Addr::from_bits(host), 1));
                    let request = Request {
                        user: Some("ann"),
                        password: Some(&secret),
                        ..Request::new(&stream, "http", peer)
                    };
                    let is_open = reported.contains(&Way::Everyone);
                    let expected = is_open || reported.iter().any(is_reported);
                    let permitted = world.permits(action, &request).await;
                    let what = format!("{stream} {action:?} {secret}: {reported:?}");
                    assert_eq!(permitted, expected, "{what}");
                }
            }
        }
    }

    #[tokio::test]
    async fn what_is_reported_is_what_the_gate_does() {
        is_as_reported(&World::new("")).await;
        let (port, _) = permissive_hook(AT_HOOK).await;
        for asked in [
            "asks = \"all\"",
            "asks = \"play\"",
            "asks = \"publish\"",
            "match = [\"live/*\"]",
        ] {
            let hook = format!("[auth.hook]\nurl = \"http://127.0.0.1:{port}/\"\n{asked}\n");
            is_as_reported(&World::new(&hook)).await;
        }
    }

    #[tokio::test]
    async fn it_is_reported_in_lines_without_secrets() {
        let world = World::new(
            "[[access]]\ndeny = [\"192.0.2.7\"]\n[auth.hook]\nurl = \"http://u:pass-word@h/?t=tok-en\"\n",
        );
        let stream = StreamName::parse("paid/a").expect("a name");
        let reported = tell(&world.config, &stream, SystemTime::now()).expect("randomness");
        let users = world.config.auth.users[0].file.display();
        let expected = format!(
            "paid/a\n  publish  publish_key of the [[stream]]\n           the key \"past\", which has expired\n           the key \"file\"\n\
             \x20          links ([auth.link]) that are for it\n           tokens ([auth.jwt]) that permit it\n\
             \x20          whoever is none of these whom the hook http://h/ permits\n\
             \x20          of all these only whom [[access]] lets in: number 1\n  listen   the key \"past\", which has expired\n\
             \x20          the key \"file\"\n           users of {users}\n"
        );
        assert!(reported.starts_with(&expected), "{reported}");
        for secret in ["pass-word", "tok-en", SECRET, "only-for-paid-93"] {
            assert!(!reported.contains(secret), "{reported}");
        }
    }

    #[test]
    fn what_is_generated_is_reported() {
        let config = Config::default();
        let stream = StreamName::parse("live/a").expect("a name");
        let reported = tell(&config, &stream, SystemTime::now()).expect("randomness");
        let expected = "live/a\n  publish  auth.publish_key, generated at each start\n  listen   everyone\n  \
             titles   auth.publish_key, generated at each start\n           auth.admin_password, generated at each start\n";
        assert_eq!(reported, expected);
    }
}
