//! A play-out without clock and disk: an hour of files takes a second, and is exact to the sample.

mod films;

use std::path::Path;

use container::ogg::OpusPackets;
use media::codec::aac::AdtsHeader;
use media::{Sample, Span, Timestamp};
use testkit::Tool;

use super::*;
use crate::station::track::testing::{
    FRAME_BYTES, MemoryFile, frame, info_frame, number, opus_file, track,
};
use crate::station::track::{PIECE_BYTES, Padding, inspect};

const DEADLINE: Duration = Duration::from_secs(120);

type Next = Box<dyn FnMut() -> Vec<Item>>;

/// A driver without clock and disk: plays files one after another, and wakes up at the time that the play-out returns.
struct Station {
    playout: Playout,
    files: std::vec::IntoIter<(Track, Vec<u8>)>,
    /// The present file.
    present: Next,
    now: Instant,
    began: Instant,
    items: Vec<Item>,
}

impl Station {
    fn new(codec: Codec, files: Vec<(Track, Vec<u8>)>) -> Self {
        Self::of(track(codec).format, files)
    }

    fn of(format: Format, files: Vec<(Track, Vec<u8>)>) -> Self {
        let now = Instant::now();
        Self {
            playout: Playout::new(format, 9, now),
            files: files.into_iter(),
            present: Box::new(Vec::new),
            now,
            began: now,
            items: Vec::new(),
        }
    }

    /// Until the next wake-up, which it returns; `None` at the end.
    fn wake(&mut self) -> Option<Instant> {
        loop {
            match self.playout.step(self.now, &mut self.items) {
                Need::Time(at) => return Some(at),
                Need::Items => {
                    let items = (self.present)();
                    match items.is_empty() {
                        true => self.playout.finish(),
                        false => self.playout.push(items),
                    }
                }
                Need::Track => {
                    let (track, file) = self.files.next()?;
                    self.playout.begin(&track);
                    self.present = open(&track, file);
                }
            }
        }
    }

    /// Until the end.
    fn play(&mut self) {
        while let Some(at) = self.wake() {
            self.now = at;
        }
    }

    fn samples(&self) -> impl Iterator<Item = &Sample> {
        self.items.iter().filter_map(|item| match item {
            Item::Sample(sample) => Some(sample),
            _ => None,
        })
    }

    /// The end of what was written, in which are no holes and no overlaps.
    fn end(&self) -> Timestamp {
        self.samples().fold(Timestamp::ZERO, |end, sample| {
            assert_eq!(sample.dts, end);
            end + sample.duration
        })
    }

    /// Milliseconds by which what was written is ahead of the clock.
    fn ahead(&self) -> i64 {
        let elapsed = Span::from(self.now - self.began);
        (self.end() - Timestamp::ZERO).millis() - elapsed.millis()
    }
}

/// Opens a file in memory, or on disk if it has a path.
fn open(track: &Track, bytes: Vec<u8>) -> Next {
    if track.path.as_os_str().is_empty() {
        let mut file = MemoryFile::new(track, bytes);
        return Box::new(move || file.next(PIECE_BYTES));
    }
    let (file, mut reader) = track.open().expect("it can be read");
    let mut opening = reader.opening().to_vec();
    Box::new(move || match opening.is_empty() {
        true => reader.next(&file, PIECE_BYTES).expect("it can be read"),
        false => std::mem::take(&mut opening),
    })
}

/// The track that a file on disk is.
fn track_of(path: &Path) -> Track {
    let path = path.canonicalize().expect("it is there");
    let contents = inspect(&path).expect("it can be played");
    Track {
        path,
        format: contents.format,
        length: contents.length,
        layout: contents.layout,
        padding: contents.padding,
        ..track(Codec::Aac)
    }
}

#[test]
fn an_hour_of_twenty_files_is_exact_to_the_sample() {
    // Three minutes each, and some frames more.
    let frames = |file: u32| 6_891 + file;
    let files = (0..20).map(|file| {
        let audio = (0..frames(file)).flat_map(|at| frame(file << 16 | at, at == 0));
        let table = info_frame(frames(file), 576, 1_000).into_iter();
        let bytes = table.chain(audio);
        let track = Track {
            title: format!("Song {file}"),
            ..track(Codec::Mp3)
        };
        (track, bytes.collect())
    });
    let mut station = Station::new(Codec::Mp3, files.collect());
    while let Some(at) = station.wake() {
        assert!(at > station.now, "it always waits");
        let lead = station.playout.line.reached() - (station.now - station.began);
        let bounds = LEAD - BATCH..=LEAD;
        assert!(bounds.contains(&lead), "{lead:?} ahead");
        station.now = at;
    }
    let total: u32 = (0..20).map(frames).sum();
    let played = station.samples().map(|sample| number(&sample.data));
    let expected = (0..20).flat_map(|file| (0..frames(file)).map(move |at| file << 16 | at));
    assert!(played.eq(expected), "every frame once and in order");
    let exact = Span::from_samples(u64::from(total) * 1_152, 44_100);
    assert_eq!(station.end() - Timestamp::ZERO, exact);
    let titles = station.items.iter().filter_map(|item| match item {
        Item::Title(title) => Some(&title.text[..]),
        _ => None,
    });
    let titles: Vec<_> = titles.collect();
    assert_eq!((titles.len(), titles[19]), (20, "Song 19"));
    let ahead = station.ahead();
    assert!((0..=1_000).contains(&ahead), "{ahead} ms ahead");
}

