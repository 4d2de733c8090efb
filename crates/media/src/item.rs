//! Items that a publisher passes to the core, in order of arrival.

use std::sync::Arc;

use bytes::Bytes;

use crate::{Kind, Span, TimedEvent, Timestamp, Track, TrackId};

/// One audio frame, one video access unit, one Ogg page, or one run of container bytes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Sample {
    /// Track it belongs to.
    pub track: TrackId,
    /// Decoding time.
    pub dts: Timestamp,
    /// Presentation time. It equals `dts`, except for video frames, whose publisher may even set it before `dts`.
    pub pts: Timestamp,
    /// Duration; zero when unknown.
    pub duration: Span,
    /// Whether a listener may start here: a video keyframe, an audio frame, an Ogg page that does not continue a
    /// packet, the start of a WebM cluster.
    pub keyframe: bool,
    /// The bytes, in the track's [`Framing`](crate::Framing).
    pub data: Bytes,
    /// Whole body of the FLV tag that `data` came in, for a track that has [`Track::flv`]. There may be such a body
    /// without any data of the codec's. Boxed, because few samples have one, and every stream keeps its last group of
    /// pictures.
    pub flv: Option<Box<Bytes>>,
}

impl Sample {
    /// Creates a sample that is presented when it is decoded, and at which a listener may start: an audio frame.
    pub const fn frame(track: TrackId, at: Timestamp, duration: Span, data: Bytes) -> Self {
        Self {
            track,
            dts: at,
            pts: at,
            duration,
            keyframe: true,
            data,
            flv: None,
        }
    }

    /// Returns the bytes that it keeps in memory.
    pub fn bytes(&self) -> usize {
        // The FLV body is the buffer that `data` lies in.
        self.flv.as_ref().map_or(self.data.len(), |body| body.len())
    }
}

/// A timed data message, as FLV script tags and RTMP data messages carry it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Script {
    /// Time at which it takes effect.
    pub at: Timestamp,
    /// AMF0 bytes as published: a name (`onMetaData`, `onTextData`, …) and its values.
    pub body: Bytes,
}

/// Keys of `onMetaData` that only a stream with video has, or with audio.
const PICTURE_KEYS: &[&[u8]] = &[b"videocodecid", b"width"];
const AUDIO_KEYS: &[&[u8]] = &[b"audiocodecid"];

impl Script {
    /// Whether the values of `onMetaData` announce a track of that kind.
    pub fn announces(values: &[u8], kind: Kind) -> bool {
        let keys = match kind {
            Kind::Video => PICTURE_KEYS,
            Kind::Audio => AUDIO_KEYS,
        };
        let has = |key: &&[u8]| values.windows(key.len()).any(|window| window == *key);
        keys.iter().any(has)
    }
}

/// The title now playing, as radio sources announce it. Untrusted text.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Title {
    /// Text of the title: `artist - title`, or any other name that the source gives its song.
    pub text: String,
    /// Link that the source gave with it; often empty.
    pub url: String,
}

impl Title {
    /// Whether it states that nothing is known to be playing.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty() && self.url.is_empty()
    }
}

/// A song, sent beside a stream whose bytes have titles of their own. Untrusted text.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct SongTitle {
    /// Name of the artist, if given separately.
    pub artist: String,
    /// Name of the song.
    pub title: String,
    /// Link; often empty.
    pub url: String,
}

impl SongTitle {
    /// Returns artist and song in one line.
    pub fn title(&self) -> Title {
        let text = match (self.artist.is_empty(), self.title.is_empty()) {
            (false, false) => format!("{} - {}", self.artist, self.title),
            (true, _) => self.title.clone(),
            (_, true) => self.artist.clone(),
        };
        Title {
            text,
            url: self.url.clone(),
        }
    }
}

/// One step in the life of a stream.
#[derive(Clone, Debug)]
pub enum Item {
    /// A new epoch begins: tracks, header and metadata announced before no longer hold. Publishers never send it; the
    /// stream sends it to its packagers.
    Epoch,
    /// A track appeared, or its configuration changed.
    Track(Arc<Track>),
    /// Container header in force from here on: Ogg header pages, the WebM header. It is part of the source's byte
    /// stream, and a joiner needs it first.
    Header(Bytes),
    /// Stream metadata (`onMetaData`), kept byte for byte and sent to every joiner.
    Metadata(Script),
    /// Any other data message, relayed but not kept.
    Script(Script),
    /// A new title.
    Title(Arc<Title>),
    /// An event. The stream places it on its timeline.
    Event(Arc<TimedEvent>),
    /// Media.
    Sample(Sample),
}
