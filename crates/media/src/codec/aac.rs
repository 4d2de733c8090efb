//! Advanced Audio Coding: AudioSpecificConfig (ISO/IEC 14496-3 §1.6.2.1) and ADTS headers
//! (ISO/IEC 13818-7 §6.2).
//!
//! High-efficiency AAC is plain AAC at half the rate with an extension inside. A configuration may signal it
//! *explicitly* (object type 5 or 29 first, or a trailing sync extension) or *implicitly*, by omitting it and letting
//! the decoder find it; ADTS can only be implicit. Timing is the same either way: a frame lasts
//! [`AudioSpecificConfig::samples_per_frame`] at the *core* rate.

use super::bits::Bits;

const SAMPLE_RATES: [u32; 13] = [
    96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000,
    7_350,
];

/// Rate index that announces a 24-bit sample rate.
const EXPLICIT_RATE: u32 = 15;

const OBJECT_TYPE_SBR: u8 = 5;
const OBJECT_TYPE_PS: u8 = 29;

/// Channels of the predefined channel configurations; 0 where the bitstream describes the channels elsewhere.
const CHANNELS: [u8; 16] = [0, 1, 2, 3, 4, 5, 6, 8, 0, 0, 0, 7, 8, 24, 8, 0];

/// Configuration that a decoder needs before the first access unit.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct AudioSpecificConfig {
    /// Audio object type of the core coder: 2 for AAC-LC, also under HE-AAC.
    pub object_type: u8,
    /// Samples per second of the core coder.
    pub sample_rate: u32,
    /// Predefined channel layout; 0 when a program config element lists the channels.
    pub channel_configuration: u8,
    /// Number of channels; 0 when unknown.
    pub channels: u8,
    /// Spectral band replication, if it is signalled explicitly.
    pub extension: Option<Extension>,
    /// Whether the frame holds 960 samples instead of 1024.
    pub short_frames: bool,
}

/// Explicitly signalled high-efficiency AAC.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Extension {
    /// Samples per second after spectral band replication.
    pub sample_rate: u32,
    /// Whether parametric stereo is present (HE-AAC v2): a mono core decodes to two channels.
    pub parametric_stereo: bool,
}

impl AudioSpecificConfig {
    /// Parses a configuration. Unknown trailing bytes are ignored.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let mut bits = Bits::new(bytes);
        let mut object_type = read_object_type(&mut bits)?;
        let sample_rate = read_sample_rate(&mut bits)?;
        let channel_configuration = bits.take(4)? as u8;
        let mut extension = None;
        if matches!(object_type, OBJECT_TYPE_SBR | OBJECT_TYPE_PS) {
            extension = Some(Extension {
                parametric_stereo: object_type == OBJECT_TYPE_PS,
                sample_rate: read_sample_rate(&mut bits)?,
            });
            object_type = read_object_type(&mut bits)?;
            // The extension extends a core coder, never another extension.
            if matches!(object_type, OBJECT_TYPE_SBR | OBJECT_TYPE_PS) {
                return None;
            }
        }
        let mut config = Self {
            object_type,
            sample_rate,
            channel_configuration,
            channels: CHANNELS[usize::from(channel_configuration)],
            extension,
            short_frames: false,
        };
        // Some encoders omit it from two-byte configurations, so its absence is no error.
        if config.read_general_audio(&mut bits).is_some() && extension.is_none() {
            config.extension = read_sync_extension(&mut bits);
        }
        Some(config)
    }

    /// Returns the configuration that an ADTS header implies.
    pub fn from_adts(header: &AdtsHeader) -> Self {
        Self {
            object_type: header.object_type,
            sample_rate: header.sample_rate,
            channel_configuration: header.channel_configuration,
            channels: header.channels(),
            extension: None,
            short_frames: false,
        }
    }

    /// Returns the two bytes for object type, rate and channels without any extension; `None` when the rate is not one
    /// of the thirteen or the object type needs an escape.
    pub fn to_bytes(&self) -> Option<[u8; 2]> {
        let rate = u16::from(rate_index(self.sample_rate)?);
        if self.object_type > 30 || self.channel_configuration > 15 {
            return None;
        }
        let bits = u16::from(self.object_type) << 11
            | rate << 7
            | u16::from(self.channel_configuration) << 3
            | u16::from(self.short_frames) << 2;
        Some(bits.to_be_bytes())
    }

    /// Returns the samples per channel in one access unit, at the core rate.
    pub const fn samples_per_frame(&self) -> u32 {
        if self.short_frames { 960 } else { 1_024 }
    }

    /// Returns the name of the profile that a decoder must support; `None` for object types that are hardly used
    /// (ISO/IEC 14496-3 table 1.17).
    pub const fn profile_name(&self) -> Option<&'static str> {
        Some(match self.whole_type() {
            OBJECT_TYPE_PS => "HE-AAC v2",
            OBJECT_TYPE_SBR => "HE-AAC",
            1 => "AAC Main",
            2 => "AAC-LC",
            4 => "AAC-LTP",
            23 => "AAC-LD",
            39 => "AAC-ELD",
            42 => "xHE-AAC",
            _ => return None,
        })
    }

    /// Returns the RFC 6381 codec string, e.g. `mp4a.40.2`.
    pub fn codec_string(&self) -> String {
        format!("mp4a.40.{}", self.whole_type())
    }

    /// Returns the object type of the whole: that of the extension, if there is one.
    const fn whole_type(&self) -> u8 {
        match self.extension {
            Some(extension) if extension.parametric_stereo => OBJECT_TYPE_PS,
            Some(_) => OBJECT_TYPE_SBR,
            None => self.object_type,
        }
    }

    /// Reads the GASpecificConfig (§4.4.1) of the object types that have one.
    fn read_general_audio(&mut self, bits: &mut Bits<'_>) -> Option<()> {
        if !matches!(self.object_type, 1..=4 | 6 | 7 | 17 | 19..=23) {
            return None;
        }
        self.short_frames = bits.flag()?;
        if bits.flag()? {
            bits.skip(14)?;
        }
        let extended = bits.flag()?;
        if self.channel_configuration == 0 {
            self.channels = read_program_config(bits)?;
        }
        if matches!(self.object_type, 6 | 20) {
            bits.skip(3)?;
        }
        if extended {
            match self.object_type {
                22 => bits.skip(16)?,
                17 | 19 | 20 | 23 => bits.skip(3)?,
                _ => {}
            }
            bits.skip(1)?;
        }
        Some(())
    }
}

