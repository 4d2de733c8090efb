//! Play-out: tracks to samples of one stream, each when it is due.
//!
//! ```text
//!  begin(track) ─┐
//!  push(chunk) ──┼─► frames ─► pace ─► items of 250 ms
//!  finish() ─────┘              ▲
//!                             now ─► the next wake-up
//! ```
//!
//! Time is counted in samples from the beginning of the epoch, over all tracks, so a join of two has neither hole nor
//! overlap. What is written is [`LEAD`] ahead of the clock at most. A play-out that wakes up too late goes on as at its
//! beginning: what it missed is not sent at once. It opens no file and reads no clock.
//!
//! Called by [`station`](crate::station), by one task for each station.

mod pages;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use media::{
    Codec, Container, Framing, Item, Kind, Sample, Span, TICKS_PER_SECOND, Timestamp, Title,
    TrackId,
};

use self::pages::Pages;
use crate::track::{Chunk, Format, Frame, Reel, Track, configuration};

/// How far ahead of the clock samples are written at most: what a slow disk and a late wake-up may take without a gap.
pub(crate) const LEAD: Duration = Duration::from_secs(1);

/// What is written at once: a wake-up four times a second costs nothing.
const BATCH: Duration = Duration::from_millis(250);

/// What a play-out needs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Need {
    /// More of the file.
    Chunk,
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
            Codec::Aac => (Container::Adts, "audio/aac"),
            _ => (Container::Mp3, "audio/mpeg"),
        }
    }

    /// What an epoch begins with.
    pub(crate) fn announce(&self, out: &mut Vec<Item>) {
        let header = self.pages.as_ref().map(Pages::header);
        out.extend(header.map(|header| Item::Header(header.into())));
        out.push(Item::Track(Arc::new(media::Track {
            id: TrackId::AUDIO,
            kind: Kind::Audio,
            codec: self.format.codec,
            framing: Framing::SelfFramed,
            config: match self.format.codec {
                Codec::Aac => configuration(self.format)
                    .map_or_else(Bytes::new, |config| Bytes::copy_from_slice(&config)),
                _ => Bytes::new(),
            },
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

    /// The next piece of the file.
    pub(crate) fn push(&mut self, chunk: Chunk) {
        if let Some(reel) = &mut self.reel {
            reel.push(chunk, &mut self.frames);
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
            Some(_) => Need::Chunk,
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

/// A sample of the station's one track.
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
