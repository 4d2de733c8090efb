//! Samples of one track, in the form of an index.

use super::Run;

/// Table of a track's samples.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    /// Units of the track's clock per second; never zero.
    pub(super) timescale: u32,
    /// Decoding time of the first sample.
    pub(super) at: u64,
    /// End of the last sample.
    pub(super) end: u64,
    pub(super) sizes: Vec<u32>,
    pub(super) durations: RunLengths<u32>,
    pub(super) compositions: RunLengths<i32>,
    /// Numbers of the samples that depend on no other, counted from 1.
    pub(super) syncs: Vec<u32>,
    /// Offsets in the file of the runs of samples.
    pub(super) chunks: Vec<u64>,
    /// Number of samples in each run.
    pub(super) chunk_samples: RunLengths<u32>,
}

impl Table {
    pub(super) fn new(timescale: u32) -> Self {
        Self {
            timescale: timescale.max(1),
            ..Self::default()
        }
    }

    pub(super) fn add(&mut self, run: &Run) {
        if self.sizes.is_empty() {
            (self.at, self.end) = (run.at, run.at);
        } else if run.at != self.end
            && let Some(last) = self.durations.pop()
        {
            // An index has no holes: the last sample is extended to the next one, or shortened.
            let longer = i128::from(last) + i128::from(run.at) - i128::from(self.end);
            let longer = u32::try_from(longer.max(0)).unwrap_or(u32::MAX);
            self.durations.push(longer);
            self.end = self.end - u64::from(last) + u64::from(longer);
        }
        self.chunks.push(run.data);
        self.chunk_samples.push(run.rows.len() as u32);
        for row in &run.rows {
            self.sizes.push(row.size);
            self.durations.push(row.duration);
            self.compositions.push(row.composition);
            self.end = self.end.saturating_add(row.duration.into());
            if row.is_sync {
                self.syncs.push(self.sizes.len() as u32);
            }
        }
    }

    pub(super) fn duration(&self) -> u64 {
        self.end.saturating_sub(self.at)
    }

    /// Returns the duration in seconds.
    pub(super) fn seconds(&self) -> f64 {
        self.duration() as f64 / f64::from(self.timescale)
    }

    pub(super) fn first_composition(&self) -> i32 {
        self.compositions.0.first().map_or(0, |(_, first)| *first)
    }

    /// Returns the presentation time of the first sample, in seconds of the file.
    pub(super) fn begins(&self) -> f64 {
        let units = self.at as f64 + f64::from(self.first_composition());
        units / f64::from(self.timescale)
    }
}

/// Run-length encoded values, most of which equal the one before.
#[derive(Clone, Debug, Default)]
pub(super) struct RunLengths<T>(pub(super) Vec<(u32, T)>);

impl<T: Copy + Eq> RunLengths<T> {
    pub(super) fn push(&mut self, value: T) {
        match self.0.last_mut() {
            Some((count, last)) if *last == value => *count += 1,
            _ => self.0.push((1, value)),
        }
    }

    /// Iterates over the values.
    pub(super) fn iter(&self) -> impl Iterator<Item = T> {
        let runs = self.0.iter();
        runs.flat_map(|(count, value)| std::iter::repeat_n(*value, *count as usize))
    }

    fn pop(&mut self) -> Option<T> {
        let (count, value) = self.0.last_mut()?;
        let value = *value;
        *count -= 1;
        if *count == 0 {
            self.0.pop();
        }
        Some(value)
    }
}
