//! What viewers over WebRTC get while there are many of them: pictures padded to equal packets, and several
//! frames of sound in one. With a window of 60 ms a single viewer gets what a thousand do.
//!
//! Ten minutes instead of some seconds: `CARILLON_LISTENING_SECONDS=600`.

use std::collections::VecDeque;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use testkit::{Clip, Process, Server, ServerBuilder, Tool, wait_until};

use crate::support::aiortc::Viewer;
use crate::support::browser::Browser;
use crate::support::browser::CAMERA;
use crate::support::firefox::Firefox;
use crate::support::session::{
    Driven, assert_watched, figures, publish_camera, publish_camera_to, watch,
};
use crate::support::{DEADLINE, listening_seconds, publish_icecast, publish_rtmp, wait_for_stream};

/// Seconds of sound that a viewer hears.
fn seconds() -> u32 {
    listening_seconds(12)
}

/// Pictures of those seconds that a busy machine decodes, too: two of three.
fn pictures() -> u64 {
    u64::from(seconds()) * 25 * 2 / 3
}

/// Between sound and picture, in seconds, of one viewer against the other: Chromium lets both stand up to 30 ms apart, to either
/// side, before it moves one (`kMinDeltaMs` of its `stream_synchronization.cc`). Nobody notices that.
const APART_MAX: f64 = 0.06;

/// Seconds in a row without concealment.
fn clear_seconds() -> u32 {
    listening_seconds(5)
}

/// How much longer sound may wait to be played than that of a small audience, on average: for one of its packets. What
/// players hold follows how evenly packets come, and that of the first seconds would decide of a short time.
const HELD_MAX: f64 = 0.04;
const HELD_SECONDS: u32 = 300;

/// Estimates of how far sound and picture are apart, of which the middle one counts.
const ESTIMATES: usize = 21;

/// A peer of which nothing comes is gone after thirty seconds. GStreamer does not check its path any more once it is
/// connected, so that its reports have to count.
const BEYOND_CONSENT_SECONDS: u32 = 40;

/// A server that treats each audience as a large one.
pub(crate) fn crowded() -> ServerBuilder {
    let tables = ["fanout.audio", "fanout.video"].into_iter();
    tables.fold(Server::builder(), |server, table| {
        server
            .set(table, "min_wait", "\"60ms\"")
            .set(table, "max_wait", "\"60ms\"")
    })
}

/// A server with a stream that ffmpeg publishes.
fn with_show(server: ServerBuilder) -> (Server, Process) {
    let server = server.start();
    let publisher = publish_rtmp(
        &server,
        &Clip::Flv.seconds(2 * seconds() + 160),
        "live/show",
    );
    wait_for_stream(&server, "live/show");
    (server, publisher)
}

/// Watches until the sound of [`seconds`] was heard, without a loss, in packets of `millis`.
fn assert_heard(browser: &impl Driven, millis: f64) {
    wait_for_clear_sound(browser);
    let figures = assert_watched(browser, pictures(), seconds().into());
    let sound = &figures["audio"];
    let packets = sound["packets"].as_f64().unwrap();
    let longest = sound["seconds"].as_f64().unwrap() / packets * 1e3;
    // A player holds a few packets before it plays the first, and counts them.
    assert!(
        (millis * 0.8..millis * 1.1).contains(&longest),
        "{longest} ms a packet: {figures}"
    );
}

/// Waits for sound of which nothing is made up. A machine that is busy while a player starts makes it miss some, however
/// long packets are; if the packets were to blame, it would go on.
fn wait_for_clear_sound(browser: &impl Driven) {
    let concealed = |figures: &Value| figures["audio"]["concealed"].clone();
    let heard = |figures: &Value| figures["audio"]["seconds"].as_f64().unwrap();
    let mut since = Value::Null;
    let patience = DEADLINE + 2 * Duration::from_secs(clear_seconds().into());
    wait_until("clear sound", patience, || {
        let now = figures(browser);
        if now["audio"].is_null() {
            return false;
        }
        assert!(concealed(&now).is_number(), "{now}");
        if concealed(&now) != concealed(&since) {
            since = now;
            return false;
        }
        heard(&now) - heard(&since) >= clear_seconds().into()
    });
}

/// Waits until two viewers play sound and picture as far apart, by their own estimates, and after minutes sound waits as
/// long to be played but for a packet's time. The estimates are wrong by what a sound card would hold, which is the same for both,
/// and single ones jump while a machine is busy: the middle one of [`ESTIMATES`] counts.
fn wait_until_in_step(crowded: &impl Driven, other: &impl Driven) {
    let mut differences = VecDeque::new();
    wait_until("sound and picture in step", DEADLINE, || {
        let told = [figures(crowded), figures(other)];
        let [one, another] = told.each_ref().map(|told| told["apart"].as_f64());
        let [held, held_by_other] = told.each_ref().map(|told| told["audio"]["held"].as_f64());
        let (Some((one, another)), Some((held, held_by_other))) =
            (one.zip(another), held.zip(held_by_other))
        else {
            return false;
        };
        differences.push_back(one - another);
        if differences.len() > ESTIMATES {
            differences.pop_front();
        }
        let mut sorted: Vec<f64> = differences.iter().copied().collect();
        sorted.sort_by(f64::total_cmp);
        eprintln!(
            "sound and picture apart: {one:.3} s, {another:.3} s; sound held: {held:.3} s, {held_by_other:.3} s"
        );
        sorted.len() == ESTIMATES
            && sorted[ESTIMATES / 2].abs() <= APART_MAX
            && (seconds() < HELD_SECONDS || held - held_by_other <= HELD_MAX)
    });
}

