//! The frame header of either syntax, behind one interface.

use bytes::Bytes;
use media::codec::aac::{AdtsHeader, AudioSpecificConfig};
use media::codec::mpeg_audio::{FrameHeader, Layer};
use media::{Codec, FourCc, Framing, Kind, Span, Track, TrackId};

use super::Syntax;

#[derive(Clone, Copy, Debug)]
pub(crate) enum Head {
    MpegAudio(FrameHeader),
    Adts(AdtsHeader),
}

impl Head {
    /// Returns the bytes that [`Self::parse`] needs.
    pub(super) const fn bytes(syntax: Syntax) -> usize {
        match syntax {
            Syntax::MpegAudio => FrameHeader::BYTES,
            Syntax::Adts => AdtsHeader::BYTES,
        }
    }

    pub(crate) fn parse(syntax: Syntax, bytes: &[u8]) -> Option<Self> {
        match syntax {
            Syntax::MpegAudio => FrameHeader::parse(bytes).map(Self::MpegAudio),
            Syntax::Adts => AdtsHeader::parse(bytes).map(Self::Adts),
        }
    }

    pub(crate) const fn frame_bytes(&self) -> usize {
        match self {
            Self::MpegAudio(head) => head.frame_bytes(),
            Self::Adts(head) => head.frame_bytes,
        }
    }

    pub(crate) const fn samples(&self) -> u32 {
        match self {
            Self::MpegAudio(head) => head.samples(),
            Self::Adts(head) => head.samples(),
        }
    }

    pub(crate) const fn sample_rate(&self) -> u32 {
        match self {
            Self::MpegAudio(head) => head.sample_rate,
            Self::Adts(head) => head.sample_rate,
        }
    }

    /// Returns the duration of the frame.
    pub(crate) fn span(&self) -> Span {
        Span::from_samples(self.samples().into(), self.sample_rate())
    }

    const fn channels(&self) -> u8 {
        match self {
            Self::MpegAudio(head) => head.channels,
            Self::Adts(head) => head.channels(),
        }
    }

    fn codec(&self) -> Codec {
        match self {
            Self::MpegAudio(head) if head.layer == Layer::Three => Codec::Mp3,
            Self::MpegAudio(_) => Codec::Other(FourCc(*b"mp2 ")),
            Self::Adts(_) => Codec::Aac,
        }
    }

    /// Returns the AudioSpecificConfig; MPEG audio has none.
    fn config(&self) -> Option<[u8; 2]> {
        match self {
            Self::MpegAudio(_) => None,
            Self::Adts(head) => AudioSpecificConfig::from_adts(head).to_bytes(),
        }
    }

    /// Creates the track of frames like this one.
    pub(crate) fn track(&self, id: TrackId, framing: Framing) -> Track {
        let config = self.config();
        Track {
            config: config.map_or_else(Bytes::new, |config| Bytes::copy_from_slice(&config)),
            sample_rate: self.sample_rate(),
            channels: self.channels(),
            ..Track::new(id, Kind::Audio, self.codec(), framing)
        }
    }

    /// Returns whether both headers may occur in one run of frames.
    pub(super) fn is_consistent_with(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::MpegAudio(one), Self::MpegAudio(other)) => one.is_consistent_with(other),
            (Self::Adts(one), Self::Adts(other)) => one.is_consistent_with(other),
            _ => false,
        }
    }

    /// Returns whether `track` was announced for frames like this one.
    pub(super) fn describes(&self, track: &Track) -> bool {
        let config = self.config();
        track.config == config.as_ref().map_or(&[][..], |config| config)
            && track.codec == self.codec()
            && track.sample_rate == self.sample_rate()
            && track.channels == self.channels()
    }

    /// Returns whether the frame is a file's table of contents instead of audio.
    pub(super) fn is_info_frame(&self, frame: &[u8]) -> bool {
        match self {
            Self::MpegAudio(head) => head.is_info_frame(frame),
            Self::Adts(_) => false,
        }
    }
}
