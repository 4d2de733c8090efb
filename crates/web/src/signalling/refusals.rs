//! Counts of refused requests, by status.

use base::Counter;

/// Statuses of all refusals.
const STATUSES: [u16; 14] = [
    307, 400, 401, 403, 404, 405, 409, 412, 413, 415, 422, 428, 429, 503,
];

/// Counters of refused requests, one per status.
#[derive(Debug, Default)]
pub struct Refusals([Counter; STATUSES.len()]);

impl Refusals {
    pub(super) fn count(&self, status: u16) {
        let index = STATUSES.iter().position(|known| *known == status);
        debug_assert!(index.is_some(), "{status} is not in the table");
        if let Some(index) = index {
            self.0[index].add(1);
        }
    }

    /// Returns each status and its count.
    pub fn list(&self) -> Vec<(u16, u64)> {
        let counts = self.0.iter().map(Counter::value);
        STATUSES.into_iter().zip(counts).collect()
    }
}