#[test]
fn chromium_plays_combined_sound_with_padded_pictures() {
    let (server, _publisher) = with_show(crowded());
    let (calm, _other_publisher) = with_show(Server::builder());
    let (browser, other) = (Browser::open(), Browser::open());
    watch(&browser, &server, "/live/show");
    watch(&other, &calm, "/live/show");
    let sends = || server.metrics().sum("carillon_sends_total", &[]);
    let played = || figures(&browser)["audio"]["seconds"].as_f64().unwrap();
    wait_until("sound", DEADLINE, || {
        figures(&browser)["audio"]["seconds"].is_number()
    });
    let (sent, heard) = (sends(), played());
    assert_heard(&browser, 40.0);
    // 25 pictures a second, each with the sound that is due; a keyframe takes two sends, and sound whose picture is late
    // its own. Without the one there would be 50 sends, and without both 75.
    let rate = (sends() - sent) / (played() - heard);
    assert!((15.0..45.0).contains(&rate), "{rate} sends a second");
    wait_until_in_step(&browser, &other);
    let nacked = |server: &Server| {
        server
            .metrics()
            .sum("carillon_webrtc_nacked_packets_total", &[])
    };
    assert_eq!(nacked(&server), 0.0);
}

#[test]
fn chromium_hears_combined_sound_of_a_radio() {
    let server = crowded().start();
    let _radio = publish_icecast(&server, Clip::Mp3, 2 * seconds() + 70, "radio.mp3");
    wait_for_stream(&server, "radio.mp3");
    let browser = Browser::open();
    watch(&browser, &server, "/radio.mp3");
    wait_for_clear_sound(&browser);
    wait_until("sound", DEADLINE, || {
        figures(&browser)["audio"]["seconds"].as_f64() >= Some(seconds().into())
    });
    let sound = figures(&browser)["audio"].clone();
    assert_eq!(sound["lost"], 0, "{sound}");
    let longest = sound["seconds"].as_f64().unwrap() / sound["packets"].as_f64().unwrap();
    // Three frames of it are about as long as a packet may be, so there are packets of two.
    assert!(
        (0.04..0.066).contains(&longest),
        "{longest} s a packet: {sound}"
    );
}

#[test]
fn firefox_plays_combined_sound_with_padded_pictures() {
    // Firefox takes no candidate on the loopback, so the host's own addresses are used.
    let start = |server: ServerBuilder| server.set("webrtc", "listen", "\"0.0.0.0:0\"").start();
    let (server, calm) = (start(crowded()), start(Server::builder()));
    let camera = Browser::open_with(CAMERA);
    publish_camera(&camera, &server, "live/cam", "vp8");
    wait_for_stream(&server, "live/cam");
    publish_camera_to(&camera, &calm.http_url("/live/cam/whip"), "vp8");
    wait_for_stream(&calm, "live/cam");
    let (firefox, other) = (Firefox::open(), Firefox::open());
    watch(&firefox, &server, "/live/cam");
    watch(&other, &calm, "/live/cam");
    assert_heard(&firefox, 40.0);
    wait_until_in_step(&firefox, &other);
}

#[test]
fn aiortc_decodes_combined_sound_without_a_gap() {
    let (server, _publisher) = with_show(crowded());
    let mut viewer = Viewer::of(pictures());
    viewer.watch(&server, "/live/show/whep");
    let counts = viewer.read();
    assert!(counts["audio"].as_u64() >= Some(pictures()), "{counts}");
    assert_eq!(
        (&counts["gaps"], &counts["longest"]),
        (&0.into(), &1_920.into()),
        "{counts}"
    );
    assert_eq!(
        server
            .metrics()
            .sum("carillon_webrtc_nacked_packets_total", &[]),
        0.0
    );
}

#[test]
fn gstreamer_plays_combined_sound_with_padded_pictures() {
    let (server, _publisher) = with_show(crowded());
    let script =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/support/gstreamer_viewer.py");
    let seconds = seconds().max(BEYOND_CONSENT_SECONDS);
    let watched = Tool::new("/usr/bin/python3")
        .arg(script)
        .arg(server.http_url("/live/show/whep"))
        .arg(seconds.to_string())
        .finish(DEADLINE + 2 * Duration::from_secs(seconds.into()));
    assert!(watched.status.success(), "{}", watched.stderr);
    let got: Value = serde_json::from_slice(&watched.stdout).unwrap();
    let number = |name: &str| got[name].as_f64().unwrap();
    assert_eq!((number("lost"), number("gaps")), (0.0, 0.0), "{got}");
    assert!(number("pictures") >= pictures() as f64, "{got}");
    let longest = number("seconds") / number("sounds");
    assert!(
        (0.036..0.041).contains(&longest),
        "{longest} s a packet: {got}"
    );
    assert!(number("offset").abs() <= APART_MAX, "{got}");
}
