//! What workers counted, readable from any thread.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::mux;

/// Counts since the port was opened.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Counters {
    /// What was received and refused.
    pub mux: mux::Counters,
    /// Datagrams received over UDP.
    pub received: u64,
    /// Datagrams of those that were longer than any that fits the path, and were dropped.
    pub oversized: u64,
    /// Sends that were given to the kernel over UDP.
    pub sends: u64,
    /// Datagrams that these were.
    pub datagrams: u64,
    /// Sends that found the UDP socket, or the queue of a TCP connection, full.
    pub blocked: u64,
    /// Datagrams that could not be sent: no room, no way to the peer, or too long for it.
    pub lost: u64,
    /// Datagrams and connections that belonged to another worker and were passed on.
    pub forwarded: u64,
    /// Those that were dropped because the other worker's queue was full.
    pub forwards_lost: u64,
    /// TCP connections that were accepted.
    pub connections: u64,
    /// TCP connections that were refused or closed.
    pub connections_refused: u64,
    /// Sessions whose peers never arrived.
    pub expired: u64,
    /// Sessions whose peers arrived but did not connect.
    pub abandoned: u64,
}

/// Numbers in [`Counters`].
const CELLS: usize = 20;

impl Counters {
    pub(super) fn add(&mut self, other: Self) {
        for (sum, cell) in self.cells().into_iter().zip(other.values()) {
            *sum += cell;
        }
    }

    fn values(mut self) -> [u64; CELLS] {
        self.cells().map(|cell| *cell)
    }

    fn cells(&mut self) -> [&mut u64; CELLS] {
        let mux::Counters {
            checks,
            checks_refused,
            dtls_refused,
            connected,
            handshakes_failed,
            srtp_refused,
            strays,
            half_open,
        } = &mut self.mux;
        [
            checks,
            checks_refused,
            dtls_refused,
            connected,
            handshakes_failed,
            srtp_refused,
            strays,
            half_open,
            &mut self.received,
            &mut self.oversized,
            &mut self.sends,
            &mut self.datagrams,
            &mut self.blocked,
            &mut self.lost,
            &mut self.forwarded,
            &mut self.forwards_lost,
            &mut self.connections,
            &mut self.connections_refused,
            &mut self.expired,
            &mut self.abandoned,
        ]
    }
}

/// One worker's counters, written by it and read from any thread.
#[derive(Debug, Default)]
pub(super) struct Board([AtomicU64; CELLS]);

impl Board {
    pub(super) fn write(&self, counters: Counters) {
        for (cell, value) in self.0.iter().zip(counters.values()) {
            cell.store(value, Ordering::Relaxed);
        }
    }

    pub(super) fn read(&self) -> Counters {
        let mut counters = Counters::default();
        for (value, cell) in counters.cells().into_iter().zip(&self.0) {
            *value = cell.load(Ordering::Relaxed);
        }
        counters
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boards_add_up() {
        let counters = Counters {
            mux: mux::Counters {
                half_open: 3,
                ..mux::Counters::default()
            },
            abandoned: 5,
            ..Counters::default()
        };
        let board = Board::default();
        board.write(counters);
        assert_eq!(board.read(), counters);
        let mut sum = board.read();
        sum.add(board.read());
        assert_eq!((sum.mux.half_open, sum.abandoned, sum.sends), (6, 10, 0));
    }
}
