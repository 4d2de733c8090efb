//! A hook decides who publishes and who listens, in each dialect and over each protocol.

use std::time::{Duration, Instant};

use testkit::http::Listener;
use testkit::{Clip, PUBLISH_KEY, Publisher, Server};

use crate::support::permission_hook::{Hook, KNOWN, UNKNOWN};
use crate::support::{
    DEADLINE, codecs, is_admitted, play_url, post_offer, publish_rtmp, repeat_to, wait_for_stream,
};

fn status(server: &Server, path: &str) -> u16 {
    Listener::get(server.addr("http"), path).status()
}

/// Returns the status for a WebRTC client's offer. The server checks the permission before it reads the offer, which is
/// invalid.
fn offers(server: &Server, path: &str, key: &str) -> u16 {
    let bearer = format!("Authorization: Bearer {key}\r\n");
    post_offer(server, path, &bearer, "v=0").status
}

#[test]
fn in_each_dialect_over_each_protocol() {
    let hook = Hook::start();
    let clip = Clip::Flv.seconds(30);
    for dialect in "carillon nginx-rtmp srs mediamtx icecast ome".split(' ') {
        let server = hook.serve(dialect, &format!("dialect = \"{dialect}\""));
        let mut refused = Publisher::Ffmpeg.start(&clip, &server.rtmp_url("live/show", UNKNOWN));
        assert!(
            !is_admitted(&server, "live/show", &mut refused),
            "{dialect}"
        );
        let mut show = Publisher::Ffmpeg.start(&clip, &server.rtmp_url("live/show", KNOWN));
        assert!(
            is_admitted(&server, "live/show", &mut show),
            "{dialect}: {}",
            show.stderr()
        );
        let mut refused = repeat_to(&server.icecast_url("radio.mp3", UNKNOWN), Clip::Mp3);
        assert!(
            !is_admitted(&server, "radio.mp3", &mut refused),
            "{dialect}"
        );
        let mut radio = repeat_to(&server.icecast_url("radio.mp3", KNOWN), Clip::Mp3);
        assert!(
            is_admitted(&server, "radio.mp3", &mut radio),
            "{dialect}: {}",
            radio.stderr()
        );

        for path in ["/radio.mp3", "/live/show.flv", "/live/show/index.m3u8"] {
            let with = |key: &str| status(&server, &format!("{path}?key={key}"));
            assert_eq!(with(KNOWN), 200, "{dialect} {path}");
            assert_eq!(with(UNKNOWN), 401, "{dialect} {path}");
            assert_eq!(status(&server, path), 401, "{dialect} {path}");
        }
        for (key, is_known) in [(KNOWN, true), (UNKNOWN, false)] {
            let seen = codecs(&play_url(&server, &format!("live/show?key={key}")), &[]);
            assert_eq!(seen.contains("h264"), is_known, "{dialect}: {seen}");
        }
        for path in ["/live/new/whip", "/live/show/whep"] {
            let is_denied = |key: &str| [401, 403].contains(&offers(&server, path, key));
            assert!(is_denied(UNKNOWN), "{dialect} {path}");
            assert!(!is_denied(KNOWN), "{dialect} {path}");
        }
        // The configured key permits publishing without a request to the hook.
        let asked = hook.asked().len();
        let _own = publish_rtmp(&server, &clip, "live/own");
        assert!(
            !hook.asked()[asked..]
                .iter()
                .any(|body| body.contains("own"))
        );
        let log = server.log();
        assert!(!log.contains(KNOWN) && !log.contains(UNKNOWN), "{log}");
    }
}

#[test]
fn a_permission_ends_when_the_hook_said() {
    let hook = Hook::start();
    let server = hook.serve("short", "");
    let mut show =
        Publisher::Ffmpeg.start(&Clip::Flv.seconds(30), &server.rtmp_url("live/show", KNOWN));
    assert!(
        is_admitted(&server, "live/show", &mut show),
        "{}",
        show.stderr()
    );
    let mut listener = Listener::get(server.addr("http"), "/live/show.flv");
    assert_eq!(listener.status(), 200);
    listener.read_to_end(DEADLINE);
    assert!(
        !show.wait(DEADLINE).success(),
        "the publisher is ended as well"
    );
}

#[test]
fn without_an_answer_publishers_are_refused_and_listeners_as_configured() {
    let hook = Hook::start();
    let clip = Clip::Flv.seconds(30);
    for (path, is_allowed) in [
        ("hang", false),
        ("failing", false),
        ("huge", true),
        ("hang", true),
    ] {
        let unanswered = if is_allowed { "allow" } else { "deny" };
        let keys = format!("timeout = \"500ms\"\nunanswered = \"{unanswered}\"");
        let server = hook.serve(path, &keys);
        // The server's own key continues to work.
        let _own = Publisher::Ffmpeg.start(&clip, &server.rtmp_url("live/show", PUBLISH_KEY));
        wait_for_stream(&server, "live/show");
        let began = Instant::now();
        let reported = status(&server, "/live/show.flv");
        assert_eq!(reported, if is_allowed { 200 } else { 503 }, "{path}");
        assert!(began.elapsed() < Duration::from_secs(20), "{path}");
        let mut refused = Publisher::Ffmpeg.start(&clip, &server.rtmp_url("live/other", KNOWN));
        assert!(!is_admitted(&server, "live/other", &mut refused), "{path}");
        server.wait_for_log("the hook for permissions gives no answer", DEADLINE);
    }
}
