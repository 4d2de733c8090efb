//! Play-out: tracks to samples of one stream, each when it is due.
//!
//! ```text
//!  begin(track) ─┐
//!  push(bytes) ──┼─► frames ─► pace ─► items of 250 ms
//!  finish() ─────┘              ▲
//!                             now ─► the next wake-up
//! ```
//!
//! Time is counted in samples from the beginning of the epoch, over all tracks, so a join of two has neither hole nor
//! overlap. What is written is [`LEAD`] ahead of the clock at most. A play-out that wakes up too late goes on as at its
//! beginning: what it missed is not sent at once. It opens no file and reads no clock.
//!
//! Called by [`station`](crate::station), by one task for each station.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use container::ogg::OpusMuxer;
use media::codec::opus;
use media::{
    Codec, Container, Framing, Item, Kind, Sample, Span, TICKS_PER_SECOND, Timestamp, Title,
    TrackId,
};

use crate::track::{Format, Frame, Reel, Track};

/// How far ahead of the clock samples are written at most: what a slow disk and a late wake-up may take without a gap.
pub(crate) const LEAD: Duration = Duration::from_secs(1);

/// What is written at once: a wake-up four times a second costs nothing.
const BATCH: Duration = Duration::from_millis(250);

/// What a play-out needs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Need {
    /// More bytes of the file.
    Bytes,
    /// The next track.
    Track,
    /// To be asked again at that time.
    Time(Instant),
}

/// See the module's description.
#[derive(Debug)]
pub(crate) struct Playout {
    format: Format,
    /// When the first sample was, or would have been, heard.
    origin: Instant,
    /// Samples written so far.
    samples: u64,
    reel: Option<Reel>,
    frames: VecDeque<Frame>,
    /// Of the track that has begun, until its first frame is written.
    title: Option<Arc<Title>>,
    /// For Opus.
    pages: Option<Pages>,
}

/// One logical stream of Ogg over all tracks: browsers play no other.
#[derive(Debug)]
struct Pages {
    muxer: OpusMuxer,
    /// Where the next page begins.
    began: Timestamp,
    /// Samples that positions count beyond the time.
    pre_skip: u64,
}

impl Playout {
    /// A play-out that begins now. Streams of Ogg that follow each other have different numbers.
    pub(crate) fn new(format: Format, serial: u32, now: Instant) -> Self {
        let pages = (format.codec == Codec::Opus).then(|| Pages::new(format, serial));
        Self {
            format,
            origin: now,
            samples: 0,
            reel: None,
            frames: VecDeque::new(),
            title: None,
            pages,
        }
    }

    pub(crate) fn format(&self) -> Format {
        self.format
    }

    /// Samples that have been written.
    pub(crate) fn samples(&self) -> u64 {
        self.samples
    }

    /// What its listeners are sent.
    pub(crate) fn container(format: Format) -> (Container, &'static str) {
        match format.codec {
            Codec::Opus => (Container::Ogg, "audio/ogg"),
            _ => (Container::Mp3, "audio/mpeg"),
        }
    }

    /// What an epoch begins with.
    pub(crate) fn announce(&self, out: &mut Vec<Item>) {
        let header = self.pages.as_ref().map(|pages| pages.muxer.header(None));
        out.extend(header.map(|header| Item::Header(header.into())));
        out.push(Item::Track(Arc::new(media::Track {
            id: TrackId::AUDIO,
            kind: Kind::Audio,
            codec: self.format.codec,
            framing: Framing::SelfFramed,
            config: Bytes::new(),
            sample_rate: self.format.rate,
            channels: self.format.channels,
            flv: None,
        })));
    }

    /// The next track begins, behind what is left of the last one.
    pub(crate) fn begin(&mut self, track: &Track) {
        self.reel = Some(Reel::new(track));
        self.title = Some(Arc::new(Title {
            text: track.title.clone(),
            url: String::new(),
        }));
    }

