//! AAC and MP3 play as Opus at `/{stream}.ogg`, transcoded while the address has listeners.

use std::path::Path;

use testkit::{Clip, PUBLISH_KEY, Process, Server, Tool};

use crate::support::{
    DEADLINE, entry, publish_by, publish_icecast, publish_rtmp, wait_for_stream, wait_until,
};

/// Seconds of a stream that a listener records.
const SECONDS: f64 = 6.0;

fn server() -> Server {
    Server::builder()
        .set("transcode", "linger", "\"1s\"")
        .start()
}

/// Records an address with ffmpeg, packet by packet, until it has enough.
fn record(url: &str, file: &Path) -> Process {
    record_for(SECONDS, url, file)
}

fn record_for(seconds: f64, url: &str, file: &Path) -> Process {
    Tool::ffmpeg()
        .args(["-i", url, "-c", "copy", "-t", &seconds.to_string(), "-y"])
        .arg(file)
        .start()
}

fn ends_well(mut listener: Process) {
    let status = listener.wait(DEADLINE);
    assert!(status.success(), "{}", listener.stderr());
}

/// Returns ffprobe's description of a file's one stream: codec, rate, channels.
fn contents(file: &Path) -> String {
    let finished = Tool::new("ffprobe")
        .args(["-v", "error", "-of", "csv=p=0", "-show_entries"])
        .arg("stream=codec_name,sample_rate,channels")
        .arg(file)
        .finish(DEADLINE);
    assert!(finished.status.success(), "{}", finished.stderr);
    String::from_utf8_lossy(&finished.stdout).trim().to_owned()
}

/// Decodes a file completely: its seconds of audio, and their average loudness in dB below full scale. The decoder must not
/// complain.
fn decoded(file: &Path) -> (f64, f64) {
    let finished = Tool::ffmpeg()
        .args(["-loglevel", "info", "-i"])
        .arg(file)
        .args(["-vn", "-af", "volumedetect", "-f", "null", "-"])
        .finish(DEADLINE);
    let said = &finished.stderr;
    assert!(finished.status.success(), "{said}");
    for odd in ["Error", "error", "Invalid", "corrupt", "non-monoton"] {
        assert!(!said.contains(odd), "{said}");
    }
    let number = |name: &str| -> f64 {
        let after = said.split_once(name);
        let (_, words) = after.unwrap_or_else(|| panic!("no {name}: {said}"));
        let word = words.split_whitespace().next().unwrap();
        word.parse().unwrap_or_else(|_| panic!("{word}: {said}"))
    };
    // The number counts both channels together, at 48 kHz.
    let seconds = number("n_samples:") / 2.0 / 48_000.0;
    (seconds, -number("mean_volume:"))
}

/// Asserts that a recording is complete, of the right length, and as loud as its source.
fn assert_audio_like(file: &Path, source: &Path) {
    assert_eq!(contents(file), "opus,48000,2");
    let (seconds, loudness) = decoded(file);
    assert!((seconds - SECONDS).abs() < 0.15, "{seconds}");
    let (_, expected) = decoded(source);
    assert!(
        (loudness - expected).abs() < 3.0 && loudness < 60.0,
        "{loudness} dB instead of {expected} dB"
    );
}

fn opus(server: &Server, stream: &str) -> serde_json::Value {
    entry(server, stream)["opus"].clone()
}

fn wait_for_state(server: &Server, stream: &str, state: &str) {
    wait_until(&format!("{stream} to be {state}"), || {
        opus(server, stream)["state"] == state
    });
}

fn transcoded(server: &Server) -> f64 {
    server.metrics().sum("carillon_transcoded_streams", &[])
}

#[test]
fn an_rtmp_stream_is_heard_as_opus_while_it_has_listeners() {
    let server = server();
    let clip = Clip::Flv.seconds(40);
    let _publisher = publish_rtmp(&server, &clip, "live/show");
    wait_for_state(&server, "live/show", "offered");
    assert_eq!(transcoded(&server), 0.0, "no listener yet");
    let page = server.get("/live/show/info.json");
    assert!(String::from_utf8_lossy(&page.body).contains("\"../show.ogg\""));

    let folder = tempfile::tempdir().unwrap();
    let files = ["a.ogg", "b.ogg"].map(|name| folder.path().join(name));
    let url = server.http_url("/live/show.ogg");
    let listeners = files.each_ref().map(|file| record(&url, file));
    wait_until("the transcoder", || {
        transcoded(&server) == 1.0 && opus(&server, "live/show")["state"] == "made"
    });
    for (listener, file) in listeners.into_iter().zip(&files) {
        ends_well(listener);
        assert_audio_like(file, &clip);
    }
    wait_until("the transcoder's end", || {
        transcoded(&server) == 0.0 && opus(&server, "live/show")["state"] == "offered"
    });
    let metrics = server.metrics();
    let sum = |name| metrics.sum(name, &[]);
    assert!(sum("carillon_transcoded_seconds_total") > SECONDS);
    assert!(sum("carillon_transcode_cpu_seconds_total") > 0.0);
    assert_eq!(sum("carillon_transcode_dropped_frames_total"), 0.0);
    assert_eq!(sum("carillon_transcode_concealed_frames_total"), 0.0);

    // The transcoder starts again for the next listener.
    let file = folder.path().join("later.ogg");
    ends_well(record(&url, &file));
    assert_audio_like(&file, &clip);
}

