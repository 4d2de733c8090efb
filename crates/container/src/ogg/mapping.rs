//! Mappings of codecs to Ogg: their header packets, and the units of their granule positions.

use bytes::Buf;
use media::{Codec, FourCc, Kind, Span, TICKS_PER_SECOND};

/// Codec mapping, identified by the first packet of its logical stream.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) enum Mapping {
    /// Vorbis I specification, annex A.
    Vorbis { rate: u32, channels: u8 },
    /// RFC 7845.
    Opus { channels: u8 },
    /// RFC 9639 §10.1.
    Flac {
        rate: u32,
        channels: u8,
        is_last: bool,
    },
    /// The Speex manual, §7.
    Speex {
        rate: u32,
        channels: u8,
        extra_headers: u32,
    },
    /// Theora specification, annex A.
    Theora {
        rate: u32,
        per_rate: u32,
        shift: u32,
    },
    /// Anything else: pages at position zero count as headers.
    #[default]
    Unknown,
}

/// Upper bound on the header packets that Speex may announce beyond its two; none are known in use.
const SPEEX_EXTRA_HEADERS_MAX: u32 = 16;

impl Mapping {
    /// Recognizes a logical stream by its first packet.
    pub(super) fn of(packet: &[u8]) -> Self {
        Self::vorbis(packet)
            .or_else(|| Self::opus(packet))
            .or_else(|| Self::flac(packet))
            .or_else(|| Self::speex(packet))
            .or_else(|| Self::theora(packet))
            .unwrap_or(Self::Unknown)
    }

    fn vorbis(packet: &[u8]) -> Option<Self> {
        let fields = packet.strip_prefix(b"\x01vorbis")?;
        Some(Self::Vorbis {
            channels: *fields.get(4)?,
            rate: little_endian(fields, 5)?,
        })
    }

    fn opus(packet: &[u8]) -> Option<Self> {
        let fields = packet.strip_prefix(b"OpusHead")?;
        Some(Self::Opus {
            channels: *fields.get(1)?,
        })
    }

    fn flac(packet: &[u8]) -> Option<Self> {
        packet
            .strip_prefix(b"\x7FFLAC")
            .filter(|fields| fields.get(4..8) == Some(b"fLaC"))?;
        let [high, middle, low] = *packet.get(27..)?.first_chunk()?;
        Some(Self::Flac {
            rate: u32::from_be_bytes([0, high, middle, low]) >> 4,
            channels: (low >> 1 & 7) + 1,
            is_last: packet[13] & 0x80 != 0,
        })
    }

    fn speex(packet: &[u8]) -> Option<Self> {
        packet.strip_prefix(b"Speex   ")?;
        Some(Self::Speex {
            rate: little_endian(packet, 36)?,
            channels: u8::try_from(little_endian(packet, 48)?).unwrap_or_default(),
            extra_headers: little_endian(packet, 68)?.min(SPEEX_EXTRA_HEADERS_MAX),
        })
    }

    fn theora(packet: &[u8]) -> Option<Self> {
        packet.strip_prefix(b"\x80theora")?;
        let field = |at: usize| packet.get(at..)?.try_get_u32().ok();
        let shift = packet.get(40..)?.try_get_u16().ok()? >> 5 & 31;
        Some(Self::Theora {
            rate: field(22)?,
            per_rate: field(26)?,
            shift: shift.into(),
        })
    }

    pub(super) const fn codec(self) -> Codec {
        match self {
            Self::Vorbis { .. } => Codec::Vorbis,
            Self::Opus { .. } => Codec::Opus,
            Self::Flac { .. } => Codec::Flac,
            Self::Speex { .. } => Codec::Speex,
            Self::Theora { .. } => Codec::Other(FourCc(*b"theo")),
            Self::Unknown => Codec::UNKNOWN,
        }
    }

    pub(super) const fn kind(self) -> Option<Kind> {
        match self {
            Self::Theora { .. } => Some(Kind::Video),
            Self::Unknown => None,
            _ => Some(Kind::Audio),
        }
    }

    pub(super) const fn sample_rate(self) -> u32 {
        match self {
            Self::Vorbis { rate, .. } | Self::Flac { rate, .. } | Self::Speex { rate, .. } => rate,
            // Opus always counts at 48 kHz (RFC 7845 §4).
            Self::Opus { .. } => 48_000,
            Self::Theora { .. } | Self::Unknown => 0,
        }
    }

    pub(super) const fn channels(self) -> u8 {
        match self {
            Self::Vorbis { channels, .. }
            | Self::Opus { channels }
            | Self::Flac { channels, .. }
            | Self::Speex { channels, .. } => channels,
            Self::Theora { .. } | Self::Unknown => 0,
        }
    }

    /// Returns the bit rate that the first header packet states.
    pub(super) fn nominal_bitrate(self, packet: &[u8]) -> Option<u32> {
        match self {
            Self::Vorbis { .. } => {
                little_endian(packet, 20).filter(|bits| (1..1 << 31).contains(bits))
            }
            _ => None,
        }
    }

    /// Returns whether the header packets are complete after the `count`th, which was `packet`.
    pub(super) fn is_complete(self, count: u32, packet: &[u8]) -> bool {
        match self {
            Self::Vorbis { .. } | Self::Theora { .. } => count == 3,
            Self::Opus { .. } => count == 2,
            Self::Speex { extra_headers, .. } => count == 2 + extra_headers,
            Self::Flac { is_last, .. } if count == 1 => is_last,
            Self::Flac { .. } => packet.first().is_some_and(|block| block & 0x80 != 0),
            Self::Unknown => false,
        }
    }

    /// Returns the VorbisComment structure in the `count`th header packet, if that packet has it.
    pub(super) fn comments(self, count: u32, packet: &[u8]) -> Option<&[u8]> {
        match self {
            Self::Vorbis { .. } => packet.strip_prefix(b"\x03vorbis"),
            Self::Opus { .. } => packet.strip_prefix(b"OpusTags"),
            Self::Theora { .. } => packet.strip_prefix(b"\x81theora"),
            Self::Speex { .. } => (count == 2).then_some(packet),
            Self::Flac { .. } if count > 1 && packet.first()? & 0x7F == 4 => packet.get(4..),
            Self::Flac { .. } | Self::Unknown => None,
        }
    }

    /// Converts a granule position to ticks of the codec's own timeline.
    pub(super) fn ticks(self, granule: u64) -> i64 {
        let Self::Theora {
            rate,
            per_rate,
            shift,
        } = self
        else {
            return Span::from_samples(granule, self.sample_rate()).ticks();
        };
        // The frame number of the last keyframe, plus the frames since.
        let frames = (granule >> shift) + (granule & ((1 << shift) - 1));
        let ticks = i128::from(frames) * i128::from(TICKS_PER_SECOND) * i128::from(per_rate)
            / i128::from(rate.max(1));
        i64::try_from(ticks).unwrap_or(i64::MAX)
    }

    /// Returns whether `packet` is data that a decoder can begin with.
    pub(super) fn is_keyframe(self, packet: &[u8]) -> bool {
        match self {
            // Neither a header nor an inter frame.
            Self::Theora { .. } => packet.first().is_some_and(|first| first & 0xC0 == 0),
            _ => true,
        }
    }
}

fn little_endian(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.try_get_u32_le().ok()
}
