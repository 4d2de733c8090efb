//! Resampler to 48 kHz, sample-exact.
//!
//! Output frame `k` is the input's audio at time `k / 48 000`: a windowed sinc around that time. For two rates the sinc has
//! only as many shapes as the ratio in lowest terms has steps. Time is counted in whole steps, so neither the split of the
//! input nor the length of a run moves a frame.

use std::f64::consts::PI;

use crate::transcode::{Frame, OUTPUT_RATE};

/// Input frames around an output frame from which it is computed, when the rate goes up; proportionally more when it goes down.
/// At 44.1 kHz the filter passes 19 kHz completely and looks ahead 0.5 ms.
const TAPS: usize = 48;

/// Largest number of steps of the ratio: that of 11.025 kHz, the most that a usual rate has. Each step has a shape of 192 bytes
/// or, from 96 kHz, of 384.
const STEPS_MAX: u32 = 640;

/// Number of sums that are kept side by side, for the processor's vectors.
const LANES: usize = 8;

/// Resampler of one uninterrupted run of audio to 48 kHz.
pub(crate) struct Resampler {
    rate: u32,
    /// Filter; `None` if the rate is already 48 kHz.
    filter: Option<Filter>,
    /// Frames taken and returned, for the exact length of the whole.
    taken: u64,
    given: u64,
}

struct Filter {
    /// Ratio of the rates in lowest terms: `input_steps` input frames correspond to `output_steps` output frames.
    input_steps: usize,
    output_steps: usize,
    /// Row of `taps` weights for each fraction of an input frame at which an output frame may lie.
    shapes: Vec<f32>,
    taps: usize,
    /// Input, by channel, starting with the first frame that the next output frame needs.
    pending: [Vec<f32>; 2],
    /// Position of the next output frame within its input frame, in output steps.
    phase: usize,
}

impl Resampler {
    /// Creates a resampler from `rate` Hz. `None` if its ratio to 48 kHz has too many steps.
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

    /// Takes `frames`, appending finished output to `out`.
    pub(crate) fn push(&mut self, frames: &[Frame], out: &mut Vec<Frame>) {
        self.taken += frames.len() as u64;
        let before = out.len();
        match &mut self.filter {
            None => out.extend_from_slice(frames),
            Some(filter) => filter.push(frames, out),
        }
        self.given += (out.len() - before) as u64;
    }

