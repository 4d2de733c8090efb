//! The player page plays in a real browser: Chromium, driven by its WebDriver.

use testkit::{Clip, Server};

use crate::support::browser::Browser;
use crate::support::{repeat_icecast, repeat_rtmp, wait_until};

/// Waits until the page's player has played for `seconds` without an error.
fn plays(browser: &Browser, seconds: f64) {
    wait_until("the player to play", || {
        let state = browser.run(
            "const m = [...document.querySelectorAll('video, audio')].find(m => !m.hidden); \
             return m ? [m.currentTime, m.paused, m.error ? m.error.message : null] : null;",
        );
        assert!(state[2].is_null(), "{state}");
        state[0].as_f64().is_some_and(|time| time >= seconds) && state[1] == false
    });
    let status = browser.run("return document.querySelector('[role=status]').textContent;");
    assert!(
        status.as_str().is_some_and(|text| !text.is_empty()),
        "{status}"
    );
}

#[test]
fn chromium_plays_the_demo_and_a_radio_and_lists_them() {
    let server = Server::builder().arg("--demo").start();
    let _radio = repeat_icecast(&server, Clip::Mp3, "radio.mp3");
    let browser = Browser::open();

    browser.go(&server.http_url("/demo/"));
    plays(&browser, 3.0);
    let quality = browser.run(
        "const q = document.querySelector('video').getVideoPlaybackQuality(); \
         return [q.totalVideoFrames, document.querySelector('video').videoWidth];",
    );
    assert!(
        quality[0].as_u64().is_some_and(|frames| frames > 40),
        "{quality}"
    );
    assert_eq!(quality[1], 640, "{quality}");
    browser.screenshot("demo");

    browser.go(&server.http_url("/radio.mp3/"));
    plays(&browser, 2.0);
    browser.screenshot("radio");

    browser.go(&server.http_url("/"));
    let links =
        browser.run("return [...document.querySelectorAll('a')].map(a => a.getAttribute('href'));");
    let links = links.to_string();
    assert!(
        links.contains("/demo/") && links.contains("/radio.mp3/"),
        "{links}"
    );
    browser.screenshot("list");

    browser.go(&server.http_url("/absent/"));
    let text = browser.run("return document.body.innerText;");
    assert!(
        text.as_str()
            .is_some_and(|text| text.to_lowercase().contains("not live")),
        "{text}"
    );
}

#[test]
fn a_page_recovers_when_the_publisher_comes_back() {
    let server = Server::builder().set("ingest", "linger", "\"1s\"").start();
    let mut first = repeat_rtmp(&server, Clip::Flv, "live/show");
    let browser = Browser::open();
    browser.go(&server.http_url("/live/show/"));
    plays(&browser, 1.0);
    first.kill();
    wait_until("the stream to end", || {
        server.get("/live/show.flv").status == 404
    });
    let says_playing = || {
        let text = browser.run("return document.querySelector('[role=status]').textContent;");
        text.as_str()
            .is_some_and(|text| text.to_lowercase().contains("playing"))
    };
    wait_until("the page to notice", || !says_playing());
    let _second = repeat_rtmp(&server, Clip::Flv, "live/show");
    wait_until("the page to play again", says_playing);
}

#[test]
fn a_page_plays_with_the_key_of_its_address_and_asks_for_one() {
    const KEY: &str = "ear-to-the-ground-7";
    let key = format!(
        "[[auth.key]]\nname = \"ear\"\nkey = \"{KEY}\"\nmatch = \"**\"\nscopes = [\"play\"]"
    );
    let server = Server::builder()
        .set("auth", "play", "\"key\"")
        .toml(&key)
        .start();
    let _show = repeat_rtmp(&server, Clip::Flv, "live/show");
    let browser = Browser::open();

    browser.go(&server.http_url("/live/show/"));
    wait_until("the page to ask for a key", || {
        let notes = browser.run("return document.getElementById('notes').innerText;");
        notes.to_string().contains("needs a key")
    });
    for way in ["flv", "hls", "webrtc"] {
        browser.go(&server.http_url(&format!("/live/show/?way={way}&key={KEY}")));
        plays(&browser, 1.0);
        let played = browser.run("return document.getElementById('player').dataset.way;");
        assert_eq!(played, way);
    }
}
