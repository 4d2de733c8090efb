//! The keys of `[[stream]]` that say what of its sound is an event.

use std::time::Duration;

use crate::read::Section;

/// Levels that can be told from none, in decibels of full scale: 16 bits have 96.
const LEVELS: std::ops::RangeInclusive<f64> = -96.0..=-1.0;

/// What of a stream's sound is an event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SoundRule {
    /// How long there may be no sound; zero is for ever.
    pub silence_after: Duration,
    /// What is no sound, in decibels of full scale.
    pub silence_below: f64,
    /// Whether sound that is cut off at full scale is an event.
    pub clipping: bool,
}

impl Default for SoundRule {
    fn default() -> Self {
        Self {
            silence_after: Duration::ZERO,
            silence_below: -50.0,
            clipping: false,
        }
    }
}

impl SoundRule {
    /// Whether there is anything to listen for.
    pub fn is_watched(&self) -> bool {
        !self.silence_after.is_zero() || self.clipping
    }

    /// [`silence_below`](Self::silence_below) as an amplitude, of which 1 is full scale.
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
