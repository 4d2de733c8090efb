//! The start-up notice that `serve` prints: for programs, one line per listening socket and `ready`; for people, lines to copy,
//! which the services add.

use std::fmt::Write;
use std::net::SocketAddr;

use auth::Scope;
use config::Config;

use crate::keys::Generated;
use crate::ports::{Bound, Port, first, reachable};

/// Replaces a secret that the operator already knows.
const KEY_PLACEHOLDER: &str = "KEY";

/// Facts from which the lines are made.
pub(crate) struct Facts<'a> {
    pub(super) config: &'a Config,
    bound: &'a [Bound],
    /// Key that publishers need, or a placeholder.
    pub(super) key: &'a str,
    /// Whether the stream `demo` exists.
    pub(super) demo: bool,
}

impl<'a> Facts<'a> {
    pub(super) fn new(
        config: &'a Config,
        bound: &'a [Bound],
        generated: &Generated,
        demo: bool,
    ) -> Self {
        let key = match &config.auth.publish_key {
            Some(key) if generated.publish_key => key.reveal(),
            _ => KEY_PLACEHOLDER,
        };
        Self {
            config,
            bound,
            key,
            demo,
        }
    }

    /// Returns the first address of a port, in a form that works on this host.
    pub(super) fn first(&self, port: Port) -> Option<SocketAddr> {
        first(self.bound, port).map(reachable)
    }

    /// Returns the base address of the pages: `http://…`, or `https://…` if there is no plain port.
    pub(super) fn site(&self) -> Option<String> {
        let at = |scheme, port| Some(format!("{scheme}://{}", self.first(port)?));
        at("http", Port::Http).or_else(|| at("https", Port::Https))
    }
}

/// Lines for people, by topic.
#[derive(Debug, Default)]
pub(crate) struct Notice {
    /// Each way of publishing under a heading of its own.
    pub(super) publish: Vec<String>,
    pub(super) listen: Vec<String>,
    pub(super) operate: Vec<String>,
}

impl Notice {
    /// Renders the whole notice. Each `listening` line, and `ready`, is a contract with the programs that start us.
    pub(super) fn text(&self, facts: &Facts<'_>, generated: &Generated) -> String {
        let mut out = String::new();
        for Bound { port, address } in facts.bound {
            line(&mut out, &format!("listening {} {address}", port.label()));
        }
        line(&mut out, "ready");
        line(&mut out, "");
        for (heading, lines) in [
            (None, &self.publish),
            (Some("Listen"), &self.listen),
            (Some("Operate"), &self.operate),
        ] {
            if let Some(heading) = heading.filter(|_| !lines.is_empty()) {
                line(&mut out, heading);
            }
            for text in lines {
                line(&mut out, text);
            }
        }
        reported_once(&mut out, facts.config, generated);
        out
    }
}

fn reported_once(out: &mut String, config: &Config, generated: &Generated) {
    let auth = &config.auth;
    let mut new = Vec::new();
    if let Some(key) = auth.publish_key.as_ref().filter(|_| generated.publish_key) {
        new.push(("publish_key".to_owned(), key, "to publish".to_owned()));
    }
    for rule in &auth.keys {
        if let Some(key) = rule.plain().filter(|_| generated.keys.contains(&rule.name)) {
            let scopes = Scope::ALL.into_iter();
            let scopes = scopes.filter(|scope| rule.scopes.contains(*scope));
            let scopes: Vec<_> = scopes.map(Scope::label).collect();
            let purpose = format!("to {} {}", scopes.join(", "), rule.pattern.as_str());
            new.push((format!("key {}", rule.name), key, purpose));
        }
    }
    if let Some(password) = auth
        .admin_password
        .as_ref()
        .filter(|_| generated.admin_password)
    {
        let purpose = "to operate, with any user name".to_owned();
        new.push(("admin_password".to_owned(), password, purpose));
    }
    if new.is_empty() {
        return;
    }
    line(
        out,
        "Made for this run, because the configuration has none (section [auth])",
    );
    for (key, secret, purpose) in new {
        line(out, &format!("  {key:15} {}   {purpose}", secret.reveal()));
    }
}

