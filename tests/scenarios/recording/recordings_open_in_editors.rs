//! A recording of an hour opens and seeks in the programs that people use to watch and cut it, with its audio and its video in
//! step from beginning to end.

use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

use mp4_atom::{Atom, Header, Moov, ReadAtom, ReadFrom, StszSamples};
use serde_json::Value;
use testkit::{PUBLISH_KEY, Tool, mp4_readers};

use crate::support::DEADLINE;
use crate::support::browser::Browser;
use crate::support::film::Film;
use crate::support::firefox::Firefox;
use crate::support::recorded::{STREAM, finalised, probe, server};

/// Length in seconds, a bit more than an hour, of small frames, and the factor by which publishing is faster than real time.
const SECONDS: u32 = 3_660;
const SPEED: &str = "60";

/// Deadline for making the clip, and for publishing it.
const LONG_DEADLINE: Duration = Duration::from_secs(300);

/// Largest distance between audio and video in seconds: less than half a frame.
const APART_MAX: f64 = 0.010;

/// Largest rounding in seconds: a millisecond of FLV, and that of a file.
const ROUNDING: f64 = 0.001_1;

/// Makes an hour of FLV: 30 frames a second with B-frames, whose times are rounded.
fn hour(folder: &Path) -> PathBuf {
    let path = folder.join("hour.flv");
    let picture = format!("testsrc2=size=64x36:rate=30:duration={SECONDS}");
    let audio = format!("sine=frequency=440:sample_rate=16000:duration={SECONDS}");
    Tool::ffmpeg()
        .args(["-f", "lavfi", "-i", &picture, "-f", "lavfi", "-i", &audio])
        .args("-c:v libx264 -preset ultrafast -bf 2 -g 60 -threads 1".split_whitespace())
        .args("-c:a aac -ac 1 -b:a 24k".split_whitespace())
        .arg(&path)
        .run(LONG_DEADLINE);
    path
}

/// Presentation time of a packet in seconds, and its hash.
struct Packet {
    at: f64,
    hash: String,
}

/// Returns the packets of a kind (`v`, `a`), in the order of decoding.
fn packets(file: &Path, kind: &str) -> Vec<Packet> {
    let reported = Tool::ffprobe()
        .args(["-select_streams", kind, "-of", "csv=p=0"])
        .args(["-show_data_hash", "CRC32"])
        .args(["-show_entries", "packet=pts_time,data_hash"])
        .arg(file)
        .run(LONG_DEADLINE);
    let reported = String::from_utf8(reported).unwrap();
    let packet = |line: &str| {
        let (at, hash) = line.split_once(',').expect("a time and a hash");
        Packet {
            at: at.parse().expect("a time"),
            hash: hash.trim_end_matches(',').to_owned(),
        }
    };
    reported.lines().map(packet).collect()
}

/// Returns each packet's delay against the source. A recording may begin later than its source, and lack the last media of a
/// publisher that hangs up on a busy server. A tone repeats itself, so the recording's beginning may match at several places;
/// the one nearest to `near` counts.
fn shifts(source: &Path, file: &Path, kind: &str, near: Option<f64>) -> Vec<f64> {
    const ALIKE: usize = 32;
    let [sent, got] = [source, file].map(|path| packets(path, kind));
    assert!(
        got.len() > sent.len() * 9 / 10,
        "{} of {}",
        got.len(),
        sent.len()
    );
    let is_beginning = |part: &[Packet]| part.iter().zip(&got).all(|(a, b)| a.hash == b.hash);
    let places = sent.windows(ALIKE).enumerate();
    let places = places.filter(|(_, part)| is_beginning(part));
    let distance = |at: usize| (got[0].at - sent[at].at - near.unwrap_or_default()).abs();
    let begins = places
        .map(|(at, _)| at)
        .min_by(|a, b| distance(*a).total_cmp(&distance(*b)));
    let sent = &sent[begins.expect("it is of this source")..];
    got.iter()
        .zip(sent)
        .map(|(got, sent)| got.at - sent.at)
        .collect()
}

fn json(tool: Tool) -> Value {
    serde_json::from_slice(&tool.run(DEADLINE)).unwrap()
}

fn number(value: &Value) -> f64 {
    let text = value.as_str().and_then(|text| text.parse().ok());
    value.as_f64().or(text).expect("a number")
}

