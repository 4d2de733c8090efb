//! The other end of a listener's socket.

use net::Slot;

use super::reader::Reader;

/// A moment: nanoseconds since the world began.
pub(crate) type Nanos = u64;

pub(crate) const SECOND: Nanos = 1_000_000_000;
pub(crate) const MILLI: Nanos = 1_000_000;

/// Rate of a player that takes all bytes at once.
pub(crate) const AT_ONCE: u64 = u64::MAX;

/// The other end of a listener's socket.
#[derive(Debug, Default)]
pub(crate) struct Peer {
    pub(crate) reader: Reader,
    /// Bytes per second that its player takes; [`AT_ONCE`] for any number.
    pub(crate) rate: u64,
    pub(crate) capacity: u64,
    pub(crate) queued: u64,
    /// Time up to which `queued` is known.
    pub(crate) updated: Nanos,
    pub(crate) stalls: bool,
    /// Whether it was full, and its worker waits for a report of room.
    pub(crate) is_awaited: bool,
    /// Bytes that its socket took.
    pub(crate) accepted: u64,
    /// Bytes that its player took.
    pub(crate) taken: u64,
    pub(crate) sends: u64,
    /// Checksum of all sends, with their times.
    pub(crate) trace: u64,
    /// Whether it has hung up.
    pub(crate) is_gone: bool,
    pub(crate) attached: Option<(usize, Slot)>,
    /// Whether the server has closed the socket, or given it back.
    pub(crate) is_closed: bool,
    pub(crate) said: Vec<u8>,
}

impl Peer {
    pub(crate) fn new(reader: Reader, rate: u64, capacity: u64) -> Self {
        Self {
            reader,
            rate,
            capacity,
            ..Self::default()
        }
    }

    /// Has the player take as many bytes as it could since the last time.
    pub(crate) fn settle(&mut self, now: Nanos) {
        let elapsed = now.saturating_sub(self.updated);
        self.updated = self.updated.max(now);
        if self.stalls {
            return;
        }
        let could = u128::from(elapsed) * u128::from(self.rate) / u128::from(SECOND);
        let took = self.queued.min(could.try_into().unwrap_or(u64::MAX));
        self.queued -= took;
        self.taken += took;
    }

    /// Takes up to `offered` bytes.
    pub(crate) fn accept(&mut self, offered: u64, now: Nanos) -> u64 {
        if self.rate == AT_ONCE && !self.stalls {
            self.taken += offered + std::mem::take(&mut self.queued);
            return offered;
        }
        self.settle(now);
        let count = offered.min(self.capacity - self.queued);
        self.queued += count;
        count
    }

    /// Returns the time at which half of its buffer will be free.
    pub(crate) fn has_room_at(&self, now: Nanos) -> Option<Nanos> {
        if self.stalls || self.rate == 0 {
            return None;
        }
        let excess = self.queued.saturating_sub(self.capacity / 2);
        let wait = u128::from(excess) * u128::from(SECOND) / u128::from(self.rate) + 1;
        Some(now + Nanos::try_from(wait).unwrap_or(u64::MAX / 2))
    }
}
