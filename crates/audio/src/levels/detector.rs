//! Detection of silence and clipping: loudness goes in, changes come out. The detector counts the time of the audio and reads
//! no clock.

use std::time::Duration;

use crate::transcode::Loudness;

use crate::levels::{Condition, Rule};

/// Audio that ends a silence; a click is shorter.
const HEARD_MIN: Duration = Duration::from_millis(500);

/// Silence after which audio is counted from zero again: clicks far from each other do not count as audio.
const FORGET_AFTER: Duration = Duration::from_secs(2);

/// Length of the windows by which clipping is judged.
const WINDOW: Duration = Duration::from_secs(10);

/// Divisor of a window's sample instants: more than one in this many at full scale is clipping. Even audio that was mastered as
/// loud as possible has fewer: lossy codecs bring some beyond full scale.
const CLIPPED_ONE_IN: u64 = 500;

/// Factor by which a window must stay below that limit to end clipping.
const RECOVERED_PART: u64 = 10;

/// Detector of one stream; pass every measurement to [`push`](Self::push).
#[derive(Debug)]
pub(crate) struct Detector {
    rule: Rule,
    is_silent: bool,
    /// Time since the last audio that counts: at least [`HEARD_MIN`] of it.
    quiet: Duration,
    /// Time of audio without a pause of [`FORGET_AFTER`].
    heard: Duration,
    /// Time since the last audio of any length.
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

    /// Takes the next measurement, and appends the changes: the condition, and whether it holds now.
    pub(crate) fn push(&mut self, audio: Loudness, changes: &mut Vec<(Condition, bool)>) {
        if audio.rate == 0 {
            return;
        }
        let lasts = Duration::from_secs_f64(audio.frames as f64 / f64::from(audio.rate));
        if !self.rule.silence_after.is_zero() && self.hear(audio.peak, lasts) {
            changes.push((Condition::Silence, self.is_silent));
        }
        if self.rule.clipping && self.count(audio, lasts) {
            changes.push((Condition::Clipping, self.is_clipping));
        }
    }

    /// Updates the silence state; returns whether silence has begun or ended.
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

    /// Updates the clipping window; returns whether clipping has begun or ended.
    fn count(&mut self, audio: Loudness, lasts: Duration) -> bool {
        self.window += lasts;
        self.window_frames += audio.frames;
        self.window_clipped += audio.clipped;
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

    /// Plays audio in pieces of 20 ms.
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
            let reported = changes.into_iter();
            all.extend(reported.map(|(condition, holds)| (at / 1_000, condition, holds)));
        }
        all
    }

    #[test]
    fn silence_begins_in_its_time_and_ends_with_audio_and_not_with_clicks() {
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
        let ended = play(&mut detector, 2_000, 0.1, 0);
        assert_eq!(ended, [(0, Condition::Silence, false)]);
    }

    #[test]
    fn clicks_do_not_put_silence_off() {
        let mut detector = Detector::new(rule());
        let mut reported = Vec::new();
        for _ in 0..6 {
            reported.extend(play(&mut detector, 100, 0.9, 0));
            reported.extend(play(&mut detector, 4_000, 0.0, 0));
        }
        assert_eq!(reported.len(), 1, "{reported:?}");
    }

    #[test]
    fn clipping_is_judged_by_windows() {
        let mut detector = Detector::new(rule());
        // One in 960 is as loud as it may be.
        assert_eq!(play(&mut detector, 40_000, 1.0, 1), []);
        let reported = play(&mut detector, 20_000, 1.0, 3);
        assert_eq!(reported, [(9, Condition::Clipping, true)]);
        assert_eq!(play(&mut detector, 20_000, 1.0, 1), [], "it is not over");
        let reported = play(&mut detector, 20_000, 0.9, 0);
        assert_eq!(reported, [(9, Condition::Clipping, false)]);
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
