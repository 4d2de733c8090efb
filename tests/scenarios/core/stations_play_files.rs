//! A station plays files as one stream: no decoder reports an error at a join, titles are sent, publishers take over and the
//! station returns, and files that do not fit are refused with a reason.

use std::time::Instant;

use testkit::Clip;
use testkit::http::{Listener, deinterleave};

use crate::support::station::{SECOND_BYTES, plays, serve, song, station};
use crate::support::{DEADLINE, decodes_quietly, file, repeat_icecast, round, wait_until};

/// Number of frames of silence that may be left out after a song: 50 ms.
const LEFT_OUT_MAX: usize = 2;

/// Splits an MP3 of 128 kb/s at 44.1 kHz into audio frames, from the first whole one on, without a table.
fn frames(bytes: &[u8]) -> Vec<&[u8]> {
    let length = |at: usize| match bytes.get(at..at + 3) {
        Some(&[0xFF, 0xFB, flags]) if flags & 0xFC == 0x90 => {
            Some(417 + usize::from(flags >> 1 & 1))
        }
        _ => None,
    };
    let is_first = |at: &usize| {
        let next = length(*at).map(|bytes| at + bytes);
        let third = next.and_then(|at| Some(at + length(at)?));
        third.and_then(length).is_some()
    };
    let mut at = (0..bytes.len()).find(is_first).expect("MP3");
    let mut frames = Vec::new();
    while let Some(length) = length(at)
        && let Some(frame) = bytes.get(at..at + length)
    {
        at += length;
        let is_table = [b"Info", b"Xing"]
            .iter()
            .any(|word| frame.windows(4).any(|found| found == *word));
        if !is_table || !frames.is_empty() {
            frames.push(frame);
        }
    }
    frames
}

/// Asserts that `got` has the songs one after the other from `at` on; returns the index at which the last one ends.
fn follow(got: &[&[u8]], mut at: usize, songs: &[Vec<&[u8]>]) -> usize {
    for (number, song) in songs.iter().enumerate() {
        let whole = song.len() - LEFT_OUT_MAX;
        assert!(
            got[at..].len() > song.len(),
            "song {number} is not all there"
        );
        assert!(
            got[at..at + whole] == song[..whole],
            "song {number} is not as in its file"
        );
        let rest = song[whole..].iter().zip(&got[at + whole..]);
        at += whole + rest.take_while(|(sent, got)| sent == got).count();
    }
    at
}

#[test]
fn songs_are_one_stream_with_their_titles() {
    let folder = tempfile::tempdir().unwrap();
    for (name, seconds) in [("a", 1.6), ("b", 1.3), ("c", 1.9)] {
        song(folder.path(), name, seconds, &[]);
    }
    let server = serve(&folder, "");
    wait_until("the station", || station(&server)["state"] == "playing");
    let mut listener = Listener::get_icy(server.addr("http"), "/radio.mp3");
    assert_eq!(listener.status(), 200);
    let interval: usize = listener.header("icy-metaint").unwrap().parse().unwrap();
    // Two rounds and more, because the first song may have begun before.
    listener.read_bytes(13 * SECOND_BYTES, DEADLINE);
    let (audio, titles) = deinterleave(listener.body(), interval);
    let reported = titles.iter().map(|(_, text)| &text[..]).collect::<String>();
    for name in ["a", "b", "c"] {
        assert!(
            reported.contains(&format!("StreamTitle='Band - Song {name}';")),
            "{titles:?}"
        );
    }
    let files = ["a", "b", "c"]
        .map(|name| std::fs::read(folder.path().join(format!("{name}.mp3"))).unwrap());
    let songs = files.each_ref().map(|bytes| frames(bytes));
    let got = frames(&audio);
    let first = got
        .iter()
        .position(|frame| *frame == songs[1][0])
        .expect("the second song begins");
    let [a, b, c] = songs;
    let around = [b.clone(), c, a, b];
    let end = follow(&got, first, &around);
    // From the beginning of a song on, no decoder lacks anything.
    let recorded = file(&got[first..end].concat());
    decodes_quietly("the songs", recorded.path(), &[]);
}

#[test]
fn a_publisher_takes_over_and_the_next_song_follows_it() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a", "b", "c"] {
        song(folder.path(), name, 20.0, &[]);
    }
    let began = Instant::now();
    let server = serve(&folder, "linger = \"1s\"\n");
    wait_until("the station", || plays(&server, "Band - Song a"));
    let mut listener = server.listen("/radio.mp3");
    listener.read_bytes(2 * SECOND_BYTES, DEADLINE);
    let mut playing = station(&server);
    let mut live = repeat_icecast(&server, Clip::Mp3, "radio.mp3");
    wait_until("the publisher", || {
        let now = station(&server);
        let is_away = now["state"] == "away";
        if !is_away {
            playing = now;
        }
        is_away
    });
    let before = &playing["current"]["title"];
    let replaced = began.elapsed();
    assert_eq!(server.api("streams")["streams"][0]["protocol"], "icecast");
    // The listener still receives from the station only what was ahead of the clock: a second of audio at most.
    let clip = std::fs::read(round(Clip::Mp3)).unwrap();
    let start = |body: &[u8]| body.windows(1_000).position(|part| part == &clip[..1_000]);
    assert!(
        listener.read_until(DEADLINE, |body| start(body).is_some()),
        "the same connection hears the publisher from its first frame on"
    );
    let heard = start(listener.body()).unwrap() as f64 / SECOND_BYTES as f64;
    assert!(
        heard <= replaced.as_secs_f64() + 1.0,
        "{heard} s of the station in {replaced:?}"
    );
    let heard = listener.body().len();
    listener.read_bytes(heard + SECOND_BYTES, DEADLINE);
    live.kill();
    wait_until("the station", || station(&server)["state"] == "playing");
    let now = station(&server);
    assert_eq!(now["history"][0]["outcome"], "interrupted");
    assert_eq!(now["history"][0]["title"], *before);
    assert_eq!(now["current"]["title"], playing["next"]);
    assert_ne!(now["current"]["title"], *before);
    let name = now["current"]["file"].as_str().unwrap().to_owned();
    let next = std::fs::read(folder.path().join(name)).unwrap();
    let begins = frames(&next)[..3].concat();
    let has_begun = |body: &[u8]| body.windows(begins.len()).any(|part| part == begins);
    assert!(
        listener.read_until(DEADLINE, has_begun),
        "the same connection hears the next song"
    );
    let metrics = server.metrics();
    let interrupted = &["outcome=\"interrupted\""];
    assert_eq!(
        metrics.sum("carillon_station_tracks_total", interrupted),
        1.0
    );
    assert_eq!(metrics.sum("carillon_departures_total", &[]), 0.0);
    assert_eq!(metrics.sum("carillon_skips_total", &[]), 0.0);
}
