//! To 48 kHz, sample-exact.
//!
//! Output frame `k` is the sound at time `k / 48 000` of the input: the filter's delay is cut off
//! at the start and flushed at the end, so a run of `n` frames gives the `n · 48 000 / rate` frames
//! of the same time.

use audioadapter_buffers::direct::InterleavedSlice;
use rubato::{Fft, FixedSync, Resampler as _, WindowFunction};

use crate::{Frame, OUTPUT_RATE};

const CHANNELS: usize = 2;

/// Transforms per second, as far as the ratio of the rates allows. Some 13 ms keep the filter steep
/// (at 44.1 kHz it passes 19 kHz whole) and its delay at half of that.
const BLOCKS_PER_SECOND: u32 = 80;

/// Turns one uninterrupted run of sound to 48 kHz.
pub(crate) struct Resampler {
    rate: u32,
    /// `None` when there is nothing to do.
    filter: Option<Filter>,
    /// Frames taken and returned, for the exact length of the whole.
    taken: u64,
    given: u64,
}

struct Filter {
    fft: Fft<f32>,
    /// Input frames that one transform takes, and output frames that it gives.
    block_in: usize,
    block_out: usize,
    /// Input that waits for its block to fill; shorter than a block.
    pending: Vec<Frame>,
    /// Output frames still to be cut off.
    delay_left: usize,
    scratch: Vec<Frame>,
}

impl Resampler {
    /// A resampler from `rate` Hz. `None` when no filter can be made for the rate.
    pub(crate) fn new(rate: u32) -> Option<Self> {
        let filter = if rate == OUTPUT_RATE {
            None
        } else {
            Some(Filter::new(rate)?)
        };
        Some(Self {
            rate,
            filter,
            taken: 0,
            given: 0,
        })
    }

    /// Takes `frames`, appending to `out` what is ready.
    pub(crate) fn push(&mut self, frames: &[Frame], out: &mut Vec<Frame>) {
        self.taken += frames.len() as u64;
        let before = out.len();
        match &mut self.filter {
            None => out.extend_from_slice(frames),
            Some(filter) => filter.push(frames, out),
        }
        self.given += (out.len() - before) as u64;
    }

    /// Appends what is left, to the exact length.
    pub(crate) fn finish(&mut self, out: &mut Vec<Frame>) {
        let rate = u64::from(self.rate);
        let due = (self.taken * u64::from(OUTPUT_RATE) + rate / 2) / rate;
        if let Some(filter) = &mut self.filter {
            let mut tail = Vec::new();
            // The filter's delay is half a block, so two blocks of silence push all of it out.
            filter.push(&vec![[0.0; CHANNELS]; 2 * filter.block_in], &mut tail);
            let left = usize::try_from(due.saturating_sub(self.given)).unwrap_or(usize::MAX);
            tail.truncate(left);
            self.given += tail.len() as u64;
            out.append(&mut tail);
        }
        debug_assert_eq!(self.given, due);
    }
}

impl Filter {
    fn new(rate: u32) -> Option<Self> {
        let mut fft = transform(rate, (rate / BLOCKS_PER_SECOND) as usize)?;
        // The filter is centred on half a block, which must be a whole number of frames on both sides
        // for its delay to be one.
        if fft.input_frames_next() % 2 == 1 || fft.output_frames_next() % 2 == 1 {
            fft = transform(rate, 2 * fft.input_frames_next())?;
        }
        let (block_in, block_out) = (fft.input_frames_next(), fft.output_frames_next());
        Some(Self {
            block_in,
            block_out,
            pending: Vec::with_capacity(block_in),
            delay_left: fft.output_delay(),
            scratch: vec![[0.0; CHANNELS]; block_out],
            fft,
        })
    }

    fn push(&mut self, mut frames: &[Frame], out: &mut Vec<Frame>) {
        loop {
            let missing = self.block_in - self.pending.len();
            if frames.len() < missing {
                self.pending.extend_from_slice(frames);
                return;
            }
            let (head, rest) = frames.split_at(missing);
            self.pending.extend_from_slice(head);
            frames = rest;
            self.transform();
            self.pending.clear();
            let cut = self.delay_left.min(self.block_out);
            self.delay_left -= cut;
            out.extend_from_slice(&self.scratch[cut..]);
        }
    }

    fn transform(&mut self) {
        let input = InterleavedSlice::new(self.pending.as_flattened(), CHANNELS, self.block_in)
            .expect("a whole block is pending");
        let mut output =
            InterleavedSlice::new_mut(self.scratch.as_flattened_mut(), CHANNELS, self.block_out)
                .expect("the scratch holds a block of output");
        self.fft
            .process_into_buffer(&input, &mut output, None)
            .expect("both buffers are as long as the filter asked for");
    }
}

/// A resampler whose block is the first possible length from `frames` on.
fn transform(rate: u32, frames: usize) -> Option<Fft<f32>> {
    Fft::new_custom(
        rate as usize,
        OUTPUT_RATE as usize,
        frames,
        1,
        CHANNELS,
        WindowFunction::BlackmanHarris2,
        FixedSync::Both,
    )
    .ok()
}

#[cfg(test)]
mod tests {
    use std::f32::consts::TAU;

    use super::*;

    const RATES: [u32; 13] = [
        96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025,
        8_000, 7_350,
    ];

    fn tone(rate: u32, hertz: f32, count: usize) -> Vec<Frame> {
        (0..count)
            .map(|at| {
                let value = 0.5 * (TAU * hertz * at as f32 / rate as f32).sin();
                [value, -value]
            })
            .collect()
    }

    fn resampled(rate: u32, input: &[Frame], step: usize) -> Vec<Frame> {
        let mut resampler = Resampler::new(rate).expect("a rate of the table");
        let mut out = Vec::new();
        for part in input.chunks(step) {
            resampler.push(part, &mut out);
        }
        resampler.finish(&mut out);
        out
    }

    #[test]
    fn every_rate_keeps_time_and_level() {
        for rate in RATES {
            let count = rate as usize / 2 + 77;
            let out = resampled(rate, &tone(rate, 1_000.0, count), 1_024);
            let due = (count as f64 * 48_000.0 / f64::from(rate)).round() as usize;
            assert_eq!(out.len(), due, "{rate} Hz");
            let wanted = tone(48_000, 1_000.0, out.len());
            let inside = 2_000..out.len() - 2_000;
            let worst = out[inside.clone()]
                .iter()
                .zip(&wanted[inside])
                .map(|(got, want)| (got[0] - want[0]).abs().max((got[1] - want[1]).abs()))
                .fold(0.0, f32::max);
            assert!(worst < 0.002, "{rate} Hz: off by {worst}");
        }
    }

    #[test]
    fn high_notes_pass() {
        let out = resampled(44_100, &tone(44_100, 19_000.0, 22_050), 1_152);
        let power = out[2_000..22_000]
            .iter()
            .map(|frame| frame[0] * frame[0])
            .sum::<f32>()
            / 20_000.0;
        assert!((power - 0.125).abs() < 0.005, "{power}");
    }

    #[test]
    fn the_cut_of_the_input_makes_no_difference() {
        let input = tone(44_100, 440.0, 5_000);
        let whole = resampled(44_100, &input, 5_000);
        for step in [1, 7, 441, 1_024] {
            assert_eq!(resampled(44_100, &input, step), whole, "steps of {step}");
        }
    }
}
