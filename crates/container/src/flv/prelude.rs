//! Prelude of a tag body: the bytes before the codec's own.

use media::{Codec, Framing, Sample, Track, TrackId};

use super::body::{AUDIO_EX_HEADER, EX_CODED_FRAMES, EX_CODED_FRAMES_X, EX_SEQUENCE_START};
use super::codec::{FOURCC_AV1, FOURCC_HEVC, FOURCC_OPUS, FOURCC_VP8, FOURCC_VP9};
use super::{AUDIO_AAC, AUDIO_MP3, AUDIO_MP3_8K, PACKET_CODED, PACKET_SEQUENCE_HEADER, VIDEO_AVC};

/// Bytes of the longest prelude: frame and packet type, four characters, composition time.
pub(super) const PRELUDE_BYTES_MAX: usize = 8;

/// Sixteen bits per sample and two channels, which AAC always declares (annex E.4.2.1).
const AAC_FIRST_BYTE: u8 = AUDIO_AAC << 4 | 0x0F;

/// Prelude of one tag body, at most [`PRELUDE_BYTES_MAX`] bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Prelude {
    bytes: [u8; PRELUDE_BYTES_MAX],
    length: u8,
}

impl Prelude {
    /// Creates a prelude whose length is known at compile time.
    #[inline]
    fn new<const N: usize>(bytes: [u8; N]) -> Self {
        let mut prelude = Self::default();
        prelude.bytes[..N].copy_from_slice(&bytes);
        prelude.length = N as u8;
        prelude
    }

    pub(super) const fn len(&self) -> usize {
        self.length as usize
    }

    pub(super) fn as_slice(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }

    /// Returns the bytes, padded with zeros to the maximum length.
    pub(super) const fn padded(&self) -> &[u8; PRELUDE_BYTES_MAX] {
        &self.bytes
    }

    /// Returns the prelude of the sequence header of a track whose samples hold everything; `None` if it has no header.
    pub(super) fn of_header(track: &Track) -> Option<Self> {
        // VP8 and VP9 are announced without a configuration, too.
        let is_announced = matches!(track.codec, Codec::Vp8 | Codec::Vp9);
        if track.framing != Framing::Bare || track.config.is_empty() && !is_announced {
            return None;
        }
        match track.codec {
            Codec::H264 => Some(Self::new([
                0x10 | VIDEO_AVC,
                PACKET_SEQUENCE_HEADER,
                0,
                0,
                0,
            ])),
            Codec::Aac => Some(Self::new([AAC_FIRST_BYTE, PACKET_SEQUENCE_HEADER])),
            Codec::Opus => Some(Self::opus(EX_SEQUENCE_START)),
            codec => {
                let [a, b, c, d] = enhanced_picture(codec)?;
                Some(Self::new([0x90 | EX_SEQUENCE_START, a, b, c, d]))
            }
        }
    }

    /// Returns the prelude of a sample of such a track, which must be one that [`is_plain`] allows.
    pub(super) fn of_sample(track: &Track, sample: &Sample) -> Self {
        match track.codec {
            Codec::H264 => {
                let [high, middle, low] = composition(sample);
                let frame = if sample.keyframe { 0x10 } else { 0x20 };
                Self::new([frame | VIDEO_AVC, PACKET_CODED, high, middle, low])
            }
            Codec::Aac => Self::new([AAC_FIRST_BYTE, PACKET_CODED]),
            Codec::Opus => Self::opus(EX_CODED_FRAMES),
            codec => match enhanced_picture(codec) {
                None => Self::new([mp3_audio(track)]),
                Some([a, b, c, d]) => {
                    let frame = if sample.keyframe { 0x90 } else { 0xA0 };
                    // Of these codecs, only HEVC has frames that are decoded earlier than presented.
                    match (codec, composition(sample)) {
                        (Codec::Hevc, [0, 0, 0]) => {
                            Self::new([frame | EX_CODED_FRAMES_X, a, b, c, d])
                        }
                        (Codec::Hevc, [high, middle, low]) => {
                            Self::new([frame | EX_CODED_FRAMES, a, b, c, d, high, middle, low])
                        }
                        _ => Self::new([frame | EX_CODED_FRAMES, a, b, c, d]),
                    }
                }
            },
        }
    }

    fn opus(packet: u8) -> Self {
        let [a, b, c, d] = FOURCC_OPUS;
        Self::new([AUDIO_EX_HEADER << 4 | packet, a, b, c, d])
    }
}

/// Returns presentation minus decoding time in milliseconds, as an `SI24`.
fn composition(sample: &Sample) -> [u8; 3] {
    let millis = (sample.pts.millis() - sample.dts.millis()).clamp(-0x80_0000, 0x7F_FFFF) as i32;
    let [_, time @ ..] = millis.to_be_bytes();
    time
}

/// Returns whether each sample of `track` has a prelude. A body that states no track is the first track's, so Opus that
/// was derived beside the first audio track has none.
pub(super) fn is_plain(track: &Track) -> bool {
    match (track.framing, track.codec) {
        (Framing::Bare, Codec::H264 | Codec::Aac | Codec::Mp3) => true,
        (Framing::Bare, Codec::Opus) => track.id == TrackId::AUDIO,
        (Framing::Bare, codec) => track.id == TrackId::VIDEO && enhanced_picture(codec).is_some(),
        (Framing::SelfFramed, codec) => codec == Codec::Mp3,
    }
}

/// Returns the four characters of a video codec that only Enhanced RTMP has, and that needs only a prelude.
const fn enhanced_picture(codec: Codec) -> Option<[u8; 4]> {
    match codec {
        Codec::Hevc => Some(FOURCC_HEVC),
        Codec::Av1 => Some(FOURCC_AV1),
        Codec::Vp8 => Some(FOURCC_VP8),
        Codec::Vp9 => Some(FOURCC_VP9),
        _ => None,
    }
}

/// Returns the first byte of an MP3 tag body. Rates that the byte cannot state are rounded; players read the frame.
fn mp3_audio(track: &Track) -> u8 {
    let (format, rate) = match track.sample_rate {
        8_000 => (AUDIO_MP3_8K, 0),
        1..=8_268 => (AUDIO_MP3, 0),
        8_269..=16_537 => (AUDIO_MP3, 1),
        16_538..=33_074 => (AUDIO_MP3, 2),
        _ => (AUDIO_MP3, 3),
    };
    format << 4 | rate << 2 | 2 | u8::from(track.channels != 1)
}
