//! Packet indices: 48 bits, of which the wire carries 16.

/// Packet index of a source as one receiver counts it (RFC 3711 §3.3.1).
///
/// A stream's packets have one endless sequence number for all its listeners. A receiver assumes that the first packet it
/// receives belongs to rollover 0, so each listener's count starts at the 2^16-block in which it joined.
///
/// A receiver that joins just before a wrap and loses every packet up to it guesses wrong and decrypts nothing from then on;
/// therefore no receiver should be started within the last few packets of a block.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Rollover {
    /// Endless sequence number of the first packet in the block of the receiver's first packet.
    block: u64,
}

impl Rollover {
    /// Starts a receiver's count with the packet of this endless sequence number.
    pub const fn starting_at(sequence: u64) -> Self {
        Self {
            block: sequence & !0xffff,
        }
    }

    /// Returns the 48-bit index of a packet; `None` for a packet from a block before the receiver's first, which the receiver
    /// could not index.
    pub const fn index(self, sequence: u64) -> Option<u64> {
        match sequence.checked_sub(self.block) {
            Some(index) if index <= INDEX_MAX => Some(index),
            _ => None,
        }
    }
}

/// Last index that one key may protect.
pub(super) const INDEX_MAX: u64 = (1 << 48) - 1;

/// Returns the most likely index of a received sequence number, given the highest authentic index so far (RFC 3711 appendix A).
/// `None` if that would be before the first or after the last.
pub(super) fn guess(highest: u64, sequence: u16) -> Option<u64> {
    let roc = highest >> 16;
    let last = (highest & 0xffff) as u16;
    let roc = if last < 0x8000 {
        if i32::from(sequence) - i32::from(last) > 0x8000 {
            roc.checked_sub(1)?
        } else {
            roc
        }
    } else if i32::from(last) - 0x8000 > i32::from(sequence) {
        roc + 1
    } else {
        roc
    };
    let index = roc << 16 | u64::from(sequence);
    (index <= INDEX_MAX).then_some(index)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_receivers_count_starts_at_its_block() {
        let rollover = Rollover::starting_at(5 << 16 | 0xfff0);
        assert_eq!(rollover.index(5 << 16 | 0xfff0), Some(0xfff0));
        assert_eq!(rollover.index(6 << 16), Some(0x1_0000));
        assert_eq!(rollover.index(5 << 16), Some(0));
        assert_eq!(rollover.index((5 << 16) - 1), None);
        assert_eq!(Rollover::starting_at(0).index(1 << 48), None);
    }

    #[test]
    fn guesses_cross_wraps_both_ways() {
        assert_eq!(guess(0xffff, 0), Some(0x1_0000));
        assert_eq!(guess(0x1_0000, 0xffff), Some(0xffff));
        assert_eq!(guess(0x1_0000, 1), Some(0x1_0001));
        assert_eq!(guess(0x10, 0xffff), None);
        assert_eq!(guess(0x7fff, 0xffff), Some(0xffff));
        assert_eq!(guess(INDEX_MAX, 0), None);
    }
}
