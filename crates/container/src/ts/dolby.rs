//! How long a frame of AC-3 or E-AC-3 lasts (ATSC A/52 §5.3.1 and annex E §2.2).

use media::Span;

const SYNC: [u8; 2] = [0x0B, 0x77];

/// Samples in one of a frame's blocks.
const BLOCK: u64 = 256;

/// The last `bsid` of AC-3; E-AC-3 has those up to [`EAC3_ID_MAX`].
const AC3_ID_MAX: u8 = 10;
const EAC3_ID_MAX: u8 = 16;

/// The span of the frame that `data` begins with; `None` when it begins with none.
pub(super) fn span(data: &[u8]) -> Option<Span> {
    let [a, b, _, _, rate, id] = *data.first_chunk()?;
    if [a, b] != SYNC {
        return None;
    }
    let rates = [48_000, 44_100, 32_000];
    let full_rate = rates.get(usize::from(rate >> 6));
    let (rate, blocks) = match (id >> 3, full_rate) {
        (0..=AC3_ID_MAX, rate) => (*rate?, 6),
        (_, Some(full)) => (*full, [1, 2, 3, 6][usize::from(rate >> 4 & 3)]),
        (_, None) => (*rates.get(usize::from(rate >> 4 & 3))? / 2, 6),
    };
    (id >> 3 <= EAC3_ID_MAX).then(|| Span::from_samples(blocks * BLOCK, rate))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_tell_their_length() {
        let millis = |rate, id: u8| span(&[0x0B, 0x77, 0, 0, rate, id << 3]).map(Span::millis);
        assert_eq!(millis(0x14, 8), Some(32), "AC-3 at 48 kHz");
        assert_eq!(millis(0x94, 8), Some(48), "AC-3 at 32 kHz");
        assert_eq!(millis(0xD4, 8), None, "a rate that is reserved");
        assert_eq!(millis(0x30, 16), Some(32), "E-AC-3, six blocks");
        assert_eq!(millis(0x10, 16), Some(10), "two blocks");
        assert_eq!(millis(0xE0, 16), Some(96), "half of 32 kHz");
        assert_eq!(millis(0xF0, 16), None);
        assert_eq!(millis(0x30, 17), None);
        assert_eq!(span(&[0x77, 0x0B, 0, 0, 0x14, 0x40]), None, "little-endian");
        assert_eq!(span(&[0x0B, 0x77, 0, 0, 0x14]), None);
    }
}
