//! Statistics that one thread writes and any thread reads: counters, gauges and histograms. [`Books`](crate::Books)
//! consist of them.

use std::time::Duration;

use base::Counter;

/// Counts observations in buckets with fixed upper bounds.
#[derive(Debug)]
pub struct Histogram {
    bounds: &'static [f64],
    /// Observations per bucket; one more than bounds, because the last bucket has none.
    counts: Box<[Counter]>,
    /// Sum of all observations, in billionths.
    sum_nanos: Counter,
}

/// A copy of a histogram that can be added to others with the same bounds.
#[derive(Clone, Debug, PartialEq)]
pub struct HistogramValue {
    /// Upper bounds of all buckets but the last, which has none.
    pub bounds: &'static [f64],
    /// Observations per bucket, not cumulative; one more than bounds.
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

    /// Counts `value` as observed `times` times.
    pub(crate) fn observe(&self, value: f64, times: u64) {
        let bucket = self.bounds.partition_point(|bound| value > *bound);
        self.counts[bucket].add(times);
        self.sum_nanos.add((value.max(0.0) * 1e9) as u64 * times);
    }

    pub(crate) fn observe_duration(&self, value: Duration, times: u64) {
        self.observe(value.as_secs_f64(), times);
    }

    /// Returns the current value.
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

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: &[f64] = &[1.0, 2.0, 3.0, 4.0, 6.0];

    #[test]
    fn an_observation_on_the_bound_belongs_to_that_bucket() {
        let histogram = Histogram::new(BOUNDS);
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
