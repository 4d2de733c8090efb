//! A browser that publishes through a narrow uplink sends no more than the uplink carries: few packets are lost, and viewers
//! see and hear nearly as much as without the limit.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use testkit::{Impaired, Impairment, PUBLISH_KEY, Passage, Server, Tool};

use crate::support::browser::{Browser, CAMERA};
use crate::support::session::{begin, figures, frames, prepare, watch};
use crate::support::{DEADLINE, wait_for_stream, wait_until};

/// Source of the camera's video, with noise, as at night, so that it fills either uplink. The fake camera's own video does not.
const FILM: &str = "testsrc2=size=1280x720:rate=20:duration=2,noise=alls=25:allf=t";

/// Largest video bit rate that the page allows the browser, in bits per second. The default is little more than the second
/// uplink.
const WANTED: u64 = 4_000_000;

/// Rates of the uplinks in bits per second.
const UPLINKS: [u64; 2] = [500_000, 1_500_000];

/// Delay in each direction.
const DELAY: Duration = Duration::from_millis(20);

/// Milliseconds that a browser has to find its rate, and milliseconds for which it is watched then.
const SETTLED: f64 = 5_000.0;
const WATCHED: f64 = 15_000.0;

/// Largest share of lost packets among those sent.
const LOSS_MAX: f64 = 0.05;
/// Smallest share of frames, among those that the same page sends without a limit, and of audio packets, among those sent.
const PICTURES_MIN: f64 = 0.6;
const AUDIO_MIN: f64 = 0.98;

#[test]
fn chromium_at_720p() {
    let folder = tempfile::tempdir().unwrap();
    let film = folder.path().join("camera.y4m");
    Tool::ffmpeg()
        .args(["-f", "lavfi", "-i", FILM, "-pix_fmt", "yuv420p"])
        .arg(&film)
        .run(DEADLINE);
    let server = Server::start();
    let look = |stream: &str, rate| look(&server, &film, stream, rate);
    let free = look("live/free", None);
    println!("without a limit: {free:?}");
    assert!(
        free.bits_sent > UPLINKS[1] as f64,
        "nothing is limited: {free:?}"
    );
    for rate in UPLINKS {
        let found = look(&format!("live/up{rate}"), Some(rate));
        println!("{} kb/s: {found:?}", rate / 1_000);
        assert!(found.lost <= LOSS_MAX, "{rate}: {found:?}");
        assert!(
            found.pictures_seen >= PICTURES_MIN * free.pictures_sent,
            "{rate}: {found:?}, {free:?}"
        );
        assert!(
            found.audio_heard >= AUDIO_MIN * found.audio_sent,
            "{rate}: {found:?}"
        );
    }
}

/// Share of packets lost, and rates per second.
#[derive(Debug)]
struct Found {
    lost: f64,
    bits_sent: f64,
    pictures_sent: f64,
    pictures_seen: f64,
    audio_sent: f64,
    audio_heard: f64,
}

/// Counters at one moment.
struct Moment {
    sent: Value,
    seen: Value,
    passage: Passage,
}

fn look(server: &Server, film: &Path, stream: &str, rate: Option<u64>) -> Found {
    let down = Impairment {
        delay: DELAY,
        ..Impairment::NONE
    };
    let proxy = Impaired::udp(server.addr("webrtc"), Impairment { rate, ..down }, down);
    let camera = format!("--use-file-for-fake-video-capture={}", film.display());
    let camera = Browser::open_with(&[CAMERA, &[&camera]].concat());
    prepare(&camera, server);
    let via = json!([proxy.addr().ip().to_string(), proxy.addr().port()]);
    begin(
        &camera,
        &format!(
            "const video = {{width: 1280, height: 720}}; \
             const media = await navigator.mediaDevices.getUserMedia({{audio: true, video}}); \
             await publish('/{stream}/whip', '{PUBLISH_KEY}', media, 'video/h264', [{{maxBitrate: {WANTED}}}], {via}); \
             window.began = performance.now();"
        ),
    );
    wait_for_stream(server, stream);
    let viewer = Browser::open();
    watch(&viewer, server, &format!("/{stream}"));
    let moment = |after: f64| {
        wait_until("the browser to send", || {
            assert!(camera.run("return window.failure;").is_null());
            let elapsed = camera.run("return sending.at - window.began;");
            elapsed.as_f64() >= Some(after) && frames(&viewer) > 0
        });
        Moment {
            sent: camera.run("return sending;"),
            seen: figures(&viewer),
            passage: proxy.up(),
        }
    };
    let (first, last) = (moment(SETTLED), moment(SETTLED + WATCHED));
    let number = |value: &Value, path: &str| {
        let number = value.pointer(path).and_then(Value::as_f64);
        number.unwrap_or_else(|| panic!("no {path} in {value}"))
    };
    let rate = |first: &Value, last: &Value, path: &str| {
        let seconds = (number(last, "/at") - number(first, "/at")) / 1e3;
        (number(last, path) - number(first, path)) / seconds
    };
    let sent = |path: &str| rate(&first.sent, &last.sent, path);
    let seen = |path: &str| rate(&first.seen, &last.seen, path);
    let passed = last.passage.passed - first.passage.passed;
    let lost = last.passage.overflowed - first.passage.overflowed;
    Found {
        lost: lost as f64 / (passed + lost) as f64,
        bits_sent: sent("/video/bytes") * 8.0,
        pictures_sent: sent("/video/frames"),
        pictures_seen: seen("/video/frames"),
        audio_sent: sent("/audio/packets"),
        audio_heard: seen("/audio/packets"),
    }
}
