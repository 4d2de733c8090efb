//! Timing of visits to listeners, and limits for those that fall behind.

use std::time::Duration;

use media::Span;

base::labels! {
    /// Set of defaults that a stream follows: video needs low delay, audio few sends.
    pub enum Class {
        /// Audio only.
        Audio = "audio",
        /// Video, with or without audio.
        Video = "video",
    }
}

/// Rules for one lane. `config/carillon.toml` documents each with its cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policy {
    /// Number of listeners visited together.
    pub subgroup: usize,
    /// Upper bound on samples combined into one message; 0 leaves it to `max_wait`.
    pub max_samples: u32,
    /// Shortest time between two visits of a listener.
    pub min_wait: Duration,
    /// Longest time between two visits of a listener, while there is something new.
    pub max_wait: Duration,
    /// Span of the past that a new listener is given at once; zero for none.
    pub burst: Span,
    /// Least number of bytes that a new listener over HTTP is given, as far as they are no older than
    /// [`BURST_SPAN_MAX`]: such players begin after a number of bytes, whatever time that is. 0 leaves it to `burst`,
    /// as the defaults here do.
    pub burst_bytes: u32,
    /// Lag at which a listener is moved to the newest join point. Taken as at least the burst, also that in bytes, plus
    /// [`BURST_MARGIN`]: the initial burst does not count as being behind.
    pub skip_after: Span,
    /// Lag at which a listener is dropped; at least `skip_after`.
    pub drop_after: Span,
}

/// Time that a new listener may take over its burst before it counts as behind.
pub const BURST_MARGIN: Span = Span::from_millis(2_000);

/// Longest time that [`Policy::burst_bytes`] reaches back: 64 KiB of 8 kb/s are 66 s. A player stays late by it.
pub const BURST_SPAN_MAX: Span = Span::from_millis(80_000);

/// Lower bound on the period of a lane's visits: the shortest samples of any codec are 2.5 ms long.
const PERIOD_MIN: Duration = Duration::from_millis(1);

/// Largest age of the join point at which a listener starts: a group of pictures this long is joined at its keyframe,
/// however old that is; in a longer one joiners wait for the next.
pub(crate) const JOIN_AGE_MAX: Span = Span::from_millis(30_000);

/// Time that a joiner waits for a requested keyframe before it starts at the existing one: an encoder may ignore the
/// request.
pub(crate) const JOIN_PATIENCE: Duration = Duration::from_secs(3);

impl Policy {
    /// Returns the number of bytes that always contain a place to begin with [`burst_bytes`](Self::burst_bytes): where
    /// titles are interleaved with the audio, there is such a place every 16,000 bytes.
    pub(crate) fn burst_bytes_reach(&self) -> usize {
        let bytes = self.burst_bytes as usize;
        bytes + bytes / 4
    }

    /// Returns the longest time that a burst may reach back.
    pub(crate) fn burst_span_max(&self) -> Span {
        match self.burst_bytes {
            0 => self.burst,
            _ => self.burst.max(BURST_SPAN_MAX),
        }
    }

    /// Returns these rules with no limit below another that it builds on.
    pub(crate) fn in_order(self) -> Self {
        let skip_after = if self.burst == Span::ZERO {
            self.skip_after
        } else {
            self.skip_after.max(self.burst + BURST_MARGIN)
        };
        let burst_bytes = match self.burst {
            Span::ZERO => 0,
            _ => self.burst_bytes,
        };
        Self {
            burst_bytes,
            skip_after,
            drop_after: self.drop_after.max(skip_after),
            ..self
        }
    }

    /// Returns the defaults for a class.
    pub const fn default_for(class: Class) -> Self {
        match class {
            Class::Audio => Self {
                subgroup: 500,
                max_samples: 16,
                min_wait: Duration::ZERO,
                max_wait: Duration::from_millis(400),
                burst: Span::from_millis(4_000),
                burst_bytes: 0,
                skip_after: Span::from_millis(10_000),
                drop_after: Span::from_millis(30_000),
            },
            Class::Video => Self {
                subgroup: 50,
                max_samples: 0,
                min_wait: Duration::ZERO,
                max_wait: Duration::from_millis(100),
                burst: Span::ZERO,
                burst_bytes: 0,
                skip_after: Span::from_millis(2_000),
                drop_after: Span::from_millis(10_000),
            },
        }
    }

