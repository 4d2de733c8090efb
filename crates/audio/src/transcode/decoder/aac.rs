//! AAC-LC, bare or in ADTS, and the AAC-LC core of high-efficiency AAC.

use media::codec::aac::{AdtsHeader, AudioSpecificConfig};
use media::{Framing, TICKS_PER_SECOND, Track};
use symphonia_codec_aac::AacDecoder;
use symphonia_core::codecs::audio::well_known::CODEC_ID_AAC;
use symphonia_core::codecs::audio::{AudioCodecParameters, AudioDecoderOptions};

use super::sbr::Spotter;
use super::{Decoded, Fault, Shape, run};
use crate::transcode::{Caveat, Frame, Unsupported};

const LOW_COMPLEXITY: u8 = 2;

/// Syntactic element that ends an access unit (ISO/IEC 14496-3 table 4.85).
const ID_END: u8 = 7;

pub(crate) struct Aac {
    decoder: AacDecoder,
    /// Configuration that `decoder` was made with.
    core: [u8; 2],
    framing: Framing,
    shape: Shape,
    /// Known losses in decoding.
    pub(super) caveat: Option<Caveat>,
    spotter: Spotter,
}

impl Aac {
    /// Returns the known losses according to the configuration alone.
    pub(super) fn examine(track: &Track) -> Result<Option<Caveat>, Unsupported> {
        let config = AudioSpecificConfig::parse(&track.config).ok_or(Unsupported::Configuration)?;
        core_config(&config)?;
        Ok(caveat(&config))
    }

    pub(super) fn new(track: &Track) -> Result<Self, Unsupported> {
        let config = AudioSpecificConfig::parse(&track.config).ok_or(Unsupported::Configuration)?;
        let core = core_config(&config)?;
        Ok(Self {
            decoder: make(core).ok_or(Unsupported::Configuration)?,
            core,
            framing: track.framing,
            shape: Shape {
                rate: config.sample_rate,
                channels: config.channels,
                frames: config.samples_per_frame() as usize,
            },
            caveat: caveat(&config),
            spotter: Spotter::default(),
        })
    }

    pub(super) fn decode(&mut self, unit: &[u8], out: &mut Vec<Frame>) -> Decoded {
        let unit = match self.framing {
            Framing::SelfFramed => access_unit(unit),
            _ => Some(unit),
        };
        let Some(unit) = unit.filter(|unit| !is_empty(unit)) else {
            return Decoded::Bad(Some(self.shape), Fault::Malformed);
        };
        match run(&mut self.decoder, unit, self.shape.frames, out) {
            Ok(_) => {
                self.watch_for_replication(unit);
                Decoded::Good(self.shape)
            }
            Err(fault) => {
                if fault == Fault::Panic
                    && let Some(fresh) = make(self.core)
                {
                    self.decoder = fresh;
                }
                Decoded::Bad(Some(self.shape), fault)
            }
        }
    }

    /// Detects implicitly signalled HE-AAC, which shows only in the frames.
    fn watch_for_replication(&mut self, unit: &[u8]) {
        if self.caveat.is_none() && self.spotter.sees_replication(unit) {
            self.caveat = Some(Caveat {
                core_rate: self.shape.rate,
                parametric_stereo: false,
            });
        }
    }
}

fn caveat(config: &AudioSpecificConfig) -> Option<Caveat> {
    config.extension.map(|extension| Caveat {
        core_rate: config.sample_rate,
        parametric_stereo: extension.parametric_stereo,
    })
}

/// Returns the configuration of the AAC-LC core alone, which is all that the decoder accepts.
fn core_config(config: &AudioSpecificConfig) -> Result<[u8; 2], Unsupported> {
    if config.object_type != LOW_COMPLEXITY {
        return Err(Unsupported::ObjectType(config.object_type));
    }
    match config.channels {
        0 => return Err(Unsupported::Layout),
        1 | 2 => {}
        more => return Err(Unsupported::Channels(more)),
    }
    if config.short_frames {
        return Err(Unsupported::ShortFrames);
    }
    let plain = AudioSpecificConfig {
        // If a program config element lists one or two channels, this has the same effect.
        channel_configuration: config.channels,
        extension: None,
        ..*config
    };
    plain
        .to_bytes()
        // Time is exact only if a sample is a whole number of ticks.
        .filter(|_| TICKS_PER_SECOND % i64::from(config.sample_rate) == 0)
        .ok_or(Unsupported::SampleRate(config.sample_rate))
}

fn make(core: [u8; 2]) -> Option<AacDecoder> {
    let mut parameters = AudioCodecParameters::new();
    parameters
        .for_codec(CODEC_ID_AAC)
        .with_extra_data(Box::new(core));
    AacDecoder::try_new(&parameters, &AudioDecoderOptions::default()).ok()
}

/// Whether an access unit ends before it begins. The decoder would interpret it as silence, like most data filled with ones.
fn is_empty(unit: &[u8]) -> bool {
    unit.first().is_none_or(|first| first >> 5 == ID_END)
}

/// Returns the only access unit of an ADTS frame. Frames with several do not say where each ends.
fn access_unit(frame: &[u8]) -> Option<&[u8]> {
    let header = AdtsHeader::parse(frame).filter(|header| header.blocks == 1)?;
    frame.get(header.header_bytes..header.frame_bytes)
}
