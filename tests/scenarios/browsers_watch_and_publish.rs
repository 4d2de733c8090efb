//! Chromium watches and publishes over WebRTC: by our pages, and by bare RFC 9725 and WHEP.

use serde_json::Value;
use testkit::{Clip, PUBLISH_KEY, Server, Tool, wait_until};

use crate::browser::Browser;
use crate::firefox::Firefox;
use crate::pages_play_what_the_browser_can::{choose, plays_by};
use crate::session::{assert_watched, figures, publish_camera, watch};
use crate::support::{DEADLINE, play_url, publish_icecast, publish_rtmp, wait_for_stream};

/// More packets than are left before the sequence numbers of a track with a random start wrap, often.
const FRAMES: u64 = 320;

/// A fake camera and microphone, without a permission prompt.
pub(crate) const CAMERA: &[&str] = &[
    "--use-fake-device-for-media-stream",
    "--use-fake-ui-for-media-stream",
];

#[test]
fn chromium_watches_the_demo_and_a_stream_over_rtmp_with_sound() {
    let server = Server::builder().arg("--demo").start();
    let clip = Clip::Flv.seconds(90);
    let _publisher = publish_rtmp(&server, &clip, "live/show");
    wait_for_stream(&server, "live/show");
    let browser = Browser::open();
    for stream in ["/demo", "/live/show"] {
        watch(&browser, &server, stream);
        let figures = assert_watched(&browser, FRAMES, 8.0);
        assert_eq!(figures["cipher"], "SRTP_AEAD_AES_128_GCM", "{figures}");
        assert!(figures["firstFrame"].is_number(), "{figures}");
        assert_is_at_rate(&browser);
        let ended = browser.run(
            "window.ended = null; \
             fetch(session.url, {method: 'DELETE'}).then(answer => { window.ended = answer.status; }); \
             return null;",
        );
        assert!(ended.is_null());
        wait_until("the session to end", DEADLINE, || {
            browser.run("return window.ended;") == 200
                && server.api("listeners")["listeners"] == serde_json::json!([])
        });
    }
}

/// Demands that pictures come as fast as they are made: 25 per second, by the clock of the sound. A busy machine decodes fewer.
fn assert_is_at_rate(browser: &Browser) {
    let now = || {
        let figures = figures(browser);
        let number = |kind: &str, name: &str| figures[kind][name].as_f64().unwrap();
        (number("video", "received"), number("audio", "seconds"))
    };
    let before = now();
    wait_until("five seconds of sound", DEADLINE, || {
        now().1 - before.1 >= 5.0
    });
    let after = now();
    let rate = (after.0 - before.0) / (after.1 - before.1);
    assert!((23.0..27.0).contains(&rate), "{rate} pictures a second");
}

#[test]
fn firefox_watches_what_chromium_publishes_in_vp8() {
    // Firefox takes no candidate on the loopback, so the host's own addresses are used.
    let server = Server::builder()
        .set("webrtc", "listen", "\"0.0.0.0:0\"")
        .start();
    let camera = Browser::open_with(CAMERA);
    publish_camera(&camera, &server, "live/cam", "vp8");
    wait_for_stream(&server, "live/cam");
    let firefox = Firefox::open();
    watch(&firefox, &server, "/live/cam");
    let figures = assert_watched(&firefox, 60, 2.0);
    assert_eq!(figures["videoCodec"], "video/VP8", "{figures}");
    assert!(figures["audioCodec"] == "audio/opus", "{figures}");
    assert!(crate::session::figures(&camera).is_object());
}

#[test]
fn chromium_watches_what_gstreamer_publishes() {
    let server = Server::start();
    let _publisher = Tool::new("/usr/bin/python3")
        .arg(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/scenarios/gstreamer_publisher.py"
        ))
        .args([&server.http_url("/live/show/whip"), PUBLISH_KEY])
        .start();
    wait_for_stream(&server, "live/show");
    let browser = Browser::open();
    watch(&browser, &server, "/live/show");
    assert_watched(&browser, 100, 4.0);
    assert_is_at_rate(&browser);
}

#[test]
fn a_radio_over_icecast_is_heard_over_webrtc() {
    let server = Server::start();
    let _radio = publish_icecast(&server, Clip::Mp3, 60, "radio.mp3");
    wait_for_stream(&server, "radio.mp3");
    let browser = Browser::open();
    watch(&browser, &server, "/radio.mp3");
    wait_until("sound", DEADLINE, || {
        let now = figures(&browser);
        now["audio"]["seconds"].as_f64() >= Some(2.0) && now["audio"]["energy"].as_f64() > Some(0.0)
    });
}

/// Waits until the page shows the text.
fn says(browser: &Browser, words: &str) {
    let mut last = Value::Null;
    wait_until(words, DEADLINE, || {
        last = browser.run("return document.querySelector('[role=status]').textContent;");
        last.as_str().is_some_and(|text| text.contains(words))
    });
}

