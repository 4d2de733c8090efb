//! Frames of sound out of a PES packet, where several of them stand one behind the other.

use bytes::{Buf, Bytes};
use media::codec::aac::{AdtsHeader, AudioSpecificConfig};
use media::codec::mpeg_audio::FrameHeader;
use media::codec::opus;
use media::{Codec, Framing, Kind, Span, Track, TrackId};

/// How they are told apart.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Syntax {
    Adts,
    Mp3,
    /// Packets of so many channels.
    Opus(u8),
}

/// One frame, and what its track is by it.
#[derive(Debug)]
pub(super) struct Frame {
    /// Without a header of its own, but of MP3.
    pub(super) data: Bytes,
    pub(super) lasts: Span,
    codec: Codec,
    config: Bytes,
    sample_rate: u32,
    channels: u8,
}

impl Syntax {
    /// Takes the frame that `rest` begins with; `None` when that is none, or is cut.
    pub(super) fn next(self, rest: &mut Bytes) -> Option<Frame> {
        match self {
            Self::Adts => {
                let header = AdtsHeader::parse(rest).filter(|it| it.frame_bytes <= rest.len())?;
                let config = AudioSpecificConfig::from_adts(&header);
                let mut data = rest.split_to(header.frame_bytes);
                data.advance(header.header_bytes);
                Some(Frame {
                    data,
                    lasts: Span::from_samples(header.samples().into(), header.sample_rate),
                    codec: Codec::Aac,
                    config: Bytes::copy_from_slice(&config.to_bytes()?),
                    sample_rate: header.sample_rate,
                    channels: header.channels(),
                })
            }
            Self::Mp3 => {
                let header = FrameHeader::parse(rest)?;
                let bytes =
                    Some(header.frame_bytes()).filter(|it| (1..=rest.len()).contains(it))?;
                Some(Frame {
                    data: rest.split_to(bytes),
                    lasts: Span::from_samples(header.samples().into(), header.sample_rate),
                    codec: Codec::Mp3,
                    config: Bytes::new(),
                    sample_rate: header.sample_rate,
                    channels: header.channels,
                })
            }
            Self::Opus(channels) => {
                let data = super::opus::take_packet(rest)?;
                let lasts = opus::duration(&data)?;
                Some(Frame {
                    data,
                    lasts,
                    codec: Codec::Opus,
                    config: Bytes::copy_from_slice(&opus::head(channels)),
                    sample_rate: opus::RATE,
                    channels,
                })
            }
        }
    }
}

impl Frame {
    /// The track of such frames.
    pub(super) fn track(&self, id: TrackId) -> Track {
        Track {
            id,
            kind: Kind::Audio,
            codec: self.codec,
            framing: match self.codec {
                Codec::Mp3 => Framing::SelfFramed,
                _ => Framing::Bare,
            },
            config: self.config.clone(),
            sample_rate: self.sample_rate,
            channels: self.channels,
            flv: None,
        }
    }
}