    /// The next bytes of the file.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        if let Some(reel) = &mut self.reel {
            reel.push(bytes, &mut self.frames);
        }
    }

    /// The file has ended.
    pub(crate) fn finish(&mut self) {
        if let Some(mut reel) = self.reel.take() {
            reel.finish(&mut self.frames);
        }
    }

    /// The track ends here.
    pub(crate) fn skip(&mut self) {
        self.reel = None;
        self.frames.clear();
    }

    /// Appends what is due to `out`, and tells what is needed next.
    pub(crate) fn step(&mut self, now: Instant, out: &mut Vec<Item>) -> Need {
        let elapsed = now.saturating_duration_since(self.origin);
        if let Some(late) = elapsed.checked_sub(self.written()) {
            self.origin += late;
        }
        let until = now.saturating_duration_since(self.origin) + LEAD;
        let next = self.written() + BATCH;
        if next > until {
            return Need::Time(self.origin + next - LEAD);
        }
        while let Some(frame) = self.frames.front() {
            if self.after(frame.samples) > until {
                return Need::Time(self.origin + self.written() + BATCH - LEAD);
            }
            if let Some(frame) = self.frames.pop_front() {
                self.write(frame, out);
            }
        }
        match self.reel {
            Some(_) => Need::Bytes,
            None => Need::Track,
        }
    }

    /// How much has been written.
    fn written(&self) -> Duration {
        self.after(0)
    }

    /// The same after some more samples.
    fn after(&self, samples: u32) -> Duration {
        let samples = self.samples + u64::from(samples);
        let rate = u64::from(self.format.rate.max(1));
        let rest = (samples % rate) * 1_000_000_000 / rate;
        Duration::from_secs(samples / rate) + Duration::from_nanos(rest)
    }

    fn write(&mut self, frame: Frame, out: &mut Vec<Item>) {
        out.extend(self.title.take().map(Item::Title));
        let at = Timestamp::ZERO + Span::from_samples(self.samples, self.format.rate);
        self.samples += u64::from(frame.samples);
        let end = Timestamp::ZERO + Span::from_samples(self.samples, self.format.rate);
        let sample = sample(at, end - at, frame.data);
        match &mut self.pages {
            Some(pages) => pages.push(&sample, out),
            None => out.push(Item::Sample(sample)),
        }
    }
}

impl Pages {
    fn new(format: Format, serial: u32) -> Self {
        let mut head = opus::head(format.channels);
        head[16..18].copy_from_slice(&format.gain.to_le_bytes());
        let pre_skip = u64::from(u16::from_le_bytes([head[10], head[11]]));
        let track = media::Track {
            id: TrackId::AUDIO,
            kind: Kind::Audio,
            codec: Codec::Opus,
            framing: Framing::Bare,
            config: Bytes::copy_from_slice(&head),
            sample_rate: opus::RATE,
            channels: format.channels,
            flv: None,
        };
        Self {
            muxer: OpusMuxer::new(&track, serial),
            began: Timestamp::ZERO,
            pre_skip,
        }
    }

    fn push(&mut self, packet: &Sample, out: &mut Vec<Item>) {
        let Self {
            muxer,
            began,
            pre_skip,
        } = self;
        muxer.push(packet, |_, page| {
            // A page's position is that of its end.
            let position = page.get(6..).and_then(|rest| rest.first_chunk());
            let samples = position.map_or(0, |bytes| u64::from_le_bytes(*bytes));
            let samples = samples.saturating_sub(*pre_skip);
            let end = Timestamp::ZERO + Span::from_samples(samples, opus::RATE);
            let begins = std::mem::replace(began, end);
            let page = Bytes::copy_from_slice(page);
            out.push(Item::Sample(sample(begins, end - begins, page)));
        });
    }
}

