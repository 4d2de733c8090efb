//! A station of films plays them as one stream with video and audio: no decoder reports an error at a join, no time goes back,
//! publishers take over and the station returns, and files that do not fit are refused with a reason.

use std::path::Path;

use tempfile::TempDir;
use testkit::http::Listener;
use testkit::{Clip, Server, Tool};

use crate::support::station::station;
use crate::support::{DEADLINE, file, flv, order, play_url, publish_rtmp, wait_until};

const STREAM: &str = "live/cinema";

/// Makes a film of a clip, in the container of its extension.
fn film(folder: &Path, name: &str, clip: Clip, seconds: u32) {
    // Only this ffmpeg writes FLV of any codec.
    Tool::current_ffmpeg()
        .arg("-i")
        .arg(clip.seconds(seconds))
        .args(["-c", "copy"])
        .arg(folder.join(name))
        .run(DEADLINE);
}

/// Starts a server with a station of the films in a folder.
fn serve(folder: &TempDir) -> Server {
    let path = folder.path().display();
    let rule =
        format!("[[station]]\nstream = \"{STREAM}\"\nfolder = \"{path}\"\nlinger = \"1s\"\n");
    let server = Server::builder().toml(&rule).start();
    wait_until("the station", || station(&server)["state"] == "playing");
    server
}

/// Counts the films that have ended.
fn ended(server: &Server) -> usize {
    let history = station(server)["history"].clone();
    history.as_array().expect("a list").len()
}

/// Arguments that make ffmpeg decode to nowhere. By default ffmpeg would number frames by their usual distance, and films begin
/// between two.
const DECODE: &str = "-fps_mode passthrough -enc_time_base:v 1:1000 -f null -";

/// Returns ffmpeg's complaints without those of its H.264 parser. Unlike the decoder, the parser does not get FLV's header of a
/// film that has other parameter sets. The parser's lines have no name, or the decoder's while ffmpeg probes; then the wording
/// identifies them: the decoder has another one for `reordering`, and after an `overflow` it writes a line of its own about the
/// slice.
fn faults(stderr: &str) -> Vec<&str> {
    let is_fault = |line: &&str| {
        let is_of_parser = line.starts_with("[NULL @")
            || line.contains("] illegal reordering_of_pic_nums_idc ")
            || (line.contains("] reference count ") && line.ends_with(" overflow"))
            || line.contains("Last message repeated");
        !is_of_parser && !line.is_empty()
    };
    stderr.lines().filter(is_fault).collect()
}

/// Decodes and copies this many seconds of an address with ffmpeg; asserts that nothing is missing, and no time goes back.
fn play(player: Tool, url: &str, seconds: u32) {
    let folder = tempfile::tempdir().unwrap();
    let packets = folder.path().join("packets.txt");
    let seconds = seconds.to_string();
    let decoded = player
        .args(["-xerror", "-i", url])
        .args(["-t", &seconds])
        .args(DECODE.split(' '))
        .args(["-t", &seconds, "-c", "copy", "-f", "framemd5"])
        .arg(&packets)
        .finish(DEADLINE);
    assert!(decoded.status.success(), "{url}: {}", decoded.stderr);
    assert_eq!(faults(&decoded.stderr), [""; 0], "{url}");
    let packets = std::fs::read_to_string(packets).unwrap();
    let mut last = [i64::MIN; 2];
    let mut counts = [0; 2];
    for line in packets.lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<_> = line.split(',').map(str::trim).collect();
        let track: usize = fields[0].parse().unwrap();
        let dts: i64 = fields[1].parse().unwrap();
        assert!(dts > last[track], "{url}: {line} after {}", last[track]);
        last[track] = dts;
        counts[track] += 1;
    }
    assert!(
        counts.iter().all(|count| *count > 20 * 10),
        "{url}: {counts:?}"
    );
}

/// Reads until this many coded frames have arrived after the n-th sequence header of H.264 in the body.
fn read_pictures(listener: &mut Listener, header: usize, pictures: usize) {
    let has_come = |body: &[u8]| {
        let (mut headers, mut since) = (0, 0);
        for tag in flv::media(body).filter(|tag| tag.kind == 9) {
            // A video tag of codec 7, AVC, and its packet type: 0 for the sequence header, 1 for a frame.
            match (tag.data[0] & 0xf, tag.data[1]) {
                (7, 0) => (headers, since) = (headers + 1, 0),
                (7, 1) => since += 1,
                _ => {}
            }
        }
        headers > header || (headers == header && since >= pictures)
    };
    assert!(
        listener.read_until(DEADLINE, has_come),
        "the server hung up"
    );
}

