//! Films, one after the other: pictures and sound of each keep their times, and it begins where the one before ended.
//!
//! ```text
//! pictures  │ film      │ film         │
//! sound     │ film        │ film     │
//!                         └ presented from here on, the end of the longer of both
//! ```

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use media::{Item, Sample, Span, TICKS_PER_SECOND, Timestamp};

use super::Line;
use crate::track::{Chunk, Film, Track};

/// The least time between samples of a track, as FLV counts them.
const STEP: Span = Span::from_millis(1);

/// See the module's description.
#[derive(Debug, Default)]
pub(super) struct Films {
    film: Option<Film>,
    /// What can be written, by the film's clock.
    items: VecDeque<Item>,
    /// How much later than on its own clock the film is; known once it has its first samples.
    shift: Option<Span>,
    /// When all that was written ends.
    end: Timestamp,
    /// The configurations that listeners have, and when the last sample of each track is decoded.
    tracks: Vec<(Arc<media::Track>, Timestamp)>,
    samples: u64,
}

impl Films {
    /// A film's distance from its own clock: its beginning comes where the last film ended, but for samples which would
    /// be decoded before those of the last film; it is as much later then.
    fn place(&mut self) {
        if self.shift.is_some() || self.items.is_empty() {
            return;
        }
        let mut shift = self.end - Timestamp::ZERO;
        for (track, last) in self.tracks.iter().filter(|_| self.samples > 0) {
            let mut samples = self.items.iter().filter_map(|item| match item {
                Item::Sample(sample) if sample.track == track.id => Some(sample),
                _ => None,
            });
            if let Some(first) = samples.next() {
                shift = shift.max(*last + STEP - first.dts);
            }
        }
        self.shift = Some(shift);
    }

    /// Appends a configuration, unless listeners have it.
    fn announce(&mut self, track: Arc<media::Track>, out: &mut Vec<Item>) {
        let known = self
            .tracks
            .iter_mut()
            .find(|(known, _)| known.id == track.id);
        match known {
            Some((known, _)) if *known == track => return,
            Some((known, _)) => *known = Arc::clone(&track),
            None => self.tracks.push((Arc::clone(&track), Timestamp::ZERO)),
        }
        out.push(Item::Track(track));
    }

    /// When the next sample is decoded.
    fn next(&self) -> Option<Timestamp> {
        self.items.iter().find_map(|item| match item {
            Item::Sample(sample) => Some(self.placed(sample).0),
            _ => None,
        })
    }

    /// When a sample is decoded and presented, on the stream's clock.
    fn placed(&self, sample: &Sample) -> (Timestamp, Timestamp) {
        let shift = self.shift.unwrap_or_default();
        (sample.dts + shift, sample.pts + shift)
    }
}

impl Line for Films {
    fn announce(&self, _out: &mut Vec<Item>) {
        // Each film brings its own.
    }

    fn begin(&mut self, track: &Track) {
        self.film = Some(Film::new(track.format));
        self.shift = None;
    }

    fn push(&mut self, chunk: Chunk) {
        if let (Some(film), Chunk::Items(items)) = (&mut self.film, chunk) {
            film.push(items, &mut self.items);
            self.place();
        }
    }

    fn finish(&mut self) {
        if let Some(mut film) = self.film.take() {
            film.finish(&mut self.items);
            self.place();
        }
    }

    fn skip(&mut self) {
        self.film = None;
        self.items.clear();
    }

    fn has_file(&self) -> bool {
        self.film.is_some()
    }

    fn next_due(&self) -> Option<Duration> {
        // A picture may last for long: it is due when it is decoded.
        self.next().map(|at| duration(at - Timestamp::ZERO))
    }

    fn write(&mut self, out: &mut Vec<Item>) {
        while let Some(item) = self.items.pop_front() {
            let mut sample = match item {
                Item::Track(track) => {
                    self.announce(track, out);
                    continue;
                }
                Item::Sample(sample) => sample,
                _ => continue,
            };
            (sample.dts, sample.pts) = self.placed(&sample);
            let mut tracks = self.tracks.iter_mut();
            if let Some((_, last)) = tracks.find(|(track, _)| track.id == sample.track) {
                *last = sample.dts;
            }
            self.end = self.end.max(sample.pts + sample.duration);
            self.samples += 1;
            out.push(Item::Sample(sample));
            return;
        }
    }

    fn reached(&self) -> Duration {
        let last = self.tracks.iter().map(|(_, last)| *last).max();
        let last = last.unwrap_or_default();
        let reached = self.next().map_or(last, |next| next.max(last));
        duration(reached - Timestamp::ZERO)
    }

    fn samples(&self) -> u64 {
        self.samples
    }
}

/// A time that the clock of the machine can be compared with.
fn duration(span: Span) -> Duration {
    let ticks = u64::try_from(span.ticks()).unwrap_or(0);
    let second = TICKS_PER_SECOND.unsigned_abs();
    let nanos = u128::from(ticks % second) * 1_000_000_000 / u128::from(second);
    Duration::new(ticks / second, nanos as u32)
}
