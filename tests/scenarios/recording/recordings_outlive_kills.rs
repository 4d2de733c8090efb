//! A server that is killed, at whatever moment, leaves recordings that open: they contain what the server had written, and no
//! file of an earlier run is touched.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use testkit::framemd5::{self, Frame};
use testkit::{Clip, PUBLISH_KEY, Process, Server, Tool};

use crate::support::flv;
use crate::support::recorded::{STREAM, finalised, probe, recordings, server};
use crate::support::{DEADLINE, assert_joins, file, publish_rtmp, wait_until};

/// Numbers of kills and of streams, whose product is a hundred files that are cut.
const KILLS: usize = 10;
const STREAMS: usize = 10;

/// Number of kills amid finalising, and largest number of files that are added to be finalised.
const INTERRUPTIONS: usize = 50;
const UNFINISHED: usize = 100;

/// Pseudo-random numbers: the same in every run, beside processes that are not.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }

    /// Sleeps for a random part of this many milliseconds, since any moment is as good as another.
    fn pass(&mut self, millis: u64) {
        std::thread::sleep(Duration::from_micros(self.below(1_000 * millis)));
    }
}

fn name(stream: usize) -> String {
    format!("live/{stream}")
}

/// Publishes all streams by one program.
fn publish(server: &Server, clip: &Path) -> Process {
    let urls = (0..STREAMS).map(|stream| server.rtmp_url(&name(stream), PUBLISH_KEY));
    let outputs: Vec<String> = urls.map(|url| format!("[f=flv]{url}")).collect();
    Tool::ffmpeg()
        .args(["-re", "-i"])
        .arg(clip)
        .args(["-map", "0", "-c", "copy", "-f", "tee", &outputs.join("|")])
        .start()
}

fn seconds(recording: &serde_json::Value) -> f64 {
    recording["seconds"].as_f64().expect("a number")
}

/// Returns a recording's path while it is open, and its path once it is closed.
fn paths(recording: &serde_json::Value) -> (PathBuf, PathBuf) {
    let part = recording["path"].as_str().expect("a path");
    let closed = part.strip_suffix(".part").expect("it is open");
    (part.into(), closed.into())
}

/// List of the recordings that a killed server was writing, and the frames that a listener of the first stream received.
struct Killed {
    open: Vec<serde_json::Value>,
    heard: Vec<Frame>,
}

/// Runs a server over `root` and kills it.
fn kill_one(root: &Path, clip: &Path, random: &mut Random) -> Killed {
    let mut server = server(root).start();
    let _publisher = publish(&server, clip);
    let is_open = |recording: &serde_json::Value| recording["state"] == "open";
    let wanted = random.below(3) as f64;
    wait_until("all streams to be recorded", || {
        let mut open = recordings(&server);
        open.retain(is_open);
        open.len() == STREAMS && open.iter().any(|one| seconds(one) >= wanted)
    });
    let mut listener = server.listen("/live/0.flv");
    listener.read_until(DEADLINE, |body| !flv::times(body, 9).is_empty());
    random.pass(1_000);
    let mut open = recordings(&server);
    open.retain(is_open);
    server.process().kill();
    let heard = file(&flv::whole_tags(listener.read_to_end(DEADLINE)));
    let heard = framemd5::video(&framemd5::packets(heard.path()));
    Killed { open, heard }
}

#[test]
fn a_hundred_files_that_were_cut_have_all_that_was_written() {
    let root = tempfile::tempdir().unwrap();
    let clip = Clip::Flv.seconds(30);
    let sent = framemd5::video(&framemd5::packets(&clip));
    let pictures = framemd5::video(&framemd5::decoded(&clip));
    let mut random = Random(0x5EED);
    let mut kept: BTreeMap<PathBuf, Vec<u8>> = BTreeMap::new();
    let mut lost = Vec::new();
    let mut cut = 0;
    for _ in 0..KILLS {
        let killed = kill_one(root.path(), &clip, &mut random);
        // The next server recovers the recordings of the killed one.
        let server = server(root.path()).start();
        let files: Vec<PathBuf> = killed.open.iter().map(|one| paths(one).1).collect();
        let is_done = |all: &[serde_json::Value]| {
            killed.open.iter().all(|one| {
                let (part, closed) = paths(one);
                let mut found = all.iter().filter(|it| it["id"] == one["id"]);
                let is_finalised = found.any(|it| it["state"] == "finalised");
                !part.exists() && (is_finalised || !closed.exists())
            })
        };
        wait_until("all to be recovered", || is_done(&recordings(&server)));
        for (reported, file) in killed.open.iter().zip(&files) {
            cut += 1;
            if !file.exists() {
                assert_eq!(seconds(reported), 0.0, "{reported}");
                continue;
            }
            let (start, duration) = probe(file);
            assert!(start.abs() < 0.001, "{file:?} {start}");
            assert!(
                duration >= seconds(reported) - 0.001,
                "{duration} {reported}"
            );
            let got = framemd5::video(&framemd5::decoded(file));
            assert_eq!(assert_joins("pictures", &pictures, &got).at % 25, 0);
            let bytes = std::fs::read(file).unwrap();
            assert!(kept.insert(file.clone(), bytes).is_none(), "{file:?}");
        }
        let heard = assert_joins("heard", &sent, &killed.heard);
        let of_first = killed.open.iter().position(|one| one["stream"] == name(0));
        let recorded = &files[of_first.expect("it was recorded")];
        if recorded.exists() {
            let got = framemd5::video(&framemd5::packets(recorded));
            let got = assert_joins("recorded", &sent, &got);
            let until = |join: framemd5::Join| (join.at + join.matched) as f64 / 25.0;
            lost.push(until(heard) - until(got));
        }
    }
    assert_eq!(cut, KILLS * STREAMS);
    for (file, bytes) in &kept {
        assert!(std::fs::read(file).unwrap() == *bytes, "{file:?}");
    }
    lost.sort_by(f64::total_cmp);
    println!(
        "{} files; seconds lost of those heard: {lost:?}",
        kept.len()
    );
    // On a busy machine, a single server may be killed before its writer had its turn.
    let usual = lost[lost.len() / 2];
    assert!(usual <= 2.0, "{lost:?}");
}

