//! Ranges of a file that are still to be read or sent, taken from the front.

use std::ops::Range;
use std::sync::Arc;

/// Average range length in bytes below which ranges are read together instead of sent one by one: a `sendfile` into a
/// socket costs as much as copying this many bytes.
const SCATTERED_BYTES: u64 = 64 << 10;

/// Ranges of one file. Clones share the list, which never changes: taking from it only moves a position.
#[derive(Clone, Debug, Default)]
pub struct Ranges {
    /// List of ranges; none is empty.
    all: Arc<[Range<u64>]>,
    /// Index of the first range that is left, and the number of bytes taken from it.
    next: usize,
    taken: u64,
    /// Bytes left in total.
    bytes: u64,
}

impl FromIterator<Range<u64>> for Ranges {
    fn from_iter<T: IntoIterator<Item = Range<u64>>>(ranges: T) -> Self {
        let all: Arc<[_]> = ranges.into_iter().filter(|it| !it.is_empty()).collect();
        Self {
            bytes: all.iter().map(|range| range.end - range.start).sum(),
            all,
            next: 0,
            taken: 0,
        }
    }
}

impl From<Vec<Range<u64>>> for Ranges {
    fn from(ranges: Vec<Range<u64>>) -> Self {
        ranges.into_iter().collect()
    }
}

impl From<Range<u64>> for Ranges {
    fn from(range: Range<u64>) -> Self {
        std::iter::once(range).collect()
    }
}

impl Ranges {
    /// Returns the number of bytes left.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns whether none is left.
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Returns whether the ranges are so small on average that reading them together is cheaper.
    pub fn is_scattered(&self) -> bool {
        let left = self.all.len() - self.next;
        left > 1 && self.bytes / (left as u64) < SCATTERED_BYTES
    }

    /// Returns the remainder of the first range.
    pub fn first(&self) -> Option<Range<u64>> {
        let range = self.all.get(self.next)?;
        Some(range.start + self.taken..range.end)
    }

    /// Takes `bytes` bytes of the first range, at most all of it.
    pub fn advance(&mut self, bytes: u64) {
        let Some(first) = self.first() else {
            return;
        };
        let bytes = bytes.min(first.end - first.start);
        self.bytes -= bytes;
        self.taken += bytes;
        if first.start + bytes == first.end {
            self.next += 1;
            self.taken = 0;
        }
    }

    /// Passes over the first bytes.
    pub fn skip(&mut self, mut bytes: u64) {
        while bytes > 0
            && let Some(first) = self.first()
        {
            let these = bytes.min(first.end - first.start);
            bytes -= these;
            self.advance(these);
        }
    }

    /// Takes the first `most` bytes, or fewer if fewer are left.
    pub fn take(&mut self, mut most: u64) -> Vec<Range<u64>> {
        let mut taken = Vec::new();
        while most > 0
            && let Some(first) = self.first()
        {
            let end = first.end.min(first.start.saturating_add(most));
            let bytes = end - first.start;
            taken.push(first.start..end);
            most -= bytes;
            self.advance(bytes);
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_taken_from_the_front() {
        let mut left = Ranges::from(vec![0..10, 20..25, 25..25, 40..100]);
        assert_eq!(left.bytes(), 75);
        let first = 0..4;
        assert_eq!(left.take(4), [first]);
        assert_eq!(left.take(8), [4..10, 20..22]);
        left.advance(1);
        assert_eq!(left.first(), Some(23..25));
        let other = left.clone();
        assert_eq!(left.take(1_000), [23..25, 40..100]);
        assert!(left.is_empty() && left.take(1).is_empty());
        assert_eq!((left.first(), other.bytes()), (None, 62));
    }

    #[test]
    fn small_ranges_are_read_together() {
        let apart =
            |bytes: u64| -> Ranges { (0..10).map(|at| at << 20..(at << 20) + bytes).collect() };
        assert!(apart(SCATTERED_BYTES - 1).is_scattered());
        assert!(!apart(SCATTERED_BYTES).is_scattered());
        let one = 0..1;
        assert!(!Ranges::from(one).is_scattered() && !Ranges::default().is_scattered());
    }
}
