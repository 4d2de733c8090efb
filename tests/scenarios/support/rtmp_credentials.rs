//! RTMP within TLS, and the places where programs put a key.

use std::time::Duration;

use testkit::{Certificate, Clip, PUBLISH_KEY, Player, Process, Publisher, Server, Tool, framemd5};

use crate::support::{
    DEADLINE, assert_joins, is_admitted, play_url, publish_by, wait_for_stream, wait_until,
};

/// Publishes a clip of this many seconds by ffmpeg within TLS; asserts that players within TLS and others in clear get all of
/// it from where they join.
pub(crate) fn played_behind_tls(seconds: u32, secure: &[Player], in_clear: &[Player]) {
    let certificate = Certificate::make();
    let server = certificate
        .serve_at(&["rtmp"], Server::builder())
        .set("ingest", "linger", "\"1s\"")
        .start();
    let url = format!(
        "rtmps://localhost:{}/live/show",
        server.addr("rtmps").port()
    );
    let clip = Clip::Flv.seconds(seconds);
    let key = format!("{url}?key={PUBLISH_KEY}");
    let mut publisher = Publisher::Ffmpeg.start(&clip, &key);
    wait_for_stream(&server, "live/show");
    let trust = certificate.path();
    let trust = [("SSL_CERT_FILE", trust.as_str())];
    let plain = play_url(&server, "live/show");
    let secure = secure.iter().map(|player| (player, &url));
    let players: Vec<_> = secure
        .chain(in_clear.iter().map(|player| (player, &plain)))
        .map(|(player, url)| player.start_with(url, &trust))
        .collect();
    let patience = DEADLINE + Duration::from_secs(seconds.into());
    assert!(publisher.wait(patience).success(), "{}", publisher.stderr());
    let sent = framemd5::video(&framemd5::decoded(&clip));
    for mut playing in players {
        playing.wait(DEADLINE);
        let join = assert_joins("pictures", &sent, &playing.pictures());
        assert!(
            join.missing <= playing.player().discarded_max() && join.matched > 50,
            "{:?}: {join:?}",
            playing.player()
        );
    }
}

/// Publishes a clip by ffmpeg until `live/show` is there; returns the reason if it is refused.
pub(crate) fn published(server: &Server, start: impl FnOnce() -> Process) -> Result<(), String> {
    let mut publisher = start();
    match is_admitted(server, "live/show", &mut publisher) {
        true => Ok(()),
        false => Err(publisher.stderr()),
    }
}

/// Key of the kind that makes addresses ambiguous.
const AWKWARD: &str = "with/slash:and-colon";

/// Asserts that publishers are admitted by a key in each place where these programs can put it.
pub(crate) fn key_is_found(ffmpegs: &[fn() -> Tool], others: &[Publisher]) {
    let server = Server::builder()
        .set("auth", "publish_key", &format!("\"{AWKWARD}\""))
        .set("ingest", "linger", "\"0s\"")
        .start();
    let clip = Clip::Flv.seconds(8);
    let encoded = "with%2Fslash%3Aand-colon";
    let root = format!("rtmp://{}", server.addr("rtmp"));
    let is_accepted = |what: &str, start: &dyn Fn() -> Process| {
        assert_eq!(published(&server, start), Ok(()), "{what}");
        wait_until("it to be gone", || {
            !server.api("streams").to_string().contains("live/show")
        });
    };
    // App, name and address that each sends.
    for (what, options, path) in [
        ("in the name", "", "/live/show?key=KEY"),
        ("in the name, encoded", "", "/live/show?key=CODE"),
        (
            "in the name, given apart",
            "-rtmp_app live -rtmp_playpath show?key=KEY",
            "/live",
        ),
        (
            "in the app, as OBS does",
            "-rtmp_app live?key=CODE -rtmp_playpath show -rtmp_tcurl ROOT/live?key=CODE",
            "",
        ),
        (
            "in the address alone",
            "-rtmp_app live -rtmp_playpath show -rtmp_tcurl ROOT/live?key=CODE",
            "",
        ),
        (
            "before the name",
            "-rtmp_app live/show -rtmp_playpath ?key=KEY",
            "",
        ),
    ] {
        let fill = |text: &str| text.replace("KEY", AWKWARD).replace("CODE", encoded);
        let options = fill(options).replace("ROOT", &root);
        let options: Vec<_> = options.split_whitespace().collect();
        let url = root.clone() + &fill(path);
        for ffmpeg in ffmpegs {
            is_accepted(what, &|| publish_by(ffmpeg(), &clip, &options, &url));
        }
    }
    for publisher in others {
        let url = format!("{root}/live/show?key={encoded}");
        is_accepted(&format!("{publisher:?}"), &|| publisher.start(&clip, &url));
    }
    let said = published(&server, || {
        publish_by(Tool::ffmpeg(), &clip, &[], &format!("{root}/live/show"))
    });
    assert!(said.is_err(), "no key at all");
}
