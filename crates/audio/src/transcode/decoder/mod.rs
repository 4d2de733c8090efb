//! Decoders: from a track's samples to audio frames at the source's own rate.
//!
//! The decoders are symphonia's, and their input comes from the network. Their failures are contained here: an error counts as
//! a bad frame. A panic does, too; the decoder is then replaced, because its state is unknown.

mod aac;
mod mp3;
mod sbr;

#[cfg(test)]
pub(crate) use self::sbr::tests::with_replication;

use std::panic::{AssertUnwindSafe, catch_unwind};

use media::{Codec, Kind, Sample, Track};
use symphonia_core::audio::GenericAudioBufferRef;
use symphonia_core::codecs::audio::AudioDecoder;
use symphonia_core::packet::PacketRef;
use symphonia_core::units::{Duration, Timestamp};

use self::aac::Aac;
use self::mp3::Mp3;
use crate::transcode::{Caveat, Frame, Unsupported};

/// Largest number of coded frames in one sample; publishers send one or a few. Frames may be 24 bytes short, and a sample with
/// hundreds would delay the audio of other streams.
const UNITS_MAX: usize = 16;

/// Largest audio sample, in bytes: several MP3 frames of the highest bitrate, and twice what the 13-bit length of ADTS can say.
const SAMPLE_BYTES_MAX: usize = 16 * 1024;

/// Largest amplitude that is accepted. A little over full scale leaves headroom for resampling; beyond it a value is damage.
const LEVEL_MAX: f32 = 2.0;

/// Decoder of one track.
pub(crate) enum Decoder {
    Aac(Box<Aac>),
    Mp3(Box<Mp3>),
}

/// Properties of one coded frame, whether or not it could be decoded.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Shape {
    /// Samples per second.
    pub(crate) rate: u32,
    /// 1 or 2.
    pub(crate) channels: u8,
    /// Samples per channel.
    pub(crate) frames: usize,
}

/// Result of decoding one frame.
#[derive(Debug)]
pub(crate) enum Decoded {
    /// The audio was appended.
    Good(Shape),
    /// Nothing was appended; the shape describes the missing audio, as far as known.
    Bad(Option<Shape>, Fault),
}

/// Kind of a failure.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Fault {
    /// The decoder or the framing reported an error.
    Malformed,
    /// The decoder panicked.
    Panic,
}

/// Returns the known losses of transcoding `track`, or the reason why it is impossible, as far as its configuration shows; this
/// reads only a few bytes. Rates and channels of MP3, implicit high-efficiency AAC and damage show only in the frames.
pub fn examine(track: &Track) -> Result<Option<Caveat>, Unsupported> {
    match track.codec {
        Codec::Aac => Aac::examine(track),
        Codec::Mp3 if track.kind == Kind::Audio => Ok(None),
        codec => Err(Unsupported::Codec(codec)),
    }
}

impl Decoder {
    pub(crate) fn new(track: &Track) -> Result<Self, Unsupported> {
        match track.codec {
            Codec::Aac => Aac::new(track).map(|aac| Self::Aac(Box::new(aac))),
            Codec::Mp3 if track.kind == Kind::Audio => Ok(Self::Mp3(Box::default())),
            codec => Err(Unsupported::Codec(codec)),
        }
    }

    /// Returns the known losses in decoding.
    pub(crate) fn caveat(&self) -> Option<Caveat> {
        match self {
            Self::Aac(aac) => aac.caveat,
            Self::Mp3(_) => None,
        }
    }

    /// Announces that frames are missing before the next one.
    pub(crate) fn lose(&mut self) {
        match self {
            // The half of a frame that overlaps with the next one fades by itself.
            Self::Aac(_) => {}
            Self::Mp3(mp3) => mp3.lose(),
        }
    }

    /// Splits a sample into coded frames; data that cannot be split is one of them.
    pub(crate) fn units<'a>(&self, sample: &'a Sample) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let split: fn(&[u8]) -> usize = match self {
            Self::Mp3(_) if sample.data.len() <= SAMPLE_BYTES_MAX => mp3::first_frame_bytes,
            _ => <[u8]>::len,
        };
        let mut rest: &[u8] = &sample.data;
        let units = std::iter::from_fn(move || {
            let (unit, after) = rest.split_at(split(rest));
            rest = after;
            (!unit.is_empty()).then_some(unit)
        });
        units.take(UNITS_MAX)
    }

    /// Decodes one of the units, appending its audio to `out`.
    pub(crate) fn decode(&mut self, unit: &[u8], out: &mut Vec<Frame>) -> Decoded {
        match self {
            _ if unit.len() > SAMPLE_BYTES_MAX => Decoded::Bad(None, Fault::Malformed),
            Self::Aac(aac) => aac.decode(unit, out),
            Self::Mp3(mp3) => mp3.decode(unit, out),
        }
    }
}

/// Decodes `data` with `decoder`, appending at most `frames_max` frames to `out`. An error leaves `out` as it was.
fn run(
    decoder: &mut dyn AudioDecoder,
    data: &[u8],
    frames_max: usize,
    out: &mut Vec<Frame>,
) -> Result<usize, Fault> {
    let before = out.len();
    let packet = PacketRef::new(0, Timestamp::ZERO, Duration::ZERO, data);
    // Unwind safety: after a panic the decoder is dropped by the caller, and `out` is cut back.
    let decoded = catch_unwind(AssertUnwindSafe(|| match decoder.decode_ref(&packet) {
        Ok(GenericAudioBufferRef::F32(buffer)) => {
            append(buffer, frames_max, out);
            true
        }
        _ => false,
    }));
    let fault = match decoded {
        Ok(true) if out.len() > before => return Ok(out.len() - before),
        Ok(_) => Fault::Malformed,
        Err(_) => Fault::Panic,
    };
    out.truncate(before);
    Err(fault)
}

fn append(
    buffer: &symphonia_core::audio::AudioBuffer<f32>,
    frames_max: usize,
    out: &mut Vec<Frame>,
) {
    use symphonia_core::audio::Audio;

    let Some(left) = buffer.plane(0) else {
        return;
    };
    let right = buffer.plane(1).unwrap_or(left);
    out.extend(
        left.iter()
            .zip(right)
            .take(frames_max)
            .map(|(left, right)| [tame(*left), tame(*right)]),
    );
}

/// Limits a sample's value. Damaged frames decode to arbitrary values, and one that is not a number would stay in later filters
/// forever.
fn tame(value: f32) -> f32 {
    if value.is_finite() {
        value.clamp(-LEVEL_MAX, LEVEL_MAX)
    } else {
        0.0
    }
}
