//! Detection of implicitly signalled high-efficiency AAC.
//!
//! Spectral band replication is in a fill element, the last before the end of an access unit (ISO/IEC 14496-3 §4.4.2.7,
//! §4.5.2.8). The elements before it cannot be skipped without decoding them, but the end can be read backwards: the unit ends
//! with the three ones of the end element and zeros, and a fill element states its length, so only few offsets can be its
//! start. By chance an ordinary frame matches one time in fifty; most frames of a run match only if band replication is
//! present. The first runs may not show it: an encoder with a constant rate that codes silence pads after the fill element.

/// Frames in a run.
const FRAMES: u32 = 16;
/// Number of matches among them that cannot be chance.
const SIGNS: u32 = 12;

const ID_FILL: u32 = 6;
const ID_END: u32 = 7;
/// extension_type: EXT_SBR_DATA and EXT_SBR_DATA_CRC.
const REPLICATION: [u32; 2] = [13, 14];
/// Longest fill element, in bytes after its length field.
const FILL_BYTES_MAX: usize = 269;

/// Detector that watches the frames of a track.
#[derive(Debug, Default)]
pub(super) struct Spotter {
    frames: u32,
    signs: u32,
}

impl Spotter {
    /// Examines one more access unit; returns true once most of a run carry band replication.
    pub(super) fn sees_replication(&mut self, unit: &[u8]) -> bool {
        if self.frames == FRAMES {
            *self = Self::default();
        }
        self.frames += 1;
        self.signs += u32::from(ends_with_replication(unit));
        self.signs >= SIGNS
    }
}

fn ends_with_replication(unit: &[u8]) -> bool {
    let Some(last) = unit.iter().rposition(|byte| *byte != 0) else {
        return false;
    };
    let end = 8 * (last + 1) - unit[last].trailing_zeros() as usize;
    let Some(end_element) = end.checked_sub(3) else {
        return false;
    };
    read(unit, end_element, 3) == ID_END
        && (1..=FILL_BYTES_MAX).any(|count| is_fill(unit, end_element, count))
}

/// Whether a fill element of `count` bytes that contains band replication ends at bit `end`.
fn is_fill(unit: &[u8], end: usize, count: usize) -> bool {
    // From 15 on the count is escaped: 15, and eight more bits for the rest plus one.
    let (length_bits, length) = if count < 15 {
        (4, count as u32)
    } else {
        (12, 15 << 8 | (count as u32 - 14))
    };
    let Some(start) = end.checked_sub(8 * count + length_bits + 3) else {
        return false;
    };
    read(unit, start, 3) == ID_FILL
        && read(unit, start + 3, length_bits) == length
        && REPLICATION.contains(&read(unit, start + 3 + length_bits, 4))
}

/// Returns `count` bits from bit `at` on; all of them exist.
fn read(unit: &[u8], at: usize, count: usize) -> u32 {
    (at..at + count).fold(0, |value, bit| {
        value << 1 | u32::from(unit[bit / 8] >> (7 - bit % 8) & 1)
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// `unit` with a fill element of `count` bytes that claims to be band replication, put where
    /// the end element was.
    pub(crate) fn with_replication(unit: &[u8], count: usize) -> Vec<u8> {
        let last = unit
            .iter()
            .rposition(|byte| *byte != 0)
            .expect("not silent");
        let end = 8 * (last + 1) - unit[last].trailing_zeros() as usize - 3;
        assert_eq!(read(unit, end, 3), ID_END);
        let mut bits: Vec<u32> = (0..end).map(|at| read(unit, at, 1)).collect();
        let mut put = |value: u32, width: usize| {
            bits.extend((0..width).rev().map(|at| value >> at & 1));
        };
        put(ID_FILL, 3);
        if count < 15 {
            put(count as u32, 4);
        } else {
            put(15, 4);
            put(count as u32 - 14, 8);
        }
        put(REPLICATION[0], 4);
        for _ in 0..count - 1 {
            put(0x5A, 8);
        }
        put(0xA, 4);
        put(ID_END, 3);
        bits.chunks(8)
            .map(|byte| {
                let value = byte.iter().fold(0, |value, bit| value << 1 | *bit as u8);
                value << (8 - byte.len())
            })
            .collect()
    }

    #[test]
    fn fill_elements_of_every_length_are_found() {
        // One zero element's worth of bits, then the end.
        let plain = [0x01, 0x18, 0x20, 0x07, 0xE0];
        assert!(!ends_with_replication(&plain));
        for count in 1..=FILL_BYTES_MAX {
            assert!(
                ends_with_replication(&with_replication(&plain, count)),
                "{count}"
            );
        }
    }

    #[test]
    fn short_and_silent_units_are_nothing() {
        for unit in [&[][..], &[0], &[0, 0, 0], &[0xE0], &[0xC0], &[0xFF; 3]] {
            assert!(!ends_with_replication(unit), "{unit:?}");
        }
    }

    #[test]
    fn one_sign_is_chance_and_many_are_not() {
        let plain = [0x01, 0x18, 0x20, 0x07, 0xE0];
        let marked = with_replication(&plain, 20);
        let mut spotter = Spotter::default();
        assert!(!spotter.sees_replication(&marked));
        assert!((0..100).all(|_| !spotter.sees_replication(&plain)));
        // However late it shows.
        assert!((0..2 * FRAMES).any(|_| spotter.sees_replication(&marked)));
        // One in two is more than chance, and less than a habit.
        let mut spotter = Spotter::default();
        assert!(
            (0..100).all(|_| {
                !spotter.sees_replication(&marked) && !spotter.sees_replication(&plain)
            })
        );
    }
}
