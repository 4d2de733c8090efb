//! Distributions in a few kilobytes: log-linear buckets, as in HDR histograms.
//!
//! Values are whole numbers of any unit. The width of a bucket is at most 1/128 of its values, so a percentile is off by less
//! than one percent; the smallest and the largest value are exact.

use serde::{Deserialize, Serialize};

/// Number of buckets per power of two, and the bound below which every value has its own bucket.
const STEPS: u64 = 128;
const STEP_BITS: u32 = STEPS.trailing_zeros();
/// Number of buckets, enough for every `u64`.
const BUCKETS: usize = ((64 - STEP_BITS) as usize + 1) * STEPS as usize;

/// Distribution of values; add them with `record`.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(from = "Sparse", into = "Sparse")]
pub(crate) struct Histogram {
    buckets: Vec<u64>,
    count: u64,
    min: u64,
    max: u64,
}

/// The non-empty buckets, in the form passed between processes.
#[derive(Serialize, Deserialize)]
struct Sparse {
    buckets: Vec<(usize, u64)>,
    min: u64,
    max: u64,
}

impl Histogram {
    pub(crate) fn record(&mut self, value: u64) {
        if self.buckets.is_empty() {
            self.buckets = vec![0; BUCKETS];
        }
        self.buckets[bucket(value)] += 1;
        self.count += 1;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        if other.buckets.is_empty() {
            return;
        }
        if self.buckets.is_empty() {
            self.buckets = vec![0; BUCKETS];
        }
        for (own, theirs) in self.buckets.iter_mut().zip(&other.buckets) {
            *own += theirs;
        }
        self.count += other.count;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Returns the largest value; 0 if there is none.
    pub(crate) fn max(&self) -> u64 {
        self.max
    }

    /// Returns the value that `percent` of all values do not exceed; 0 if there is none.
    pub(crate) fn percentile(&self, percent: f64) -> u64 {
        let rank = (percent / 100.0 * self.count as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        for (index, count) in self.buckets.iter().enumerate() {
            seen += count;
            if seen >= rank {
                return upper_end(index).clamp(self.min, self.max);
            }
        }
        self.max
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Self {
            buckets: Vec::new(),
            count: 0,
            min: u64::MAX,
            max: 0,
        }
    }
}

impl From<Sparse> for Histogram {
    fn from(sparse: Sparse) -> Self {
        let mut histogram = Self {
            min: sparse.min,
            max: sparse.max,
            ..Self::default()
        };
        for (index, count) in sparse.buckets {
            if histogram.buckets.is_empty() {
                histogram.buckets = vec![0; BUCKETS];
            }
            if let Some(bucket) = histogram.buckets.get_mut(index) {
                *bucket += count;
                histogram.count += count;
            }
        }
        histogram
    }
}

impl From<Histogram> for Sparse {
    fn from(histogram: Histogram) -> Self {
        let filled = histogram.buckets.iter().copied().enumerate();
        Self {
            buckets: filled.filter(|(_, count)| *count > 0).collect(),
            min: histogram.min,
            max: histogram.max,
        }
    }
}

/// Returns the bucket of a value. Values below [`STEPS`] have their own bucket; above, the bits after the highest one decide.
fn bucket(value: u64) -> usize {
    if value < STEPS {
        return value as usize;
    }
    let shift = value.ilog2() - STEP_BITS;
    let step = (value >> shift) - STEPS;
    ((u64::from(shift) + 1) * STEPS + step) as usize
}

/// Returns the largest value of a bucket.
fn upper_end(index: usize) -> u64 {
    let index = index as u64;
    if index < STEPS {
        return index;
    }
    let shift = index / STEPS - 1;
    let first = (STEPS + index % STEPS) << shift;
    first + ((1 << shift) - 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn percentiles_of_a_known_row() {
        let mut histogram = Histogram::default();
        (1..=1_000).for_each(|value| histogram.record(value * 1_000));
        for (percent, exact) in [(1.0, 10_000.0), (50.0, 500_000.0), (99.0, 990_000.0)] {
            let found = histogram.percentile(percent) as f64;
            assert!(
                (found / exact - 1.0).abs() < 0.01,
                "{percent}: {found}, not {exact}"
            );
        }
        assert_eq!(histogram.percentile(100.0), 1_000_000);
        assert_eq!(histogram.max(), 1_000_000);
    }

    #[test]
    fn nothing_is_zero() {
        assert_eq!(Histogram::default().percentile(99.0), 0);
        assert_eq!(Histogram::default().max(), 0);
    }

    proptest! {
        #[test]
        fn a_bucket_holds_its_value_closely(value: u64) {
            let end = upper_end(bucket(value));
            prop_assert!(end >= value);
            prop_assert!(end - value <= value / STEPS);
            prop_assert!(bucket(value) < BUCKETS);
        }

        #[test]
        fn parts_merge_to_the_whole(values: Vec<u64>, cut in 0_usize..100) {
            let mut whole = Histogram::default();
            let (mut left, mut right) = (Histogram::default(), Histogram::default());
            for (index, value) in values.iter().enumerate() {
                whole.record(*value);
                if index < cut { left.record(*value) } else { right.record(*value) }
            }
            // Serialization between processes is part of the merge.
            let text = serde_json::to_string(&right).expect("it serializes");
            left.merge(&serde_json::from_str(&text).expect("it is its own form"));
            prop_assert_eq!(left, whole);
        }
    }
}
