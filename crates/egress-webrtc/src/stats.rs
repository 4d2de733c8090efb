//! What one worker's viewers count beside the [books](fanout::Books) that all listeners have: packets,
//! losses, and what viewers ask for.
//!
//! [`Viewers`](crate::Viewers) count without sharing and publish once in a turn; a reader sums over the
//! workers.

use std::sync::atomic::{AtomicU64, Ordering};

/// Declares [`Counters`], and the order in which [`Stats`] has them.
macro_rules! counters {
    ($($(#[$meta:meta])* $name:ident,)*) => {
        /// Counts since the worker began.
        #[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
        pub struct Counters {
            $($(#[$meta])* pub $name: u64,)*
        }

        const WORDS: usize = [$(stringify!($name)),*].len();

        impl Counters {
            fn cells(&mut self) -> [&mut u64; WORDS] {
                [$(&mut self.$name),*]
            }
        }
    };
}

counters! {
    /// Packets sent, repeated ones included.
    packets,
    /// Send calls that found the socket full.
    blocked_sends,
    /// Messages that asked for packets again.
    nacks,
    /// Packets they named.
    nacked,
    /// Packets sent again.
    retransmissions,
    /// Packets asked for and not sent: too soon after the last time, beyond the viewer's share, or no
    /// longer known.
    nacks_refused,
    /// Picture loss indications and full intra requests.
    keyframe_requests,
    /// How often a viewer's picture was held because its link was too small.
    held_pictures,
    /// Packets lost, as the viewers report.
    lost,
    /// Sum of the round trips in reports, in microseconds.
    round_trip_micros,
    /// Reports with a round trip.
    round_trips,
}

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
        assert_eq!((one.packets, one.round_trips), (1, WORDS as u64));
        let stats = Stats::default();
        stats.publish(&one);
        let mut sum = stats.value();
        assert_eq!(sum, one);
        sum.merge(&one);
        assert_eq!((sum.packets, sum.lost), (2 * one.packets, 2 * one.lost));
    }
}
