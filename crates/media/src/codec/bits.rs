//! Reader of big-endian bit fields, as MPEG headers use them.

/// A cursor over the bits of a slice, most significant bit first.
pub(super) struct Bits<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Bits<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Reads the next `count` bits, at most 32, as a number.
    pub(super) fn take(&mut self, count: usize) -> Option<u32> {
        debug_assert!(count <= 32);
        if self.left() < count {
            return None;
        }
        let mut value = 0u64;
        for at in self.at..self.at + count {
            value = value << 1 | u64::from(self.bytes[at / 8] >> (7 - at % 8) & 1);
        }
        self.at += count;
        u32::try_from(value).ok()
    }

    pub(super) fn flag(&mut self) -> Option<bool> {
        self.take(1).map(|bit| bit == 1)
    }

    pub(super) fn skip(&mut self, count: usize) -> Option<()> {
        if self.left() < count {
            return None;
        }
        self.at += count;
        Some(())
    }

    /// Moves to the next whole byte.
    pub(super) fn align(&mut self) {
        self.at = self.at.next_multiple_of(8);
    }

    pub(super) fn left(&self) -> usize {
        (self.bytes.len() * 8).saturating_sub(self.at)
    }

    /// Reads an unsigned Exp-Golomb number (ISO/IEC 14496-10 §9.1).
    pub(super) fn golomb(&mut self) -> Option<u32> {
        let mut zeros = 0;
        while !self.flag()? {
            zeros += 1;
            if zeros > 31 {
                return None;
            }
        }
        Some((1u32 << zeros) - 1 + self.take(zeros)?)
    }

    /// Reads a signed Exp-Golomb number (ISO/IEC 14496-10 §9.1.1).
    pub(super) fn signed_golomb(&mut self) -> Option<i64> {
        let code = i64::from(self.golomb()?);
        Some(if code % 2 == 1 {
            code / 2 + 1
        } else {
            -(code / 2)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_cross_bytes_and_end_cleanly() {
        let mut bits = Bits::new(&[0b1010_0101, 0xFF]);
        assert_eq!(bits.take(3), Some(0b101));
        assert_eq!(bits.take(9), Some(0b0_0101_1111));
        assert_eq!(bits.take(5), None);
        assert_eq!(bits.take(4), Some(0xF));
        assert_eq!(bits.flag(), None);
    }

    #[test]
    fn exp_golomb_codes_count_up() {
        // 1, 010, 011, 00100
        let bytes = [0b1010_0110, 0b0100_0000];
        let mut bits = Bits::new(&bytes);
        let codes: Vec<_> = (0..4).filter_map(|_| bits.golomb()).collect();
        assert_eq!(codes, [0, 1, 2, 3]);
        let mut bits = Bits::new(&bytes);
        let codes: Vec<_> = (0..4).filter_map(|_| bits.signed_golomb()).collect();
        assert_eq!(codes, [0, 1, -1, 2]);
    }

    #[test]
    fn endless_zeros_are_not_a_number() {
        assert_eq!(Bits::new(&[0; 16]).golomb(), None);
    }
}
