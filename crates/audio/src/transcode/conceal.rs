//! Concealment of frames that cannot be decoded.
//!
//! The last good frame is played backwards, then forwards, and so on, fading to silence. Its ends therefore always meet, and a
//! single bad frame causes no click. Silence for the whole of a long failure is more bearable than any repetition.

use crate::transcode::Frame;

/// Length of the fade: two to three frames of AAC or MP3.
const FADE_MILLIS: u32 = 60;

/// Number of good samples after a concealed frame that rise from silence.
const RISE_FRAMES: usize = 128;

/// Concealer that remembers the last good frame.
#[derive(Debug, Default)]
pub(crate) struct Concealer {
    last: Vec<Frame>,
    /// Frames synthesised since the last good frame.
    concealed: usize,
}

impl Concealer {
    /// Remembers a decoded frame, and fades its start in after synthesised audio.
    pub(crate) fn good(&mut self, frames: &mut [Frame]) {
        if self.concealed > 0 {
            for (at, frame) in frames.iter_mut().take(RISE_FRAMES).enumerate() {
                let gain = at as f32 / RISE_FRAMES as f32;
                *frame = frame.map(|value| value * gain);
            }
        }
        self.concealed = 0;
        self.last.clear();
        self.last.extend_from_slice(frames);
    }

    /// Appends `count` synthesised frames at `rate` Hz.
    pub(crate) fn conceal(&mut self, count: usize, rate: u32, out: &mut Vec<Frame>) {
        let fade = (FADE_MILLIS * rate / 1_000) as usize;
        let audible = if self.last.is_empty() {
            0
        } else {
            fade.saturating_sub(self.concealed).min(count)
        };
        for at in self.concealed..self.concealed + audible {
            let gain = 1.0 - at as f32 / fade as f32;
            out.push(self.mirrored(at).map(|value| value * gain));
        }
        out.resize(out.len() + count - audible, [0.0; 2]);
        self.concealed = self.concealed.saturating_add(count);
    }

    /// Forgets the last frame, since the next audio is unrelated to it.
    pub(crate) fn reset(&mut self) {
        *self = Self::default();
    }

    /// Returns the frame at offset `at` after the end of the last one, with time running back and forth.
    fn mirrored(&self, at: usize) -> Frame {
        let length = self.last.len();
        let within = at % length;
        if (at / length).is_multiple_of(2) {
            self.last[length - 1 - within]
        } else {
            self.last[within]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_continues_where_it_was_and_fades_to_silence() {
        let mut concealer = Concealer::default();
        let mut good: Vec<Frame> = (0..1_024).map(|at| [at as f32 / 1_023.0; 2]).collect();
        concealer.good(&mut good);
        assert_eq!(good[512], [512.0 / 1_023.0; 2]);
        let mut made_up = Vec::new();
        for _ in 0..4 {
            concealer.conceal(1_024, 44_100, &mut made_up);
        }
        assert_eq!(made_up.len(), 4 * 1_024);
        assert_eq!(made_up[0], good[1_023]);
        let pairs = made_up.windows(2);
        let steps = pairs.map(|pair| (pair[1][0] - pair[0][0]).abs());
        let steepest = steps.fold(0.0, f32::max);
        assert!(steepest < 0.002, "{steepest}");
        assert!(made_up[2_646..].iter().all(|frame| *frame == [0.0; 2]));
        concealer.good(&mut good);
        assert_eq!(good[0], [0.0; 2]);
        assert_eq!(good[1_023], [1.0; 2]);
    }

    #[test]
    fn nothing_known_is_silence() {
        let mut made_up = Vec::new();
        Concealer::default().conceal(10, 8_000, &mut made_up);
        assert_eq!(made_up, [[0.0; 2]; 10]);
    }
}
