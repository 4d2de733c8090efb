//! A stream that Chromium publishes over WebRTC, by our page, plays with video and audio over every protocol.

use serde_json::Value;
use testkit::{PUBLISH_KEY, Server, Tool};

use crate::support::browser::{Browser, CAMERA};
use crate::support::session::{assert_watched, watch};
use crate::support::{DEADLINE, play_url, wait_for_stream, wait_until};

/// Waits until the page shows the text.
fn says(browser: &Browser, words: &str) {
    let mut last = Value::Null;
    wait_until(words, || {
        last = browser.run("return document.querySelector('[role=status]').textContent;");
        last.as_str().is_some_and(|text| text.contains(words))
    });
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
    wait_until("figures", || {
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
    wait_until("the publisher to be gone", || {
        server
            .metrics()
            .get("carillon_publishers{protocol=\"whip\"}")
            == Some(0.0)
    });
}