fn read_object_type(bits: &mut Bits<'_>) -> Option<u8> {
    match bits.take(5)? {
        31 => Some(32 + bits.take(6)? as u8),
        0 => None,
        object_type => Some(object_type as u8),
    }
}

fn read_sample_rate(bits: &mut Bits<'_>) -> Option<u32> {
    match bits.take(4)? {
        EXPLICIT_RATE => bits.take(24).filter(|rate| *rate > 0),
        index => SAMPLE_RATES.get(index as usize).copied(),
    }
}

/// Counts the channels of a program config element (§4.4.1.1), leaving `bits` after it.
fn read_program_config(bits: &mut Bits<'_>) -> Option<u8> {
    bits.skip(4 + 2 + 4)?;
    let pairable = bits.take(4)? + bits.take(4)? + bits.take(4)?;
    let effects = bits.take(2)?;
    let data = bits.take(3)?;
    let coupling = bits.take(4)?;
    for mixdown_bits in [4, 4, 3] {
        if bits.flag()? {
            bits.skip(mixdown_bits)?;
        }
    }
    let mut channels = effects;
    for _ in 0..pairable {
        channels += 1 + bits.take(1)?;
        bits.skip(4)?;
    }
    bits.skip((4 * (effects + data) + 5 * coupling) as usize)?;
    bits.align();
    let comment_bytes = bits.take(8)?;
    bits.skip(8 * comment_bytes as usize)?;
    u8::try_from(channels).ok()
}

/// Reads the backward-compatible signalling of HE-AAC at a configuration's end (§1.6.6.1).
fn read_sync_extension(bits: &mut Bits<'_>) -> Option<Extension> {
    if bits.left() < 16 || bits.take(11)? != 0x2B7 || bits.take(5)? != u32::from(OBJECT_TYPE_SBR) {
        return None;
    }
    if !bits.flag()? {
        return None;
    }
    let sample_rate = read_sample_rate(bits)?;
    let parametric_stereo =
        bits.left() >= 12 && bits.take(11)? == 0x548 && bits.flag() == Some(true);
    Some(Extension {
        sample_rate,
        parametric_stereo,
    })
}

fn rate_index(sample_rate: u32) -> Option<u8> {
    SAMPLE_RATES
        .iter()
        .position(|rate| *rate == sample_rate)
        .map(|index| index as u8)
}

/// Header that makes an access unit self-contained in a byte stream.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct AdtsHeader {
    /// Audio object type, 1 to 4; 2 is AAC-LC.
    pub object_type: u8,
    /// Samples per second of the core coder.
    pub sample_rate: u32,
    /// Predefined channel layout, 0 to 7.
    pub channel_configuration: u8,
    /// Size of the header in bytes: 7, or 9 with a checksum.
    pub header_bytes: usize,
    /// Size of the whole frame in bytes, header included; less than 8192.
    pub frame_bytes: usize,
    /// Number of access units in the frame, 1 to 4.
    pub blocks: u8,
}

