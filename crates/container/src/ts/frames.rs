//! Extraction of audio frames from a PES packet, in which several of them follow one another.

use bytes::{Buf, Bytes};
use media::codec::opus;
use media::{Codec, Framing, Kind, Span, Track, TrackId};

use crate::frames::{self, head::Head};

/// Rule for finding the boundaries of frames.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Syntax {
    /// Frames have their own headers.
    Headers(frames::Syntax),
    /// Packets of Opus with this many channels.
    Opus(u8),
}

/// Audio frame, and its description of the track.
#[derive(Debug)]
pub(super) struct Frame {
    /// Bytes without the frame's own header, except for MP3.
    pub(super) data: Bytes,
    pub(super) lasts: Span,
    pub(super) track: Track,
}

impl Syntax {
    /// Takes the frame of track `id` at the start of `rest`; `None` when there is none, or it is cut.
    pub(super) fn next(self, id: TrackId, rest: &mut Bytes) -> Option<Frame> {
        match self {
            Self::Headers(syntax) => {
                let head = Head::parse(syntax, rest)?;
                let bytes = Some(head.frame_bytes()).filter(|it| (1..=rest.len()).contains(it))?;
                let mut data = rest.split_to(bytes);
                let track = match head {
                    // Whatever the layer: players of MP3 play the others.
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
                    lasts: head.span(),
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
