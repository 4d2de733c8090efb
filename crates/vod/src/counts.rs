//! How requests ended, for the metrics.

base::labels! {
    /// How a request ended.
    pub enum Outcome {
        /// All of a file, or its headers.
        Whole = "whole",
        /// A range of a file.
        Part = "part",
        /// The client has it.
        Unchanged = "unchanged",
        /// The client wants another version than there is.
        Changed = "changed",
        /// The client is sent to the copy, which is all that is left.
        Elsewhere = "elsewhere",
        /// A range that the file does not have.
        Beyond = "beyond",
        /// There is no such file.
        Missing = "missing",
        /// The disk did not give it.
        Failed = "failed",
    }
}

/// What was served since the start.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Sums {
    /// Requests, in the order of [`Outcome::ALL`].
    pub requests: Vec<u64>,
    /// Bytes that were read from disks.
    pub bytes: u64,
    /// Reads that took longer than a second.
    pub late_reads: u64,
}

impl Sums {
    /// These and others.
    pub fn with(mut self, others: &Self) -> Self {
        for (sum, other) in self.requests.iter_mut().zip(&others.requests) {
            *sum += other;
        }
        self.bytes += others.bytes;
        self.late_reads += others.late_reads;
        self
    }
}