#[test]
fn films_are_one_stream_of_pictures_and_audio() {
    let folder = tempfile::tempdir().unwrap();
    for (name, clip, seconds) in [
        ("a.mp4", Clip::FlvBframes, 3),
        ("b.flv", Clip::Flv, 4),
        ("c.mp4", Clip::Flv, 3),
        ("d.flv", Clip::FlvBframes, 3),
        ("larger.mp4", Clip::FlvLarger, 3),
        ("song.flv", Clip::FlvOpus, 3),
    ] {
        film(folder.path(), name, clip, seconds);
    }
    let server = serve(&folder);
    let now = station(&server);
    let format = now["format"].as_str().unwrap();
    assert!(format.starts_with("H.264 with AAC-LC, 44100 Hz"), "{now}");
    assert_eq!(
        (&now["tracks"], &now["refused_count"]),
        (&4.into(), &2.into())
    );
    let refused = now["refused"].to_string();
    assert!(
        refused.contains("it is H.264 with AAC-LC, 48000 Hz"),
        "{refused}"
    );
    assert!(
        refused.contains("it has no H.264 or HEVC with AAC"),
        "{refused}"
    );
    for url in [
        server.http_url(&format!("/{STREAM}.flv")),
        play_url(&server, STREAM),
        server.http_url(&format!("/{STREAM}.ts")),
        server.http_url(&format!("/{STREAM}/index.m3u8")),
    ] {
        let before = ended(&server);
        play(Tool::ffmpeg(), &url, 12);
        assert!(ended(&server) >= before + 2, "two joins");
    }
}

#[test]
fn films_of_hevc_are_one_stream_too() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a.mp4", "b.flv", "c.mp4"] {
        film(folder.path(), name, Clip::FlvHevc, 3);
    }
    let server = serve(&folder);
    let now = station(&server);
    let format = now["format"].as_str().unwrap();
    assert!(format.starts_with("HEVC with AAC-LC, 44100 Hz"), "{now}");
    assert_eq!(now["tracks"], 3, "{now}");
    let flv = server.http_url(&format!("/{STREAM}.flv"));
    play(Tool::current_ffmpeg(), &flv, 12);
    assert!(ended(&server) >= 2, "two joins");
}

#[test]
fn a_publisher_takes_over_and_the_next_film_follows_it() {
    let folder = tempfile::tempdir().unwrap();
    film(folder.path(), "a.mp4", Clip::Flv, 60);
    // The parameter sets differ, so that the body shows which film is playing.
    film(folder.path(), "b.flv", Clip::FlvBframes, 60);
    let server = serve(&folder);
    let mut listener = server.listen(&format!("/{STREAM}.flv"));
    assert_eq!(listener.status(), 200);
    listener.read_bytes(10_000, DEADLINE);
    let before = station(&server);
    let mut live = publish_rtmp(&server, &Clip::FlvLarger.seconds(60), STREAM);
    wait_until("the publisher", || station(&server)["state"] == "away");
    assert_eq!(server.api("streams")["streams"][0]["protocol"], "rtmp");
    read_pictures(&mut listener, 2, 50);
    live.kill();
    wait_until("the station", || station(&server)["state"] == "playing");
    let now = station(&server);
    assert_eq!(now["history"][0]["outcome"], "interrupted");
    assert_eq!(now["current"]["title"], before["next"]);
    read_pictures(&mut listener, 3, 50);
    assert_eq!(server.metrics().sum("carillon_departures_total", &[]), 0.0);
    // The next film begins at once.
    let path = format!("stations/{STREAM}");
    let skipped = order(&server, "POST", &path, "{\"action\":\"skip\"}");
    assert_eq!(skipped, 202);
    wait_until("the other film", || {
        station(&server)["current"]["title"] == before["current"]["title"]
    });
    read_pictures(&mut listener, 4, 50);
    let played = file(&flv::whole_tags(listener.body()));
    let decoded = Tool::ffmpeg()
        .args(["-f", "flv", "-i"])
        .arg(played.path())
        .args(DECODE.split(' '))
        .finish(DEADLINE);
    assert_eq!(faults(&decoded.stderr), [""; 0]);
}
