//! RTMP behind TLS, and every place where real clients put a key.

use std::time::Duration;

use testkit::{
    Certificate, Clip, PUBLISH_KEY, Player, Process, Publisher, Server, Tool, framemd5, wait_until,
};

use crate::support::{DEADLINE, assert_joins, listening_seconds, play_url, wait_for_stream};

#[test]
fn published_and_played_behind_tls() {
    let certificate = Certificate::make();
    let server = certificate
        .serve_at(&["rtmp"], Server::builder())
        .set("ingest", "linger", "\"1s\"")
        .start();
    let url = format!(
        "rtmps://localhost:{}/live/show",
        server.addr("rtmps").port()
    );
    let seconds = listening_seconds(8);
    let clip = Clip::Flv.seconds(seconds);
    let key = format!("{url}?key={PUBLISH_KEY}");
    let mut publisher = Publisher::Ffmpeg.start(&clip, &key);
    wait_for_stream(&server, "live/show");
    let urls = [
        (Player::Ffmpeg, url.clone()),
        (Player::CurrentFfmpeg, url.clone()),
        (Player::Vlc, url.clone()),
        (Player::GstreamerRtmp2, url),
        (Player::Rtmpdump, play_url(&server, "live/show")),
    ];
    let trust = certificate.path();
    let trust = [("SSL_CERT_FILE", trust.as_str())];
    let players = urls.map(|(player, url)| player.start_with(&url, &trust));
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

/// Publishes a clip by ffmpeg until `live/show` is there. Returns the reason if it is refused.
fn published(server: &Server, start: impl FnOnce() -> Process) -> Result<(), String> {
    let mut publisher = start();
    let mut is_there = false;
    wait_until("the stream, or a refusal", DEADLINE, || {
        is_there = server.api("streams").to_string().contains("\"live/show\"");
        is_there || !publisher.is_running()
    });
    if is_there {
        Ok(())
    } else {
        Err(publisher.stderr())
    }
}

#[test]
fn user_and_password_by_challenge() {
    let server = Server::builder()
        .set("rtmp", "challenge", "true")
        .set("ingest", "linger", "\"0s\"")
        .start();
    let clip = Clip::Flv.seconds(8);
    let addr = server.addr("rtmp");
    let url = |password: &str| format!("rtmp://user:{password}@{addr}/live/show");
    for publisher in [Publisher::Ffmpeg, Publisher::CurrentFfmpeg] {
        let said = published(&server, || publisher.start(&clip, &url(PUBLISH_KEY)));
        assert_eq!(said, Ok(()), "{publisher:?}");
        wait_until("it to be gone", DEADLINE, || {
            !server.api("streams").to_string().contains("live/show")
        });
        let said = published(&server, || {
            publisher.start(&clip, &url("no-key-of-this-server"))
        });
        assert!(
            said.is_err(),
            "{publisher:?} was let in with a wrong password"
        );
    }
    let gstreamer = |password: &str| {
        let pipeline = format!(
            "filesrc location={} ! flvdemux name=demux flvmux name=mux streamable=true ! \
             rtmp2sink sync=true location=rtmp://{addr}/live/show username=user \
             password={password} authmod=adobe demux.video ! queue ! h264parse ! mux. \
             demux.audio ! queue ! aacparse ! mux.",
            clip.display()
        );
        Tool::new("gst-launch-1.0")
            .arg("-q")
            .args(pipeline.split_whitespace())
            .start()
    };
    assert_eq!(
        published(&server, || gstreamer(PUBLISH_KEY)),
        Ok(()),
        "rtmp2sink"
    );
    assert!(!server.log().contains(PUBLISH_KEY), "keys are not logged");
}

/// The operator must be able to find the misconfigured encoder, and never sees a key.
#[test]
fn a_refused_caller_leaves_a_line() {
    let clip = Clip::Flv.seconds(8);
    let server = Server::start();
    let addr = server.addr("rtmp");
    for (path, shown) in [
        ("live/show", "stream=live/show"),
        (&format!("live/{PUBLISH_KEY}"), "stream=live/***"),
    ] {
        let mut publisher = Publisher::Ffmpeg.start(&clip, &format!("rtmp://{addr}/{path}"));
        assert!(!publisher.wait(DEADLINE).success());
        server.wait_for_log(shown, DEADLINE);
    }
    assert!(!server.log().contains(PUBLISH_KEY), "{}", server.log());

    let server = Server::builder().set("rtmp", "challenge", "true").start();
    // The key stands in the stream's name, as OBS has it.
    let mut publisher = Publisher::Ffmpeg.start(&clip, &server.rtmp_url("live/show", PUBLISH_KEY));
    assert!(!publisher.wait(DEADLINE).success());
    server.wait_for_log("is asked for user and password (rtmp.challenge)", DEADLINE);
    assert!(!server.log().contains(PUBLISH_KEY), "{}", server.log());
}

/// A key of the kind that makes addresses ambiguous.
const AWKWARD: &str = "with/slash:and-colon";

#[test]
fn the_key_is_found_wherever_it_stands() {
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
    // What each sends as app, name and address.
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
        for ffmpeg in [Tool::ffmpeg(), Tool::current_ffmpeg()] {
            let said = published(&server, || send(ffmpeg, more, url));
            assert_eq!(said, Ok(()), "{what}");
            wait_until("it to be gone", DEADLINE, || {
                !server.api("streams").to_string().contains("live/show")
            });
        }
    }
    for publisher in [Publisher::GstreamerRtmp2, Publisher::Librtmp] {
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
