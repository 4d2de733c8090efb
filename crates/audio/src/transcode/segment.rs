//! Run of audio at one rate, on the timeline.

use media::{Span, Timestamp};

use crate::transcode::Frame;
use crate::transcode::clock::{self, Step};
use crate::transcode::resample::Resampler;

/// Run that starts at one time, counts samples, and goes through one resampler.
pub(crate) struct Segment {
    pub(crate) rate: u32,
    start: Timestamp,
    /// Source samples taken since the start.
    taken: u64,
    /// Source samples to leave out before the next is taken.
    skip_left: usize,
    resampler: Resampler,
}

impl Segment {
    /// Creates a run that begins at `start`. `None` for a rate that no filter can be made for.
    pub(crate) fn new(start: Timestamp, rate: u32) -> Option<Self> {
        Some(Self {
            rate,
            start,
            taken: 0,
            skip_left: 0,
            resampler: Resampler::new(rate)?,
        })
    }

    /// Returns the action required before a frame stamped `at`.
    pub(crate) fn step(&self, at: Timestamp) -> Step {
        // Samples that will be left out still count as time.
        let skipped = Span::from_samples(self.skip_left as u64, self.rate);
        clock::step(self.end() - skipped, at, self.rate)
    }

    /// Leaves out the next `count` samples.
    pub(crate) fn skip(&mut self, count: usize) {
        self.skip_left = self.skip_left.saturating_add(count);
    }

    /// Reinstates up to `count` samples of those to be left out; returns their number.
    pub(crate) fn unskip(&mut self, count: usize) -> usize {
        let taken_back = self.skip_left.min(count);
        self.skip_left -= taken_back;
        taken_back
    }

    /// Takes `frames`, appending 48 kHz to `out`; returns the number of frames left out.
    pub(crate) fn push(&mut self, frames: &[Frame], out: &mut Vec<Frame>) -> usize {
        let left_out = self.unskip(frames.len());
        let frames = &frames[left_out..];
        self.taken += frames.len() as u64;
        self.resampler.push(frames, out);
        left_out
    }

    /// Appends the rest of the resampler's output.
    pub(crate) fn finish(mut self, out: &mut Vec<Frame>) {
        self.resampler.finish(out);
    }

    /// Returns the playback time of the next sample.
    fn end(&self) -> Timestamp {
        self.start + Span::from_samples(self.taken, self.rate)
    }
}
