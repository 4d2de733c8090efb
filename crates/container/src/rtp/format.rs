//! Payload formats, and the tracks they carry.

use media::codec::opus;
use media::{Codec, Framing, Kind, Track};

/// Upper bound on the channels of Opus (RFC 7587 §4.2).
const OPUS_CHANNELS_MAX: u8 = 2;

/// RTP payload format of a codec.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum PayloadFormat {
    /// H.264, packetization mode 1 (RFC 6184).
    H264,
    /// HEVC without decoding order numbers (RFC 7798).
    Hevc,
    /// AV1 (RTP payload format for AV1, version 1.0).
    Av1,
    /// VP8 (RFC 7741).
    Vp8,
    /// VP9, non-flexible mode (RFC 9628).
    Vp9,
    /// Opus (RFC 7587).
    Opus,
}

impl PayloadFormat {
    /// All formats.
    pub const ALL: [Self; 6] = [
        Self::H264,
        Self::Hevc,
        Self::Av1,
        Self::Vp8,
        Self::Vp9,
        Self::Opus,
    ];

    /// Returns the encoding name of `a=rtpmap`, which is compared without regard to case.
    pub const fn encoding_name(self) -> &'static str {
        match self {
            Self::H264 => "H264",
            Self::Hevc => "H265",
            Self::Av1 => "AV1",
            Self::Vp8 => "VP8",
            Self::Vp9 => "VP9",
            Self::Opus => "opus",
        }
    }

    /// Returns the ticks of the RTP clock per second.
    pub const fn clock_rate(self) -> u32 {
        match self {
            Self::Opus => opus::RATE,
            _ => 90_000,
        }
    }

    /// Returns the codec of the payload.
    pub const fn codec(self) -> Codec {
        match self {
            Self::H264 => Codec::H264,
            Self::Hevc => Codec::Hevc,
            Self::Av1 => Codec::Av1,
            Self::Vp8 => Codec::Vp8,
            Self::Vp9 => Codec::Vp9,
            Self::Opus => Codec::Opus,
        }
    }

    /// Returns the kind: audio or video.
    pub const fn kind(self) -> Kind {
        match self {
            Self::Opus => Kind::Audio,
            _ => Kind::Video,
        }
    }

    /// Returns the format that carries `track`, if there is one.
    pub fn of(track: &Track) -> Option<Self> {
        let mut formats = Self::ALL.into_iter();
        let format = formats.find(|format| format.codec() == track.codec)?;
        // Opus with more channels is several streams, which its payload format cannot carry.
        let is_carried = track.framing == Framing::Bare
            && (format != Self::Opus || track.channels <= OPUS_CHANNELS_MAX);
        is_carried.then_some(format)
    }
}
