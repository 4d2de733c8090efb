//! Songs, one after another: time is a count of samples, so it is exact over any number of tracks.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use media::{Codec, Framing, Item, Kind, Sample, Span, TICKS_PER_SECOND, Timestamp, TrackId};

use super::Line;
use super::pages::Pages;
use crate::station::track::{Format, Frame, Reel, Track, configuration};

/// Joiner of songs; a [`Line`].
#[derive(Debug)]
pub(super) struct Songs {
    format: Format,
    /// Samples written so far.
    samples: u64,
    reel: Option<Reel>,
    frames: VecDeque<Frame>,
    /// Packer of pages, for Opus.
    pages: Option<Pages>,
}

impl Songs {
    /// Makes a joiner for songs of one format.
    pub(super) fn new(format: Format, serial: u32) -> Self {
        Self {
            format,
            samples: 0,
            reel: None,
            frames: VecDeque::new(),
            pages: (format.codec == Codec::Opus).then(|| Pages::new(format, serial)),
        }
    }

    /// Returns the duration written after `samples` more samples.
    fn after(&self, samples: u32) -> Duration {
        let samples = self.samples + u64::from(samples);
        let rate = u64::from(self.format.rate.max(1));
        let rest = (samples % rate) * 1_000_000_000 / rate;
        Duration::from_secs(samples / rate) + Duration::from_nanos(rest)
    }
}

impl Line for Songs {
    fn announce(&self, out: &mut Vec<Item>) {
        let header = self.pages.as_ref().map(Pages::header);
        out.extend(header.map(|header| Item::Header(header.into())));
        let codec = self.format.codec;
        let mut track = media::Track::new(TrackId::AUDIO, Kind::Audio, codec, Framing::SelfFramed);
        (track.sample_rate, track.channels) = (self.format.rate, self.format.channels);
        if codec == Codec::Aac
            && let Some(config) = configuration(self.format)
        {
            track.config = Bytes::copy_from_slice(&config);
        }
        out.push(Item::Track(Arc::new(track)));
    }

    fn begin(&mut self, track: &Track) {
        self.reel = Some(Reel::new(track));
    }

    fn push(&mut self, items: Vec<Item>) {
        if let Some(reel) = &mut self.reel {
            reel.push(items, &mut self.frames);
        }
    }

    fn finish(&mut self) {
        if let Some(mut reel) = self.reel.take() {
            reel.finish(&mut self.frames);
        }
    }

    fn skip(&mut self) {
        self.reel = None;
        self.frames.clear();
    }

    fn has_file(&self) -> bool {
        self.reel.is_some()
    }

    fn next_due(&self) -> Option<Duration> {
        let frame = self.frames.front()?;
        Some(self.after(frame.samples))
    }

    fn write(&mut self, out: &mut Vec<Item>) {
        let Some(frame) = self.frames.pop_front() else {
            return;
        };
        let at = Timestamp::ZERO + Span::from_samples(self.samples, self.format.rate);
        self.samples += u64::from(frame.samples);
        let end = Timestamp::ZERO + Span::from_samples(self.samples, self.format.rate);
        let sample = sample(at, end - at, frame.data);
        match &mut self.pages {
            Some(pages) => pages.push(&sample, out),
            None => out.push(Item::Sample(sample)),
        }
    }

    fn reached(&self) -> Duration {
        self.after(0)
    }

    fn samples(&self) -> u64 {
        self.samples
    }
}

/// Makes a sample of the station's only track.
pub(super) fn sample(at: Timestamp, duration: Span, data: Bytes) -> Sample {
    debug_assert!(duration.ticks() <= TICKS_PER_SECOND);
    Sample::frame(TrackId::AUDIO, at, duration, data)
}
