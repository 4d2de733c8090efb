//! Tags: the pieces of a track in a file, an HTTP body or an RTMP connection.
//!
//! A [`Tag`] borrows its payload from the sample, so that framing copies each byte once, into a log. [`Tag::write`]
//! frames the tag for FLV; RTMP sends the same body in chunks.

use media::{Kind, Sample, Timestamp, Track};

use super::prelude::{PRELUDE_BYTES_MAX, Prelude, is_plain};
use super::{TAG_AUDIO, TAG_HEADER_BYTES, TAG_SCRIPT, TAG_VIDEO, whole};

/// Bytes that [`file_header`] returns: a listener receives them once.
pub const FILE_HEADER_BYTES: usize = 13;

/// Bytes of the longest body that a 24-bit size field can announce.
pub const BODY_BYTES_MAX: usize = 0xFF_FFFF;

/// Mask of timestamps, which are signed on disk and wrap after 24.8 days.
const TIMESTAMP_MASK: i64 = 0x7FFF_FFFF;

/// Returns the file header: signature, version 1, the kinds of tag that follow, and the size 0 of the tag before the
/// first.
pub const fn file_header(audio: bool, video: bool) -> [u8; FILE_HEADER_BYTES] {
    let kinds = if audio { 4 } else { 0 } | if video { 1 } else { 0 };
    [b'F', b'L', b'V', 1, kinds, 0, 0, 0, 9, 0, 0, 0, 0]
}

/// Returns whether FLV can carry the samples of `track`.
pub fn carries(track: &Track) -> bool {
    track.flv.is_some() || is_plain(track)
}

/// Kind of a tag, which is also the type of an RTMP message.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum TagKind {
    /// Audio.
    Audio,
    /// Video.
    Video,
    /// `onMetaData` and its values, in AMF0.
    Metadata,
    /// Any other name and its values, in AMF0.
    Script,
}

/// Tag that is not framed yet.
#[derive(Clone, Copy, Debug)]
pub struct Tag<'a> {
    /// Kind of the content.
    pub kind: TagKind,
    /// Time at which the tag takes effect; for media, the decoding time.
    pub at: Timestamp,
    prelude: Prelude,
    payload: &'a [u8],
}

impl<'a> Tag<'a> {
    /// Returns the tags that configure a decoder for `track`, in order; none for a track that needs none.
    pub fn headers(track: &'a Track, at: Timestamp) -> impl Iterator<Item = Self> {
        let (prelude, bodies) = match &track.flv {
            Some(bodies) => {
                let (header, facts) = whole::split(bodies);
                (Prelude::default(), [header, facts])
            }
            None => match Prelude::of_header(track) {
                Some(prelude) => (prelude, [&track.config[..], &[]]),
                None => (Prelude::default(), [&[][..], &[]]),
            },
        };
        let says_something =
            move |index: usize, body: &[u8]| !body.is_empty() || index == 0 && prelude.len() > 0;
        let bodies = bodies.into_iter().enumerate();
        let bodies = bodies.filter(move |(index, body)| says_something(*index, body));
        bodies.filter_map(move |(_, body)| Self::media(track, at, prelude, body))
    }

    /// Returns the tag of one sample; `None` for a track that FLV does not [carry](carries), and for a sample of 16 MiB
    /// or more.
    pub fn sample(track: &Track, sample: &'a Sample) -> Option<Self> {
        Self::with_payload(track, sample, &sample.data)
    }

    /// Returns the sample's tag with `payload` instead of the sample's own bytes, unless the sample has a whole body.
    #[inline]
    pub(super) fn with_payload(
        track: &Track,
        sample: &'a Sample,
        payload: &'a [u8],
    ) -> Option<Self> {
        match &sample.flv {
            Some(body) => Self::media(track, sample.dts, Prelude::default(), body),
            None if is_plain(track) && !payload.is_empty() => {
                let prelude = Prelude::of_sample(track, sample);
                Self::media(track, sample.dts, prelude, payload)
            }
            None => None,
        }
    }

    /// Returns the tag of a data message: AMF0, a name and its values, as [`media::Script`] keeps it. `None` for a body
    /// of 16 MiB or more.
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
        let fits = prelude.len() + payload.len() <= BODY_BYTES_MAX;
        fits.then_some(Self {
            kind,
            at,
            prelude,
            payload,
        })
    }

    /// Returns the body in the two pieces in which it is stored.
    pub fn parts(&self) -> [&[u8]; 2] {
        [self.prelude.as_slice(), self.payload]
    }

    /// Returns the length of the body, below 16 MiB.
    pub fn body_bytes(&self) -> usize {
        self.prelude.len() + self.payload.len()
    }

    /// Writes the tag as FLV frames it: a header, the body, and the size of both.
    pub fn write(&self, emit: &mut impl FnMut(&[u8])) {
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
        // The length is known at compile time, so that this is one move; excess bytes are not sent.
        head[TAG_HEADER_BYTES..].copy_from_slice(self.prelude.padded());
        emit(&head[..TAG_HEADER_BYTES + self.prelude.len()]);
        emit(self.payload);
        emit(&((TAG_HEADER_BYTES + self.body_bytes()) as u32).to_be_bytes());
    }
}
