//! Live addresses go back in time in recordings of Ogg, WebM and MPEG-TS as well: tools find the bodies valid, from the
//! requested time on, and on into the recording in progress.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use tempfile::TempDir;
use testkit::framemd5::{self, Frame};
use testkit::{Clip, Server, Tool};

use crate::support::library::hasty;
use crate::support::past::{after, has_seconds, is_final, listed, newest, on_disk, place, text};
use crate::support::recorded::recording_into;
use crate::support::{DEADLINE, file, marks, play_url, publish_icecast, publish_rtmp, wait_until};

const STREAM: &str = "live/show";

/// Seconds between two keyframes of the clips, and frames per second.
const GROUP: f64 = 1.0;
const RATE: f64 = 25.0;

/// Builds a server that records below a folder.
fn server(root: &TempDir) -> Server {
    recording_into(root.path())
        .set("recording", "container", "\"ts\"")
        .set("ingest", "linger", "\"1s\"")
        .set("rtmp", "play_wait", "\"0s\"")
        .toml("[[record]]\nmatch = \"live/*\"\n[[record]]\nmatch = \"radio*\"\n")
        .start()
}

/// Returns the seconds of a file before a frame of it.
fn seconds_before(frames: &[Frame], number: usize, in_a_second: f64) -> f64 {
    (frames[number].pts - frames[0].pts) as f64 / in_a_second
}

/// Places recordings of a day long ago, as a server would have left them.
fn put(root: &TempDir, stream: &str, clips: &[(&str, &Path)]) {
    let directory = root.path().join(stream).join("2026-01-05");
    fs::create_dir_all(&directory).unwrap();
    // A body waits for a minute after the last recording has ended.
    let ended = SystemTime::now() - Duration::from_secs(3_600);
    for (name, clip) in clips {
        let path = directory.join(name);
        fs::copy(clip, &path).unwrap();
        let file = fs::File::options().write(true).open(path).unwrap();
        file.set_modified(ended).unwrap();
    }
}

/// Splits a chain into its links: each begins with the page that begins its stream. ffmpeg 5.1 does not continue in a link of
/// another codec.
fn links(chain: &[u8]) -> Vec<&[u8]> {
    let pages = chain.windows(6).enumerate();
    let begins = pages.filter(|(_, head)| head == b"OggS\0\x02");
    let begins: Vec<_> = begins.map(|(at, _)| at).collect();
    let ends = begins.iter().skip(1).copied().chain([chain.len()]);
    begins
        .iter()
        .zip(ends)
        .map(|(from, to)| &chain[*from..to])
        .collect()
}

#[test]
fn ogg_from_a_time_on_is_one_stream_and_other_headers_are_links_of_it() {
    let root = tempfile::tempdir().unwrap();
    let clips = [Clip::OggVorbis, Clip::OggOpus, Clip::OggFlac];
    let streams = ["radio.ogg", "radio-opus.ogg", "radio-flac.ogg"];
    let opus = Clip::OggOpus.seconds(3);
    for (stream, clip) in streams.iter().zip(&clips) {
        let clip = clip.seconds(5);
        let one = ("10-00-00Z-0.ogg", clip.as_path());
        // The second recording has the header of the first, and so continues in the same link.
        let two = ("10-00-05Z-0.ogg", clip.as_path());
        let three = ("10-00-10Z-0.ogg", opus.as_path());
        put(&root, stream, &[one, two, three]);
    }
    let server = server(&root);
    for (stream, clip) in streams.iter().zip(clips) {
        // The server finds the recordings on disk while it already serves.
        wait_until("three recordings", || {
            let all = listed(&server, stream);
            all.len() == 3 && all.iter().all(is_final)
        });
        let answer = server.get(&format!("/{stream}?at=2026-01-05T10:00:02Z"));
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert_eq!(answer.header("content-type"), Some("audio/ogg"));
        let body = file(&answer.body);
        // Every page is whole, in order and in its place, and every stream begins and ends.
        let checked = Tool::new("oggz-validate").arg(body.path()).run(DEADLINE);
        assert_eq!(String::from_utf8_lossy(&checked), "", "{stream}");
        let all = framemd5::packets(clip.seconds(5));
        let links = links(&answer.body).into_iter().map(file);
        let got: Vec<_> = links
            .flat_map(|link| framemd5::packets(link.path()))
            .collect();
        let first = got.iter().take(20).cloned().collect::<Vec<_>>();
        let begins = place(stream, &first, &all);
        let rest = [&all[begins..], &all[..]].concat();
        let others = framemd5::packets(&opus);
        let expected = [&rest[..], &others].concat();
        assert_eq!(marks(&got), marks(&expected), "{stream}");
    }
}

