//! Tags: what a file, an HTTP body or an RTMP connection carries of a track.
//!
//! A [`Tag`] borrows its payload from the sample, so that whoever frames it copies each byte once,
//! into a log. [`Tag::write`] frames it for FLV; RTMP puts the same body in chunks.

use media::{Codec, Framing, Kind, Sample, Timestamp, Track};

use super::{
    AUDIO_AAC, AUDIO_MP3, AUDIO_MP3_8K, PACKET_CODED, PACKET_SEQUENCE_HEADER, TAG_AUDIO,
    TAG_HEADER_BYTES, TAG_SCRIPT, TAG_VIDEO, VIDEO_AVC, elementary, whole,
};

/// Bytes that [`file_header`] returns: what a listener receives once and never again.
pub const FILE_HEADER_BYTES: usize = 13;

/// The longest body that a 24-bit size field can announce.
pub const BODY_BYTES_MAX: usize = 0xFF_FFFF;

/// Timestamps are signed on disk and wrap after 24.8 days.
const TIMESTAMP_MASK: i64 = 0x7FFF_FFFF;

/// The longest prelude before a sample's own bytes: frame and codec, packet type, composition time.
const PRELUDE_BYTES_MAX: usize = 5;

/// Sixteen bits per sample and two channels, which is what AAC always claims (annex E.4.2.1).
const SOUND_AAC: u8 = AUDIO_AAC << 4 | 0x0F;

/// Signature, version 1, which kinds of tag follow, and the size 0 of the tag before the first.
pub const fn file_header(audio: bool, video: bool) -> [u8; FILE_HEADER_BYTES] {
    let kinds = if audio { 4 } else { 0 } | if video { 1 } else { 0 };
    [b'F', b'L', b'V', 1, kinds, 0, 0, 0, 9, 0, 0, 0, 0]
}

/// Whether FLV has a way to carry the samples of `track`.
pub fn carries(track: &Track) -> bool {
    match track.framing {
        Framing::FlvBody => true,
        Framing::Bare => {
            matches!(track.codec, Codec::H264 | Codec::Aac | Codec::Mp3)
                || elementary::is_first_opus(track)
        }
        Framing::SelfFramed => track.codec == Codec::Mp3,
    }
}

/// What a tag carries, which is also how RTMP tells messages apart.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum TagKind {
    /// Sound.
    Audio,
    /// A picture.
    Video,
    /// `onMetaData` and its values, in AMF0.
    Metadata,
    /// Any other name and its values, in AMF0.
    Script,
}

/// One tag, not yet framed.
#[derive(Clone, Copy, Debug)]
pub struct Tag<'a> {
    /// What it carries.
    pub kind: TagKind,
    /// When it takes effect; for media, when it is to be decoded.
    pub at: Timestamp,
    prelude: Prelude,
    payload: &'a [u8],
}

/// What a body has before the codec's own bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Prelude {
    bytes: [u8; PRELUDE_BYTES_MAX],
    length: u8,
}

impl Prelude {
    fn new(bytes: &[u8]) -> Self {
        let mut prelude = Self::default();
        prelude.bytes[..bytes.len()].copy_from_slice(bytes);
        prelude.length = bytes.len() as u8;
        prelude
    }

