//! What one worker's viewers count.
//!
//! [`Viewers`](crate::Viewers) count without sharing and publish once in a turn; whoever reads sums
//! over the workers. Bytes, sends, joins, skips and departures are in the books of `fanout`, too,
//! with those of all other listeners.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts since the worker began, but for the first two, which are of now.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Counters {
    /// Viewers that are connected.
    pub viewers: u64,
    /// Viewers that were moved forward within the last seconds.
    pub degraded: u64,
    /// Packets sent, repeated ones included.
    pub packets: u64,
    /// Their bytes as sealed.
    pub bytes: u64,
    /// Send calls that took them.
    pub sends: u64,
    /// Send calls that found no room.
    pub blocked_sends: u64,
    /// Viewers moved to a newer keyframe.
    pub skips: u64,
    /// Messages that asked for packets again.
    pub nacks: u64,
    /// Packets they named.
    pub nacked: u64,
    /// Packets sent again.
    pub retransmissions: u64,
    /// Packets asked for and not sent: too soon after the last time, beyond the viewer's share, or no
    /// longer known.
    pub nacks_refused: u64,
    /// Picture loss indications and full intra requests.
    pub keyframe_requests: u64,
    /// Packets lost, as the viewers report.
    pub lost: u64,
    /// Sum of the round trips that reports told, in microseconds.
    pub round_trip_micros: u64,
    /// How many told one.
    pub round_trips: u64,
}

const WORDS: usize = 15;

impl Counters {
    /// Adds another worker's.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.cells().into_iter().zip(other.words()) {
            *mine += theirs;
        }
    }

    fn words(mut self) -> [u64; WORDS] {
        self.cells().map(|cell| *cell)
    }

    fn cells(&mut self) -> [&mut u64; WORDS] {
        let Self {
            viewers,
            degraded,
            packets,
            bytes,
            sends,
            blocked_sends,
            skips,
            nacks,
            nacked,
            retransmissions,
            nacks_refused,
            keyframe_requests,
            lost,
            round_trip_micros,
            round_trips,
        } = self;
        [
            viewers,
            degraded,
            packets,
            bytes,
            sends,
            blocked_sends,
            skips,
            nacks,
            nacked,
            retransmissions,
            nacks_refused,
            keyframe_requests,
            lost,
            round_trip_micros,
            round_trips,
        ]
    }
}

/// A worker's counters as of its last turn, for other threads.
#[derive(Debug, Default)]
pub struct Stats([AtomicU64; WORDS]);

impl Stats {
    /// The values now.
    pub fn value(&self) -> Counters {
        let mut counters = Counters::default();
        for (cell, word) in counters.cells().into_iter().zip(&self.0) {
            *cell = word.load(Ordering::Relaxed);
        }
        counters
    }

    pub(crate) fn publish(&self, counters: &Counters) {
        for (word, value) in self.0.iter().zip(counters.words()) {
            word.store(value, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_published_is_read_and_summed() {
        let mut one = Counters::default();
        let cells = one.cells().into_iter();
        cells.zip(1..).for_each(|(cell, number)| *cell = number);
        assert_eq!((one.viewers, one.round_trips), (1, WORDS as u64));
        let stats = Stats::default();
        stats.publish(&one);
        let mut sum = stats.value();
        assert_eq!(sum, one);
        sum.merge(&one);
        assert_eq!((sum.packets, sum.lost), (2 * one.packets, 2 * one.lost));
    }
}