#[test]
fn recordings_of_every_container_are_had_from_a_time_on() {
    let root = tempfile::tempdir().unwrap();
    let server = server(&root);
    let mut publishers = [
        publish_rtmp(&server, &Clip::Flv.seconds(26), STREAM),
        publish_icecast(&server, Clip::OggOpus, 26, "radio.ogg"),
        publish_icecast(&server, Clip::WebM, 26, "radio.webm"),
    ];
    // The requested time is within each recording, and the requested length exceeds what has been recorded.
    let mut got = Vec::new();
    for (stream, addresses, kind) in [
        (STREAM, &[".ts", ".flv", ".mp4", ""][..], "v"),
        ("radio.ogg", &[""], "a"),
        ("radio.webm", &[""], "v"),
    ] {
        let one = newest(&server, stream, "the recording", has_seconds(9.0));
        let (at, offset) = (after(&one, 4), 4.0);
        for extension in addresses {
            let url = server.http_url(&format!("/{stream}{extension}?at={at}"));
            let limit = if kind == "v" { "300" } else { "600" };
            let only = if kind == "v" { "-an" } else { "-vn" };
            let more = [only, &format!("-frames:{kind}"), limit];
            let frames = match kind {
                "v" => framemd5::decoded_by(Tool::ffmpeg(), url, &more),
                _ => framemd5::packets_by(Tool::ffmpeg(), url, &more),
            };
            assert_eq!(frames.len().to_string(), limit, "{stream}{extension}");
            assert!(framemd5::is_monotonic(&frames), "{stream}{extension}");
            got.push((stream, *extension, offset, frames));
        }
    }
    let at = after(&newest(&server, STREAM, "the recording", |_| true), 4);
    let url = server.http_url(&format!("/{STREAM}.aac?at={at}"));
    let bare = ["-frames:a", "200", "-bsf:a", "aac_adtstoasc"];
    let audio = framemd5::packets_by(Tool::ffmpeg(), url, &bare);
    for path in [
        format!("/{STREAM}.ogg?at=start"),
        format!("/{STREAM}.webm?at=start"),
        "/radio.webm.flv?at=start".to_owned(),
        "/radio.ogg.mp3?at=start".to_owned(),
    ] {
        let answer = server.get(&path);
        assert_eq!(answer.status, 406, "{path}: {}", answer.text());
        let text = answer.text();
        assert!(text.contains("cannot be sent"), "{text}");
    }
    for publisher in &mut publishers {
        publisher.wait(DEADLINE);
    }
    let finalised = |stream: &str| {
        let one = newest(&server, stream, "the recording", is_final);
        let id = text(&one, "id").to_owned();
        let path = on_disk(&server, &id);
        (id, path)
    };
    for (stream, extension, offset, frames) in &got {
        let (_, path) = finalised(stream);
        let (all, in_a_second) = match *stream {
            "radio.ogg" => (framemd5::packets(&path), 48_000.0),
            _ => (framemd5::video(&framemd5::decoded(&path)), 0.0),
        };
        let number = place(&format!("{stream}{extension}"), frames, &all);
        let first = match *stream {
            "radio.ogg" => seconds_before(&all, number, in_a_second),
            _ => number as f64 / RATE,
        };
        assert!(
            first <= offset + 0.1 && offset - first <= GROUP + 0.1,
            "{stream}{extension}: {first} for {offset}"
        );
    }
    let (id, path) = finalised(STREAM);
    let all = framemd5::packets_by(Tool::ffmpeg(), &path, &["-vn", "-bsf:a", "aac_adtstoasc"]);
    assert!(audio.len() == 200 && place("sound", &audio, &all) > 0);
    // The recording also plays over RTMP, by its identifier.
    let hasty = hasty(Tool::ffmpeg());
    let url = play_url(&server, &format!("{STREAM}/recordings/{id}"));
    let pictures = framemd5::video(&framemd5::decoded_by(hasty, url, &["-an"]));
    let file = framemd5::video(&framemd5::decoded(&path));
    assert_eq!(marks(&pictures), marks(&file));
}