#[test]
fn opus_over_enhanced_rtmp_is_heard_as_it_is() {
    let server = server();
    let clip = Clip::FlvOpus.seconds(40);
    let url = server.rtmp_url("live/show", PUBLISH_KEY);
    let _publisher = publish_by(Tool::current_ffmpeg(), &clip, &[], &url);
    wait_for_stream(&server, "live/show");
    wait_for_state(&server, "live/show", "own");
    assert!(opus(&server, "live/show")["words"].is_null());
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("show.ogg");
    ends_well(record(&server.http_url("/live/show.ogg"), &file));
    assert_eq!(contents(&file), "opus,48000,2");
    let (seconds, _) = decoded(&file);
    assert!((seconds - SECONDS).abs() < 0.15, "{seconds}");
    assert_eq!(transcoded(&server), 0.0);
    let page = server.get("/live/show/");
    let log = server.log();
    for said in [&String::from_utf8_lossy(&page.body), &log[..]] {
        assert!(!said.contains("not transcoded"), "{said}");
    }
}

#[test]
fn an_mp3_mount_is_heard_as_opus_at_once() {
    let server = server();
    let _publisher = publish_icecast(&server, Clip::Mp3, 40, "radio");
    wait_for_state(&server, "radio", "offered");
    // The burst exists for Opus as for MP3.
    wait_until("a burst", || {
        let streams = server.api("streams");
        streams["streams"][0]["ingest_bytes"].as_u64() > Some(80_000)
    });
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("radio.ogg");
    ends_well(record(&server.http_url("/radio.ogg"), &file));
    assert_audio_like(&file, &Clip::Mp3.seconds(40));
    // The mount itself is unchanged.
    let source = folder.path().join("radio.mp3");
    ends_well(record(&server.http_url("/radio"), &source));
    assert!(contents(&source).starts_with("mp3,"));
}

#[test]
fn listeners_stay_and_hear_on_when_the_publisher_comes_back() {
    let server = server();
    let clip = Clip::Flv.seconds(60);
    let mut publisher = publish_rtmp(&server, &clip, "live/show");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("whole.ogg");
    let listener = record_for(12.0, &server.http_url("/live/show.ogg"), &file);
    let made = || {
        server
            .metrics()
            .sum("carillon_transcoded_seconds_total", &[])
    };
    wait_until("some Opus", || made() > 3.0);
    publisher.kill();
    let _second = publish_rtmp(&server, &clip, "live/show");
    wait_until("Opus of the second", || made() > 8.0);
    assert_eq!(opus(&server, "live/show")["state"], "made");
    ends_well(listener);
    let (seconds, _) = decoded(&file);
    // The recording is one Ogg stream from end to end, in which the absence takes no time.
    assert!((seconds - 12.0).abs() < 0.3, "{seconds}");
}

#[test]
fn what_cannot_be_made_into_opus_is_said_everywhere() {
    let server = server();
    let _publisher = Tool::ffmpeg()
        .args(["-re", "-f", "lavfi", "-i", "sine=sample_rate=48000"])
        .args(["-t", "60", "-ac", "6", "-c:a", "aac", "-f", "flv"])
        .arg(server.rtmp_url("live/surround", PUBLISH_KEY))
        .start();
    wait_for_stream(&server, "live/surround");
    let words = "audio with 6 channels is not transcoded to Opus; publish mono or stereo";
    wait_for_state(&server, "live/surround", "impossible");
    assert_eq!(opus(&server, "live/surround")["words"], words);
    let answer = server.get("/live/surround.ogg");
    assert_eq!(answer.status, 406);
    let text = String::from_utf8_lossy(&answer.body).into_owned();
    assert!(
        text.contains(words) && text.contains("/live/surround.aac"),
        "{text}"
    );
    let page = server.get("/live/surround/");
    assert!(String::from_utf8_lossy(&page.body).contains(words));
}

#[test]
fn where_it_is_turned_off_that_is_said() {
    let server = Server::builder()
        .set("transcode", "enabled", "false")
        .start();
    let _publisher = publish_rtmp(&server, &Clip::Flv.seconds(60), "live/show");
    wait_for_state(&server, "live/show", "impossible");
    let answer = server.get("/live/show.ogg");
    assert_eq!(answer.status, 406);
    let text = String::from_utf8_lossy(&answer.body).into_owned();
    assert!(text.contains("transcode.enabled"), "{text}");
}
