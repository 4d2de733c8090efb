//! Egress rate to listeners, also estimated between two measurements.

use std::sync::atomic::{AtomicU64, Ordering};

/// Divisor for a steady audience: at most one listener in this many came or left since the last measurement.
const STEADY_PART: u64 = 8;

/// Egress rate as last measured, and the expected addition by listeners that joined since then.
#[derive(Debug, Default)]
pub(super) struct Egress {
    /// Measured rate in bit/s.
    bits: AtomicU64,
    /// Number of listeners at the measurement.
    listeners: AtomicU64,
    /// Number of those that had joined since the previous measurement: they were sent to for only part of the interval.
    fresh: AtomicU64,
    /// Rate in bit/s that one more listener may add.
    bits_each: AtomicU64,
}

impl Egress {
    /// Stores the current rate, its number of listeners, and a stream's average rate.
    pub(super) fn measured(&self, bits: u64, stream_bits: u64, listeners: u64) {
        self.bits.store(bits, Ordering::Relaxed);
        let before = self.listeners.swap(listeners, Ordering::Relaxed);
        let fresh = listeners.saturating_sub(before);
        self.fresh.store(fresh, Ordering::Relaxed);
        let changed = before.abs_diff(listeners);
        let is_steady = changed <= listeners / STEADY_PART;
        let each = match bits.checked_div(listeners) {
            Some(each @ 1..) if is_steady => each,
            Some(_) if self.bits_each.load(Ordering::Relaxed) > 0 => return,
            _ => stream_bits,
        };
        self.bits_each.store(each, Ordering::Relaxed);
    }

    /// Returns the rate in bit/s to expect with this many listeners.
    pub(super) fn expected(&self, listeners: u64) -> u64 {
        let of = |number: &AtomicU64| number.load(Ordering::Relaxed);
        let (measured, each, bits) = (of(&self.listeners), of(&self.bits_each), of(&self.bits));
        let joined = listeners.saturating_sub(measured);
        // The rate may lack everything that fresh listeners take, but together all listeners take no more than their number
        // implies.
        let with_fresh = bits.saturating_add(of(&self.fresh).saturating_mul(each));
        let present = with_fresh.min(measured.saturating_mul(each)).max(bits);
        present.saturating_add(joined.saturating_mul(each))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_listeners_count_as_what_others_are_sent() {
        let egress = Egress::default();
        assert_eq!(egress.expected(9), 0, "nothing is known");
        egress.measured(0, 128, 0);
        assert_eq!(egress.expected(2), 256, "the stream tells it");
        // They joined just now: what they were sent in this interval says little.
        egress.measured(50, 128, 2);
        assert_eq!(egress.expected(2), 2 * 128, "for part of the interval");
        assert_eq!(egress.expected(3), 3 * 128);
        egress.measured(200, 128, 2);
        assert_eq!(egress.expected(3), 300, "now they tell it themselves");
        egress.measured(0, 0, 2);
        assert_eq!(egress.expected(3), 100, "the publisher is away briefly");
        egress.measured(800, 500, 80);
        assert_eq!(egress.expected(81), 8_100, "many have joined");
        egress.measured(800, 500, 80);
        assert_eq!(egress.expected(81), 810, "and take less than others did");
        egress.measured(0, 64, 0);
        assert_eq!(egress.expected(1), 64, "all have gone");
    }
}
