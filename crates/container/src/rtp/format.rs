//! The payload formats, and which tracks they carry.

use media::codec::opus;
use media::{Codec, Framing, Kind, Sample, Track};

use crate::flv::elementary::{
    self, Elementary, FOURCC_AV1, FOURCC_HEVC, FOURCC_OPUS, FOURCC_VP8, FOURCC_VP9,
};

const FOURCC_AVC: [u8; 4] = *b"avc1";

/// How a codec is carried in RTP.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Format {
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

impl Format {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::H264,
        Self::Hevc,
        Self::Av1,
        Self::Vp8,
        Self::Vp9,
        Self::Opus,
    ];

    /// The encoding name of `a=rtpmap`, which is compared without regard to case.
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

    /// Ticks of the RTP clock in a second.
    pub const fn clock_rate(self) -> u32 {
        match self {
            Self::Opus => opus::RATE,
            _ => 90_000,
        }
    }

    /// What is in it.
    pub(super) const fn codec(self) -> Codec {
        match self {
            Self::H264 => Codec::H264,
            Self::Hevc => Codec::Hevc,
            Self::Av1 => Codec::Av1,
            Self::Vp8 => Codec::Vp8,
            Self::Vp9 => Codec::Vp9,
            Self::Opus => Codec::Opus,
        }
    }

    /// Sound or picture.
    pub const fn kind(self) -> Kind {
        match self {
            Self::Opus => Kind::Audio,
            _ => Kind::Video,
        }
    }

    /// The format that carries `track`; `None` when there is none, or when the track does not say
    /// what it is: see [`Format::of_sample`].
    pub fn of(track: &Track) -> Option<Self> {
        match (track.framing, track.codec) {
            (Framing::Bare, Codec::H264) => Some(Self::H264),
            (Framing::Bare, Codec::Opus) => Some(Self::Opus),
            (Framing::FlvBody, _) => {
                let record = elementary::record(track)?;
                let format = Self::of_fourcc(track.kind, record.codec)?;
                // More channels are several streams of Opus, for which this format has no place.
                let channels = opus::head_channels(record.bytes).filter(|_| format == Self::Opus);
                channels
                    .is_none_or(|channels| channels <= 2)
                    .then_some(format)
            }
            _ => None,
        }
    }

    /// The format that carries `sample` of `track`. VP8 and VP9 may come over RTMP without a
    /// sequence header, and then each sample says what it is.
    pub fn of_sample(track: &Track, sample: &Sample) -> Option<Self> {
        match track.framing {
            Framing::FlvBody if elementary::record(track).is_none() => {
                let frame = elementary::frame(track, sample)?;
                Self::of_fourcc(track.kind, frame.codec)
            }
            _ => Self::of(track),
        }
    }

    fn of_fourcc(kind: Kind, fourcc: [u8; 4]) -> Option<Self> {
        let mut formats = Self::ALL.into_iter();
        formats.find(|format| format.fourcc() == fourcc && format.kind() == kind)
    }

    /// The codec's name in Enhanced RTMP.
    pub(super) const fn fourcc(self) -> [u8; 4] {
        match self {
            Self::H264 => FOURCC_AVC,
            Self::Hevc => FOURCC_HEVC,
            Self::Av1 => FOURCC_AV1,
            Self::Vp8 => FOURCC_VP8,
            Self::Vp9 => FOURCC_VP9,
            Self::Opus => FOURCC_OPUS,
        }
    }

    /// The decoder configuration of `track`: what ISO media files and FLV call it; empty if none.
    pub fn record(self, track: &Track) -> &[u8] {
        match track.framing {
            Framing::FlvBody => {
                let record = elementary::record(track).filter(|found| self.is(found));
                record.map_or(&[], |record| record.bytes)
            }
            _ => &track.config,
        }
    }

    /// The codec's own bytes in `sample`.
    pub(super) fn frame<'a>(self, track: &Track, sample: &'a Sample) -> Option<&'a [u8]> {
        match track.framing {
            Framing::FlvBody => {
                let frame = elementary::frame(track, sample).filter(|found| self.is(found))?;
                Some(frame.bytes)
            }
            Framing::Bare => Some(&sample.data),
            Framing::SelfFramed => None,
        }
    }

    fn is(self, found: &Elementary<'_>) -> bool {
        found.codec == self.fourcc()
    }
}
