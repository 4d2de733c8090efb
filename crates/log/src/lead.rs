//! The part of a joiner's opening that is already in the log.

use std::sync::OnceLock;

use bytes::Bytes;

use crate::Preamble;
use crate::view::View;

/// Bytes of the log that a joiner receives before its preamble; after both it continues at the join point:
///
/// ```text
/// log:     … │ lead            │ gap │ join …
/// joiner:      lead, preamble        │ join …
/// ```
///
/// A page keeps these bytes in memory once. A copy is made when the first listener joins there, and is shared by all
/// that do.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Lead {
    bytes: usize,
    gap: usize,
    opening: OnceLock<Bytes>,
}

impl Lead {
    /// Creates the lead of the `bytes` bytes that precede the last `gap` bytes before a join point.
    pub const fn new(bytes: usize, gap: usize) -> Self {
        Self {
            bytes,
            gap,
            opening: OnceLock::new(),
        }
    }

    /// Returns its offset when the join point is at `join`; `None` before the log's beginning.
    #[must_use]
    pub fn from(&self, join: u64) -> Option<u64> {
        join.checked_sub((self.bytes + self.gap) as u64)
    }
}

impl Preamble {
    /// Returns the bytes that a new listener receives before the log's bytes from `join` on. A preamble means nothing
    /// without its lead, so if the log no longer has the lead the result is empty.
    #[must_use]
    pub fn opening(&self, view: &View, join: u64) -> Bytes {
        let Some(lead) = &self.lead else {
            return self.bytes.clone();
        };
        let make = || {
            let mut scratch = vec![0; lead.bytes];
            let from = lead.from(join).unwrap_or_default();
            let led = view.contiguous(from, lead.bytes, &mut scratch);
            match led {
                [] => Bytes::new(),
                led => [led, &self.bytes].concat().into(),
            }
        };
        lead.opening.get_or_init(make).clone()
    }
}