/// Recording that was not closed, and the finalised file.
struct Example {
    part: Vec<u8>,
    /// Length in bytes of its whole media.
    whole: usize,
    finalised: Vec<u8>,
}

impl Example {
    fn make() -> Self {
        let root = tempfile::tempdir().unwrap();
        let mut killed = server(root.path()).start();
        let _publisher = publish_rtmp(&killed, &Clip::Flv.seconds(30), STREAM);
        wait_until("some seconds to be recorded", || {
            recordings(&killed)
                .first()
                .is_some_and(|one| seconds(one) >= 4.0)
        });
        let (path, _) = paths(&recordings(&killed)[0]);
        killed.process().kill();
        let part = std::fs::read(path).unwrap();
        let server = server(root.path()).start();
        let finalised = std::fs::read(&finalised(&server, 1)[0]).unwrap();
        // The 16-byte header of all media has the offset of the index.
        let mut kinds = finalised.windows(4);
        let header = kinds.position(|kind| kind == b"mdat").expect("a header") - 4;
        let bytes = finalised[header + 8..].first_chunk().expect("a size");
        let whole = header + u64::from_be_bytes(*bytes) as usize;
        Self {
            part,
            whole,
            finalised,
        }
    }

    /// Returns whether a file is a state between the two that a kill may leave: all whole media, and then a part of the index.
    fn is_between(&self, bytes: &[u8]) -> bool {
        let (media, index) = bytes.split_at(self.whole.min(bytes.len()));
        media == &self.part[..self.whole] && self.finalised[self.whole..].starts_with(index)
    }
}

/// Adds files that are to be finalised, all of one minute.
fn fill(root: &Path, minute: usize, example: &Example) {
    let folder = root.join(STREAM).join("2026-01-01");
    std::fs::create_dir_all(&folder).unwrap();
    for number in 0..UNFINISHED {
        let [hour, minute] = [minute / 60, minute % 60];
        let name = format!("{hour:02}-{minute:02}-00Z-{number}.mp4.part");
        std::fs::write(folder.join(name), &example.part).unwrap();
    }
}

fn files(root: &Path) -> Vec<PathBuf> {
    let folder = std::fs::read_dir(root.join(STREAM).join("2026-01-01")).unwrap();
    folder.map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn fifty_kills_amid_finalising_leave_files_as_they_were_or_as_they_become() {
    let example = Example::make();
    let pictures = |bytes: &[u8]| framemd5::video(&framemd5::decoded(file(bytes).path())).len();
    let whole = pictures(&example.finalised);
    let root = tempfile::tempdir().unwrap();
    let mut random = Random(0xF1A1);
    let is_named = |path: &PathBuf| path.extension().is_some_and(|it| it == "mp4");
    let named = || {
        files(root.path())
            .iter()
            .filter(|path| is_named(path))
            .count()
    };
    let mut between = 0;
    let mut filled = 0;
    for kill in 0..INTERRUPTIONS {
        if kill == 0 || filled * UNFINISHED - named() < UNFINISHED / 2 {
            fill(root.path(), filled, &example);
            filled += 1;
        }
        let wanted = (named() + 1 + random.below(20) as usize).min(filled * UNFINISHED);
        let mut server = server(root.path()).start();
        wait_until("some to be named", || named() >= wanted);
        random.pass(10);
        server.process().kill();
        for path in files(root.path()) {
            let bytes = std::fs::read(&path).unwrap();
            if bytes == example.finalised || bytes == example.part {
                continue;
            }
            assert!(example.is_between(&bytes), "{path:?}");
            assert_eq!(pictures(&bytes), whole, "{path:?}");
            between += 1;
        }
    }
    println!("{between} times a file was found between the two, after {INTERRUPTIONS} kills");
    let server = server(root.path()).start();
    wait_until("all to be finalised", || {
        let is_finalised = |path: &PathBuf| std::fs::read(path).unwrap() == example.finalised;
        named() == filled * UNFINISHED && files(root.path()).iter().all(is_finalised)
    });
    drop(server);
}