    /// Returns the period at which each listener of a lane is visited while there is something new:
    /// `clamp(turn_cost / target_utilisation, min_wait, cap)`, where `cap` is the smaller of `max_wait` and the time that
    /// `max_samples` samples take.
    ///
    /// `turn_cost` is the CPU time of one full turn of the worker, `sample_interval` the media time between two samples
    /// (zero when unknown).
    pub fn window(
        &self,
        turn_cost: Duration,
        target_utilisation: f64,
        sample_interval: Span,
    ) -> Duration {
        let cap = self.cap(sample_interval);
        let wanted = turn_cost.as_secs_f64() / target_utilisation.max(f64::EPSILON);
        // Also true for a window too long for a `Duration`.
        if wanted >= cap.as_secs_f64() {
            return cap;
        }
        Duration::from_secs_f64(wanted).max(self.min_wait.min(cap))
    }

    /// Returns the longest time between two visits of a listener, while there is something new: the longest window, or
    /// a sample's time where that is longer.
    pub(crate) fn period_max(&self, sample_interval: Span) -> Duration {
        // A publisher's times may run backwards.
        let interval = Duration::try_from_secs_f64(sample_interval.seconds()).unwrap_or_default();
        // However short the window, there is no visit without a sample.
        self.cap(sample_interval).max(interval).max(PERIOD_MIN)
    }

    /// Returns the longest window.
    pub(crate) fn cap(&self, sample_interval: Span) -> Duration {
        let ticks = u64::try_from(sample_interval.ticks()).unwrap_or(0);
        if self.max_samples == 0 || ticks == 0 {
            return self.max_wait;
        }
        let seconds = sample_interval.seconds() * f64::from(self.max_samples);
        Duration::try_from_secs_f64(seconds).map_or(self.max_wait, |cap| cap.min(self.max_wait))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: Span = Span::from_samples(1152, 44_100);

    fn window_millis(policy: &Policy, listeners: u32) -> u128 {
        policy
            .window(Duration::from_micros(4) * listeners, 0.02, FRAME)
            .as_millis()
    }

    #[test]
    fn the_window_opens_with_the_audience() {
        let usual = Policy::default_for(Class::Audio);
        let of = |min_wait, max_samples| Policy {
            min_wait,
            max_samples,
            ..usual
        };
        let four = of(usual.min_wait, 4);
        let unlimited = of(usual.min_wait, 0);
        let fixed = of(Duration::from_millis(400), 4);
        for (what, policy, listeners, millis) in [
            ("a small audience", usual, 10, 2),
            ("a larger one", usual, 1_000, 200),
            ("a large one", usual, 50_000, 400),
            ("samples before the wait", four, 50_000, 104),
            ("no limit of samples", unlimited, 50_000, 400),
            ("equal waits, one listener", fixed, 1, 104),
            ("equal waits, many", fixed, 100_000, 104),
        ] {
            assert_eq!(window_millis(&policy, listeners), millis, "{what}");
        }
    }

    #[test]
    fn a_long_burst_leaves_no_listener_behind() {
        let long = Span::from_millis(60_000);
        let policy = Policy {
            burst: long,
            ..Policy::default_for(Class::Audio)
        }
        .in_order();
        assert!(policy.skip_after > long && policy.drop_after >= policy.skip_after);
        for class in Class::ALL {
            let policy = Policy::default_for(class);
            assert_eq!(policy.in_order(), policy);
        }
    }

    #[test]
    fn absurd_costs_do_not_overflow() {
        let policy = Policy::default_for(Class::Video);
        assert_eq!(
            policy.window(Duration::MAX, 0.0, Span::from_ticks(i64::MAX)),
            policy.max_wait
        );
        assert_eq!(
            policy.window(Duration::ZERO, 0.02, Span::ZERO),
            Duration::ZERO
        );
    }
}
