//! Figures about a world.

/// Figures about a world.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Tally {
    /// Checksum of every send and every departure with its time.
    pub(crate) trace: u64,
    pub(crate) steps: u64,
    pub(crate) wakes: u64,
    pub(crate) sends: u64,
    pub(crate) bytes: u64,
    pub(crate) joins: u64,
    pub(crate) departures: [u64; fanout::Reason::ALL.len()],
    pub(crate) skips: u64,
    pub(crate) refused: u64,
    pub(crate) faults: u64,
}

impl Tally {
    pub(crate) fn add(&mut self, other: &Self) {
        self.trace ^= other.trace;
        self.steps += other.steps;
        self.wakes += other.wakes;
        self.sends += other.sends;
        self.bytes += other.bytes;
        self.joins += other.joins;
        for (sum, count) in self.departures.iter_mut().zip(other.departures) {
            *sum += count;
        }
        self.skips += other.skips;
        self.refused += other.refused;
        self.faults += other.faults;
    }
}
