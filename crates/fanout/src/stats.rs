//! What workers count. Each worker has a set of its own, so that counting touches no cache line
//! that another core writes; whoever reads sums over the sets.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::cursor::Reason;
use crate::lane::Protocol;
use crate::policy::Class;

/// A number.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    pub(crate) fn sub(&self, count: u64) {
        let before = self.0.fetch_sub(count, Ordering::Relaxed);
        debug_assert!(before >= count, "nothing is taken that was not added");
    }

    /// Replaces the value: for gauges.
    pub(crate) fn set(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }

    /// The value now.
    pub fn value(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Counts observations in buckets with fixed upper bounds.
#[derive(Debug)]
pub struct Histogram {
    bounds: &'static [f64],
    /// One more than bounds: the last has none.
    counts: Box<[Counter]>,
    /// Sum of all observations, in billionths.
    sum_nanos: Counter,
}

/// A copy of a histogram that can be added to others with the same bounds.
#[derive(Clone, Debug, PartialEq)]
pub struct HistogramValue {
    /// Upper bounds of all buckets but the last, which has none.
    pub bounds: &'static [f64],
    /// Observations per bucket, not cumulated; one more than bounds.
    pub counts: Vec<u64>,
    /// Sum of all observations.
    pub sum: f64,
}

impl Histogram {
    pub(crate) fn new(bounds: &'static [f64]) -> Self {
        let counts = (0..=bounds.len()).map(|_| Counter::default()).collect();
        Self {
            bounds,
            counts,
            sum_nanos: Counter::default(),
        }
    }

    /// Counts `value` as seen `times` times.
    pub(crate) fn observe(&self, value: f64, times: u64) {
        let bucket = self.bounds.partition_point(|bound| value > *bound);
        self.counts[bucket].add(times);
        self.sum_nanos.add((value.max(0.0) * 1e9) as u64 * times);
    }

    pub(crate) fn observe_duration(&self, value: Duration, times: u64) {
        self.observe(value.as_secs_f64(), times);
    }

    /// The value now.
    pub fn value(&self) -> HistogramValue {
        HistogramValue {
            bounds: self.bounds,
            counts: self.counts.iter().map(Counter::value).collect(),
            sum: self.sum_nanos.value() as f64 / 1e9,
        }
    }
}

impl HistogramValue {
    /// Adds the observations of `other`, which has the same bounds.
    pub fn merge(&mut self, other: &Self) {
        debug_assert_eq!(self.bounds, other.bounds);
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine += theirs;
        }
        self.sum += other.sum;
    }
}

/// Seconds, for delays and costs that lie between 50 µs and a second.
const FINE_SECONDS: &[f64] = &[
    0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5,
    1.0,
];

/// Seconds, for windows and lags.
const COARSE_SECONDS: &[f64] = &[
    0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 1.0, 2.0, 5.0, 10.0, 30.0,
];

/// Samples in one message.
const SAMPLES: &[f64] = &[
    1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0, 64.0, 128.0, 512.0,
];

/// A message that comes so much later than its window allows is late. Players have more in store, so
/// nobody hears it yet; and a thread that waits for its core among a few busy ones is back sooner.
pub const LATE_AFTER: Duration = Duration::from_millis(500);

/// Everything one worker counts.
#[derive(Debug)]
pub struct WorkerStats {
    /// Send calls.
    pub sends: Counter,
    /// Bytes taken by listeners' sockets, by [`Protocol`].
    pub egress_bytes: [Counter; Protocol::ALL.len()],
    /// Listeners now, by [`Protocol`].
    pub listeners: [Counter; Protocol::ALL.len()],
    /// Listeners moved to a newer join point.
    pub skips: Counter,
    /// Listeners gone, by [`Reason`].
    pub departures: [Counter; Reason::ALL.len()],
    /// Listeners that were moved forward within the last seconds.
    pub degraded: Counter,
    /// Nanoseconds of CPU spent on visits.
    pub busy_nanos: Counter,
    /// Nanoseconds of CPU spent on everything, as of the last visit.
    pub cpu_nanos: Counter,
    /// Nanoseconds of CPU per second that visits would take if every window were as wide as it may
    /// become: the least that the present listeners need.
    pub demand_nanos: Counter,
    /// Messages that came more than [`LATE_AFTER`] behind their window.
    pub late_messages: Counter,
    /// Samples per message.
    pub message_samples: Histogram,
    /// CPU seconds of one full turn.
    pub turn_seconds: Histogram,
    /// The window chosen, by [`Class`].
    pub window_seconds: [Histogram; Class::ALL.len()],
    /// From a sample's arrival to the send that carried it, per message for its oldest sample.
    pub forward_delay_seconds: Histogram,
    /// How far behind listeners are, sampled once a second.
    pub lag_seconds: Histogram,
    /// From request to first media byte, by [`Protocol`].
    pub join_seconds: [Histogram; Protocol::ALL.len()],
}

impl WorkerStats {
    pub(crate) fn new() -> Self {
        Self {
            sends: Counter::default(),
            egress_bytes: Default::default(),
            listeners: Default::default(),
            skips: Counter::default(),
            departures: Default::default(),
            degraded: Counter::default(),
            busy_nanos: Counter::default(),
            cpu_nanos: Counter::default(),
            demand_nanos: Counter::default(),
            late_messages: Counter::default(),
            message_samples: Histogram::new(SAMPLES),
            turn_seconds: Histogram::new(FINE_SECONDS),
            window_seconds: Class::ALL.map(|_| Histogram::new(COARSE_SECONDS)),
            forward_delay_seconds: Histogram::new(FINE_SECONDS),
            lag_seconds: Histogram::new(COARSE_SECONDS),
            join_seconds: Protocol::ALL.map(|_| Histogram::new(COARSE_SECONDS)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_observation_on_the_bound_belongs_to_that_bucket() {
        let histogram = Histogram::new(SAMPLES);
        histogram.observe(4.0, 3);
        histogram.observe(4.5, 1);
        histogram.observe(10_000.0, 1);
        let mut value = histogram.value();
        assert_eq!(value.counts[3], 3);
        assert_eq!(value.counts[4], 1);
        assert_eq!(value.counts.last(), Some(&1));
        value.merge(&histogram.value());
        assert_eq!(value.counts[3], 6);
        assert!((value.sum - 2.0 * 10_016.5).abs() < 1e-6);
    }
}