    fn as_slice(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

impl<'a> Tag<'a> {
    /// The tags that configure a decoder for `track`, in order; none for a track that needs none.
    pub fn headers(track: &'a Track, at: Timestamp) -> impl Iterator<Item = Self> {
        let opus = elementary::opus_prelude(true);
        let prelude: &[u8] = match (track.framing, track.codec) {
            (Framing::Bare, Codec::Opus) => &opus,
            (Framing::Bare, Codec::H264) => &[0x10 | VIDEO_AVC, PACKET_SEQUENCE_HEADER, 0, 0, 0],
            (Framing::Bare, Codec::Aac) => &[SOUND_AAC, PACKET_SEQUENCE_HEADER],
            _ => &[],
        };
        let (first, second) = match (track.framing, track.codec) {
            (Framing::FlvBody, _) => whole::split(&track.config),
            (Framing::Bare, Codec::H264 | Codec::Aac | Codec::Opus) => (&track.config[..], &[][..]),
            _ => (&[][..], &[][..]),
        };
        let prelude = Prelude::new(prelude);
        let bodies = [first, second].into_iter().filter(|body| !body.is_empty());
        bodies.filter_map(move |body| Self::media(track, at, prelude, body))
    }

    /// The tag of one sample; `None` for a track that [`carries`] denies, and for a sample of
    /// 16 MiB or more.
    pub fn sample(track: &Track, sample: &'a Sample) -> Option<Self> {
        if !carries(track) {
            return None;
        }
        let prelude = match (track.framing, track.codec) {
            (Framing::FlvBody, _) => Prelude::default(),
            (_, Codec::H264) => {
                let composition =
                    (sample.pts.millis() - sample.dts.millis()).clamp(0, 0x7F_FFFF) as u32;
                let frame = if sample.keyframe { 0x10 } else { 0x20 };
                let [_, high, middle, low] = composition.to_be_bytes();
                Prelude::new(&[frame | VIDEO_AVC, PACKET_CODED, high, middle, low])
            }
            (_, Codec::Aac) => Prelude::new(&[SOUND_AAC, PACKET_CODED]),
            (_, Codec::Opus) => Prelude::new(&elementary::opus_prelude(false)),
            _ => Prelude::new(&[mp3_sound(track)]),
        };
        Self::media(track, sample.dts, prelude, &sample.data)
    }

    /// The tag of a data message: AMF0, a name and its values, as [`media::Script`] keeps it.
    /// `None` for a body of 16 MiB or more.
    pub fn script(kind: TagKind, at: Timestamp, body: &'a [u8]) -> Option<Self> {
        (body.len() <= BODY_BYTES_MAX).then_some(Self {
            kind,
            at,
            prelude: Prelude::default(),
            payload: body,
        })
    }

    fn media(track: &Track, at: Timestamp, prelude: Prelude, payload: &'a [u8]) -> Option<Self> {
        let kind = match track.kind {
            Kind::Audio => TagKind::Audio,
            Kind::Video => TagKind::Video,
        };
        let fits = usize::from(prelude.length) + payload.len() <= BODY_BYTES_MAX;
        fits.then_some(Self {
            kind,
            at,
            prelude,
            payload,
        })
    }

    /// The body, in the two pieces it lies in.
    pub fn parts(&self) -> [&[u8]; 2] {
        [self.prelude.as_slice(), self.payload]
    }

    /// The length of the body, below 16 MiB.
    pub fn body_bytes(&self) -> usize {
        usize::from(self.prelude.length) + self.payload.len()
    }

    /// Writes the tag as FLV has it: a header, the body, and the size of both.
    pub fn write(&self, emit: &mut impl FnMut(&[u8])) {
        let prelude = self.prelude.as_slice();
        let millis = (self.at.millis().max(0) & TIMESTAMP_MASK) as u32;
        let [extended, time @ ..] = millis.to_be_bytes();
        let [_, size @ ..] = (self.body_bytes() as u32).to_be_bytes();
        let mut head = [0; TAG_HEADER_BYTES + PRELUDE_BYTES_MAX];
        head[0] = match self.kind {
            TagKind::Audio => TAG_AUDIO,
            TagKind::Video => TAG_VIDEO,
            TagKind::Metadata | TagKind::Script => TAG_SCRIPT,
        };
        head[1..4].copy_from_slice(&size);
        head[4..7].copy_from_slice(&time);
        head[7] = extended;
        head[TAG_HEADER_BYTES..TAG_HEADER_BYTES + prelude.len()].copy_from_slice(prelude);
        emit(&head[..TAG_HEADER_BYTES + prelude.len()]);
        emit(self.payload);
        emit(&((TAG_HEADER_BYTES + self.body_bytes()) as u32).to_be_bytes());
    }
}

/// The sound byte of an MP3 tag. Rates that it cannot name are rounded; players read the frame.
fn mp3_sound(track: &Track) -> u8 {
    let (format, rate) = match track.sample_rate {
        8_000 => (AUDIO_MP3_8K, 0),
        1..=8_268 => (AUDIO_MP3, 0),
        8_269..=16_537 => (AUDIO_MP3, 1),
        16_538..=33_074 => (AUDIO_MP3, 2),
        _ => (AUDIO_MP3, 3),
    };
    format << 4 | rate << 2 | 2 | u8::from(track.channels != 1)
}