/// Has the page's own session keep the figures of a bare client, from its request on.
const LISTEN_IN: &str = r"
    window.failure = null;
    window.figures = {};
    const video = document.querySelector('video');
    video.requestVideoFrameCallback(function look(_, frame) {
        // What the page showed before came by another path, without a time of arrival.
        if (frame.receiveTime === undefined) video.requestVideoFrameCallback(look);
        else figures.firstFrame = performance.now() - asked;
    });
    let asked = null;
    const Original = RTCPeerConnection;
    window.RTCPeerConnection = class extends Original {
        constructor(...rest) {
            super(...rest);
            asked = performance.now();
            setInterval(async () => {
                for (const s of (await this.getStats()).values()) {
                    if (s.type === 'inbound-rtp') figures[s.kind] = {
                        lost: s.packetsLost, frames: s.framesDecoded, received: s.framesReceived,
                        energy: s.totalAudioEnergy, seconds: s.totalSamplesDuration,
                    };
                }
            }, 100);
        }
    };
";

#[test]
fn the_player_page_plays_by_the_chosen_protocol() {
    let server = Server::builder().arg("--demo").start();
    let _publisher = publish_rtmp(&server, &Clip::Flv.seconds(90), "live/show");
    wait_for_stream(&server, "live/show");
    let browser = Browser::open();
    for stream in ["demo", "live/show"] {
        play_by_choice(&browser, &server, stream);
    }
}

fn play_by_choice(browser: &Browser, server: &Server, stream: &str) {
    browser.go(&server.http_url(&format!("/{stream}/?way=flv")));
    plays_by(browser, "flv");
    browser.run(LISTEN_IN);
    choose(browser, "webrtc");
    plays_by(browser, "webrtc");
    let figures = assert_watched(browser, FRAMES, 8.0);
    assert!(figures["firstFrame"].is_number(), "{figures}");
    assert_is_at_rate(browser);
    let shown = "const v = document.querySelector('video'); \
        return [v.hidden, v.srcObject !== null, v.videoWidth, document.getElementById('note').hidden];";
    let state = browser.run(shown);
    assert_eq!((&state[0], &state[1]), (&false.into(), &true.into()));
    assert!(state[2].as_u64() > Some(0), "{state}");
    assert_eq!(state[3], true, "{state}");
    browser.screenshot("webrtc");
    choose(browser, "flv");
    plays_by(browser, "flv");
    assert_eq!(browser.run(shown)[1], false);
    wait_until("the session to end", DEADLINE, || {
        !server.api("listeners").to_string().contains("webrtc")
    });
}

#[test]
fn the_player_page_says_why_webrtc_does_not_work() {
    // No server can be reached there, so no session connects.
    let server = Server::builder()
        .arg("--demo")
        .set("webrtc", "public_ips", "[\"192.0.2.1\"]")
        .start();
    let browser = Browser::open();
    browser.go(&server.http_url("/demo/#live"));
    plays_by(&browser, "flv");
    let note = browser.run("return document.getElementById('note').innerText;");
    let note = note.as_str().unwrap();
    assert!(
        note.contains("WebRTC does not work here") && note.contains("media port"),
        "{note}"
    );
}

#[test]
fn a_camera_in_chromium_is_seen_and_heard_everywhere() {
    let server = Server::start();
    let camera = Browser::open_with(CAMERA);
    camera.go(&server.http_url("/live/cam/publish"));
    says(&camera, "Ready.");
    camera.run(
        "document.getElementById('key').value = 'wrong'; document.getElementById('go').click(); \
         return null;",
    );
    says(&camera, "key is wrong");
    camera.screenshot("publish-wrong-key");
    camera.run(&format!(
        "document.getElementById('key').value = '{PUBLISH_KEY}'; \
         document.getElementById('go').click(); return null;"
    ));
    says(&camera, "On air.");
    wait_for_stream(&server, "live/cam");
    wait_until("figures", DEADLINE, || {
        let text = camera.run("return document.getElementById('figures').innerText;");
        text.as_str().is_some_and(|text| text.contains("b/s sent"))
    });
    camera.screenshot("publish");

    let viewer = Browser::open();
    watch(&viewer, &server, "/live/cam");
    assert_watched(&viewer, 60, 2.0);

    for url in [
        play_url(&server, "live/cam"),
        server.http_url("/live/cam.flv"),
    ] {
        // Debian's ffmpeg is older than Opus in FLV.
        let frames = Tool::current_ffmpeg()
            .args(["-i", &url, "-t", "3", "-f", "framecrc", "-"])
            .run(DEADLINE);
        let frames = String::from_utf8(frames).unwrap();
        let of = |stream: &str| {
            frames
                .lines()
                .filter(|line| line.starts_with(stream))
                .count()
        };
        assert!(of("0,") > 30 && of("1,") > 30, "{url}: {frames}");
    }
    // The fake microphone beeps once a second.
    let heard = Tool::ffmpeg()
        .args(["-loglevel", "info", "-t", "4", "-i"])
        .arg(server.http_url("/live/cam.ogg"))
        .args(["-af", "volumedetect", "-f", "null", "-"])
        .finish(DEADLINE);
    let said = heard.stderr;
    assert!(heard.status.success(), "{said}");
    let loudness = said
        .split("max_volume: ")
        .nth(1)
        .map(|text| text.split(' ').next());
    let loudness: f64 = loudness.flatten().unwrap().parse().unwrap();
    assert!(loudness > -40.0, "{loudness} dB: {said}");
    assert!(said.contains("Audio: opus, 48000 Hz"), "{said}");

    camera.run("document.getElementById('stop').click(); return null;");
    says(&camera, "Stopped.");
    wait_until("the publisher to be gone", DEADLINE, || {
        server
            .metrics()
            .get("carillon_publishers{protocol=\"whip\"}")
            == Some(0.0)
    });
}
