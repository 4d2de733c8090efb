//! Time until a player page plays, by each protocol, and the bytes that it loads for that, in Chromium and in Firefox.

use serde_json::Value;
use testkit::Server;

use crate::support::browser::Browser;
use crate::support::firefox::Firefox;
use crate::support::player_page::{Played, published};
use crate::support::session::Driven;
use crate::support::wait_until;
use crate::support::windows::{busy_ms, median_and_p90};

/// Longest time in milliseconds from navigation to playback.
const PLAYS_MS_MAX: f64 = 2_000.0;
/// Longest time in milliseconds from navigation to the first frame, by the protocol that the page chooses.
const FIRST_MS_MAX: f64 = 1_000.0;
/// Largest number of bytes that the page loads before its player's library.
const BYTES_MAX: u64 = 150 << 10;
/// Loads of each page, of which the median counts. The first one by HLS waits longer, for a segment: the server has made none
/// of a stream that nobody watched by HLS. Its time is printed.
const LOADS: usize = 3;
/// Number of steps of a page: on a busy machine each is late by as much as the control.
const STEPS: f64 = 10.0;

/// Streams, and the protocols by which Chromium plays them.
const IN_CHROMIUM: [(&str, &[&str]); 4] = [
    ("demo", &["webrtc", "flv", "hls"]),
    ("live/show", &["webrtc", "flv", "hls"]),
    ("live/reordered", &["flv", "hls"]),
    ("radio.mp3", &["http", "flv", "webrtc"]),
];
/// Streams, and the protocols by which Firefox plays them; it takes no H.264 over WebRTC.
const IN_FIREFOX: [(&str, &[&str]); 4] = [
    ("demo", &["flv", "hls"]),
    ("live/show", &["flv", "hls"]),
    ("live/reordered", &["flv", "hls"]),
    ("radio.mp3", &["http", "flv", "webrtc"]),
];

/// Script that keeps the time of the first frame.
const NOTE_FIRST: &str = "addEventListener('DOMContentLoaded', () => { \
    document.querySelector('video')?.requestVideoFrameCallback(now => { window.first = now; }); });";

/// Asserts the limit on the milliseconds from navigation to playback by each protocol, the median of some loads.
fn assert_plays(
    name: &str,
    browser: &impl crate::support::player_page::PageBrowser,
    server: &Server,
    streams: &[(&str, &[&str])],
    busy: f64,
) {
    for (stream, ways) in streams {
        for way in *ways {
            let mut loads = [0.0; LOADS];
            for load in &mut loads {
                browser.go("about:blank");
                browser.go(&server.http_url(&format!("/{stream}/?way={way}")));
                wait_until(&format!("{stream} by {way}"), || {
                    *load = now(browser);
                    Played::of(browser).is_by(way)
                });
            }
            let (median, worst) = median_and_p90(&mut loads);
            println!(
                "{name}, {stream} by {way}: plays after {median:.0} ms, at worst {worst:.0} ms"
            );
            assert!(
                median <= PLAYS_MS_MAX + STEPS * busy,
                "{name}, {stream} by {way}: {median} ms"
            );
        }
    }
}

/// Returns the milliseconds since navigation.
fn now(browser: &impl Driven) -> f64 {
    browser.run("return performance.now();").as_f64().unwrap()
}

#[test]
fn in_chromium() {
    let (server, _publishers) = published();
    let browser = Browser::open();
    let busy = busy_ms(&browser, &server);
    assert_plays("Chromium", &browser, &server, &IN_CHROMIUM, busy);
}

#[test]
fn in_firefox() {
    let (server, _publishers) = published();
    let chromium = Browser::open();
    let busy = busy_ms(&chromium, &server);
    drop(chromium);
    assert_plays("Firefox", &Firefox::open(), &server, &IN_FIREFOX, busy);
}

#[test]
fn with_a_first_picture_within_a_second_and_few_bytes() {
    let server = Server::builder().arg("--demo").start();
    let browser = Browser::open();
    let busy = busy_ms(&browser, &server);
    browser.before_each_page(NOTE_FIRST);
    let mut loads = [0.0; 5];
    for load in &mut loads {
        browser.go("about:blank");
        browser.go(&server.http_url("/demo/"));
        wait_until("a first picture", || {
            let first = browser.run("return window.first ?? null;").as_f64();
            *load = first.unwrap_or_default();
            first.is_some()
        });
    }
    let (median, worst) = median_and_p90(&mut loads);
    println!("first picture after {median:.0} ms, at worst {worst:.0} ms");
    assert!(median <= FIRST_MS_MAX + STEPS * busy, "{median} ms");

    for page in ["/", "/demo/", "/live/cam/publish"] {
        browser.devtools(
            "Network.clearBrowserCache",
            &Value::Object(serde_json::Map::new()),
        );
        browser.go(&server.http_url(page));
        // Names, and bytes on the wire with the heads of the replies.
        let loaded = browser.run(
            "const all = ['navigation', 'resource'].flatMap(kind => performance.getEntriesByType(kind)); \
             return all.map(one => [one.name, one.transferSize]);",
        );
        let loaded = loaded.as_array().unwrap();
        let is_library = |name: &str| name.contains("mpegts.js") || name.contains("hls");
        assert!(
            !loaded
                .iter()
                .any(|one| is_library(one[0].as_str().unwrap())),
            "{page}: {loaded:?}"
        );
        let bytes: u64 = loaded.iter().filter_map(|one| one[1].as_u64()).sum();
        println!("{page}: {bytes} bytes in {} files", loaded.len());
        assert!((1..=BYTES_MAX).contains(&bytes), "{page}: {loaded:?}");
    }
}
