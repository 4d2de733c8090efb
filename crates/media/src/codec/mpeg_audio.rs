//! MPEG-1, MPEG-2 and MPEG-2.5 audio frame headers, layers I to III (ISO/IEC 11172-3, 13818-3).

/// Largest size of a frame, in bytes: layer II at 160 kb/s and 8 kHz, with its padding byte.
pub const FRAME_BYTES_MAX: usize = 2_881;

/// Header bits that are the same in all frames of a stream: sync word, version, layer and sample rate. The bitrate may
/// vary from frame to frame, and so may joint stereo.
const CONSTANT_BITS: u32 = 0xFFFE_0C00;

/// Edition of the standard, which selects sample rates and bitrates.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Version {
    /// 32, 44.1 and 48 kHz.
    Mpeg1,
    /// Half of these rates.
    Mpeg2,
    /// A quarter of these rates; an extension that every encoder knows.
    Mpeg25,
}

/// Coding layer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Layer {
    /// Layer I.
    One,
    /// Layer II, "MP2".
    Two,
    /// Layer III, "MP3".
    Three,
}

/// Parsed four bytes that begin every frame.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct FrameHeader {
    /// Edition of the standard.
    pub version: Version,
    /// Coding layer.
    pub layer: Layer,
    /// Bits per second of this frame.
    pub bitrate: u32,
    /// Samples per second.
    pub sample_rate: u32,
    /// Number of channels, 1 or 2.
    pub channels: u8,
    /// Whether the frame is one slot (one byte; four in layer I) longer than its bitrate implies.
    pub padding: bool,
    /// Whether a 16-bit checksum follows the header.
    pub checksum: bool,
    bits: u32,
}

impl FrameHeader {
    /// Size of a header, in bytes.
    pub const BYTES: usize = 4;

    /// Parses the header at the start of `bytes`. Returns `None` for anything that is not one, and for the free format,
    /// whose frames do not state their length.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let bits = u32::from_be_bytes(*bytes.first_chunk()?);
        if bits >> 21 != 0x7FF {
            return None;
        }
        let version = match bits >> 19 & 3 {
            0 => Version::Mpeg25,
            2 => Version::Mpeg2,
            3 => Version::Mpeg1,
            _ => return None,
        };
        let layer = match bits >> 17 & 3 {
            1 => Layer::Three,
            2 => Layer::Two,
            3 => Layer::One,
            _ => return None,
        };
        let bitrate = bitrate(version, layer, (bits >> 12 & 15) as usize)?;
        let sample_rate = *[44_100, 48_000, 32_000].get((bits >> 10 & 3) as usize)?
            / match version {
                Version::Mpeg1 => 1,
                Version::Mpeg2 => 2,
                Version::Mpeg25 => 4,
            };
        Some(Self {
            version,
            layer,
            bitrate,
            sample_rate,
            channels: if bits >> 6 & 3 == 3 { 1 } else { 2 },
            padding: bits >> 9 & 1 == 1,
            checksum: bits >> 16 & 1 == 0,
            bits,
        })
    }

    /// Returns the samples per channel that the frame decodes to.
    pub const fn samples(&self) -> u32 {
        match (self.layer, self.version) {
            (Layer::One, _) => 384,
            (Layer::Three, Version::Mpeg2 | Version::Mpeg25) => 576,
            _ => 1_152,
        }
    }

    /// Returns the size of the whole frame in bytes, header included; at most [`FRAME_BYTES_MAX`].
    pub const fn frame_bytes(&self) -> usize {
        let slot = if matches!(self.layer, Layer::One) {
            4
        } else {
            1
        };
        let slots = self.samples() / 8 / slot * self.bitrate / self.sample_rate;
        ((slots + self.padding as u32) * slot) as usize
    }

    /// Returns the size of the side information of layer III, which follows the header and its checksum, in bytes.
    pub const fn side_info_bytes(&self) -> usize {
        match (self.version, self.channels) {
            (Version::Mpeg1, 1) => 17,
            (Version::Mpeg1, _) => 32,
            (_, 1) => 9,
            _ => 17,
        }
    }

    /// Whether a frame with this header can follow one with `other` in the same stream.
    pub const fn is_consistent_with(&self, other: &Self) -> bool {
        (self.bits ^ other.bits) & CONSTANT_BITS == 0
    }

    /// Whether `frame`, which starts with this header, is a Xing, Info or VBRI frame: a table about
    /// a *file* (length, seek points), in place of the first frame. In a live stream its contents
    /// are wrong, and it decodes to silence.
    pub fn is_info_frame(&self, frame: &[u8]) -> bool {
        if self.layer != Layer::Three {
            return false;
        }
        let side_info = self.side_info_bytes();
        let marks = |at: usize, words: &[&[u8; 4]]| {
            frame
                .get(at..at + 4)
                .is_some_and(|found| words.iter().any(|word| found == *word))
        };
        // Encoders disagree on whether the checksum moves the table.
        marks(Self::BYTES + side_info, &[b"Xing", b"Info"])
            || self.checksum && marks(Self::BYTES + 2 + side_info, &[b"Xing", b"Info"])
            || marks(Self::BYTES + 32, &[b"VBRI"])
    }
}

