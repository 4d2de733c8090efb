//! Header of a PES packet (ISO/IEC 13818-1 §2.4.3.6).

use media::Timestamp;

use super::clock::stamp;

/// Bytes of the longest header: one with two timestamps.
const HEADER_BYTES_MAX: usize = 19;

/// Bytes that the length field does not count: those up to itself.
const UNCOUNTED_BYTES: usize = 6;

const STAMP_BYTES: usize = 5;

/// `stream_id` of private stream 1, for codecs without a number in MPEG.
pub(super) const PRIVATE: u8 = 0xBD;
/// `stream_id` of MPEG audio.
pub(super) const AUDIO: u8 = 0xC0;
/// `stream_id` of video.
pub(super) const VIDEO: u8 = 0xE0;

/// Encoded header, of variable length.
#[derive(Debug)]
pub(super) struct Header {
    bytes: [u8; HEADER_BYTES_MAX],
    length: usize,
}

impl Header {
    /// Creates the header of a packet with a payload of `payload_bytes`, which begins with an access unit. The length
    /// of video is left open, because the field may be too small for it.
    pub(super) fn new(stream_id: u8, dts: Timestamp, pts: Timestamp, payload_bytes: usize) -> Self {
        let (dts, pts) = (stamp(dts), stamp(pts));
        let (flags, stamps): (u8, &[(u8, u64)]) = if dts == pts {
            (0x80, &[(0x20, pts)])
        } else {
            (0xC0, &[(0x30, pts), (0x10, dts)])
        };
        let stamp_bytes = STAMP_BYTES * stamps.len();
        let length = 9 + stamp_bytes;
        let counted = match stream_id {
            VIDEO => 0,
            _ => u16::try_from(length - UNCOUNTED_BYTES + payload_bytes).unwrap_or(0),
        };
        let [high, low] = counted.to_be_bytes();
        let mut bytes = [0; HEADER_BYTES_MAX];
        // No scrambling, no priority; the payload is aligned (data_alignment_indicator).
        bytes[..9].copy_from_slice(&[
            0,
            0,
            1,
            stream_id,
            high,
            low,
            0x84,
            flags,
            stamp_bytes as u8,
        ]);
        for (at, (mark, stamp)) in bytes[9..].chunks_exact_mut(STAMP_BYTES).zip(stamps) {
            at.copy_from_slice(&write_stamp(*mark, *stamp));
        }
        Self { bytes, length }
    }

    pub(super) fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// Encodes 33 bits in three pieces, with a marker bit after each.
const fn write_stamp(mark: u8, stamp: u64) -> [u8; STAMP_BYTES] {
    [
        mark | (stamp >> 29) as u8 & 0x0E | 1,
        (stamp >> 22) as u8,
        (stamp >> 14) as u8 | 1,
        (stamp >> 7) as u8,
        (stamp << 1) as u8 | 1,
    ]
}

/// Returns the presentation and decoding timestamps of a PES packet, and the offset of its payload. `None` if it is not a
/// PES packet, or has no timestamps.
pub(super) fn stamps(pes: &[u8]) -> Option<(u64, u64, usize)> {
    let [0, 0, 1, _, _, _, marks, flags, length, ..] = *pes else {
        return None;
    };
    let begin = 9 + usize::from(length);
    let stamps = pes.get(9..begin).filter(|_| marks & 0xC0 == 0x80)?;
    let pts = read_stamp(stamps)?;
    match flags >> 6 {
        2 => Some((pts, pts, begin)),
        3 => Some((pts, read_stamp(stamps.get(STAMP_BYTES..)?)?, begin)),
        _ => None,
    }
}

fn read_stamp(bytes: &[u8]) -> Option<u64> {
    let [a, b, c, d, e] = bytes.first_chunk::<STAMP_BYTES>()?.map(u64::from);
    Some((a >> 1 & 7) << 30 | b << 22 | (c >> 1) << 15 | d << 7 | e >> 1)
}

/// Returns whether the PES packet is video.
pub(super) fn is_picture(pes: &[u8]) -> bool {
    pes.get(3) == Some(&VIDEO)
}
