//! The numbers of a stream's messages: each is one more than the one before.
//!
//! The first one of a stream is the time in milliseconds, or what is above every number that was given, so numbers grow
//! over restarts as well, whatever a clock does and whether they could be written down or not.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;

use crate::queue::Millis;

/// Streams whose last number is known at most. Beyond that all are forgotten, and their next numbers are far above their
/// last.
const STREAMS_MAX: usize = 10_000;

/// See the module's description.
#[derive(Debug, Default)]
pub(crate) struct Sequences {
    last: HashMap<Arc<str>, u64>,
    highest: u64,
}

impl Sequences {
    /// No number is given any more that is not above this one.
    pub(crate) fn begin_above(&mut self, number: u64) {
        self.highest = self.highest.max(number);
    }

    /// The number of a stream's next message.
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

    /// The highest that was given.
    pub(crate) fn highest(&self) -> u64 {
        self.highest
    }
}

/// An object of JSON, with its number in front.
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
