//! The frame header of either syntax, behind one interface.

use bytes::Bytes;
use media::codec::aac::{AdtsHeader, AudioSpecificConfig};
use media::codec::mpeg_audio::{FrameHeader, Layer};
use media::{Codec, FourCc, Track};

use super::Syntax;

#[derive(Clone, Copy, Debug)]
pub(super) enum Head {
    MpegAudio(FrameHeader),
    Adts(AdtsHeader),
}

impl Head {
    /// Bytes that [`Self::parse`] needs.
    pub(super) const fn bytes(syntax: Syntax) -> usize {
        match syntax {
            Syntax::MpegAudio => FrameHeader::BYTES,
            Syntax::Adts => AdtsHeader::BYTES,
        }
    }

    pub(super) fn parse(syntax: Syntax, bytes: &[u8]) -> Option<Self> {
        match syntax {
            Syntax::MpegAudio => FrameHeader::parse(bytes).map(Self::MpegAudio),
            Syntax::Adts => AdtsHeader::parse(bytes).map(Self::Adts),
        }
    }

    pub(super) const fn frame_bytes(&self) -> usize {
        match self {
            Self::MpegAudio(head) => head.frame_bytes(),
            Self::Adts(head) => head.frame_bytes,
        }
    }

    pub(super) const fn samples(&self) -> u32 {
        match self {
            Self::MpegAudio(head) => head.samples(),
            Self::Adts(head) => head.samples(),
        }
    }

    pub(super) const fn sample_rate(&self) -> u32 {
        match self {
            Self::MpegAudio(head) => head.sample_rate,
            Self::Adts(head) => head.sample_rate,
        }
    }

    pub(super) const fn channels(&self) -> u8 {
        match self {
            Self::MpegAudio(head) => head.channels,
            Self::Adts(head) => head.channels(),
        }
    }

    pub(super) fn codec(&self) -> Codec {
        match self {
            Self::MpegAudio(head) if head.layer == Layer::Three => Codec::Mp3,
            Self::MpegAudio(_) => Codec::Other(FourCc(*b"mp2 ")),
            Self::Adts(_) => Codec::Aac,
        }
    }

    pub(super) fn config(&self) -> Bytes {
        match self {
            Self::MpegAudio(_) => Bytes::new(),
            Self::Adts(head) => AudioSpecificConfig::from_adts(head)
                .to_bytes()
                .map(|config| Bytes::copy_from_slice(&config))
                .unwrap_or_default(),
        }
    }

    /// Whether both may stand in one run of frames.
    pub(super) fn is_consistent_with(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::MpegAudio(one), Self::MpegAudio(other)) => one.is_consistent_with(other),
            (Self::Adts(one), Self::Adts(other)) => one.is_consistent_with(other),
            _ => false,
        }
    }

    /// Whether `track` was announced for frames like this one.
    pub(super) fn describes(&self, track: &Track) -> bool {
        let config_agrees = match self {
            Self::MpegAudio(_) => true,
            Self::Adts(head) => AudioSpecificConfig::from_adts(head)
                .to_bytes()
                .is_some_and(|config| track.config == config[..]),
        };
        config_agrees
            && track.codec == self.codec()
            && track.sample_rate == self.sample_rate()
            && track.channels == self.channels()
    }

    /// Whether the frame is a file's table of contents instead of music.
    pub(super) fn is_info_frame(&self, frame: &[u8]) -> bool {
        match self {
            Self::MpegAudio(head) => head.is_info_frame(frame),
            Self::Adts(_) => false,
        }
    }
}
