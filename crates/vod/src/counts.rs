//! Outcomes of requests, for the metrics.

base::labels! {
    /// Outcome of a request.
    pub enum Outcome {
        /// Whole file, or its headers.
        Whole = "whole",
        /// A range of a file.
        Part = "part",
        /// The client has this version.
        Unchanged = "unchanged",
        /// The client requests another version than the present one.
        Changed = "changed",
        /// The client is redirected to the copy, which is all that is left.
        Elsewhere = "elsewhere",
        /// A range that the file does not have.
        Beyond = "beyond",
        /// There is no such file.
        Missing = "missing",
        /// The disk did not deliver it.
        Failed = "failed",
    }
}

/// Totals since the start.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Sums {
    /// Requests, in the order of [`Outcome::ALL`].
    pub requests: Vec<u64>,
    /// Bytes read from disks.
    pub bytes: u64,
    /// Reads that took longer than a second.
    pub late_reads: u64,
}

impl Sums {
    /// Returns the sum of both.
    pub fn with(mut self, others: &Self) -> Self {
        for (sum, other) in self.requests.iter_mut().zip(&others.requests) {
            *sum += other;
        }
        self.bytes += others.bytes;
        self.late_reads += others.late_reads;
        self
    }
}
