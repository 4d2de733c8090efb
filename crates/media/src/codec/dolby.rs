//! AC-3 and Enhanced AC-3: the fields of a sync frame, and the configuration derived from them (ETSI TS 102 366 §4.4,
//! §E.1.2, annex F).

use super::bits::Bits;
use crate::Span;

/// Samples per channel in one audio block.
const BLOCK_SAMPLES: u32 = 256;

/// Number of blocks in every AC-3 frame.
const AC3_BLOCKS: u8 = 6;

/// Highest version of the bit stream that AC-3 decoders know, and highest version of the enhanced one.
const AC3_VERSION_MAX: u8 = 10;
const ENHANCED_VERSION_MAX: u8 = 16;

/// Upper bound on sync frames of one sample that are examined: eight independent substreams with eight dependent ones
/// each, of which a block takes six at the most.
const FRAMES_MAX: usize = 8 * 9 * 6;

/// Size of a `dac3` box's content, and of a `dec3` box's with one substream, in bytes.
const AC3_RECORD_BYTES: usize = 3;
const ENHANCED_RECORD_BYTES: usize = 5;

/// Parsed first bytes of a sync frame.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct SyncFrame {
    /// Whether it is Enhanced AC-3.
    pub is_enhanced: bool,
    /// Samples per second.
    pub sample_rate: u32,
    /// Number of channels, including the one for low frequencies.
    pub channels: u8,
    rate_code: u8,
    version: u8,
    service: u8,
    layout: u8,
    has_low_frequencies: bool,
    /// Bitrate code of AC-3, which has a fixed bitrate; 0 for the enhanced one.
    bitrate_code: u8,
    blocks: u8,
}

impl SyncFrame {
    /// Parses the frame at the start of `data`.
    pub fn parse(data: &[u8]) -> Option<Self> {
        let version = data.get(5)? >> 3;
        let mut bits = Bits::new(data);
        if bits.take(16)? != 0x0B77 {
            return None;
        }
        if version <= AC3_VERSION_MAX {
            Self::read_plain(version, &mut bits)
        } else if version <= ENHANCED_VERSION_MAX {
            Self::read_enhanced(version, &mut bits)
        } else {
            None
        }
    }

    fn read_plain(version: u8, bits: &mut Bits<'_>) -> Option<Self> {
        bits.skip(16)?;
        let rate_code = bits.take(2)? as u8;
        let bitrate_code = bits.take(6)? as u8 >> 1;
        bits.skip(5)?;
        let service = bits.take(3)? as u8;
        let layout = bits.take(3)? as u8;
        // Levels of the centre and of the surround channels, or the flag of Dolby Surround.
        let has_centre = layout & 1 == 1 && layout != 1;
        let levels = [has_centre, layout & 4 != 0, layout == 2];
        bits.skip(2 * levels.iter().filter(|there| **there).count())?;
        let has_low_frequencies = bits.flag()?;
        // Versions above 8 halve the rate once for each step.
        let halvings = version.saturating_sub(8);
        Some(Self {
            is_enhanced: false,
            sample_rate: sample_rate(rate_code)? >> halvings,
            channels: channels(layout, has_low_frequencies),
            rate_code,
            version,
            service,
            layout,
            has_low_frequencies,
            bitrate_code,
            blocks: AC3_BLOCKS,
        })
    }

    fn read_enhanced(version: u8, bits: &mut Bits<'_>) -> Option<Self> {
        bits.skip(16)?;
        let rate_code = bits.take(2)? as u8;
        let more = bits.take(2)? as u8;
        let (sample_rate, blocks) = match rate_code {
            3 => (sample_rate(more)? / 2, AC3_BLOCKS),
            _ => (sample_rate(rate_code)?, [1, 2, 3, 6][usize::from(more)]),
        };
        let layout = bits.take(3)? as u8;
        let has_low_frequencies = bits.flag()?;
        Some(Self {
            is_enhanced: true,
            sample_rate,
            channels: channels(layout, has_low_frequencies),
            rate_code,
            version,
            service: 0,
            layout,
            has_low_frequencies,
            bitrate_code: 0,
            blocks,
        })
    }

    /// Returns the duration of the frame.
    pub fn span(&self) -> Span {
        Span::from_samples(self.samples().into(), self.sample_rate)
    }

    /// Returns the samples per channel in it.
    fn samples(&self) -> u32 {
        BLOCK_SAMPLES * u32::from(self.blocks)
    }

    /// Returns the content of the `dac3` box of a stream with such frames (§F.4).
    pub fn plain_record(&self) -> [u8; AC3_RECORD_BYTES] {
        let bits = u32::from(self.rate_code) << 22
            | u32::from(self.version) << 17
            | u32::from(self.service & 7) << 14
            | u32::from(self.layout) << 11
            | u32::from(self.has_low_frequencies) << 10
            | u32::from(self.bitrate_code & 0x1F) << 5;
        let [_, record @ ..] = bits.to_be_bytes();
        record
    }

    /// Returns the content of the `dec3` box of a stream whose samples have `sample_bytes` of such frames, in one
    /// independent substream (§F.6).
    pub fn enhanced_record(&self, sample_bytes: usize) -> [u8; ENHANCED_RECORD_BYTES] {
        let samples = u64::from(self.samples());
        let bits = (sample_bytes as u64).saturating_mul(8);
        let kilobits = bits.saturating_mul(self.sample_rate.into()) / (samples * 1_000);
        let [high, low] = (kilobits.min(0x1FFF) as u16).wrapping_shl(3).to_be_bytes();
        [
            high,
            low,
            self.rate_code << 6 | self.version << 1,
            self.layout << 1 | u8::from(self.has_low_frequencies),
            0,
        ]
    }
}

