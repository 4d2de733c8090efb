//! Samples to payloads.

mod av1;
mod h264;
mod hevc;
mod nal;
mod vp8;
mod vp9;

#[cfg(test)]
mod tests;

use media::codec::opus;
use media::{Sample, Timestamp, Track};
use thiserror::Error;

use super::format::PayloadFormat;
use super::payloads::Payloads;

/// Fewer bytes than this are too few for the headers of the formats.
const PAYLOAD_BYTES_MIN: usize = 64;

/// Facts about a frame that was packetized.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Picture {
    /// A decoder may start here; true of all sound.
    pub keyframe: bool,
    /// No frame is predicted from it, so it may be left out. Recognised in H.264 and HEVC.
    pub is_disposable: bool,
    /// It is presented before a picture that came earlier: a B-frame, which receivers cannot show.
    /// One that is disposable is best left out; one that is not has to be sent, late as it is.
    pub is_reordered: bool,
}

/// Why a sample has no packets.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
pub enum Unsendable {
    /// It holds nothing for the wire: only delimiters, filler, parameter sets.
    #[error("the sample has no frame")]
    NoFrame,
    /// Sound is not fragmented, and this does not fit a packet.
    #[error("the packet of sound is longer than a packet of the network")]
    TooLong,
}

/// Makes payloads of one track's samples.
#[derive(Debug)]
pub struct Packetizer {
    format: PayloadFormat,
    payload_bytes: usize,
    packer: Packer,
    /// The latest time that a picture is presented at.
    latest: Option<Timestamp>,
}

#[derive(Debug)]
enum Packer {
    H264(nal::Packer<h264::H264>),
    Hevc(nal::Packer<hevc::Hevc>),
    Av1(av1::Packer),
    Vp8(vp8::Packer),
    Vp9(vp9::Packer),
    Opus,
}

/// One frame on its way into packets.
struct Frame<'a> {
    bytes: &'a [u8],
    /// The sample's own flag.
    keyframe: bool,
    /// The longest payload allowed.
    payload_bytes: usize,
}

impl Packetizer {
    /// A packetizer of `track`, which [`PayloadFormat::of`] says has the format `format`, into payloads of at most
    /// `payload_bytes`; usually [`PAYLOAD_BYTES`]. Fewer than 64 are taken for 64.
    ///
    /// Samples of H.264 without a configuration are taken for Annex B.
    ///
    /// [`PAYLOAD_BYTES`]: super::PAYLOAD_BYTES
    pub fn new(format: PayloadFormat, track: &Track, payload_bytes: usize) -> Self {
        let record = &track.config[..];
        Self {
            format,
            payload_bytes: payload_bytes.max(PAYLOAD_BYTES_MIN),
            packer: match format {
                PayloadFormat::H264 => Packer::H264(nal::Packer::new(record)),
                PayloadFormat::Hevc => Packer::Hevc(nal::Packer::new(record)),
                PayloadFormat::Av1 => Packer::Av1(av1::Packer::new(record)),
                PayloadFormat::Vp8 => Packer::Vp8(vp8::Packer::default()),
                PayloadFormat::Vp9 => Packer::Vp9(vp9::Packer::default()),
                PayloadFormat::Opus => Packer::Opus,
            },
            latest: None,
        }
    }

    /// The format of the payloads.
    pub const fn format(&self) -> PayloadFormat {
        self.format
    }

    /// Takes the track's new configuration, of the same format. Picture numbers go on.
    pub fn reconfigure(&mut self, track: &Track) {
        let record = &track.config[..];
        match &mut self.packer {
            Packer::H264(packer) => *packer = nal::Packer::new(record),
            Packer::Hevc(packer) => *packer = nal::Packer::new(record),
            Packer::Av1(packer) => *packer = av1::Packer::new(record),
            Packer::Vp8(_) | Packer::Vp9(_) | Packer::Opus => {}
        }
    }

    /// Appends the packets of `sample` to `out`.
    ///
    /// # Errors
    /// When there are none; nothing is appended then.
    pub fn push(&mut self, sample: &Sample, out: &mut Payloads) -> Result<Picture, Unsendable> {
        let frame = Frame {
            bytes: &sample.data,
            keyframe: sample.keyframe,
            payload_bytes: self.payload_bytes,
        };
        if frame.bytes.is_empty() {
            return Err(Unsendable::NoFrame);
        }
        let picture = match &mut self.packer {
            Packer::H264(packer) => packer.push(&frame, out),
            Packer::Hevc(packer) => packer.push(&frame, out),
            Packer::Av1(packer) => packer.push(&frame, out),
            Packer::Vp8(packer) => packer.push(&frame, out),
            Packer::Vp9(packer) => packer.push(&frame, out),
            Packer::Opus => return push_sound(&frame, out),
        };
        let mut picture = picture.ok_or(Unsendable::NoFrame)?;
        out.end_frame();
        // A keyframe may follow a clock that went back; times before it do not count.
        let latest = self.latest.filter(|_| !picture.keyframe);
        picture.is_reordered = latest.is_some_and(|latest| sample.pts < latest);
        self.latest = Some(latest.map_or(sample.pts, |latest| latest.max(sample.pts)));
        Ok(picture)
    }
}

/// The length of equal pieces of `bytes` bytes, as few as there can be of at most `bytes_max` each.
fn equal_pieces(bytes: usize, bytes_max: usize) -> usize {
    bytes.div_ceil(bytes.div_ceil(bytes_max).max(1)).max(1)
}

/// Opus is sent unchanged (RFC 7587 §4.2), if necessary in a longer packet than others.
fn push_sound(frame: &Frame<'_>, out: &mut Payloads) -> Result<Picture, Unsendable> {
    if frame.bytes.len() > frame.payload_bytes.max(opus::FRAME_BYTES_MAX) {
        return Err(Unsendable::TooLong);
    }
    out.put(frame.bytes);
    out.end_packet();
    Ok(Picture {
        keyframe: true,
        ..Picture::default()
    })
}
