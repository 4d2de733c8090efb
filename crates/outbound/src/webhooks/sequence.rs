//! Sequence numbers of a stream's messages: each is one more than the one before.
//!
//! The first number of a stream is the time in milliseconds, or one above all numbers assigned so far, if that is larger. So
//! numbers also increase over restarts, whatever the clock does and whether or not the numbers could be persisted.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;

use crate::webhooks::queue::Millis;

/// Most streams whose last number is known. Beyond that all are dropped, and their next numbers are far above their last ones.
const STREAMS_MAX: usize = 10_000;

/// Sequence numbers of all streams.
#[derive(Debug, Default)]
pub(crate) struct Sequences {
    last: HashMap<Arc<str>, u64>,
    highest: u64,
}

impl Sequences {
    /// Makes all further numbers larger than this one.
    pub(crate) fn begin_above(&mut self, number: u64) {
        self.highest = self.highest.max(number);
    }

    /// Returns the number of a stream's next message.
    pub(crate) fn next(&mut self, stream: &Arc<str>, now: Millis) -> u64 {
        if self.last.len() >= STREAMS_MAX && !self.last.contains_key(stream) {
            self.last.clear();
        }
        let next = match self.last.get(stream) {
            Some(last) => last + 1,
            None => now.max(self.highest + 1),
        };
        self.last.insert(Arc::clone(stream), next);
        self.highest = self.highest.max(next);
        next
    }

    /// Returns the highest number assigned.
    pub(crate) fn highest(&self) -> u64 {
        self.highest
    }
}

/// Puts the sequence number in front of a JSON object's members.
pub(crate) fn with_sequence(body: &[u8], sequence: u64) -> Bytes {
    let members = body.strip_prefix(b"{").unwrap_or(body);
    [format!("{{\"sequence\":{sequence},").as_bytes(), members]
        .concat()
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_stream_counts_by_one_and_grows_over_restarts() {
        let mut sequences = Sequences::default();
        let (a, b): (Arc<str>, Arc<str>) = ("a".into(), "b".into());
        let now = 1_800_000_000_000;
        let given: Vec<u64> = (0..3).map(|_| sequences.next(&a, now)).collect();
        assert_eq!(given, [now, now + 1, now + 2]);
        let of_b = sequences.next(&b, now);
        assert_eq!(sequences.next(&a, 5), now + 3);
        // The next run has a clock that is behind.
        let mut again = Sequences::default();
        again.begin_above(sequences.highest());
        assert!(again.next(&a, 7) > now + 3 && again.next(&b, 7) > of_b);
        // Nothing could be written down.
        assert!(Sequences::default().next(&a, now + 60_000) > now + 3);
    }

    #[test]
    fn a_number_is_a_member_of_the_object() {
        let numbered = with_sequence(br#"{"type":"a","data":{}}"#, 7);
        assert_eq!(&*numbered, br#"{"sequence":7,"type":"a","data":{}}"#);
    }

    #[test]
    fn streams_are_forgotten_and_their_numbers_grow_all_the_same() {
        let mut sequences = Sequences::default();
        let first: Arc<str> = "first".into();
        let before = sequences.next(&first, 1);
        for number in 0..STREAMS_MAX {
            sequences.next(&number.to_string().into(), 1);
        }
        assert!(sequences.last.len() <= STREAMS_MAX);
        assert!(sequences.next(&first, 1) > before);
    }
}
