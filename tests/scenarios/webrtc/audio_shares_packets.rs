//! Media for viewers over WebRTC while there are many of them: video padded to equal packets, and several frames of audio in
//! one. With a window of 60 ms a single viewer gets what a thousand do.
//!
//! Ten minutes instead of some seconds: `CARILLON_LISTENING_SECONDS=600`.

use std::collections::VecDeque;
use std::time::Duration;

use serde_json::Value;
use testkit::{Clip, Process, Server, ServerBuilder, Tool};

use crate::support::aiortc::Viewer;
use crate::support::browser::Browser;
use crate::support::browser::CAMERA;
use crate::support::firefox::Firefox;
use crate::support::session::{
    Driven, assert_watched, figures, publish_camera, publish_camera_to, watch,
};
use crate::support::{
    DEADLINE, listening_seconds, metric, publish_icecast, publish_rtmp, script, wait_for_stream,
    wait_until,
};

/// Returns the seconds of audio that a viewer plays.
fn seconds() -> u32 {
    listening_seconds(12)
}

/// Returns the frames of those seconds that even a busy machine decodes: two of three.
fn pictures() -> u64 {
    u64::from(seconds()) * 25 * 2 / 3
}

/// Seconds by which two viewers may differ in their distance of audio and video: Chromium lets both stand up to 30 ms apart, to
/// either side, before it moves one (`kMinDeltaMs` of its `stream_synchronization.cc`). Nobody notices that.
const APART_MAX: f64 = 0.06;

/// Returns the seconds in a row that must be without concealment.
fn clear_seconds() -> u32 {
    listening_seconds(5)
}

/// Seconds by which audio may wait longer to be played than that of a small audience, on average: one of its packets. A
/// player's buffer follows how evenly packets arrive, and over a short time the first seconds would decide.
const HELD_MAX: f64 = 0.04;
const HELD_SECONDS: u32 = 300;

/// Number of estimates of the distance of audio and video, of which the median counts.
const ESTIMATES: usize = 21;

/// Seconds of a session beyond the thirty after which a silent peer is dropped. GStreamer does not check its path any more once
/// it is connected, so that its reports have to count.
const BEYOND_CONSENT_SECONDS: u32 = 40;

/// Builds a server that treats each audience as a large one.
pub(crate) fn crowded() -> ServerBuilder {
    let tables = ["fanout.audio", "fanout.video"].into_iter();
    tables.fold(Server::builder(), |server, table| {
        server
            .set(table, "min_wait", "\"60ms\"")
            .set(table, "max_wait", "\"60ms\"")
    })
}

/// Starts a server with a stream that ffmpeg publishes.
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

/// Watches until the audio of [`seconds`] was played, without a loss, in packets of `millis`.
fn assert_heard(browser: &impl Driven, millis: f64) {
    wait_for_clear_audio(browser);
    let figures = assert_watched(browser, pictures(), seconds().into());
    let audio = &figures["audio"];
    let packets = audio["packets"].as_f64().unwrap();
    let longest = audio["seconds"].as_f64().unwrap() / packets * 1e3;
    // A player buffers a few packets before it plays the first, and counts them.
    assert!(
        (millis * 0.8..millis * 1.1).contains(&longest),
        "{longest} ms a packet: {figures}"
    );
}

/// Waits for audio without concealment. A machine that is busy while a player starts makes it miss some audio, however long
/// packets are; if the packets were to blame, concealment would continue.
fn wait_for_clear_audio(browser: &impl Driven) {
    let concealed = |figures: &Value| figures["audio"]["concealed"].clone();
    let heard = |figures: &Value| figures["audio"]["seconds"].as_f64().unwrap();
    let mut since = Value::Null;
    let patience = DEADLINE + 2 * Duration::from_secs(clear_seconds().into());
    testkit::wait_until("clear sound", patience, || {
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

/// Waits until two viewers play with an equal distance of audio and video, by their own estimates, and, after minutes, with an
/// equal wait of audio except for a packet's time. The estimates are wrong by what a sound card would buffer, which is the same
/// for both, and single ones jump while a machine is busy: the median of [`ESTIMATES`] counts.
fn wait_until_in_step(crowded: &impl Driven, other: &impl Driven) {
    let mut differences = VecDeque::new();
    wait_until("sound and picture in step", || {
        let reported = [figures(crowded), figures(other)];
        let [one, another] = reported
            .each_ref()
            .map(|reported| reported["apart"].as_f64());
        let [held, held_by_other] = reported
            .each_ref()
            .map(|reported| reported["audio"]["held"].as_f64());
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
fn chromium_plays_combined_audio_with_padded_pictures() {
    let (server, _publisher) = with_show(crowded());
    let (calm, _other_publisher) = with_show(Server::builder());
    let (browser, other) = (Browser::open(), Browser::open());
    watch(&browser, &server, "/live/show");
    watch(&other, &calm, "/live/show");
    let sends = || server.metrics().sum("carillon_sends_total", &[]);
    let played = || figures(&browser)["audio"]["seconds"].as_f64().unwrap();
    wait_until("sound", || {
        figures(&browser)["audio"]["seconds"].is_number()
    });
    let (sent, heard) = (sends(), played());
    assert_heard(&browser, 40.0);
    // There are 25 frames a second, each with the audio that is due; a keyframe takes two sends, and audio whose frame is late
    // takes its own. Without combined packets there would be 50 sends, and without padding too 75.
    let rate = (sends() - sent) / (played() - heard);
    assert!((15.0..45.0).contains(&rate), "{rate} sends a second");
    wait_until_in_step(&browser, &other);
    let nacked = |server: &Server| metric(server, "carillon_webrtc_nacked_packets_total", "");
    assert_eq!(nacked(&server), 0.0);
}

#[test]
fn chromium_hears_combined_audio_of_a_radio() {
    let server = crowded().start();
    let _radio = publish_icecast(&server, Clip::Mp3, 2 * seconds() + 70, "radio.mp3");
    let browser = Browser::open();
    watch(&browser, &server, "/radio.mp3");
    wait_for_clear_audio(&browser);
    wait_until("sound", || {
        figures(&browser)["audio"]["seconds"].as_f64() >= Some(seconds().into())
    });
    let audio = figures(&browser)["audio"].clone();
    assert_eq!(audio["lost"], 0, "{audio}");
    let longest = audio["seconds"].as_f64().unwrap() / audio["packets"].as_f64().unwrap();
    // Three frames of this audio are about as long as a packet may be, so there are packets of two.
    assert!(
        (0.04..0.066).contains(&longest),
        "{longest} s a packet: {audio}"
    );
}

#[test]
fn firefox_plays_combined_audio_with_padded_pictures() {
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
fn aiortc_decodes_combined_audio_without_a_gap() {
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
        metric(&server, "carillon_webrtc_nacked_packets_total", ""),
        0.0
    );
}

#[test]
fn gstreamer_plays_combined_audio_with_padded_pictures() {
    let (server, _publisher) = with_show(crowded());
    let seconds = seconds().max(BEYOND_CONSENT_SECONDS);
    let watched = Tool::new("/usr/bin/python3")
        .arg(script("gstreamer_viewer.py"))
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
