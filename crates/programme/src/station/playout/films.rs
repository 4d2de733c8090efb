//! Films, one after another: the audio and video of each keep their times, and each begins where the previous one
//! ended.
//!
//! ```text
//!  video  │ film      │ film         │
//!  audio  │ film        │ film     │
//!                       └ presented from here on: the end of the longer of both
//! ```

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use media::{Item, Sample, Span, TICKS_PER_SECOND, Timestamp};

use super::Line;
use crate::station::track::{Film, Track};

/// Least time between samples of a track, as FLV counts them.
const STEP: Span = Span::from_millis(1);

/// Joiner of films; a [`Line`].
#[derive(Debug, Default)]
pub(super) struct Films {
    film: Option<Film>,
    /// Items that can be written, on the film's clock.
    items: VecDeque<Item>,
    /// Shift from the film's own clock to the stream's; known once the film has its first samples.
    shift: Option<Span>,
    /// End of everything written so far.
    end: Timestamp,
    /// Configurations that listeners have, each with the decoding time of its track's last sample.
    tracks: Vec<(Arc<media::Track>, Timestamp)>,
    samples: u64,
}

impl Films {
    /// Sets the shift of a film. The film begins where the last one ended, or later if one of its samples would
    /// otherwise be decoded before the last film's samples.
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

    /// Appends a configuration, unless listeners have it already.
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

    /// Returns the decoding time of the next sample.
    fn next(&self) -> Option<Timestamp> {
        self.items.iter().find_map(|item| match item {
            Item::Sample(sample) => Some(self.placed(sample).0),
            _ => None,
        })
    }

    /// Returns the decoding and the presentation time of a sample on the stream's clock.
    fn placed(&self, sample: &Sample) -> (Timestamp, Timestamp) {
        let shift = self.shift.unwrap_or_default();
        (sample.dts + shift, sample.pts + shift)
    }
}

impl Line for Films {
    fn announce(&self, _out: &mut Vec<Item>) {
        // Each film brings its own configurations.
    }

    fn begin(&mut self, track: &Track) {
        self.film = Some(Film::new(track.format));
        self.shift = None;
    }

    fn push(&mut self, items: Vec<Item>) {
        if let Some(film) = &mut self.film {
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
        // A video frame may last long, so it is due at its decoding time.
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

/// Converts a span for comparison with the machine's clock.
fn duration(span: Span) -> Duration {
    let ticks = u64::try_from(span.ticks()).unwrap_or(0);
    let second = TICKS_PER_SECOND.unsigned_abs();
    let nanos = u128::from(ticks % second) * 1_000_000_000 / u128::from(second);
    Duration::new(ticks / second, nanos as u32)
}
