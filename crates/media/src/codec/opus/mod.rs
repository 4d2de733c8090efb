//! Opus: the identification header that other formats share (RFC 7845 §5.1), the duration of a packet, and the frames
//! in it (RFC 6716 §3).

mod packet;

use crate::Span;

pub use packet::{Combiner, FRAMES_MAX, Frames};

/// Rate of all sample counts in Opus, whatever the rate of the input.
pub const RATE: u32 = 48_000;

/// Largest packet of one frame, in bytes: 510 kb/s for 20 ms (RFC 6716 §3.4).
pub const FRAME_BYTES_MAX: usize = 1_275;

/// Size of an identification header for one or two channels, in bytes.
pub const HEAD_BYTES: usize = 19;

/// Number of samples that a decoder discards at the start: the delay of the reference encoder.
const PRE_SKIP: u16 = 312;

/// Upper bound on the samples of a packet: 120 ms (RFC 6716 §3.2.5, R5).
const PACKET_SAMPLES_MAX: u32 = 5_760;

/// Returns an identification header for mono (1) or stereo, which need no channel mapping.
pub fn head(channels: u8) -> [u8; HEAD_BYTES] {
    let mut head = *b"OpusHead\x01\x02\0\0\0\0\0\0\0\0\0";
    head[9] = if channels == 1 { 1 } else { 2 };
    head[10..12].copy_from_slice(&PRE_SKIP.to_le_bytes());
    head[12..16].copy_from_slice(&RATE.to_le_bytes());
    head
}

/// Returns the number of channels of an identification header.
pub fn head_channels(head: &[u8]) -> Option<u8> {
    head.strip_prefix(b"OpusHead")?.get(1).copied()
}

/// Returns the number of channels of a complete identification header with the usual mapping (RFC 7845 §5.1.1.1): one
/// or two. More channels are several streams in one packet, which its decoder must handle differently.
pub fn plain_head_channels(head: &[u8]) -> Option<u8> {
    let channels = head_channels(head)?;
    let mapping = *head.get(HEAD_BYTES - 1)?;
    (mapping == 0 && (1..=2).contains(&channels)).then_some(channels)
}

/// Returns the duration of a packet; `None` if the bytes are no packet.
pub fn duration(packet: &[u8]) -> Option<Span> {
    samples(packet).map(|samples| Span::from_samples(samples, RATE))
}

/// Returns the samples of a packet at [`RATE`]; `None` if the bytes are no packet.
pub fn samples(packet: &[u8]) -> Option<u64> {
    let (toc, rest) = packet.split_first()?;
    let config = toc >> 3;
    let frame = match config {
        0..12 => [480, 960, 1_920, 2_880][usize::from(config & 3)],
        12..16 => [480, 960][usize::from(config & 1)],
        _ => [120, 240, 480, 960][usize::from(config & 3)],
    };
    let frames = match toc & 3 {
        0 => 1,
        1 | 2 => 2,
        _ => u32::from(rest.first()? & 0x3F),
    };
    let samples = frame * frames;
    (1..=PACKET_SAMPLES_MAX)
        .contains(&samples)
        .then_some(samples.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_tell_their_length() {
        let millis = |packet: &[u8]| duration(packet).map(Span::millis);
        assert_eq!(millis(&[0xFC, 0]), Some(20), "CELT, one frame");
        assert_eq!(millis(&[0x7D, 0]), Some(40), "hybrid, two frames");
        assert_eq!(millis(&[0x18, 0]), Some(60), "SILK, 60 ms");
        assert_eq!(millis(&[0xFF, 6]), Some(120), "six frames");
        assert_eq!(millis(&[0xFF, 7]), None, "longer than any");
        assert_eq!(millis(&[0xFF]), None, "cut");
        assert_eq!(millis(&[0xFF, 0]), None, "no frame");
        assert_eq!(duration(&[0xE0]), Some(Span::from_samples(120, RATE)));
    }

    #[test]
    fn a_head_names_its_channels() {
        for (asked, made) in [(1, 1), (2, 2), (0, 2), (6, 2)] {
            let head = head(asked);
            assert_eq!(head_channels(&head), Some(made));
            assert_eq!(head[10..16], [0x38, 0x01, 0x80, 0xBB, 0, 0]);
        }
        assert_eq!(head_channels(b"OpusTags\x01\x02"), None);
        let mut surround = head(2);
        assert_eq!(plain_head_channels(&surround), Some(2));
        assert_eq!(plain_head_channels(&surround[..HEAD_BYTES - 1]), None);
        surround[HEAD_BYTES - 1] = 1;
        assert_eq!(plain_head_channels(&surround), None);
    }
}
