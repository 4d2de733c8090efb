//! Keys of `[[stream]]` for events of its audio.

use std::time::Duration;

use crate::read::Section;

/// Levels that differ from silence, in decibels of full scale: 16 bits have 96.
const LEVELS: std::ops::RangeInclusive<f64> = -96.0..=-1.0;

/// Rule that selects the audio events of a stream.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AudioRule {
    /// Longest time without audio before an event; zero is for ever.
    pub silence_after: Duration,
    /// Level below which there is no audio, in decibels of full scale.
    pub silence_below: f64,
    /// Whether audio that is cut off at full scale is an event.
    pub clipping: bool,
}

impl Default for AudioRule {
    fn default() -> Self {
        Self {
            silence_after: Duration::ZERO,
            silence_below: -50.0,
            clipping: false,
        }
    }
}

impl AudioRule {
    /// Whether anything is watched.
    pub fn is_watched(&self) -> bool {
        !self.silence_after.is_zero() || self.clipping
    }

    /// Returns [`silence_below`](Self::silence_below) as an amplitude, of which 1 is full scale.
    pub fn silence_peak(&self) -> f32 {
        10_f64.powf(self.silence_below / 20.0) as f32
    }

    pub(super) fn read(s: &mut Section<'_, '_>) -> Self {
        let mut rule = Self::default();
        s.set("silence_after", &mut rule.silence_after);
        s.set("silence_below", &mut rule.silence_below);
        s.set("clipping", &mut rule.clipping);
        s.require(
            "silence_below",
            LEVELS.contains(&rule.silence_below),
            "is a level from -96 to -1, in decibels of full scale",
        );
        rule
    }
}