/// Returns the bits per second for a header's bitrate index; `None` for the free format and for the forbidden index.
fn bitrate(version: Version, layer: Layer, index: usize) -> Option<u32> {
    const MPEG1_LAYER1: [u16; 14] = [
        32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448,
    ];
    const MPEG1_LAYER2: [u16; 14] = [
        32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384,
    ];
    const MPEG1_LAYER3: [u16; 14] = [
        32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320,
    ];
    const MPEG2_LAYER1: [u16; 14] = [
        32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256,
    ];
    const MPEG2_LAYER23: [u16; 14] = [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160];
    let table = match (version, layer) {
        (Version::Mpeg1, Layer::One) => &MPEG1_LAYER1,
        (Version::Mpeg1, Layer::Two) => &MPEG1_LAYER2,
        (Version::Mpeg1, Layer::Three) => &MPEG1_LAYER3,
        (_, Layer::One) => &MPEG2_LAYER1,
        _ => &MPEG2_LAYER23,
    };
    table
        .get(index.checked_sub(1)?)
        .map(|kilobits| u32::from(*kilobits) * 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(bits: u32) -> Option<FrameHeader> {
        FrameHeader::parse(&bits.to_be_bytes())
    }

    #[test]
    fn the_common_frame() {
        // MPEG-1 layer III, 128 kb/s, 44.1 kHz, joint stereo, without and with padding.
        let plain = header(0xFFFB_9064).expect("a valid header");
        assert_eq!((plain.version, plain.layer), (Version::Mpeg1, Layer::Three));
        assert_eq!((plain.bitrate, plain.sample_rate), (128_000, 44_100));
        assert_eq!(plain.channels, 2);
        assert_eq!((plain.samples(), plain.frame_bytes()), (1_152, 417));
        let padded = header(0xFFFB_9264).expect("a valid header");
        assert_eq!(padded.frame_bytes(), 418);
        assert!(padded.is_consistent_with(&plain));
    }

    #[test]
    fn other_versions_and_layers() {
        // MPEG-2 layer III, 64 kb/s, 22.05 kHz, mono.
        let half = header(0xFFF3_80C4).expect("a valid header");
        assert_eq!((half.sample_rate, half.channels), (22_050, 1));
        assert_eq!((half.samples(), half.frame_bytes()), (576, 208));
        // MPEG-2.5 layer III, 8 kb/s, 8 kHz.
        let quarter = header(0xFFE3_18C4).expect("a valid header");
        assert_eq!((quarter.sample_rate, quarter.frame_bytes()), (8_000, 72));
        // MPEG-1 layer II, 192 kb/s, 48 kHz.
        let two = header(0xFFFD_A404).expect("a valid header");
        assert_eq!((two.samples(), two.frame_bytes()), (1_152, 576));
        // MPEG-1 layer I, 384 kb/s, 32 kHz, padded: slots of four bytes.
        let one = header(0xFFFF_CA04).expect("a valid header");
        assert_eq!((one.samples(), one.frame_bytes()), (384, 580));
        assert!(!half.is_consistent_with(&quarter));
        assert!(!two.is_consistent_with(&one));
    }

    #[test]
    fn no_header_exceeds_the_longest_frame() {
        let headers = (0..=0x1F_FFFF_u32).step_by(0x100);
        let headers = headers.filter_map(|low| header(0xFFE0_0000 | low));
        let longest = headers.map(|header| header.frame_bytes()).max();
        assert_eq!(longest, Some(FRAME_BYTES_MAX));
    }

    #[test]
    fn what_is_not_a_header() {
        for bits in [
            0xFFEB_9064, // reserved version
            0xFFF9_9064, // reserved layer
            0xFFFB_0064, // free format
            0xFFFB_F064, // forbidden bitrate
            0xFFFB_9C64, // reserved sample rate
            0x7FFB_9064,
        ] {
            assert_eq!(header(bits), None, "{bits:#x}");
        }
        assert_eq!(FrameHeader::parse(&[0xFF, 0xFB, 0x90]), None);
    }

    #[test]
    fn info_frames_are_distinguished_from_music() {
        let mut frame = vec![0; 417];
        frame[..4].copy_from_slice(&0xFFFB_9064_u32.to_be_bytes());
        let header = FrameHeader::parse(&frame).expect("a valid header");
        assert!(!header.is_info_frame(&frame));
        for word in [b"Xing", b"Info", b"VBRI"] {
            let mut info = frame.clone();
            info[36..40].copy_from_slice(word);
            assert!(header.is_info_frame(&info));
            assert!(!header.is_info_frame(&info[..39]));
        }
    }
}
