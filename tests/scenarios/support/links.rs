//! Links by which a server pushes and pulls, as its API reports them, and the media at their ends.

use std::path::Path;

use testkit::{Certificate, PUBLISH_KEY, Player, Playing, Server, framemd5};

use crate::support::{
    DEADLINE, assert_joins, play_url, server_with_short_linger, wait_for_stream, wait_until,
};

/// Returns the state of the link whose address begins with `url`, once there are links at all.
fn state_if_any(server: &Server, kind: &str, url: &str) -> Option<String> {
    let all = server.api(kind);
    let links = all[kind].as_array().unwrap();
    let link = links
        .iter()
        .find(|link| link["url"].as_str().unwrap().starts_with(url));
    assert!(links.is_empty() || link.is_some(), "no {url} in {all}");
    link.map(|link| link["state"].as_str().unwrap().to_owned())
}

pub(crate) fn state(server: &Server, kind: &str, url: &str) -> String {
    state_if_any(server, kind, url).unwrap_or_else(|| panic!("no {kind} at all"))
}

pub(crate) fn wait_for_state(server: &Server, kind: &str, url: &str, wanted: &str) {
    wait_until(&format!("{kind} {url}: {wanted}"), || {
        state_if_any(server, kind, url).as_deref() == Some(wanted)
    });
}

/// Returns the address of a pull as shown: without the last segment, which may be a key.
pub(crate) fn without_name(url: &str) -> &str {
    url.rsplit_once('/').unwrap().0
}

/// Two servers of ours to which another pushes `live/show`: in clear, and encrypted as `far/show`.
pub(crate) struct Receivers {
    certificate: Certificate,
    plain: Server,
    secure: Server,
}

impl Receivers {
    pub(crate) fn start() -> Self {
        let certificate = Certificate::make();
        let secure = certificate
            .serve_at(&["rtmp"], Server::builder())
            .set("ingest", "linger", "\"1s\"")
            .start();
        Self {
            certificate,
            plain: server_with_short_linger(),
            secure,
        }
    }

    fn targets(&self) -> [String; 2] {
        [
            format!("rtmp://{}", self.plain.addr("rtmp")),
            format!("rtmps://localhost:{}", self.secure.addr("rtmps").port()),
        ]
    }

    /// Starts a server that pushes to both, and to `others`.
    pub(crate) fn origin(&self, others: &[String]) -> Server {
        let [to_plain, to_secure] = self.targets();
        let ours = [
            format!("{to_plain}/{{stream}}?key={PUBLISH_KEY}"),
            format!("{to_secure}/far/{{name}}?key={PUBLISH_KEY}"),
            // No server listens there: the other links are unaffected.
            "rtmp://127.0.0.1:1/{stream}".to_owned(),
        ];
        let rule = |url| format!("[[push]]\nmatch = \"live/*\"\nurl = \"{url}\"\n");
        let rules: String = others.iter().chain(&ours).map(rule).collect();
        Server::builder()
            .set("ingest", "linger", "\"1s\"")
            .env("SSL_CERT_FILE", &self.certificate.path())
            .toml(&rules)
            .start()
    }

    /// Waits until both have the stream.
    pub(crate) fn wait(&self, origin: &Server) {
        for target in self.targets() {
            wait_for_state(origin, "push", &target, "running");
        }
        wait_for_stream(&self.plain, "live/show");
        wait_for_stream(&self.secure, "far/show");
    }

    /// Starts a player of each.
    pub(crate) fn play(&self, player: Player) -> [(&'static str, Playing); 2] {
        [
            ("plain", player.start(&play_url(&self.plain, "live/show"))),
            ("secure", player.start(&play_url(&self.secure, "far/show"))),
        ]
    }
}

/// Asserts that this many links run, that the one to nobody fails, and that no key is shown.
pub(crate) fn assert_pushes(origin: &Server, count: f64) {
    let metrics = origin.metrics();
    assert_eq!(
        metrics.sum("carillon_pushes", &["state=\"running\""]),
        count
    );
    assert!(metrics.sum("carillon_push_failures_total", &[]) >= 1.0);
    assert!(
        !origin.api("push").to_string().contains(PUBLISH_KEY),
        "keys are not shown"
    );
}

/// Asserts that the player's frames are those of `clip` up to its end.
pub(crate) fn assert_plays(what: &str, clip: &Path, mut playing: Playing) {
    playing.wait(DEADLINE);
    let sent = framemd5::video(&framemd5::decoded(clip));
    let join = assert_joins(what, &sent, &playing.pictures());
    assert_eq!(join.missing, 0, "{what}: {join:?}");
    assert!(join.matched > 50, "{what}: {join:?}");
}