fn editors_read(file: &Path, duration: f64, pictures: usize) {
    let said = json(Tool::new("mkvmerge").arg("-J").arg(file));
    assert_eq!(said["container"]["supported"], true, "{said}");
    let complaints = [&said["errors"], &said["warnings"]];
    assert!(
        complaints.iter().all(|it| **it == Value::Array(vec![])),
        "{said}"
    );
    assert_eq!(said["tracks"].as_array().map(Vec::len), Some(2), "{said}");

    let said = json(Tool::new("mediainfo").arg("--Output=JSON").arg(file));
    let tracks = &said["media"]["track"];
    assert!(
        (number(&tracks[0]["Duration"]) - duration).abs() < 0.05,
        "{said}"
    );
    let picture = &tracks[1];
    assert_eq!(picture["FrameRate_Mode"], "CFR", "{said}");
    assert!(
        (number(&picture["FrameRate"]) - 30.0).abs() < 0.001,
        "{said}"
    );
    // mediainfo counts the time before the first frame, if audio begins earlier: two or three.
    assert!(
        (number(&picture["FrameCount"]) - pictures as f64).abs() < 4.0,
        "{said}"
    );

    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/clients/mp4/read.cjs");
    let said = json(Tool::new("node").arg(script).arg(mp4_readers()).arg(file));
    assert_eq!(said["fragmented"], false, "{said}");
    assert!((number(&said["seconds"]) - duration).abs() < 0.05, "{said}");
    assert!(
        (number(&said["middle"]) - duration / 2.0).abs() < 5.0,
        "{said}"
    );
    assert_eq!(said["tracks"][0]["samples"], pictures, "{said}");
    assert_eq!(said["groups"], serde_json::json!([[], ["roll"]]), "{said}");
    a_strict_decoder_reads(file, duration, pictures);
}

/// Asserts that the index is valid, by a decoder that knows every byte of every box or refuses it, and shares nothing with the
/// server's own.
fn a_strict_decoder_reads(file: &Path, duration: f64, pictures: usize) {
    let mut file = File::open(file).unwrap();
    let index = loop {
        let header = Header::read_from(&mut file).unwrap();
        if header.kind == Moov::KIND {
            break Moov::read_atom(&header, &mut file).unwrap();
        }
        let bytes = i64::try_from(header.size.unwrap()).unwrap();
        file.seek(SeekFrom::Current(bytes)).unwrap();
    };
    assert!(index.mvex.is_none(), "it tells of fragments");
    let [picture, audio] = &index.trak[..] else {
        panic!("{} tracks", index.trak.len());
    };
    for track in [picture, audio] {
        let times = &track.mdia.minf.stbl.stts.entries;
        let ticks = times
            .iter()
            .map(|run| u64::from(run.sample_count) * u64::from(run.sample_delta));
        let seconds = ticks.sum::<u64>() as f64 / f64::from(track.mdia.mdhd.timescale);
        assert!((seconds - duration).abs() < 0.1, "{seconds} of {duration}");
    }
    let sizes = &picture.mdia.minf.stbl.stsz.samples;
    let count = match sizes {
        StszSamples::Identical { count, .. } => *count as usize,
        StszSamples::Different { sizes } => sizes.len(),
    };
    assert_eq!(count, pictures);
}

fn ffmpeg_seeks(file: &Path, to: f64) {
    let shown = Tool::ffprobe()
        .args(["-select_streams", "v", "-of", "csv=p=0"])
        .args(["-show_entries", "frame=pts_time", "-read_intervals"])
        .arg(format!("{to}%+#1"))
        .arg(file)
        .run(DEADLINE);
    let shown = String::from_utf8(shown).unwrap();
    let first = shown.split([',', '\n']).next().unwrap_or_default();
    let first: f64 = first.parse().expect("a time");
    // The seek leads to the keyframe before: one comes every two seconds.
    assert!(first <= to && to - first <= 2.1, "{first} {to}");
}

#[test]
fn an_hour_opens_and_seeks_everywhere() {
    let root = tempfile::tempdir().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let source = hour(folder.path());
    let server = server(root.path())
        .set("ingest", "linger", "\"1s\"")
        // A publisher that waits for a busy machine stays connected.
        .set("ingest", "source_timeout", "\"60s\"")
        .set("recording", "split", "\"2h\"")
        .start();
    let mut publisher = Tool::ffmpeg()
        .args(["-readrate", SPEED, "-i"])
        .arg(&source)
        .args(["-c", "copy", "-f", "flv"])
        .arg(server.rtmp_url(STREAM, PUBLISH_KEY))
        .start();
    assert!(
        publisher.wait(LONG_DEADLINE).success(),
        "{}",
        publisher.stderr()
    );
    let file = finalised(&server, 1).remove(0);

    let pictures = shifts(&source, &file, "v", None);
    let audio_frames = shifts(&source, &file, "a", Some(pictures[0]));
    for shifts in [&pictures, &audio_frames] {
        let is_apart = |shift: &f64| (shift - shifts[0]).abs() > 2.0 * ROUNDING;
        let first = shifts.iter().position(is_apart);
        assert_eq!(
            first.map(|at| (at, shifts.len(), shifts[0], shifts[at])),
            None,
            "the first that is apart, and how many there are"
        );
    }
    let ends = [
        (pictures[0], audio_frames[0]),
        (
            pictures[pictures.len() - 1],
            audio_frames[audio_frames.len() - 1],
        ),
    ];
    for (picture, audio) in ends {
        println!("sound is {:.4} s off", audio - picture);
        assert!((picture - audio).abs() <= APART_MAX, "{picture} {audio}");
    }

    let (start, duration) = probe(&file);
    assert!(
        start.abs() < 0.001 && duration > 3_300.0,
        "{start} {duration}"
    );
    editors_read(&file, duration, pictures.len());
    for to in [duration / 2.0, duration - 5.0] {
        ffmpeg_seeks(&file, to);
    }
    let film = Film::recording(&server, root.path(), &file);
    film.plays_in(&Browser::open());
    film.plays_in(&Firefox::open());
    film.plays_in_vlc();
}