/// Returns the samples per channel in a sample: one AC-3 frame, or the frames of the first independent substream of
/// Enhanced AC-3. Returns `None` if it is neither.
pub fn samples(data: &[u8]) -> Option<u32> {
    let first = SyncFrame::parse(data)?;
    if !first.is_enhanced {
        return Some(first.samples());
    }
    let mut blocks = 0;
    let mut rest = data;
    for _ in 0..FRAMES_MAX {
        let Some(frame) = SyncFrame::parse(rest).filter(|frame| frame.is_enhanced) else {
            break;
        };
        let is_dependent = rest[2] >> 6 == 1;
        if !is_dependent && rest[2] >> 3 & 7 == 0 {
            blocks += u32::from(frame.blocks);
        }
        let words = u16::from_be_bytes([rest[2] & 7, rest[3]]) + 1;
        rest = rest.get(2 * usize::from(words)..).unwrap_or_default();
    }
    (blocks > 0).then_some(BLOCK_SAMPLES * blocks)
}

fn sample_rate(code: u8) -> Option<u32> {
    [48_000, 44_100, 32_000].get(usize::from(code)).copied()
}

fn channels(layout: u8, has_low_frequencies: bool) -> u8 {
    [2, 1, 2, 3, 3, 4, 4, 5][usize::from(layout & 7)] + u8::from(has_low_frequencies)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_frame() {
        // 48 kHz, 192 kb/s, stereo, from ffmpeg.
        let data = [0x0B, 0x77, 0x12, 0x34, 0x14, 0x40, 0x43, 0xFF];
        let frame = SyncFrame::parse(&data).expect("a whole header");
        assert_eq!((frame.sample_rate, frame.channels), (48_000, 2));
        assert!(!frame.is_enhanced);
        assert_eq!(frame.plain_record(), [0x10, 0x11, 0x40]);
        assert_eq!(samples(&data), Some(1_536));
        // 44.1 kHz, 5.1: the levels of centre and surround come before the flag.
        let data = [0x0B, 0x77, 0, 0, 0x5E, 0x40, 0xE1, 0xFF];
        let frame = SyncFrame::parse(&data).expect("a whole header");
        assert_eq!((frame.sample_rate, frame.channels), (44_100, 6));
        for cut in 0..6 {
            assert_eq!(SyncFrame::parse(&data[..cut]), None);
        }
        assert_eq!(SyncFrame::parse(&[0x0B, 0x77, 0, 0, 0xC0, 0x40, 0]), None);
        assert_eq!(SyncFrame::parse(&[0x0B, 0x77, 0, 0, 0, 0xF8, 0]), None);
        assert_eq!(SyncFrame::parse(&[0xFF, 0xF1, 0, 0, 0, 0x40, 0]), None);
    }

    #[test]
    fn frames_tell_their_length() {
        let span = |data: &[u8]| SyncFrame::parse(data).map(|frame| frame.span());
        for (rate, id, millis) in [
            // AC-3 at 48 kHz, at 32 kHz, at half of 48 kHz, and at a rate that is reserved.
            (0x14, 8, Some(32)),
            (0x94, 8, Some(48)),
            (0x14, 9, Some(64)),
            (0xD4, 8, None),
            // E-AC-3 of six blocks, of two, and at half of 32 kHz.
            (0x30, 16, Some(32)),
            (0x10, 16, Some(10)),
            (0xE0, 16, Some(96)),
            (0xF0, 16, None),
            (0x30, 17, None),
        ] {
            let span = span(&[0x0B, 0x77, 0, 0, rate, id << 3, 0, 0]);
            assert_eq!(span.map(Span::millis), millis, "{rate:x} {id}");
        }
        let cut = [0x0B, 0x77, 0, 0, 0x14];
        assert_eq!(span(&cut), None, "a header that is cut");
        let swapped = [0x77, 0x0B, 0, 0, 0x14, 0x40, 0, 0];
        assert_eq!(span(&swapped), None, "little-endian");
    }

    #[test]
    fn an_enhanced_frame() {
        // 48 kHz, six blocks, stereo, eight bytes long.
        let mut data = vec![0x0B, 0x77, 0x00, 0x03, 0x34, 0x80, 0, 0];
        let frame = SyncFrame::parse(&data).expect("a whole header");
        assert!(frame.is_enhanced);
        assert_eq!((frame.sample_rate, frame.channels), (48_000, 2));
        assert_eq!(frame.enhanced_record(768), [0x06, 0x00, 0x20, 0x04, 0]);
        assert_eq!(samples(&data), Some(1_536));
        // Further frames of the substream count; dependent ones do not.
        data.extend([0x0B, 0x77, 0x40, 0x03, 0x34, 0x80, 0, 0]);
        assert_eq!(samples(&data), Some(1_536));
        data.extend([0x0B, 0x77, 0x00, 0x03, 0x04, 0x80, 0, 0]);
        assert_eq!(samples(&data), Some(1_792));
        // Half the rate.
        let half = [0x0B, 0x77, 0x00, 0x03, 0xC5, 0x80, 0, 0];
        let frame = SyncFrame::parse(&half).expect("a whole header");
        assert_eq!((frame.sample_rate, frame.channels), (24_000, 3));
    }

    #[test]
    fn frames_that_announce_nothing_behind_them_end() {
        let endless = [0x0B, 0x77, 0x00, 0x00, 0x34, 0x80].repeat(4_096);
        assert!(samples(&endless).is_some());
    }
}
