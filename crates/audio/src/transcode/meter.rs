//! Loudness meter of a track: the audio is decoded and discarded.

use media::{Codec, Kind, Sample, Track};
use opus::Channels;

use crate::transcode::decoder::{Decoded, Decoder, Fault};
use crate::transcode::{Frame, OUTPUT_RATE, Unsupported};

/// Panics of the decoder after which a source is given up, as in a transcoder.
const PANICS_MAX: u32 = 16;

/// Sample instants of the longest Opus packet: 120 ms (RFC 6716 §2).
const OPUS_FRAMES_MAX: usize = OUTPUT_RATE as usize * 120 / 1_000;

/// Measurements of a stretch of audio.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Loudness {
    /// Sample instants that could be decoded.
    pub frames: u64,
    /// Samples per second of each channel; 0 if nothing could be decoded.
    pub rate: u32,
    /// Largest amplitude; 1 is full scale.
    pub peak: f32,
    /// Sample instants at which a channel is at full scale or beyond.
    pub clipped: u64,
}

/// Loudness meter of one track. It is sans-IO.
pub struct Meter {
    source: Source,
    panics: u32,
    /// Kept for its allocation.
    audio: Vec<Frame>,
}

enum Source {
    Frames(Decoder),
    Opus {
        decoder: opus::Decoder,
        /// Two channels, interleaved.
        audio: Vec<f32>,
    },
}

impl Meter {
    /// Creates a meter for the audio of `track`.
    ///
    /// # Errors
    /// The codec, or this form of it, cannot be decoded.
    pub fn open(track: &Track) -> Result<Self, Unsupported> {
        let source = match track.codec {
            Codec::Opus if track.kind == Kind::Audio => Source::Opus {
                decoder: opus::Decoder::new(OUTPUT_RATE, Channels::Stereo)
                    .map_err(|_| Unsupported::Codec(track.codec))?,
                audio: vec![0.0; 2 * OPUS_FRAMES_MAX],
            },
            _ => Source::Frames(Decoder::new(track)?),
        };
        Ok(Self {
            source,
            panics: 0,
            audio: Vec::new(),
        })
    }

    /// Measures one sample. Audio that cannot be decoded is not counted.
    ///
    /// # Errors
    /// [`Unsupported::Damaged`]: the source is given up for good.
    pub fn push(&mut self, sample: &Sample) -> Result<Loudness, Unsupported> {
        let mut measured = Loudness::default();
        match &mut self.source {
            Source::Frames(decoder) => {
                for unit in decoder.units(sample) {
                    self.audio.clear();
                    match decoder.decode(unit, &mut self.audio) {
                        Decoded::Good(shape) => measured.add(shape.rate, &self.audio),
                        Decoded::Bad(_, fault) => {
                            self.panics += u32::from(fault == Fault::Panic);
                        }
                    }
                }
            }
            Source::Opus { decoder, audio } => {
                if let Ok(frames) = decoder.decode_float(&sample.data, audio, false) {
                    let (frames, _) = audio[..2 * frames].as_chunks();
                    measured.add(OUTPUT_RATE, frames);
                }
            }
        }
        match self.panics > PANICS_MAX {
            true => Err(Unsupported::Damaged),
            false => Ok(measured),
        }
    }
}

impl Loudness {
    fn add(&mut self, rate: u32, audio: &[Frame]) {
        self.rate = rate;
        self.frames += audio.len() as u64;
        for [left, right] in audio {
            let peak = left.abs().max(right.abs());
            self.peak = self.peak.max(peak);
            self.clipped += u64::from(peak >= 1.0);
        }
    }
}

base::debug!(Meter {});