fn sample(at: Timestamp, duration: Span, data: Bytes) -> Sample {
    debug_assert!(duration.ticks() <= TICKS_PER_SECOND);
    Sample {
        track: TrackId::AUDIO,
        dts: at,
        pts: at,
        duration,
        keyframe: true,
        data,
        flv: None,
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use container::ogg::OpusPackets;

    use super::*;
    use crate::track::Padding;
    use crate::track::testing::{FRAME_BYTES, frame, info_frame, number, opus_file};

    fn track(codec: Codec, title: &str) -> Track {
        let rate = if codec == Codec::Opus {
            opus::RATE
        } else {
            44_100
        };
        Track {
            path: PathBuf::new(),
            name: String::new(),
            title: title.to_owned(),
            format: Format {
                codec,
                rate,
                channels: 2,
                gain: 0,
            },
            length: None,
            start: 0,
            padding: Padding::default(),
        }
    }

    /// A driver without clock and disk: plays files one after the other, and wakes up when it is told to.
    struct Station {
        playout: Playout,
        files: std::vec::IntoIter<(Track, Vec<u8>)>,
        present: Vec<u8>,
        now: Instant,
        began: Instant,
        items: Vec<Item>,
    }

    impl Station {
        fn new(codec: Codec, files: Vec<(Track, Vec<u8>)>) -> Self {
            let now = Instant::now();
            Self {
                playout: Playout::new(track(codec, "").format, 9, now),
                files: files.into_iter(),
                present: Vec::new(),
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
                    Need::Bytes if self.present.is_empty() => self.playout.finish(),
                    Need::Bytes => {
                        let rest = self.present.split_off(self.present.len().min(65_536));
                        let chunk = std::mem::replace(&mut self.present, rest);
                        self.playout.push(&chunk);
                    }
                    Need::Track => {
                        let (track, file) = self.files.next()?;
                        self.playout.begin(&track);
                        self.present = file;
                    }
                }
            }
        }

        fn samples(&self) -> impl Iterator<Item = &Sample> {
            self.items.iter().filter_map(|item| match item {
                Item::Sample(sample) => Some(sample),
                _ => None,
            })
        }

        fn written(&self) -> Span {
            self.samples()
                .map(|sample| sample.duration)
                .fold(Span::ZERO, |sum, one| sum + one)
        }
    }

    #[test]
    fn an_hour_of_twenty_files_is_exact_to_the_sample() {
        // Three minutes each, and some frames more.
        let frames = |file: u32| 6_891 + file;
        let files = (0..20).map(|file| {
            let sound = (0..frames(file)).flat_map(|at| frame(file << 16 | at, at == 0));
            let bytes = info_frame(frames(file), 576, 1_000)
                .into_iter()
                .chain(sound);
            (track(Codec::Mp3, &format!("Song {file}")), bytes.collect())
        });
        let mut station = Station::new(Codec::Mp3, files.collect());
        while let Some(at) = station.wake() {
            assert!(at > station.now, "it always waits");
            let lead = station.playout.written() - (station.now - station.began);
            let bounds = LEAD - BATCH..=LEAD;
            assert!(bounds.contains(&lead), "{lead:?} ahead");
            station.now = at;
        }
        let total: u32 = (0..20).map(frames).sum();
        let played: Vec<_> = station
            .samples()
            .map(|sample| number(&sample.data))
            .collect();
        let expected = (0..20).flat_map(|file| (0..frames(file)).map(move |at| file << 16 | at));
        assert!(
            played.iter().copied().eq(expected),
            "every frame once and in order"
        );
        let mut end = Timestamp::ZERO;
        for sample in station.samples() {
            assert_eq!(sample.dts, end, "no hole and no overlap");
            end += sample.duration;
        }
        let exact = Span::from_samples(u64::from(total) * 1_152, 44_100);
        assert_eq!(end - Timestamp::ZERO, exact);
        let titles: Vec<_> = station
            .items
            .iter()
            .filter_map(|item| match item {
                Item::Title(title) => Some(&title.text[..]),
                _ => None,
            })
            .collect();
        assert_eq!((titles.len(), titles[19]), (20, "Song 19"));
        let elapsed = Span::from(station.now - station.began);
        let ahead = exact.millis() - elapsed.millis();
        assert!(
            (0..=1_000).contains(&ahead),
            "at the pace of the clock: {ahead} ms"
        );
    }

    #[test]
    fn what_was_missed_is_not_sent_at_once() {
        let sound = (0..9_000).flat_map(|at| frame(at, true)).collect();
        let mut station = Station::new(Codec::Mp3, vec![(track(Codec::Mp3, "a"), sound)]);
        let at = station.wake().expect("it goes on");
        let first = station.written().millis();
        assert!((973..=1_000).contains(&first), "{first} ms");
        // A wake-up that is late by less than the lead is caught up with.
        station.now = at + Duration::from_millis(600);
        let at = station.wake().expect("it goes on");
        let caught_up = station.written().millis() - first;
        assert!((800..=900).contains(&caught_up), "{caught_up} ms");
        station.now = at + Duration::from_secs(60);
        let at = station.wake().expect("it goes on");
        let after = station.written().millis() - first - caught_up;
        assert!((973..=1_000).contains(&after), "{after} ms");
        assert!(at <= station.now + BATCH + Duration::from_millis(27));
    }

    #[test]
    fn a_skip_leaves_out_what_is_not_written() {
        let file = |first: u32| {
            (first..first + 200)
                .flat_map(|at| frame(at, true))
                .collect()
        };
        let [one, other] = [0, 1_000].map(|first| (track(Codec::Mp3, "a"), file(first)));
        let mut station = Station::new(Codec::Mp3, vec![one, other]);
        station.now = station.wake().expect("it goes on");
        let before = station.samples().count();
        station.playout.skip();
        station.present.clear();
        station.wake();
        let numbers: Vec<_> = station
            .samples()
            .map(|sample| number(&sample.data))
            .collect();
        assert_eq!(numbers[before - 1..=before], [before as u32 - 1, 1_000]);
        assert_eq!(
            FRAME_BYTES,
            station.samples().next().expect("a frame").data.len()
        );
    }

    #[test]
    fn opus_is_one_stream_over_all_files() {
        let files = (0..3).map(|at| (track(Codec::Opus, "a"), opus_file(2, 100 + at, None, 0)));
        let mut station = Station::new(Codec::Opus, files.collect());
        let mut items = Vec::new();
        station.playout.announce(&mut items);
        let Item::Header(header) = &items[0] else {
            panic!("Ogg begins with its header");
        };
        assert!(OpusPackets::head(header).is_some());
        while let Some(at) = station.wake() {
            station.now = at;
        }
        let mut packets = OpusPackets::default();
        let mut found = Vec::new();
        let mut end = Timestamp::ZERO;
        for page in station.samples() {
            assert_eq!(page.dts, end);
            end += page.duration;
            packets.push(page, &mut found);
        }
        // The last page is not full.
        assert!(
            (300..=303).contains(&found.len()),
            "{} packets",
            found.len()
        );
        assert_eq!(
            end - Timestamp::ZERO,
            Span::from_millis(20 * found.len() as i64)
        );
    }
}
