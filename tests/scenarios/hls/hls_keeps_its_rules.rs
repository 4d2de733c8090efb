//! Publishers of all kinds yield playlists and parts that keep every rule.
//!
//! A strict client ([`testkit::hls::Watch`]) watches each stream, all at once. Its own judgement of the texts is compared with
//! that of two other parsers. `CARILLON_HLS_SECONDS` sets how long it watches.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use testkit::hls::{History, Rule, Subject, Watch, violations};
use testkit::{Clip, PUBLISH_KEY, Process, Server, Tool, hls_clients};

use crate::support::{DEADLINE, publish_icecast, seconds_of, wait_for_stream};

/// Time long enough for segments to be removed from the playlist and for parts that were listed to be dropped.
const WATCHED: u64 = 45;
/// Environment variable that sets the time in seconds.
const WATCHED_VARIABLE: &str = "CARILLON_HLS_SECONDS";

/// Most breaches reported of one stream, since every version of the playlist repeats a breach.
const REPORTED_MAX: usize = 12;

/// A stream as an encoder sends it.
struct Show {
    stream: &'static str,
    /// Frame rate per second; empty without video.
    rate: &'static str,
    /// Options of the encoder.
    encoder: &'static str,
    /// Rules that no server can keep with such media.
    excused: &'static [Rule],
}

const SHOWS: &[Show] = &[
    Show {
        stream: "live/irregular",
        rate: "25",
        encoder: "-bf 0 -g 250 -force_key_frames expr:gte(t,n_forced*1.3+0.37*mod(n_forced,3))",
        excused: &[],
    },
    Show {
        stream: "live/reordered",
        rate: "30000/1001",
        encoder: "-bf 3 -b_strategy 0 -g 45 -sc_threshold 0",
        excused: &[],
    },
    Show {
        stream: "live/film",
        rate: "24000/1001",
        encoder: "-bf 2 -g 48 -sc_threshold 0",
        excused: &[],
    },
    Show {
        stream: "live/fifty",
        rate: "50",
        encoder: "-bf 0 -g 100 -sc_threshold 0",
        excused: &[],
    },
    Show {
        stream: "live/sixty",
        rate: "60",
        encoder: "-bf 2 -g 60 -sc_threshold 0",
        excused: &[],
    },
    // Segments are cut where there is no keyframe.
    Show {
        stream: "live/rare",
        rate: "25",
        encoder: "-bf 0 -g 200 -sc_threshold 0",
        excused: &[Rule::Independence],
    },
    Show {
        stream: "live/sound",
        rate: "",
        encoder: "",
        excused: &[],
    },
];

/// Name of a stream whose publisher is killed and replaced by one with another frame size.
const CHANGING: &str = "live/changing";
/// Audio stream from an Icecast source.
const RADIO: &str = "radio.mp3";

fn publish(server: &Server, show: &Show, size: &str) -> Process {
    let mut tool = Tool::ffmpeg().arg("-re");
    if !show.rate.is_empty() {
        let picture = format!("testsrc2=size={size}:rate={}", show.rate);
        tool = tool.args(["-f", "lavfi", "-i", &picture]);
    }
    tool = tool.args(["-f", "lavfi", "-i", "sine=frequency=440:sample_rate=44100"]);
    if !show.rate.is_empty() {
        tool = tool
            .args(["-c:v", "libx264", "-preset", "ultrafast", "-threads", "1"])
            .args(["-b:v", "200k", "-pix_fmt", "yuv420p"])
            .args(show.encoder.split(' '));
    }
    tool.args(["-c:a", "aac", "-b:a", "96k", "-f", "flv"])
        .arg(server.rtmp_url(show.stream, PUBLISH_KEY))
        .start()
}

/// Reports the breaches of a stream, each rule with its first ones.
fn report(stream: &str, history: &History, excused: &[Rule]) -> Vec<String> {
    let mut counts: HashMap<Rule, usize> = HashMap::new();
    let mut said = Vec::new();
    let breaches = violations(history).into_iter();
    for breach in breaches.filter(|breach| !excused.contains(&breach.rule)) {
        let count = counts.entry(breach.rule).or_default();
        *count += 1;
        if *count <= 2 && said.len() < REPORTED_MAX {
            said.push(format!("{stream}: {breach}"));
        }
    }
    said.extend((!counts.is_empty()).then(|| format!("{stream}: {counts:?}")));
    said
}

/// Asserts that the client has seen the events that it is to judge.
fn assert_evidence(stream: &str, history: &History) {
    let versions = &history.versions;
    assert!(versions.len() > 40, "{stream}: {} versions", versions.len());
    let (first, last) = (
        &versions[0].playlist,
        &versions[versions.len() - 1].playlist,
    );
    assert!(
        last.sequence > first.sequence,
        "{stream}: nothing was removed"
    );
    let whole = history.segments_with_parts().len();
    assert!(whole >= 8, "{stream}: {whole} segments with their parts");
    let codings: Vec<_> = history
        .codings
        .iter()
        .map(|trial| trial.coding.as_str())
        .collect();
    assert!(
        codings.contains(&"gzip") && codings.contains(&"br") && !history.deltas.is_empty(),
        "{stream}: {codings:?}, {} delta updates",
        history.deltas.len()
    );
    let refused = history.count(400)[&Subject::BlockingPlaylist];
    let missing = history.count(404)[&Subject::Media];
    assert!(refused > 0 && missing > 0, "{stream}: {refused}, {missing}");
    // Parts and segments that were no longer listed.
    let mut seen: HashMap<&str, usize> = HashMap::new();
    let of_media = history.answers.iter();
    let of_media = of_media.filter(|answer| answer.subject == Subject::Media);
    for answer in
        of_media.filter(|answer| answer.condition.is_none() && answer.response.status == 200)
    {
        *seen.entry(&answer.path).or_default() += 1;
    }
    let again = seen.values().filter(|count| **count > 1).count();
    assert!(again > 5, "{stream}: only {again} fetched again");
}