impl AdtsHeader {
    /// Size of a header without a checksum, in bytes.
    pub const BYTES: usize = 7;

    /// Largest frame that the 13-bit length field can announce, in bytes.
    pub const FRAME_BYTES_MAX: usize = 0x1FFF;

    /// Parses the header at the start of `bytes`.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let head: &[u8; Self::BYTES] = bytes.first_chunk()?;
        // Twelve bits of sync and a layer of zero; MPEG audio has the same sync and another layer.
        if head[0] != 0xFF || head[1] & 0xF6 != 0xF0 {
            return None;
        }
        let header = Self {
            object_type: (head[2] >> 6) + 1,
            sample_rate: *SAMPLE_RATES.get(usize::from(head[2] >> 2 & 15))?,
            channel_configuration: (head[2] & 1) << 2 | head[3] >> 6,
            header_bytes: if head[1] & 1 == 1 {
                Self::BYTES
            } else {
                Self::BYTES + 2
            },
            frame_bytes: usize::from(head[3] & 3) << 11
                | usize::from(head[4]) << 3
                | usize::from(head[5] >> 5),
            blocks: (head[6] & 3) + 1,
        };
        (header.frame_bytes > header.header_bytes).then_some(header)
    }

    /// Creates a header for frames of `config`, with no payload yet. Returns `None` when ADTS cannot express it: object
    /// types above 4, unusual rates, frames of 960 samples, and layouts without a number.
    pub fn for_config(config: &AudioSpecificConfig) -> Option<Self> {
        rate_index(config.sample_rate)?;
        if !matches!(config.object_type, 1..=4)
            || !matches!(config.channel_configuration, 1..=7)
            || config.short_frames
        {
            return None;
        }
        Some(Self {
            object_type: config.object_type,
            sample_rate: config.sample_rate,
            channel_configuration: config.channel_configuration,
            header_bytes: Self::BYTES,
            frame_bytes: Self::BYTES,
            blocks: 1,
        })
    }

    /// Returns the seven bytes before an access unit of `payload_bytes`, without a checksum; `None` when the unit is
    /// too long for the length field, or this header has a rate that ADTS does not know.
    pub fn to_bytes(&self, payload_bytes: usize) -> Option<[u8; Self::BYTES]> {
        let frame_bytes = payload_bytes.checked_add(Self::BYTES)?;
        if frame_bytes > Self::FRAME_BYTES_MAX {
            return None;
        }
        let rate = rate_index(self.sample_rate)?;
        let channels = self.channel_configuration & 7;
        Some([
            0xFF,
            0xF1,
            (self.object_type.wrapping_sub(1) & 3) << 6 | rate << 2 | channels >> 2,
            (channels & 3) << 6 | (frame_bytes >> 11) as u8,
            (frame_bytes >> 3 & 0xFF) as u8,
            // A buffer fullness of 0x7FF means that the rate varies.
            ((frame_bytes & 7) as u8) << 5 | 0x1F,
            0xFC | (self.blocks.wrapping_sub(1) & 3),
        ])
    }

    /// Returns the number of channels; 0 when the access units describe them.
    pub const fn channels(&self) -> u8 {
        CHANNELS[(self.channel_configuration & 7) as usize]
    }

    /// Returns the samples per channel that the frame decodes to, at the core rate.
    pub const fn samples(&self) -> u32 {
        1_024 * self.blocks as u32
    }

    /// Whether a frame with this header can follow one with `other` in the same stream.
    pub const fn is_consistent_with(&self, other: &Self) -> bool {
        self.object_type == other.object_type
            && self.sample_rate == other.sample_rate
            && self.channel_configuration == other.channel_configuration
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn low_complexity() {
        let config = AudioSpecificConfig::parse(&[0x12, 0x10]).expect("AAC-LC 44.1 kHz stereo");
        assert_eq!(config.object_type, 2);
        assert_eq!((config.sample_rate, config.channels), (44_100, 2));
        assert_eq!(config.extension, None);
        assert_eq!(config.samples_per_frame(), 1_024);
        assert_eq!(config.to_bytes(), Some([0x12, 0x10]));
        assert_eq!(config.codec_string(), "mp4a.40.2");
    }

    #[test]
    fn high_efficiency_is_distinguished_however_it_is_signalled() {
        // Object type 5 first: 24 kHz core, 48 kHz out, AAC-LC beneath.
        let first = AudioSpecificConfig::parse(&[0x2B, 0x11, 0x88, 0x00]).expect("explicit SBR");
        assert_eq!((first.object_type, first.sample_rate), (2, 24_000));
        let extension = Extension {
            sample_rate: 48_000,
            parametric_stereo: false,
        };
        assert_eq!(first.extension, Some(extension));
        assert_eq!(first.codec_string(), "mp4a.40.5");
        // The sync extension at the end, as ffmpeg's libfdk_aac writes it.
        let last = AudioSpecificConfig::parse(&[0x13, 0x10, 0x56, 0xE5, 0x98]).expect("SBR last");
        assert_eq!((last.object_type, last.sample_rate), (2, 24_000));
        assert_eq!(last.extension.map(|it| it.sample_rate), Some(48_000));
        let both = AudioSpecificConfig::parse(&[0x13, 0x08, 0x56, 0xE5, 0x9D, 0x48, 0x80]);
        assert_eq!(both.expect("SBR and PS last").codec_string(), "mp4a.40.29");
        // ffmpeg's native encoder states that there is none.
        let none = AudioSpecificConfig::parse(&[0x12, 0x10, 0x56, 0xE5, 0x00]).expect("no SBR");
        assert_eq!(none.extension, None);
    }

    #[test]
    fn unusual_rates_and_layouts() {
        // AAC-LC, escape rate 44 101 Hz, stereo.
        let bits: u64 = 2 << 35 | 15 << 31 | 44_101 << 7 | 2 << 3;
        let config = AudioSpecificConfig::parse(&bits.to_be_bytes()[3..]).expect("escaped rate");
        assert_eq!((config.sample_rate, config.channels), (44_101, 2));
        assert_eq!(config.to_bytes(), None);
        assert_eq!(AdtsHeader::for_config(&config), None);
    }

    #[test]
    fn program_config_channels_are_counted() {
        // tag, profile, rate (10 bits) | 1 front, 0 side, 1 back | 1 effect | 0 data | 0 coupling
        // | no mixdowns | front pair | back single | effect tag | align | empty comment
        let values = [0, 1, 0, 1, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0];
        let widths = [10, 4, 4, 4, 2, 3, 4, 1, 1, 1, 1, 4, 1, 4, 4];
        let fields = values.into_iter().zip(widths);
        let packed = fields.fold(0_u64, |packed, (value, width)| packed << width | value);
        let width: u32 = widths.iter().sum();
        let bytes = (packed << (64 - width)).to_be_bytes();
        assert_eq!(read_program_config(&mut Bits::new(&bytes)), Some(4));
    }

    #[test]
    fn truncated_configurations() {
        for config in [
            &[][..],
            &[0x12],
            &[0x00, 0x10],
            // An extension of an extension.
            &[0x2B, 0x11, 0x94, 0x00],
            // A reserved rate index.
            &[0x16, 0x90],
        ] {
            assert_eq!(AudioSpecificConfig::parse(config), None, "{config:x?}");
        }
    }

    #[test]
    fn adts_round_trip() {
        let config = AudioSpecificConfig::parse(&[0x11, 0x90]).expect("48 kHz stereo");
        let header = AdtsHeader::for_config(&config).expect("ADTS can say it");
        let longest = AdtsHeader::FRAME_BYTES_MAX - AdtsHeader::BYTES;
        for payload in [1, 7, 8, 371, longest] {
            let bytes = header.to_bytes(payload).expect("short enough");
            let parsed = AdtsHeader::parse(&bytes).expect("a valid header");
            assert_eq!(parsed.frame_bytes, payload + AdtsHeader::BYTES);
            assert!(parsed.is_consistent_with(&header));
            assert_eq!(AudioSpecificConfig::from_adts(&parsed), config);
        }
        assert_eq!(header.to_bytes(AdtsHeader::FRAME_BYTES_MAX), None);
        assert_eq!(header.to_bytes(usize::MAX), None);
    }

    #[test]
    fn what_is_not_adts() {
        // MPEG layer III, a reserved rate, a frame no longer than its header, and a header that is cut.
        for bytes in [
            &[0xFF, 0xFB, 0x90, 0x64, 0, 0, 0][..],
            &[0xFF, 0xF1, 0x7C, 0x80, 0x10, 0x1F, 0xFC],
            &[0xFF, 0xF1, 0x50, 0x80, 0x00, 0xFF, 0xFC],
            &[0xFF, 0xF1, 0x50, 0x80, 0x10, 0x1F],
        ] {
            assert_eq!(AdtsHeader::parse(bytes), None, "{bytes:x?}");
        }
    }
}
