//! RTMP within TLS, and the places where programs put a key.

use std::time::Duration;

use testkit::{
    Certificate, Clip, PUBLISH_KEY, Player, Process, Publisher, Server, Tool, framemd5, wait_until,
};

use crate::support::{DEADLINE, assert_joins, is_admitted, play_url, wait_for_stream};

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
    let addr = server.addr("rtmp");
    let clip = Clip::Flv.seconds(8);
    let encoded = "with%2Fslash%3Aand-colon";
    let send = |ffmpeg: Tool, more: &[&str], url: &str| {
        ffmpeg
            .arg("-re")
            .arg("-i")
            .arg(&clip)
            .args(["-c", "copy", "-f", "flv"])
            .args(more)
            .arg(url)
            .start()
    };
    let root = format!("rtmp://{addr}");
    let app_with_key = format!("live?key={encoded}");
    let name_with_key = format!("show?key={AWKWARD}");
    let app_url = format!("{root}/{app_with_key}");
    // App, name and address that each sends.
    let placements: Vec<(&str, Vec<&str>, String)> = vec![
        (
            "in the name",
            vec![],
            format!("{root}/live/show?key={AWKWARD}"),
        ),
        (
            "in the name, encoded",
            vec![],
            format!("{root}/live/show?key={encoded}"),
        ),
        (
            "in the name, given apart",
            vec!["-rtmp_app", "live", "-rtmp_playpath", &name_with_key],
            format!("{root}/live"),
        ),
        (
            "in the app, as OBS does",
            vec![
                "-rtmp_app",
                &app_with_key,
                "-rtmp_playpath",
                "show",
                "-rtmp_tcurl",
                &app_url,
            ],
            root.clone(),
        ),
        (
            "in the address alone",
            vec![
                "-rtmp_app",
                "live",
                "-rtmp_playpath",
                "show",
                "-rtmp_tcurl",
                &app_url,
            ],
            root.clone(),
        ),
        (
            "before the name",
            vec![
                "-rtmp_app",
                "live/show",
                "-rtmp_playpath",
                &name_with_key[4..],
            ],
            root.clone(),
        ),
    ];
    for (what, more, url) in &placements {
        for ffmpeg in ffmpegs {
            let said = published(&server, || send(ffmpeg(), more, url));
            assert_eq!(said, Ok(()), "{what}");
            wait_until("it to be gone", DEADLINE, || {
                !server.api("streams").to_string().contains("live/show")
            });
        }
    }
    for publisher in others {
        let url = format!("{root}/live/show?key={encoded}");
        let said = published(&server, || publisher.start(&clip, &url));
        assert_eq!(said, Ok(()), "{publisher:?}");
        wait_until("it to be gone", DEADLINE, || {
            !server.api("streams").to_string().contains("live/show")
        });
    }
    let said = published(&server, || {
        send(Tool::ffmpeg(), &[], &format!("{root}/live/show"))
    });
    assert!(said.is_err(), "no key at all");
}
