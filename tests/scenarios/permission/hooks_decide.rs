//! A hook decides who publishes and who listens, in each dialect and over each protocol.

use std::time::{Duration, Instant};

use testkit::http::{self, Listener};
use testkit::{Clip, PUBLISH_KEY, Process, Publisher, Server, Tool, wait_until};

use crate::support::permission_hook::{Hook, KNOWN, UNKNOWN};
use crate::support::{DEADLINE, publish_rtmp, wait_for_stream};

/// Whether ffmpeg gets to publish this.
fn publishes(server: &Server, stream: &str, publisher: &mut Process) -> bool {
    let mut is_there = false;
    wait_until("the stream, or a refusal", DEADLINE, || {
        is_there = server
            .api("streams")
            .to_string()
            .contains(&format!("\"{stream}\""));
        is_there || !publisher.is_running()
    });
    is_there
}

fn over_icecast(server: &Server, mount: &str, secret: &str) -> Process {
    Tool::ffmpeg()
        .args(["-re", "-i"])
        .arg(Clip::Mp3.seconds(30))
        .args(["-c", "copy", "-content_type", "audio/mpeg", "-f", "mp3"])
        .arg(server.icecast_url(mount, secret))
        .start()
}

fn status(server: &Server, path: &str) -> u16 {
    Listener::get(server.addr("http"), path).status()
}

/// Whether ffprobe finds pictures over RTMP.
fn plays(server: &Server, stream: &str, query: &str) -> bool {
    let url = format!("rtmp://{}/{stream}{query}", server.addr("rtmp"));
    let probed = Tool::ffprobe()
        .args([
            "-v",
            "error",
            "-show_entries",
            "stream=codec_name",
            "-of",
            "csv=p=0",
        ])
        .arg(url)
        .finish(DEADLINE);
    String::from_utf8_lossy(&probed.stdout).contains("h264")
}

/// The answer to an offer of a WebRTC client. The gate is asked before the offer, which is none, is read.
fn offers(server: &Server, path: &str, key: &str) -> u16 {
    let request = format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer {key}\r\n\
         Content-Type: application/sdp\r\nContent-Length: 3\r\n\r\nv=0"
    );
    http::request(server.addr("http"), request.as_bytes(), DEADLINE).status
}

#[test]
fn in_each_dialect_over_each_protocol() {
    let hook = Hook::start();
    let clip = Clip::Flv.seconds(30);
    for dialect in [
        "carillon",
        "nginx-rtmp",
        "srs",
        "mediamtx",
        "icecast",
        "ome",
    ] {
        let server = hook.serve(dialect, &format!("dialect = \"{dialect}\""));
        let mut refused = Publisher::Ffmpeg.start(&clip, &server.rtmp_url("live/show", UNKNOWN));
        assert!(!publishes(&server, "live/show", &mut refused), "{dialect}");
        let mut show = Publisher::Ffmpeg.start(&clip, &server.rtmp_url("live/show", KNOWN));
        assert!(
            publishes(&server, "live/show", &mut show),
            "{dialect}: {}",
            show.stderr()
        );
        let mut refused = over_icecast(&server, "radio.mp3", UNKNOWN);
        assert!(!publishes(&server, "radio.mp3", &mut refused), "{dialect}");
        let mut radio = over_icecast(&server, "radio.mp3", KNOWN);
        assert!(
            publishes(&server, "radio.mp3", &mut radio),
            "{dialect}: {}",
            radio.stderr()
        );

        for path in ["/radio.mp3", "/live/show.flv", "/live/show/index.m3u8"] {
            let with = |key: &str| status(&server, &format!("{path}?key={key}"));
            assert_eq!(with(KNOWN), 200, "{dialect} {path}");
            assert_eq!(with(UNKNOWN), 401, "{dialect} {path}");
            assert_eq!(status(&server, path), 401, "{dialect} {path}");
        }
        assert!(
            plays(&server, "live/show", &format!("?key={KNOWN}")),
            "{dialect}"
        );
        assert!(
            !plays(&server, "live/show", &format!("?key={UNKNOWN}")),
            "{dialect}"
        );
        for path in ["/live/new/whip", "/live/show/whep"] {
            let is_denied = |key: &str| [401, 403].contains(&offers(&server, path, key));
            assert!(is_denied(UNKNOWN), "{dialect} {path}");
            assert!(!is_denied(KNOWN), "{dialect} {path}");
        }
        // The configured key permits to publish without a question.
        let asked = hook.asked().len();
        let _own = publish_rtmp(&server, &clip, "live/own");
        wait_for_stream(&server, "live/own");
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
        publishes(&server, "live/show", &mut show),
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
        // Its own key goes on working.
        let _own = Publisher::Ffmpeg.start(&clip, &server.rtmp_url("live/show", PUBLISH_KEY));
        wait_for_stream(&server, "live/show");
        let began = Instant::now();
        let told = status(&server, "/live/show.flv");
        assert_eq!(told, if is_allowed { 200 } else { 503 }, "{path}");
        assert!(began.elapsed() < Duration::from_secs(20), "{path}");
        let mut refused = Publisher::Ffmpeg.start(&clip, &server.rtmp_url("live/other", KNOWN));
        assert!(!publishes(&server, "live/other", &mut refused), "{path}");
        server.wait_for_log("the hook for permissions gives no answer", DEADLINE);
    }
}