#[test]
fn an_hour_of_twenty_files_of_mp4_is_exact_to_the_sample() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: String| folder.path().join(name);
    let whole = at("whole.m4a".to_owned());
    Tool::ffmpeg()
        .args("-f lavfi -i sine=sample_rate=44100:duration=220 -c:a aac -b:a 64k".split(' '))
        .arg(&whole)
        .run(DEADLINE);
    let (mut files, mut expected) = (Vec::new(), Vec::new());
    for file in 0..20 {
        let (path, adts) = (at(format!("{file}.m4a")), at(format!("{file}.aac")));
        let length = format!("{}", 180.0 + 1.3 * f64::from(file));
        let cut = Tool::ffmpeg().arg("-i").arg(&whole).arg("-t").arg(&length);
        cut.args(["-c", "copy"]).arg(&path).run(DEADLINE);
        // Another program takes the packets out of the file.
        let taken = Tool::ffmpeg()
            .args(["-ignore_editlist", "1", "-i"])
            .arg(&path);
        taken.args(["-c", "copy"]).arg(&adts).run(DEADLINE);
        let track = track_of(&path);
        assert_eq!(track.padding, Padding::default(), "less than two frames");
        expected.extend(payloads(&std::fs::read(adts).expect("made")));
        files.push((track, Vec::new()));
    }
    let mut station = Station::of(files[0].0.format, files);
    station.play();
    let played = station.samples();
    let played = played.map(|sample| sample.data[AdtsHeader::BYTES..].to_vec());
    assert!(played.eq(expected), "every frame once and in order");
    let frames = station.samples().count() as u64;
    let exact = Span::from_samples(frames * 1_024, 44_100);
    assert_eq!(station.end() - Timestamp::ZERO, exact);
    let ahead = station.ahead();
    assert!((0..=1_000).contains(&ahead), "{ahead} ms ahead");
}

/// Payloads of ADTS frames.
fn payloads(adts: &[u8]) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    let mut rest = adts;
    while let Some(header) = AdtsHeader::parse(rest) {
        let (frame, behind) = rest.split_at(header.frame_bytes);
        frames.push(frame[header.header_bytes..].to_vec());
        rest = behind;
    }
    assert!(rest.is_empty() && !frames.is_empty());
    frames
}

#[test]
fn what_was_missed_is_not_sent_at_once() {
    let audio = (0..9_000).flat_map(|at| frame(at, true)).collect();
    let mut station = Station::new(Codec::Mp3, vec![(track(Codec::Mp3), audio)]);
    let at = station.wake().expect("it goes on");
    let written = |station: &Station| {
        let durations = station.samples().map(|sample| sample.duration);
        durations.fold(Span::ZERO, |sum, one| sum + one).millis()
    };
    let first = written(&station);
    assert!((973..=1_000).contains(&first), "{first} ms");
    // A wake-up that is late by less than the lead is caught up with.
    station.now = at + Duration::from_millis(600);
    let at = station.wake().expect("it goes on");
    let caught_up = written(&station) - first;
    assert!((800..=900).contains(&caught_up), "{caught_up} ms");
    station.now = at + Duration::from_secs(60);
    let at = station.wake().expect("it goes on");
    let after = written(&station) - first - caught_up;
    assert!((973..=1_000).contains(&after), "{after} ms");
    assert!(at <= station.now + BATCH + Duration::from_millis(27));
}

#[test]
fn a_skip_leaves_out_what_is_not_written() {
    let file = |first: u32| {
        let frames = (first..first + 200).flat_map(|at| frame(at, true));
        frames.collect()
    };
    let [one, other] = [0, 1_000].map(|first| (track(Codec::Mp3), file(first)));
    let mut station = Station::new(Codec::Mp3, vec![one, other]);
    station.now = station.wake().expect("it goes on");
    let before = station.samples().count();
    station.playout.skip();
    station.present = Box::new(Vec::new);
    station.wake();
    let samples = station.samples();
    let numbers: Vec<_> = samples.map(|sample| number(&sample.data)).collect();
    assert_eq!(numbers[before - 1..=before], [before as u32 - 1, 1_000]);
    let first = station.samples().next().expect("a frame");
    assert_eq!(first.data.len(), FRAME_BYTES);
}

#[test]
fn opus_is_one_stream_over_all_files() {
    let files = (0..3).map(|at| (track(Codec::Opus), opus_file(2, 100 + at, None, 0)));
    let mut station = Station::new(Codec::Opus, files.collect());
    let mut items = Vec::new();
    station.playout.announce(&mut items);
    let Item::Header(header) = &items[0] else {
        panic!("Ogg begins with its header");
    };
    assert!(OpusPackets::head(header).is_some());
    station.play();
    let mut packets = OpusPackets::default();
    let mut found = Vec::new();
    for page in station.samples() {
        packets.push(page, &mut found);
    }
    // The last page is not full.
    let count = found.len();
    assert!((300..=303).contains(&count), "{count} packets");
    let lasts = Span::from_millis(20 * count as i64);
    assert_eq!(station.end() - Timestamp::ZERO, lasts);
}
