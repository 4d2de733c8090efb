//! Chromium watches and publishes over WebRTC: by our pages, and by bare RFC 9725 and WHEP.

use testkit::{Clip, PUBLISH_KEY, Server, Tool, wait_until};

use crate::support::browser::{Browser, CAMERA};
use crate::support::firefox::Firefox;
use crate::support::pages::{choose, plays_by};
use crate::support::session::{assert_watched, figures, publish_camera, watch};
use crate::support::{DEADLINE, publish_icecast, publish_rtmp, wait_for_stream};

/// More packets than are left before the sequence numbers of a track with a random start wrap, often.
const FRAMES: u64 = 320;

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

/// Demands that pictures come as fast as they are made: 25 to a second of their own clock. A busy machine encodes them later, decodes
/// fewer, and receives what it had no time for in one go, which is less of the whole the longer that is.
fn assert_is_at_rate(browser: &Browser) {
    browser.run(
        "const shown = window.video ?? document.querySelector('video'); \
         const look = (_, frame) => { window.shownAt = frame.rtpTimestamp; shown.requestVideoFrameCallback(look); }; \
         shown.requestVideoFrameCallback(look); return null;",
    );
    let now = || {
        let at = browser.run("return window.shownAt ?? null;").as_u64()?;
        let received = figures(browser)["video"]["received"].as_u64()?;
        Some((received, at as u32))
    };
    let mut before = None;
    wait_until(
        "25 pictures a second, for five seconds or more",
        DEADLINE,
        || {
            let Some((received, at)) = now() else {
                return false;
            };
            let (first, begin) = *before.get_or_insert((received, at));
            let seconds = f64::from(at.wrapping_sub(begin)) / 90_000.0;
            seconds >= 5.0 && (23.0..27.0).contains(&((received - first) as f64 / seconds))
        },
    );
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
    assert!(crate::support::session::figures(&camera).is_object());
}

#[test]
fn chromium_watches_what_gstreamer_publishes() {
    let server = Server::start();
    let _publisher = Tool::new("/usr/bin/python3")
        .arg(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/scenarios/support/gstreamer_publisher.py"
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
