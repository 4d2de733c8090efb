//! MPEG audio layer III.
//!
//! Every frame contains its own rate and channels, and a live stream may change them: each run of equal frames gets its own
//! decoder.

use media::codec::mpeg_audio::{FrameHeader, Layer};
use symphonia_bundle_mp3::MpaDecoder;
use symphonia_core::codecs::audio::well_known::CODEC_ID_MP3;
use symphonia_core::codecs::audio::{AudioCodecParameters, AudioDecoderOptions};

use super::{Decoded, Fault, Shape, run};
use crate::transcode::Frame;

/// Decoder of one track. A container only claims the track's rate and channels; the frames are authoritative.
#[derive(Default)]
pub(crate) struct Mp3 {
    /// Decoder, with the shape of the frames that it decodes.
    decoder: Option<(MpaDecoder, Shape)>,
    /// Shape assumed for a frame without a readable header.
    last: Option<Shape>,
}

impl Mp3 {
    pub(super) fn decode(&mut self, unit: &[u8], out: &mut Vec<Frame>) -> Decoded {
        let Some((frame, shape)) = frame(unit) else {
            self.lose();
            return Decoded::Bad(self.last, Fault::Malformed);
        };
        self.last = Some(shape);
        let Some(decoder) = self.decoder_for(shape) else {
            return Decoded::Bad(self.last, Fault::Malformed);
        };
        let before = out.len();
        let fault = match run(decoder, frame, shape.frames, out) {
            Ok(frames) if frames == shape.frames => return Decoded::Good(shape),
            Ok(_) => Fault::Malformed,
            Err(fault) => fault,
        };
        out.truncate(before);
        self.lose();
        Decoded::Bad(self.last, fault)
    }

    /// Records that a frame is missing. Later frames would take their reference data (the bit reservoir, ISO/IEC 11172-3
    /// §2.4.3.4) from the frames before it, and decode to noise; a fresh decoder keeps them silent until the reservoir is full
    /// again.
    pub(super) fn lose(&mut self) {
        self.decoder = None;
    }

    fn decoder_for(&mut self, shape: Shape) -> Option<&mut MpaDecoder> {
        if self.decoder.as_ref().is_none_or(|(_, of)| *of != shape) {
            let mut parameters = AudioCodecParameters::new();
            parameters.for_codec(CODEC_ID_MP3);
            let fresh = MpaDecoder::try_new(&parameters, &AudioDecoderOptions::default()).ok()?;
            self.decoder = Some((fresh, shape));
        }
        self.decoder.as_mut().map(|(decoder, _)| decoder)
    }
}

/// Returns the bytes in the first unit of `data`: its first frame if another follows, else everything.
pub(super) fn first_frame_bytes(data: &[u8]) -> usize {
    FrameHeader::parse(data)
        .filter(|first| {
            let rest = data.get(first.frame_bytes()..).unwrap_or_default();
            FrameHeader::parse(rest).is_some_and(|next| next.is_consistent_with(first))
        })
        .map_or(data.len(), |first| first.frame_bytes())
}

/// Returns the frame at the start of `unit`, and the shape of its audio. Bytes after the frame are padding.
fn frame(unit: &[u8]) -> Option<(&[u8], Shape)> {
    let header = FrameHeader::parse(unit).filter(|header| header.layer == Layer::Three)?;
    let shape = Shape {
        rate: header.sample_rate,
        channels: header.channels,
        frames: header.samples() as usize,
    };
    Some((unit.get(..header.frame_bytes())?, shape))
}
