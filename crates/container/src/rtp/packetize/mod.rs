//! Packetizer: splits samples into payloads.

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

/// Minimum payload limit; a smaller one has no room for the headers of the formats.
const PAYLOAD_BYTES_MIN: usize = 64;

/// Facts about a packetized frame.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Picture {
    /// A decoder may start at the frame; true of all audio.
    pub keyframe: bool,
    /// No frame is predicted from this one, so it may be left out. Recognized in H.264 and HEVC.
    pub is_disposable: bool,
    /// The frame is presented before an earlier one: a B-frame, which receivers cannot show. If it is disposable, it is
    /// best left out; otherwise it has to be sent, late as it is.
    pub is_reordered: bool,
}

/// Reason why a sample has no packets.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
pub enum Unsendable {
    /// The sample holds nothing for the wire: only delimiters, filler, parameter sets.
    #[error("the sample has no frame")]
    NoFrame,
    /// The audio frame does not fit a packet, and audio is not fragmented.
    #[error("the audio packet is longer than a packet of the network")]
    TooLong,
}

/// Packetizer of one track's samples; call [`push`](Self::push) for each.
#[derive(Debug)]
pub struct Packetizer {
    format: PayloadFormat,
    payload_bytes: usize,
    packer: Packer,
    /// Latest presentation time of a frame.
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

impl Packer {
    fn new(format: PayloadFormat, record: &[u8]) -> Self {
        match format {
            PayloadFormat::H264 => Self::H264(nal::Packer::new(record)),
            PayloadFormat::Hevc => Self::Hevc(nal::Packer::new(record)),
            PayloadFormat::Av1 => Self::Av1(av1::Packer::new(record)),
            PayloadFormat::Vp8 => Self::Vp8(vp8::Packer::default()),
            PayloadFormat::Vp9 => Self::Vp9(vp9::Packer::default()),
            PayloadFormat::Opus => Self::Opus,
        }
    }
}

/// Frame that is being packetized.
struct Frame<'a> {
    bytes: &'a [u8],
    /// Keyframe flag of the sample.
    keyframe: bool,
    /// Upper bound on the bytes of a payload.
    payload_bytes: usize,
}

impl Packetizer {
    /// Creates a packetizer of `track`, whose format is `format` according to [`PayloadFormat::of`], into payloads of
    /// at most `payload_bytes`; usually [`PAYLOAD_BYTES`]. Fewer than 64 count as 64.
    ///
    /// Samples of H.264 without a configuration are assumed to be Annex B.
    ///
    /// [`PAYLOAD_BYTES`]: super::PAYLOAD_BYTES
    pub fn new(format: PayloadFormat, track: &Track, payload_bytes: usize) -> Self {
        Self {
            format,
            payload_bytes: payload_bytes.max(PAYLOAD_BYTES_MIN),
            packer: Packer::new(format, &track.config),
            latest: None,
        }
    }

    /// Returns the format of the payloads.
    pub const fn format(&self) -> PayloadFormat {
        self.format
    }

    /// Takes the track's new configuration, of the same format. PictureIDs continue.
    pub fn reconfigure(&mut self, track: &Track) {
        if !matches!(self.packer, Packer::Vp8(_) | Packer::Vp9(_)) {
            self.packer = Packer::new(self.format, &track.config);
        }
    }

    /// Appends the packets of `sample` to `out`.
    ///
    /// # Errors
    /// If there are none; nothing is appended then.
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
            Packer::Opus => return push_audio(&frame, out),
        };
        let mut picture = picture.ok_or(Unsendable::NoFrame)?;
        out.end_frame();
        // A keyframe may follow a clock that was set back; times before it do not count.
        let latest = self.latest.filter(|_| !picture.keyframe);
        picture.is_reordered = latest.is_some_and(|latest| sample.pts < latest);
        self.latest = Some(latest.map_or(sample.pts, |latest| latest.max(sample.pts)));
        Ok(picture)
    }
}

/// Returns the length of equal pieces of `bytes` bytes, as few as possible with at most `bytes_max` each.
fn equal_pieces(bytes: usize, bytes_max: usize) -> usize {
    bytes.div_ceil(bytes.div_ceil(bytes_max).max(1)).max(1)
}

/// Sends Opus unchanged (RFC 7587 §4.2), if necessary in a longer packet than others.
fn push_audio(frame: &Frame<'_>, out: &mut Payloads) -> Result<Picture, Unsendable> {
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
