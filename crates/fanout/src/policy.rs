//! When listeners are visited, and what becomes of those that fall behind.

use std::time::Duration;

use media::Span;

base::labels! {
    /// Which of the two sets of defaults a stream follows: video needs low delay, audio few sends.
    pub enum Class {
        /// Sound only.
        Audio = "audio",
        /// Pictures, with or without sound.
        Video = "video",
    }
}

/// The rules for one lane. `config/carillon.toml` documents each with its cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policy {
    /// Listeners visited together.
    pub subgroup: usize,
    /// Upper bound on samples combined into one message; 0 leaves it to `max_wait`.
    pub max_samples: u32,
    /// The shortest time between two visits of a listener.
    pub min_wait: Duration,
    /// The longest, while there is something new.
    pub max_wait: Duration,
    /// How much of the past a new listener is given at once; zero is nothing.
    pub burst: Span,
    /// Over HTTP it is given at least as many bytes, as far as they are no older than [`BURST_SPAN_MAX`]: players
    /// begin when they have so many bytes, whatever time that is. 0 leaves it to `burst`, as the defaults here do.
    pub burst_bytes: u32,
    /// A listener this far behind is moved to the newest join point. Taken as at least the burst, also that in
    /// bytes, and [`BURST_MARGIN`]: the initial burst does not count as being behind.
    pub skip_after: Span,
    /// A listener this far behind is dropped; at least `skip_after`.
    pub drop_after: Span,
}

/// How long a new listener may take over its burst before it counts as behind.
pub const BURST_MARGIN: Span = Span::from_millis(2_000);

/// The longest time that [`Policy::burst_bytes`] reaches back: 64 KiB of 8 kb/s are 66 s. A player stays late by it.
pub const BURST_SPAN_MAX: Span = Span::from_millis(80_000);

/// No lane is visited more often for its samples: the shortest of any codec are 2.5 ms long.
const PERIOD_MIN: Duration = Duration::from_millis(1);

/// The furthest back that a listener starts: a picture group this long is joined at its keyframe, however old
/// that is; in a longer one joiners wait for the next.
pub(crate) const JOIN_AGE_MAX: Span = Span::from_millis(30_000);

/// How long a joiner waits for a keyframe that was requested, before it starts at the one there is: an encoder
/// may ignore the request.
pub(crate) const JOIN_PATIENCE: Duration = Duration::from_secs(3);

impl Policy {
    /// Bytes among which there is a place to begin with [`burst_bytes`](Self::burst_bytes): where titles are sent between the sound,
    /// there is one every 16,000 bytes.
    pub(crate) fn burst_bytes_reach(&self) -> usize {
        let bytes = self.burst_bytes as usize;
        bytes + bytes / 4
    }

    /// The longest time that a burst may reach back.
    pub(crate) fn burst_span_max(&self) -> Span {
        match self.burst_bytes {
            0 => self.burst,
            _ => self.burst.max(BURST_SPAN_MAX),
        }
    }

    /// The same rules, with no limit below another that it builds on.
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

    /// The defaults for a class.
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

    /// The period at which each listener of a lane is visited while there is something new:
    /// `clamp(turn_cost / target_utilisation, min_wait, cap)`, where `cap` is the smaller of
    /// `max_wait` and the time that `max_samples` samples take.
    ///
    /// `turn_cost` is the CPU time of one full turn of the worker, `sample_interval` the media time
    /// between two samples (zero when unknown).
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

    /// The longest time between two visits of a listener, while there is something new: the longest window,
    /// or a sample's time where that is longer.
    pub(crate) fn period_max(&self, sample_interval: Span) -> Duration {
        // A publisher's times may run backwards.
        let interval = Duration::try_from_secs_f64(sample_interval.seconds()).unwrap_or_default();
        // However short the window, there is no visit without a sample.
        self.cap(sample_interval).max(interval).max(PERIOD_MIN)
    }

    /// The longest window.
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
        let policy = Policy::default_for(Class::Audio);
        assert_eq!(window_millis(&policy, 10), 2);
        assert_eq!(window_millis(&policy, 1_000), 200);
        assert_eq!(window_millis(&policy, 50_000), 400);
    }

    #[test]
    fn max_samples_caps_it_before_max_wait_does() {
        let policy = Policy {
            max_samples: 4,
            ..Policy::default_for(Class::Audio)
        };
        assert_eq!(window_millis(&policy, 50_000), 104);
        let unlimited = Policy {
            max_samples: 0,
            ..policy
        };
        assert_eq!(window_millis(&unlimited, 50_000), 400);
    }

    #[test]
    fn equal_waits_make_it_fixed() {
        let fixed = Duration::from_millis(400);
        let policy = Policy {
            min_wait: fixed,
            max_samples: 4,
            ..Policy::default_for(Class::Audio)
        };
        assert_eq!(window_millis(&policy, 1), 104);
        assert_eq!(window_millis(&policy, 100_000), 104);
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
