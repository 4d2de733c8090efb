//! How requests ended, for the metrics.

use std::sync::atomic::{AtomicU64, Ordering};

/// How a request ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Outcome {
    /// All of a file, or its headers.
    Whole,
    /// A range of a file.
    Part,
    /// The client has it.
    Unchanged,
    /// The client wants another version than there is.
    Changed,
    /// The client is sent to the copy, which is all that is left.
    Elsewhere,
    /// A range that the file does not have.
    Beyond,
    /// There is no such file.
    Missing,
    /// The disk did not give it.
    Failed,
}

impl Outcome {
    /// Every one.
    pub const ALL: [Self; 8] = [
        Self::Whole,
        Self::Part,
        Self::Unchanged,
        Self::Changed,
        Self::Elsewhere,
        Self::Beyond,
        Self::Missing,
        Self::Failed,
    ];

    /// The label in the metrics.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Whole => "whole",
            Self::Part => "part",
            Self::Unchanged => "unchanged",
            Self::Changed => "changed",
            Self::Elsewhere => "elsewhere",
            Self::Beyond => "beyond",
            Self::Missing => "missing",
            Self::Failed => "failed",
        }
    }
}

/// What was served since the start.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Sums {
    /// Requests, in the order of [`Outcome::ALL`].
    pub requests: [u64; Outcome::ALL.len()],
    /// Bytes that were read from disks.
    pub bytes: u64,
    /// Reads that took longer than a second.
    pub late_reads: u64,
}

impl Sums {
    /// These and others.
    pub fn with(mut self, others: &Self) -> Self {
        for (sum, other) in self.requests.iter_mut().zip(others.requests) {
            *sum += other;
        }
        self.bytes += others.bytes;
        self.late_reads += others.late_reads;
        self
    }
}

#[derive(Debug, Default)]
pub(crate) struct Counts([AtomicU64; Outcome::ALL.len()]);

impl Counts {
    pub(crate) fn count(&self, outcome: Outcome) {
        self.0[outcome as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn requests(&self) -> [u64; Outcome::ALL.len()] {
        let Self(counts) = self;
        Outcome::ALL.map(|outcome| counts[outcome as usize].load(Ordering::Relaxed))
    }
}
