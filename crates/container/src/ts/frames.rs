//! Frames of sound out of a PES packet, where several of them stand one behind the other.

use bytes::{Buf, Bytes};
use media::codec::opus;
use media::{Codec, Framing, Kind, Span, Track, TrackId};

use crate::frames::{self, head::Head};

/// How they are told apart.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Syntax {
    /// By their own headers.
    Headers(frames::Syntax),
    /// Packets of so many channels.
    Opus(u8),
}

/// One frame, and what its track is by it.
#[derive(Debug)]
pub(super) struct Frame {
    /// Without a header of its own, but of MP3.
    pub(super) data: Bytes,
    pub(super) lasts: Span,
    pub(super) track: Track,
}

impl Syntax {
    /// Takes the frame that `rest` begins with, of the track `id`; `None` when that is none, or is cut.
    pub(super) fn next(self, id: TrackId, rest: &mut Bytes) -> Option<Frame> {
        match self {
            Self::Headers(syntax) => {
                let head = Head::parse(syntax, rest)?;
                let bytes = Some(head.frame_bytes()).filter(|it| (1..=rest.len()).contains(it))?;
                let mut data = rest.split_to(bytes);
                let track = match head {
                    // Whatever the layer: what plays MP3 plays the others.
                    Head::MpegAudio(_) => Track {
                        codec: Codec::Mp3,
                        ..head.track(id, Framing::SelfFramed)
                    },
                    Head::Adts(header) => {
                        data.advance(header.header_bytes);
                        head.track(id, Framing::Bare)
                    }
                };
                Some(Frame {
                    data,
                    lasts: Span::from_samples(head.samples().into(), head.sample_rate()),
                    track,
                })
            }
            Self::Opus(channels) => {
                let data = super::opus::take_packet(rest)?;
                let lasts = opus::duration(&data)?;
                let track = Track {
                    config: Bytes::copy_from_slice(&opus::head(channels)),
                    sample_rate: opus::RATE,
                    channels,
                    ..Track::new(id, Kind::Audio, Codec::Opus, Framing::Bare)
                };
                Some(Frame { data, lasts, track })
            }
        }
    }
}