    /// Appends the rest, up to the exact length.
    pub(crate) fn finish(&mut self, out: &mut Vec<Frame>) {
        let rate = u64::from(self.rate);
        let due = (self.taken * u64::from(OUTPUT_RATE) + rate / 2) / rate;
        if let Some(filter) = &mut self.filter {
            let mut tail = Vec::new();
            filter.push(&vec![[0.0; 2]; filter.taps], &mut tail);
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
        let divisor = greatest_common_divisor(rate, OUTPUT_RATE);
        let (input_steps, output_steps) = (rate / divisor, OUTPUT_RATE / divisor);
        if input_steps == 0 || input_steps.max(output_steps) > STEPS_MAX {
            return None;
        }
        let stretch = (f64::from(rate) / f64::from(OUTPUT_RATE)).max(1.0);
        let taps = (TAPS as f64 * stretch).ceil() as usize;
        let taps = taps.next_multiple_of(LANES);
        let shapes = (0..output_steps)
            .flat_map(|phase| shape(f64::from(phase) / f64::from(output_steps), taps, stretch));
        Some(Self {
            input_steps: input_steps as usize,
            output_steps: output_steps as usize,
            shapes: shapes.collect(),
            taps,
            // Silence before the run: the first output frame coincides with the first input frame.
            pending: [vec![0.0; taps / 2 - 1], vec![0.0; taps / 2 - 1]],
            phase: 0,
        })
    }

    fn push(&mut self, frames: &[Frame], out: &mut Vec<Frame>) {
        let [left, right] = &mut self.pending;
        left.extend(frames.iter().map(|frame| frame[0]));
        right.extend(frames.iter().map(|frame| frame[1]));
        let mut at = 0;
        while at + self.taps <= left.len() {
            let weights = &self.shapes[self.phase * self.taps..][..self.taps];
            let window = at..at + self.taps;
            out.push(weighted(weights, &left[window.clone()], &right[window]));
            self.phase += self.input_steps;
            at += self.phase / self.output_steps;
            self.phase %= self.output_steps;
        }
        left.drain(..at);
        right.drain(..at);
    }
}

/// Returns the weights of the `taps` input frames around an output frame that lies `part` of a frame after the middle one: a
/// sinc as wide as the lower of both rates requires, under a window. Their sum is one, so that all shapes are equally loud.
fn shape(part: f64, taps: usize, stretch: f64) -> impl Iterator<Item = f32> {
    let half = taps as f64 / 2.0;
    let weight = |tap: usize| {
        let distance = tap as f64 - (half - 1.0) - part;
        sinc(distance / stretch) * blackman_harris(distance / half)
    };
    let weights: Vec<_> = (0..taps).map(weight).collect();
    let sum: f64 = weights.iter().sum();
    weights.into_iter().map(move |weight| (weight / sum) as f32)
}

fn sinc(x: f64) -> f64 {
    if x == 0.0 {
        1.0
    } else {
        (PI * x).sin() / (PI * x)
    }
}

/// Returns the window with four terms and side lobes of −92 dB (Harris 1978), from −1 to 1.
fn blackman_harris(x: f64) -> f64 {
    // The cosines of twice and three times the angle are polynomials of this one.
    let cosine = (PI * x).cos();
    0.217_47 + cosine * (0.453_25 + cosine * (0.282_56 + cosine * 0.046_72))
}

/// Returns the weighted sum of the frames. The lengths of all slices are multiples of [`LANES`].
fn weighted(weights: &[f32], left: &[f32], right: &[f32]) -> Frame {
    let mut sums = [[0.0; LANES]; 2];
    let channels = left.chunks_exact(LANES).zip(right.chunks_exact(LANES));
    for (weights, (left, right)) in weights.chunks_exact(LANES).zip(channels) {
        for lane in 0..LANES {
            sums[0][lane] += weights[lane] * left[lane];
            sums[1][lane] += weights[lane] * right[lane];
        }
    }
    sums.map(|mut sums| {
        // Added in pairs: one after the other, each addition would wait for the last.
        for half in [4, 2, 1] {
            for lane in 0..half {
                sums[lane] += sums[lane + half];
            }
        }
        sums[0]
    })
}

fn greatest_common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 {
        a
    } else {
        greatest_common_divisor(b, a % b)
    }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::TAU;

    use super::*;

    const RATES: [u32; 13] = [
        96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025,
        8_000, 7_350,
    ];

    fn tone(rate: u32, hertz: f64, count: usize) -> Vec<Frame> {
        let frame = |at| {
            let value = 0.5 * (TAU * hertz * f64::from(at) / f64::from(rate)).sin();
            [value as f32, -value as f32]
        };
        (0..count as u32).map(frame).collect()
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
            let inside = 500..out.len() - 500;
            let pairs = out[inside.clone()].iter().zip(&wanted[inside]);
            let apart =
                pairs.map(|(got, want)| (got[0] - want[0]).abs().max((got[1] - want[1]).abs()));
            let worst = apart.fold(0.0, f32::max);
            assert!(worst < 0.000_1, "{rate} Hz: off by {worst}");
        }
    }

    #[test]
    fn high_notes_pass() {
        let out = resampled(44_100, &tone(44_100, 19_000.0, 22_050), 1_152);
        let powers = out[2_000..22_000].iter().map(|frame| frame[0] * frame[0]);
        let power = powers.sum::<f32>() / 20_000.0;
        assert!((power - 0.125).abs() < 0.001, "{power}");
    }

    #[test]
    fn what_no_rate_can_hold_is_left_out() {
        // 30 kHz of 96 kHz would be heard as 18 kHz of 48 kHz.
        let out = resampled(96_000, &tone(96_000, 30_000.0, 48_000), 1_024);
        let loudness = out[200..23_800].iter().map(|frame| frame[0].abs());
        let loudest = loudness.fold(0.0, f32::max);
        assert!(loudest < 0.000_1, "{loudest}");
    }

    #[test]
    fn a_ratio_with_too_many_steps_is_refused() {
        assert!(Resampler::new(44_101).is_none());
        assert!(Resampler::new(0).is_none());
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