/// Asserts that both other parsers find what ours does in the first, the last and every twentieth text.
fn assert_agreement(folder: &Path, histories: &[(&str, &History)]) {
    let versions = histories.iter().flat_map(|(_, history)| {
        let last = history.versions.len() - 1;
        let versions = history.versions.iter().enumerate();
        versions.filter(move |(index, _)| index % 20 == 0 || *index == last)
    });
    let versions: Vec<_> = versions.map(|(_, version)| version).collect();
    let files: Vec<_> = (0..versions.len())
        .map(|index| folder.join(format!("{index}.m3u8")))
        .collect();
    for (file, version) in files.iter().zip(&versions) {
        std::fs::write(file, &version.text).unwrap();
    }
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/clients/hls/parse.cjs");
    let said = Tool::new("node")
        .arg(script)
        .arg(hls_clients())
        .args(&files)
        .run(DEADLINE);
    let said = String::from_utf8(said).unwrap();
    // Durations are written in tenths of microseconds.
    let tenths = |duration: Duration| ((duration.as_nanos() + 50) / 100) as u64;
    assert_eq!(said.lines().count(), versions.len());
    for (line, version) in said.lines().zip(&versions) {
        let found: Value = serde_json::from_str(line).unwrap();
        let playlist = &version.playlist;
        let segments = playlist.segments.iter().map(|segment| {
            let parts = segment.parts.iter();
            let parts =
                parts.map(|part| json!([part.uri, tenths(part.duration), part.is_independent]));
            let file = segment.file.as_ref();
            json!([
                file.map_or("", |file| &file.uri),
                file.map_or(0, |file| tenths(file.duration)),
                segment.map.as_ref().map(|map| &map.uri),
                parts.collect::<Vec<_>>(),
            ])
        });
        let ours = json!({
            "sequence": playlist.sequence,
            "target": tenths(playlist.target),
            "partTarget": playlist.part_target.map_or(0, tenths),
            "segments": segments.collect::<Vec<_>>(),
        });
        for parser in ["m3u8-parser", "hls-parser"] {
            assert_eq!(found[parser], ours, "{parser}, of\n{}", version.text);
        }
    }
}

#[test]
fn every_stream_keeps_every_rule() {
    let watched = Duration::from_secs(seconds_of(WATCHED_VARIABLE, WATCHED));
    let server = Server::builder().set("ingest", "linger", "\"60s\"").start();
    let mut publishers: Vec<_> = SHOWS
        .iter()
        .map(|show| publish(&server, show, "320x180"))
        .collect();
    let seconds = u32::try_from(watched.as_secs()).unwrap() + 120;
    publishers.push(publish_icecast(&server, Clip::Mp3, seconds, RADIO));
    let changing = Show {
        stream: CHANGING,
        ..SHOWS[0]
    };
    let mut first = publish(&server, &changing, "320x180");
    let excuses = SHOWS.iter().map(|show| (show.stream, show.excused));
    let excuses: Vec<_> = excuses.chain([(RADIO, &[][..]), (CHANGING, &[])]).collect();
    for (stream, _) in &excuses {
        wait_for_stream(&server, stream);
    }
    let addr = server.addr("http");
    let histories: Vec<History> = std::thread::scope(|scope| {
        let watches: Vec<_> = excuses
            .iter()
            .map(|(stream, _)| {
                scope.spawn(move || {
                    let mut watch = Watch::start(addr, &format!("/{stream}/index.m3u8"));
                    watch.follow_for(watched);
                    watch.finish()
                })
            })
            .collect();
        // A third of the time falls in the middle of some part, however long the watch lasts.
        std::thread::sleep(watched / 3);
        first.kill();
        publishers.push(publish(&server, &changing, "480x270"));
        let joined = watches.into_iter().map(|watch| watch.join());
        joined
            .map(|history| history.expect("it watched to the end"))
            .collect()
    });
    let mut said = Vec::new();
    for ((stream, excused), history) in excuses.iter().zip(&histories) {
        said.extend(report(stream, history, excused));
    }
    assert!(said.is_empty(), "{}", said.join("\n"));
    for ((stream, _), history) in excuses.iter().zip(&histories) {
        assert_evidence(stream, history);
    }
    let changed = &histories[histories.len() - 1].versions;
    let has_changed = |playlist: &testkit::hls::MediaPlaylist| {
        let maps = playlist.segments.windows(2);
        let mut maps = maps.map(|pair| pair[0].map != pair[1].map && pair[1].is_discontinuous);
        maps.any(|changes| changes)
    };
    assert!(
        changed.iter().any(|version| has_changed(&version.playlist)),
        "no change was seen"
    );
    let folder = tempfile::tempdir().unwrap();
    let named: Vec<_> = excuses
        .iter()
        .map(|(stream, _)| *stream)
        .zip(&histories)
        .collect();
    assert_agreement(folder.path(), &named);
}
