//! Silent frames of a given total length.

use media::codec::mpeg_audio::FrameHeader;

/// Bit rates that a header can state.
const RATES: std::ops::RangeInclusive<u8> = 1..=14;

/// Returns the fewest silent frames that have `bytes` bytes in total, in the format of `frame`. `None` if no
/// combination fits. The work grows with `bytes`, so callers should request some tens of kilobytes at most.
pub fn silence(frame: &[u8], bytes: usize) -> Option<Vec<u8>> {
    let &[sync, version, rates, mode] = frame.first_chunk()?;
    // Without a checksum, of every bit rate, with and without a byte of padding.
    let heads = RATES.flat_map(|rate| [0, 2].map(|padding| (rate << 4) | (rates & 0x0C) | padding));
    let heads = heads.map(|rates| [sync, version | 1, rates, mode]);
    let sizes: Vec<_> = heads
        .filter_map(|head| Some((FrameHeader::parse(&head)?.frame_bytes(), head)))
        .collect();
    // For each number of bytes: the fewest frames, and the last one of them.
    let mut fewest = vec![None; bytes + 1];
    fewest[0] = Some((0_usize, 0));
    for end in 1..=bytes {
        let ways = sizes.iter().enumerate().filter_map(|(last, (size, _))| {
            let (frames, _) = fewest[end.checked_sub(*size)?]?;
            Some((frames + 1, last))
        });
        fewest[end] = ways.min();
    }
    let (mut silence, mut left) = (Vec::with_capacity(bytes), bytes);
    while left > 0 {
        let (_, last) = fewest[left]?;
        let (size, head) = sizes[last];
        let begin = silence.len();
        silence.extend(head);
        silence.resize(begin + size, 0);
        left -= size;
    }
    Some(silence)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_has_any_length_but_the_shortest() {
        for head in [
            [0xFF, 0xFB, 0x90, 0x64],
            [0xFF, 0xFA, 0x92, 0xC4],
            [0xFF, 0xF3, 0x40, 0xC4],
        ] {
            let like = FrameHeader::parse(&head).expect("a header");
            let largest = [head[0], head[1], 0xE2 | (head[2] & 0x0C), head[3]];
            let largest = FrameHeader::parse(&largest).expect("a header");
            let largest = largest.frame_bytes();
            for bytes in [0, 4_000, 4_001, 9_999, 16_123] {
                let silence = silence(&head, bytes).expect("there are frames for it");
                assert_eq!(silence.len(), bytes);
                let (mut at, mut frames) = (0, 0);
                while at < bytes {
                    let frame = FrameHeader::parse(&silence[at..]).expect("a frame");
                    assert!(frame.sample_rate == like.sample_rate && !frame.checksum);
                    assert_eq!(frame.channels, like.channels);
                    let side = at + FrameHeader::BYTES;
                    assert_eq!(silence[side..side + 9], [0; 9], "it refers to nothing");
                    at += frame.frame_bytes();
                    frames += 1;
                }
                // Sizes that add up to it exactly take some more than the largest would.
                let fewest = bytes.div_ceil(largest);
                assert_eq!(at, bytes);
                assert!(frames <= fewest + 4, "{frames} frames, {fewest}");
            }
            assert_eq!(silence(&head, 5), None);
        }
    }
}
