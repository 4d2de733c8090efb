//! What a publisher hands to the core, in the order it arrived.

use std::sync::Arc;

use bytes::Bytes;

use crate::{Kind, Span, TimedEvent, Timestamp, Track, TrackId};

/// One audio frame, one video access unit, one Ogg page, or one run of container bytes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Sample {
    /// The track it belongs to.
    pub track: TrackId,
    /// When it is to be decoded.
    pub dts: Timestamp,
    /// When it is to be presented: a picture of a publisher that counts so even before `dts`, other samples at it.
    pub pts: Timestamp,
    /// How long it lasts; zero when unknown.
    pub duration: Span,
    /// A listener may start here: a video keyframe, an audio frame, an Ogg page that does not
    /// continue a packet, the start of a WebM cluster.
    pub keyframe: bool,
    /// The bytes, framed as the track's [`Framing`](crate::Framing) says.
    pub data: Bytes,
    /// For a track that has [`Track::flv`]: the whole body of the tag that `data` came in. There
    /// may be such a body without any data of the codec's. Boxed, because few samples have one, and every stream
    /// keeps its last picture group.
    pub flv: Option<Box<Bytes>>,
}

impl Sample {
    /// One that is presented when it is decoded, and at which a listener may start: a frame of sound.
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

    /// Bytes that it keeps in memory.
    pub fn bytes(&self) -> usize {
        // The FLV body is the buffer that `data` lies in.
        self.flv.as_ref().map_or(self.data.len(), |body| body.len())
    }
}

/// A timed data message, as FLV script tags and RTMP data messages carry it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Script {
    /// When it takes effect.
    pub at: Timestamp,
    /// The AMF0 bytes as published: a name (`onMetaData`, `onTextData`, …) and its values.
    pub body: Bytes,
}

/// Keys of `onMetaData` that only a stream with pictures has, or with sound.
const PICTURE_KEYS: &[&[u8]] = &[b"videocodecid", b"width"];
const SOUND_KEYS: &[&[u8]] = &[b"audiocodecid"];

impl Script {
    /// Whether the values of `onMetaData` announce a track of that kind.
    pub fn announces(values: &[u8], kind: Kind) -> bool {
        let keys = match kind {
            Kind::Video => PICTURE_KEYS,
            Kind::Audio => SOUND_KEYS,
        };
        let has = |key: &&[u8]| values.windows(key.len()).any(|window| window == *key);
        keys.iter().any(has)
    }
}

/// What is playing now, as radio sources announce it. Untrusted text.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Title {
    /// `artist - title`, or whatever the source calls its song.
    pub text: String,
    /// A link the source gave with it; often empty.
    pub url: String,
}

impl Title {
    /// Whether it says that nothing is known to be playing.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty() && self.url.is_empty()
    }
}

/// A song as it is told beside a stream whose bytes have titles of their own. Untrusted text.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct SongTitle {
    /// Who plays, if that is told apart from the song.
    pub artist: String,
    /// What is played.
    pub title: String,
    /// A link; often empty.
    pub url: String,
}

impl SongTitle {
    /// In one line.
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

/// One step of a stream's life.
#[derive(Clone, Debug)]
pub enum Item {
    /// A new epoch begins: tracks, header and metadata announced before no longer hold. Publishers
    /// never send it; the stream sends it to its packagers.
    Epoch,
    /// A track appeared, or its configuration changed.
    Track(Arc<Track>),
    /// The container header in force from here on: Ogg header pages, the WebM header. It is part of
    /// the source's byte stream, and what a joiner needs first.
    Header(Bytes),
    /// Stream metadata (`onMetaData`), kept byte for byte and given to every joiner.
    Metadata(Script),
    /// Any other data message, relayed in passing.
    Script(Script),
    /// A new title.
    Title(Arc<Title>),
    /// An event. The stream places it on its timeline.
    Event(Arc<TimedEvent>),
    /// Media.
    Sample(Sample),
}
