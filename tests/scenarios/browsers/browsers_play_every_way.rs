//! The player page plays each stream by every protocol that it offers, in Chromium and in Firefox.
//!
//! The tables list those protocols. Debian's Firefox takes no H.264 over WebRTC, because Mozilla's plug-in for it is not in the
//! package; it decodes H.264 by FFmpeg everywhere else. Chromium plays HLS natively, but only a playlist of three segments or
//! more.

use testkit::Server;

use crate::support::browser::Browser;
use crate::support::firefox::Firefox;
use crate::support::pages::{choose, plays_by};
use crate::support::player_page::{COUNT_SESSIONS, Played, offered, plays_on, published};
use crate::support::session::{Driven, publish_camera};
use crate::support::{wait_for_stream, wait_until};

/// A stream, and the protocols by which a browser must play it.
struct Row {
    stream: &'static str,
    has_pictures: bool,
    ways: &'static [&'static str],
}

const fn show(stream: &'static str, ways: &'static [&'static str]) -> Row {
    Row {
        stream,
        has_pictures: true,
        ways,
    }
}

const fn radio(stream: &'static str, ways: &'static [&'static str]) -> Row {
    Row {
        stream,
        has_pictures: false,
        ways,
    }
}

const IN_CHROMIUM: [Row; 4] = [
    show("demo", &["flv", "hls", "native", "webrtc"]),
    show("live/show", &["flv", "hls", "native", "webrtc"]),
    // WebRTC carries no B-frames.
    show("live/reordered", &["flv", "hls", "native"]),
    radio("radio.mp3", &["flv", "http", "webrtc"]),
];

const IN_FIREFOX: [Row; 4] = [
    show("demo", &["flv", "hls"]),
    show("live/show", &["flv", "hls"]),
    show("live/reordered", &["flv", "hls"]),
    radio("radio.mp3", &["flv", "http", "webrtc"]),
];

/// Number of segments that Chromium's own player needs to begin.
const NATIVE_SEGMENTS: usize = 3;

/// Opens a stream's page with this parameter.
fn open(browser: &impl Driven, server: &Server, stream: &str, parameter: &str) {
    browser.go("about:blank");
    browser.go(&server.http_url(&format!("/{stream}/?{parameter}")));
}

/// Asserts that the page offers the row's protocols. An audio stream may have more, since browsers differ in the audio
/// containers that they take; a video stream must have no protocol that does not work.
fn assert_offered(browser: &impl Driven, row: &Row) {
    let offered = offered(browser);
    let has_all = row
        .ways
        .iter()
        .all(|way| offered.iter().any(|one| one == way));
    let has_more = offered.len() > row.ways.len();
    assert!(
        has_all && !(row.has_pictures && has_more),
        "{}: {offered:?}",
        row.stream
    );
}

#[test]
fn chromium_plays_every_stream_in_every_way() {
    let (server, _publishers) = published();
    let browser = Browser::open();
    browser.before_each_page(COUNT_SESSIONS);
    for row in &IN_CHROMIUM {
        for way in row.ways {
            if *way == "native" {
                wait_for_segments(&server, row.stream);
            }
            open(&browser, &server, row.stream, &format!("way={way}"));
            plays_on(&browser, way, row.has_pictures);
        }
        assert_offered(&browser, row);
    }
}

/// Waits until a playlist lists as many segments as Chromium needs; a player's request has started the playlist.
fn wait_for_segments(server: &Server, stream: &str) {
    wait_until("segments in the playlist", || {
        let playlist = server.get(&format!("/{stream}/hls/live.m3u8")).text();
        playlist.matches("#EXTINF").count() >= NATIVE_SEGMENTS
    });
}

#[test]
fn firefox_plays_every_stream_in_every_way() {
    let (server, _publishers) = published();
    let browser = Firefox::open();
    for row in &IN_FIREFOX {
        for way in row.ways.iter().filter(|way| **way != "webrtc") {
            open(&browser, &server, row.stream, &format!("way={way}"));
            plays_on(&browser, way, row.has_pictures);
        }
        assert_offered(&browser, row);
        if row.ways.contains(&"webrtc") {
            browser.run(COUNT_SESSIONS);
            choose(&browser, "webrtc");
            plays_on(&browser, "webrtc", row.has_pictures);
        }
    }
    // The page says in words why it cannot have the lowest delay.
    open(&browser, &server, "live/show", "way=webrtc");
    plays_by(&browser, "flv");
    let note = Played::of(&browser).note;
    assert!(note.contains("takes no H.264 over WebRTC"), "{note}");
}

/// WHEP with video in Firefox, which takes VP8, VP9 and AV1 of the codecs that browsers publish.
#[test]
fn the_page_in_firefox_plays_by_webrtc_what_chromium_publishes() {
    let server = Server::builder()
        .set("webrtc", "listen", "\"0.0.0.0:0\"")
        .start();
    let camera = Browser::open_with(&[
        "--use-fake-device-for-media-stream",
        "--use-fake-ui-for-media-stream",
    ]);
    publish_camera(&camera, &server, "live/cam", "vp8");
    wait_for_stream(&server, "live/cam");
    let browser = Firefox::open();
    // The page waits for a click, so that the frame counter is in place before the session starts.
    open(&browser, &server, "live/cam", "autoplay=0");
    browser.run(&format!(
        "{COUNT_SESSIONS} document.getElementById('play').click(); return null;"
    ));
    plays_on(&browser, "webrtc", true);
}
