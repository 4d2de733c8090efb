//! FLAC: the STREAMINFO block (RFC 9639 §8.2), and the number of samples in a frame (§9.1).

use super::bits::Bits;

/// Size of a STREAMINFO block without its header, in bytes.
pub const STREAM_INFO_BYTES: usize = 34;

/// Headers of a STREAMINFO block, with its type and length: not the last block, and the last.
const BLOCK_HEADERS: [[u8; 4]; 2] = [[0x00, 0, 0, 34], [0x80, 0, 0, 34]];

/// Configuration that a decoder needs before the first frame.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct StreamInfo {
    /// Samples per second; not zero.
    pub sample_rate: u32,
    /// Number of channels, 1 to 8.
    pub channels: u8,
}

impl StreamInfo {
    /// Parses a configuration; see [`stream_info`].
    pub fn parse(config: &[u8]) -> Option<Self> {
        let mut bits = Bits::new(stream_info(config)?);
        // Sizes of blocks and frames.
        bits.skip(80)?;
        Some(Self {
            sample_rate: bits.take(20).filter(|rate| *rate > 0)?,
            channels: bits.take(3)? as u8 + 1,
        })
    }
}

/// Returns the STREAMINFO block of a configuration, which may begin with the signature `fLaC`, with the block's header
/// or with the block. No block by itself begins like its header: its smallest block size would be 0, or more than its
/// largest.
pub fn stream_info(config: &[u8]) -> Option<&[u8; STREAM_INFO_BYTES]> {
    let blocks = config.strip_prefix(b"fLaC").unwrap_or(config);
    let headers = BLOCK_HEADERS.iter();
    let block = headers.fold(blocks, |rest, header| {
        rest.strip_prefix(header).unwrap_or(rest)
    });
    block.first_chunk()
}

/// Returns the samples per channel in a frame; `None` if the bytes are no frame.
pub fn frame_samples(frame: &[u8]) -> Option<u32> {
    let [first, second, sizes, _, number] = *frame.first_chunk()?;
    if first != 0xFF || second & 0xFE != 0xF8 {
        return None;
    }
    // The number of the frame or sample is encoded like a UTF-8 character, in up to seven bytes.
    let number_bytes = (number.leading_ones() as usize).max(1);
    let explicit = || frame.get(4 + number_bytes..);
    match sizes >> 4 {
        1 => Some(192),
        code @ 2..=5 => Some(576 << (code - 2)),
        6 => explicit()?.first().map(|size| u32::from(*size) + 1),
        7 => {
            let size = explicit()?.first_chunk()?;
            Some(u32::from(u16::from_be_bytes(*size)) + 1)
        }
        code @ 8.. => Some(256 << (code - 8)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates a block for 44.1 kHz, stereo, 16 bits, blocks of 4608.
    fn block() -> Vec<u8> {
        let mut block = vec![0x12, 0, 0x12, 0, 0, 0, 0, 0, 0, 0, 0x0A, 0xC4, 0x42, 0xF0];
        block.resize(STREAM_INFO_BYTES, 0);
        block
    }

    #[test]
    fn a_configuration_may_have_headers() {
        let block = block();
        let expected = StreamInfo {
            sample_rate: 44_100,
            channels: 2,
        };
        for before in [&b""[..], b"\x80\0\0\x22", b"fLaC\0\0\0\x22", b"fLaC"] {
            let config = [before, &block].concat();
            assert_eq!(StreamInfo::parse(&config), Some(expected));
            let found = stream_info(&config).map(|found| &found[..]);
            assert_eq!(found, Some(&block[..]));
            assert_eq!(StreamInfo::parse(&config[..config.len() - 1]), None);
        }
        assert_eq!(StreamInfo::parse(&[0; STREAM_INFO_BYTES]), None, "no rate");
    }

    #[test]
    fn frames_tell_their_samples() {
        let long = [0xFF, 0xF8, 0x79, 0x18, 0xC2, 0x80, 0x03, 0xE7];
        for (frame, samples) in [
            (&[0xFF, 0xF8, 0x19, 0x18, 0][..], Some(192)),
            (&[0xFF, 0xF8, 0x59, 0x18, 0], Some(4_608)),
            (&[0xFF, 0xF9, 0xC9, 0x18, 0], Some(4_096)),
            (&[0xFF, 0xF8, 0x69, 0x18, 0x05, 99], Some(100)),
            (&long, Some(1_000)),
            (&long[..7], None),
            // Reserved.
            (&[0xFF, 0xF8, 0x09, 0x18, 0], None),
            (&[0xFF, 0xFB, 0x59, 0x18, 0], None),
            (&[0xFF, 0xF8, 0x79, 0x18, 0xFF], None),
        ] {
            assert_eq!(frame_samples(frame), samples, "{frame:x?}");
        }
    }
}
