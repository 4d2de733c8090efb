//! Chromium watches over WebRTC by bare WHEP, and our page says why it cannot.

use testkit::{Clip, PUBLISH_KEY, Server};

use crate::support::browser::Browser;
use crate::support::pages::plays_by;
use crate::support::session::{assert_watched, figures, watch};
use crate::support::{gstreamer_whip, publish_rtmp, wait_for_stream, wait_until};

/// Number of packets to watch; often more than remain before the sequence numbers of a track with a random start wrap.
const FRAMES: u64 = 320;

/// Script that returns the state of DTLS, which ends with the server's goodbye.
const TRANSPORT: &str = "return pc.getTransceivers()[0].receiver.transport.state;";

#[test]
fn chromium_watches_the_demo_and_a_stream_over_rtmp_with_audio() {
    let server = Server::builder().arg("--demo").start();
    let clip = Clip::Flv.seconds(90);
    let _publisher = publish_rtmp(&server, &clip, "live/show");
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
        wait_until("the session to end", || {
            browser.run("return window.ended;") == 200
                && server.api("listeners")["listeners"] == serde_json::json!([])
                && browser.run(TRANSPORT) == "closed"
        });
    }
}

/// Asserts that frames arrive at the rate at which they are made: 25 per second of their own clock. A busy machine encodes
/// frames later, decodes fewer, and receives in one go what it had no time for; that weighs less the longer the stretch.
fn assert_is_at_rate(browser: &Browser) {
    browser.run(
        "const shown = window.video; \
         const look = (_, frame) => { window.shownAt = frame.rtpTimestamp; shown.requestVideoFrameCallback(look); }; \
         shown.requestVideoFrameCallback(look); return null;",
    );
    let now = || {
        let at = browser.run("return window.shownAt ?? null;").as_u64()?;
        let received = figures(browser)["video"]["received"].as_u64()?;
        Some((received, at as u32))
    };
    let mut before = None;
    wait_until("25 pictures a second, for five seconds or more", || {
        let Some((received, at)) = now() else {
            return false;
        };
        let (first, begin) = *before.get_or_insert((received, at));
        let seconds = f64::from(at.wrapping_sub(begin)) / 90_000.0;
        seconds >= 5.0 && (23.0..27.0).contains(&((received - first) as f64 / seconds))
    });
}

#[test]
fn chromium_watches_what_gstreamer_publishes() {
    let server = Server::start();
    let _publisher = gstreamer_whip(&server, "live/show", PUBLISH_KEY).start();
    wait_for_stream(&server, "live/show");
    let browser = Browser::open();
    watch(&browser, &server, "/live/show");
    assert_watched(&browser, 100, 4.0);
    assert_is_at_rate(&browser);
}

#[test]
fn the_player_page_says_why_webrtc_does_not_work() {
    // No server is reachable at this address, so no session connects.
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
