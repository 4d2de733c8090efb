//! When a stream is silent, and when it clips: loudness in, changes out. It counts the time of the sound and reads no clock.

use std::time::Duration;

use transcode::Loudness;

use crate::{Condition, Rule};

/// Sound that ends a silence: a click does not.
const HEARD_MIN: Duration = Duration::from_millis(500);

/// Silence after which sound is counted from the beginning: clicks far from each other are no sound.
const FORGET_AFTER: Duration = Duration::from_secs(2);

/// Clipping is judged by windows of this length.
const WINDOW: Duration = Duration::from_secs(10);

/// Of a window, one instant in this many at full scale is clipping. What was mastered as loud as can be has fewer: lossy codecs
/// bring some beyond it.
const CLIPPED_ONE_IN: u64 = 500;

/// Clipping ends with a window that has a part of that.
const RECOVERED_PART: u64 = 10;

/// See the module's description.
#[derive(Debug)]
pub(crate) struct Detector {
    rule: Rule,
    is_silent: bool,
    /// Time since there was sound.
    quiet: Duration,
    /// Time without a pause of [`FORGET_AFTER`] in which there was sound.
    heard: Duration,
    /// Since the last sound of any length.
    pause: Duration,
    is_clipping: bool,
    window: Duration,
    window_frames: u64,
    window_clipped: u64,
}

impl Detector {
    pub(crate) fn new(rule: Rule) -> Self {
        Self {
            rule,
            is_silent: false,
            quiet: Duration::ZERO,
            heard: Duration::ZERO,
            pause: Duration::ZERO,
            is_clipping: false,
            window: Duration::ZERO,
            window_frames: 0,
            window_clipped: 0,
        }
    }

    /// Takes what was measured next, and appends what has changed: the condition, and whether it holds now.
    pub(crate) fn push(&mut self, sound: Loudness, changes: &mut Vec<(Condition, bool)>) {
        if sound.rate == 0 {
            return;
        }
        let lasts = Duration::from_secs_f64(sound.frames as f64 / f64::from(sound.rate));
        if !self.rule.silence_after.is_zero() && self.hear(sound.peak, lasts) {
            changes.push((Condition::Silence, self.is_silent));
        }
        if self.rule.clipping && self.count(sound, lasts) {
            changes.push((Condition::Clipping, self.is_clipping));
        }
    }

    /// Whether silence has begun or ended.
    fn hear(&mut self, peak: f32, lasts: Duration) -> bool {
        self.quiet += lasts;
        if peak > self.rule.silence_peak {
            self.heard += lasts;
            self.pause = Duration::ZERO;
        } else {
            self.pause += lasts;
        }
        if self.pause >= FORGET_AFTER {
            self.heard = Duration::ZERO;
        }
        let is_heard = self.pause.is_zero() && self.heard >= HEARD_MIN;
        if is_heard {
            self.quiet = Duration::ZERO;
        }
        let was_silent = self.is_silent;
        self.is_silent = match was_silent {
            true => !is_heard,
            false => self.quiet >= self.rule.silence_after,
        };
        was_silent != self.is_silent
    }

    /// Whether clipping has begun or ended.
    fn count(&mut self, sound: Loudness, lasts: Duration) -> bool {
        self.window += lasts;
        self.window_frames += sound.frames;
        self.window_clipped += sound.clipped;
        if self.window < WINDOW {
            return false;
        }
        let limit = match self.is_clipping {
            true => self.window_frames / CLIPPED_ONE_IN / RECOVERED_PART,
            false => self.window_frames / CLIPPED_ONE_IN,
        };
        let was_clipping = self.is_clipping;
        self.is_clipping = self.window_clipped > limit;
        self.window = Duration::ZERO;
        (self.window_frames, self.window_clipped) = (0, 0);
        was_clipping != self.is_clipping
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: u32 = 48_000;

    fn rule() -> Rule {
        Rule {
            silence_after: Duration::from_secs(20),
            silence_peak: 0.003,
            clipping: true,
        }
    }

    /// Some sound in pieces of 20 ms.
    fn play(
        detector: &mut Detector,
        millis: u32,
        peak: f32,
        clipped: u64,
    ) -> Vec<(u32, Condition, bool)> {
        let mut all = Vec::new();
        for at in (0..millis).step_by(20) {
            let mut changes = Vec::new();
            let piece = Loudness {
                frames: 960,
                rate: RATE,
                peak,
                clipped,
            };
            detector.push(piece, &mut changes);
            let told = changes.into_iter();
            all.extend(told.map(|(condition, holds)| (at / 1_000, condition, holds)));
        }
        all
    }

    #[test]
    fn silence_begins_in_its_time_and_ends_with_sound_and_not_with_clicks() {
        let mut detector = Detector::new(rule());
        assert_eq!(play(&mut detector, 60_000, 0.5, 0), []);
        assert_eq!(play(&mut detector, 19_000, 0.001, 0), []);
        assert_eq!(play(&mut detector, 600, 0.1, 0), [], "that was sound");
        let begun = play(&mut detector, 30_000, 0.0, 0);
        assert_eq!(begun, [(19, Condition::Silence, true)]);
        for _ in 0..20 {
            assert_eq!(play(&mut detector, 200, 0.9, 0), [], "a click");
            assert_eq!(play(&mut detector, 4_000, 0.0, 0), []);
        }
        assert_eq!(
            play(&mut detector, 2_000, 0.1, 0),
            [(0, Condition::Silence, false)]
        );
    }

    #[test]
    fn clicks_do_not_put_silence_off() {
        let mut detector = Detector::new(rule());
        let mut told = Vec::new();
        for _ in 0..6 {
            told.extend(play(&mut detector, 100, 0.9, 0));
            told.extend(play(&mut detector, 4_000, 0.0, 0));
        }
        assert_eq!(told.len(), 1, "{told:?}");
    }

    #[test]
    fn clipping_is_judged_by_windows() {
        let mut detector = Detector::new(rule());
        // One in 960 is as loud as it may be.
        assert_eq!(play(&mut detector, 40_000, 1.0, 1), []);
        let told = play(&mut detector, 20_000, 1.0, 3);
        assert_eq!(told, [(9, Condition::Clipping, true)]);
        assert_eq!(play(&mut detector, 20_000, 1.0, 1), [], "it is not over");
        let told = play(&mut detector, 20_000, 0.9, 0);
        assert_eq!(told, [(9, Condition::Clipping, false)]);
    }

    #[test]
    fn what_cannot_be_decoded_and_what_is_not_watched_tells_nothing() {
        let mut detector = Detector::new(Rule {
            silence_after: Duration::ZERO,
            clipping: false,
            ..rule()
        });
        assert_eq!(play(&mut detector, 60_000, 0.0, 0), []);
        assert_eq!(play(&mut detector, 60_000, 1.5, 960), []);
        let mut detector = Detector::new(rule());
        for _ in 0..10_000 {
            let mut changes = Vec::new();
            detector.push(Loudness::default(), &mut changes);
            assert_eq!(changes, []);
        }
    }
}
