//! The player page shows its whole video in any window, and returns to the live edge.

use serde_json::Value;
use testkit::{Clip, Server};

use crate::support::browser::Browser;
use crate::support::pages::{plays_by, says, shows_pictures, text};
use crate::support::{publish_icecast, wait_until};

/// Sizes of a desktop, a phone upright and on its side, and a frame in another page.
const WINDOWS: [(u32, u32); 5] = [(1280, 800), (900, 700), (390, 844), (844, 390), (640, 360)];

#[test]
fn the_picture_is_in_sight_in_every_window() {
    let server = Server::builder().arg("--demo").start();
    let browser = Browser::open();
    for (width, height) in WINDOWS {
        browser.resize(width, height);
        browser.go(&server.http_url("/demo/#live"));
        plays_by(&browser, "webrtc");
        shows_pictures(&browser);
        let seen = browser.run(
            "const r = document.querySelector('video').getBoundingClientRect(); \
             const wide = document.documentElement.scrollWidth > innerWidth; \
             return [r.top >= 0 && r.bottom <= innerHeight && r.left >= 0 && r.right <= innerWidth, \
                     scrollY, wide, r.top, r.bottom, innerHeight];",
        );
        let all = (&seen[0], &seen[1], &seen[2]);
        assert_eq!(
            all,
            (&Value::Bool(true), &Value::from(0), &Value::Bool(false)),
            "{width}x{height}: {seen}"
        );
        browser.screenshot(&format!("fit-{width}x{height}"));
    }
    browser.resize(1280, 800);
    browser.go(&server.http_url("/"));
    browser.screenshot("fit-list");
}

/// Script that returns the seconds of loaded media that are still to be played.
const AHEAD: &str = "const v = document.querySelector('video'); \
    return v.buffered.length ? v.buffered.end(v.buffered.length - 1) - v.currentTime : 0;";

#[test]
fn a_picture_that_was_paused_continues_live() {
    let server = Server::builder().arg("--demo").start();
    let browser = Browser::open();
    let ahead = || browser.run(AHEAD).as_f64().unwrap();
    browser.go(&server.http_url("/demo/?way=flv"));
    plays_by(&browser, "flv");
    wait_until("the player to catch up", || ahead() < 4.0);
    for way_back in ["button", "player"] {
        browser.run("document.querySelector('video').pause(); return null;");
        says(&browser, "Paused.");
        wait_until("the stream to go on", || ahead() > 8.0);
        wait_until("the button", || text(&browser, "#go-live") == "Go live");
        match way_back {
            "button" => browser.click("#go-live"),
            _ => {
                browser.run("document.querySelector('video').play(); return null;");
            }
        }
        // Catching up by playing faster would take half a minute.
        let now = ahead();
        assert!(now < 4.0, "by the {way_back}: {now} s behind");
        says(&browser, "Playing");
        wait_until("the button to go", || text(&browser, "#go-live") == "");
    }
}

#[test]
fn a_radio_that_may_not_play_unasked_begins_when_it_is_asked() {
    let server = Server::start();
    let _radio = publish_icecast(&server, Clip::Mp3, 90, "radio.mp3");
    let browser = Browser::open_with(&["--autoplay-policy=document-user-activation-required"]);
    browser.go(&server.http_url("/radio.mp3/"));
    says(&browser, "Ready. Press Play.");
    // While paused, the page holds no connection, so no media gets old before it is played.
    assert_eq!(server.api("listeners")["listeners"], serde_json::json!([]));
    browser.click("#play");
    says(&browser, "Playing");
    wait_until("one listener", || {
        let listeners = server.api("listeners");
        listeners["listeners"].as_array().map(Vec::len) == Some(1)
    });
}

#[test]
fn a_page_waits_in_silence_for_a_publisher_that_is_away() {
    let server = Server::builder().set("ingest", "linger", "\"60s\"").start();
    let mut radio = publish_icecast(&server, Clip::Mp3, 90, "radio.mp3");
    let browser = Browser::open();
    radio.kill();
    wait_until("the publisher to be away", || {
        server.api("streams")["streams"][0]["state"] == "lingering"
    });
    browser.go(&server.http_url("/radio.mp3/"));
    says(&browser, "Playback continues by itself.");
    // Otherwise the page would play the last audio again.
    assert_eq!(server.api("listeners")["listeners"], serde_json::json!([]));
    let _again = publish_icecast(&server, Clip::Mp3, 60, "radio.mp3");
    says(&browser, "Playing");
}