fn line(out: &mut String, text: &str) {
    writeln!(out, "{text}").expect("a String takes all text");
}

#[cfg(test)]
mod tests {
    use config::Secret;

    use super::*;
    use crate::tests::assert_has;

    const PLAIN: &[(Port, &str)] = &[(Port::Rtmp, "0.0.0.0:1935"), (Port::Http, "[::]:8000")];
    const WEBRTC: (Port, &str) = (Port::Webrtc, "0.0.0.0:8189");

    fn notice(generated: Generated) -> String {
        notice_of(PLAIN, generated, Config::default())
    }

    fn notice_of(ports: &[(Port, &str)], generated: Generated, mut config: Config) -> String {
        config.auth.publish_key = Some(Secret::new("bells-at-noon-41"));
        config.auth.admin_password = Some(Secret::new("tower-warden-77"));
        let bound: Vec<_> = ports
            .iter()
            .map(|(port, text)| Bound {
                port: *port,
                address: text.parse().expect("an address"),
            })
            .collect();
        super::super::announce(&config, &bound, &generated, true)
    }

    #[test]
    fn programs_find_their_lines() {
        let text = notice(Generated::default());
        assert!(text.starts_with("listening rtmp 0.0.0.0:1935\nlistening http [::]:8000\nready\n"));
        let page = "http://[::1]:8000/demo/";
        assert_has(&text, &["rtmp://127.0.0.1:1935/live/show?key=KEY", page]);
    }

    #[test]
    fn browsers_may_publish_where_there_is_webrtc() {
        let page = "http://[::1]:8000/live/show/publish";
        assert!(!notice(Generated::default()).contains(page));
        let ports = [PLAIN, &[WEBRTC]].concat();
        let text = notice_of(&ports, Generated::default(), Config::default());
        let listening = "listening webrtc 0.0.0.0:8189\n";
        assert_has(&text, &[listening, page, "Bearer Token KEY"]);
    }

    #[test]
    fn secure_ports_are_reported() {
        let both = [
            (Port::Rtmp, "0.0.0.0:1935"),
            (Port::Rtmps, "0.0.0.0:1936"),
            (Port::Https, "0.0.0.0:8443"),
        ];
        let text = notice_of(&both, Generated::default(), Config::default());
        assert_has(&text, &["listening rtmps 0.0.0.0:1936\n"]);
        assert_has(&text, &[" rtmp://127.0.0.1:1935/live\n"]);
        assert_has(&text, &["the same to rtmps://127.0.0.1:1936\n"]);
        let text = notice_of(&both[1..], Generated::default(), Config::default());
        assert_has(&text, &["'rtmps://127.0.0.1:1936/live/show?key=KEY'"]);
        assert!(!text.contains("rtmp://"), "{text}");
    }

    #[test]
    fn with_a_challenge_the_key_is_not_in_the_name() {
        let mut config = Config::default();
        config.rtmp.challenge = true;
        let text = notice_of(PLAIN, Generated::default(), config);
        let with_key = "'rtmp://source:KEY@127.0.0.1:1935/live/show'";
        assert_has(&text, &[with_key]);
        assert!(!text.contains("?key="), "{text}");
    }

    #[test]
    fn configured_secrets_are_not_shown_and_generated_ones_are() {
        let text = notice(Generated::default());
        for secret in ["bells-at-noon-41", "tower-warden-77"] {
            assert!(!text.contains(secret), "{text}");
        }
        let text = notice(Generated {
            publish_key: true,
            ..Generated::default()
        });
        let with_key = "icecast://source:bells-at-noon-41@[::1]:8000/radio.mp3";
        assert_has(&text, &[with_key]);
        assert!(!text.contains("tower-warden-77"), "{text}");
    }
}
