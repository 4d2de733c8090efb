//! View of a stream: the one module where its facts are read and named. The API has all of them as they are here; the status
//! document, the pages and the metrics select, and rename where their contracts have other names.
//!
//! Making a view costs next to nothing; derived values (tracks) are computed when they are written.

use std::net::SocketAddr;
use std::time::SystemTime;

use audio::derived::FULL_WORDS;
use base::date;
use fanout::{DerivedOffer, Info, Keyframes, Phase, PictureOrder};
use media::codec::opus::plain_head_channels;
use media::{Codec, Framing, Kind, Track};
use serde::{Serialize, Serializer};

use crate::view::TrackView;

/// View of one stream, made with [`of`](Self::of).
#[derive(Clone, Debug, Serialize)]
pub struct StreamView<'a> {
    /// Name of the stream.
    pub name: &'a str,
    /// State of the stream.
    pub state: State,
    /// Number of the publisher's epoch, from 1 on.
    pub epoch: u32,
    /// Time since which the publisher has been sending.
    #[serde(serialize_with = "iso8601")]
    pub since: SystemTime,
    /// Whether the stream is on the public list.
    pub public: bool,
    /// Protocol of the publisher.
    pub protocol: &'static str,
    /// Address of the publisher; `None` for one within the server.
    pub peer: Option<SocketAddr>,
    /// Program of the publisher, as it names itself.
    pub agent: &'a str,
    /// Gate's name for the publisher: the name of its key.
    identity: Option<&'a str>,
    /// Media type of the published data.
    pub content_type: &'a str,
    /// Media type that the publisher announced, if different.
    pub announced_type: Option<&'a str>,
    tracks: Tracks<'a>,
    /// Only in the API, because it depends on whether another stream can be transcoded.
    #[serde(skip_serializing_if = "Option::is_none")]
    opus: Option<OpusView<'a>>,
    pictures: Option<PicturesView>,
    keyframes: Option<KeyframesView>,
    /// Current title.
    pub title: Option<&'a str>,
    /// Number of present listeners.
    pub listeners: usize,
    /// Most listeners at one time.
    pub listeners_peak: usize,
    /// Bytes that publishers have sent.
    pub ingest_bytes: u64,
    /// Record of the stream, for further data that some pages need.
    #[serde(skip)]
    pub info: &'a Info,
}

/// State of a stream.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Media is available to listeners.
    Live,
    /// The publisher has not sent media yet.
    Starting,
    /// The publisher is away; listeners are kept.
    Lingering,
    /// There is no publisher, and none is expected.
    Ended,
}

impl State {
    fn of(info: &Info) -> Self {
        match info.phase {
            Phase::Live if info.has_media => Self::Live,
            Phase::Live => Self::Starting,
            Phase::Lingering => Self::Lingering,
            Phase::Ended => Self::Ended,
        }
    }

    /// Whether there is a publisher.
    pub fn has_publisher(self) -> bool {
        matches!(self, Self::Live | Self::Starting)
    }
}

impl<'a> StreamView<'a> {
    /// Makes the view of a stream.
    pub fn of(info: &'a Info) -> Self {
        let source = &*info.source;
        Self {
            name: info.name.as_str(),
            state: State::of(info),
            epoch: info.epoch,
            since: info.since,
            public: info.settings.public,
            protocol: source.protocol,
            peer: source.peer,
            agent: &source.agent,
            identity: info.identity.as_ref().map(|identity| identity.as_str()),
            content_type: &source.content_type,
            announced_type: info.announced_type.as_deref(),
            tracks: Tracks(info),
            opus: None,
            pictures: PicturesView::of(info),
            keyframes: info.keyframes.as_ref().map(KeyframesView::of),
            title: info.title.as_ref().map(|title| title.text.as_str()),
            listeners: info.listeners,
            listeners_peak: info.listeners_peak,
            ingest_bytes: info.ingest_bytes,
            info,
        }
    }

    /// Adds the state for listeners that accept only Opus. `has_room` is true if one more stream can be transcoded.
    pub fn with_opus(self, has_room: bool) -> Self {
        Self {
            opus: Some(OpusView::of(self.info, has_room)),
            ..self
        }
    }

    /// Returns the tracks, in the order they were announced.
    pub fn tracks(&self) -> Vec<TrackView> {
        TrackView::all(self.info)
    }

    /// Returns a header that the source sent as `ice-…` or `icy-…`. Untrusted text.
    pub fn header(&self, name: &str) -> Option<&'a str> {
        let headers = self.info.source.headers.iter();
        let mut values = headers.filter(|(key, _)| {
            let key = key.to_ascii_lowercase();
            let suffix = ["ice-", "icy-"]
                .iter()
                .find_map(|prefix| key.strip_prefix(prefix));
            suffix.unwrap_or(&key) == name
        });
        values.next().map(|(_, value)| value.as_str())
    }
}

fn iso8601<S: Serializer>(at: &SystemTime, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&date::rfc3339(*at))
}

/// Tracks of a stream, computed when they are written.
#[derive(Clone, Copy, Debug)]
struct Tracks<'a>(&'a Info);

impl Serialize for Tracks<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        TrackView::all(self.0).serialize(serializer)
    }
}

/// State for listeners that accept only Opus.
#[derive(Clone, Copy, Debug, Serialize)]
struct OpusView<'a> {
    state: &'static str,
    words: Option<&'a str>,
}

impl<'a> OpusView<'a> {
    fn of(info: &'a Info, has_room: bool) -> Self {
        let is_own = info
            .tracks
            .iter()
            .any(|track| track.codec == Codec::Opus && is_heard_as_it_is(track));
        let state = match &info.offer {
            _ if is_own => "own",
            DerivedOffer::Nothing => "none",
            DerivedOffer::Track { .. } if info.is_deriving => "made",
            DerivedOffer::Track { .. } if !has_room => "full",
            DerivedOffer::Track { .. } => "offered",
            DerivedOffer::Impossible(_) => "impossible",
        };
        let words = match state {
            "full" => Some(FULL_WORDS),
            _ => info.offer.words(),
        };
        Self { state, words }
    }
}

/// Whether Opus can be sent in Ogg: pages as they came, or packets of one stream.
fn is_heard_as_it_is(track: &Track) -> bool {
    track.framing == Framing::SelfFramed || plain_head_channels(&track.config).is_some()
}

/// Order of the video frames, and its meaning for WebRTC.
#[derive(Clone, Copy, Debug, Serialize)]
struct PicturesView {
    b_frames: Option<bool>,
    words: Option<&'static str>,
}

impl PicturesView {
    /// Makes the view; `None` for a stream without video.
    fn of(info: &Info) -> Option<Self> {
        if info.tracks.iter().all(|track| track.kind != Kind::Video) {
            return None;
        }
        let (b_frames, words) = match info.picture_order {
            PictureOrder::Unknown => (None, None),
            PictureOrder::Presented => (Some(false), None),
            PictureOrder::Reordered => (Some(true), Some(packagers::rtp::REORDERED)),
        };
        Some(Self { b_frames, words })
    }
}

/// Delay until a joining viewer sees a frame, and advice for the encoder.
#[derive(Clone, Debug, Serialize)]
struct KeyframesView {
    interval_seconds: Option<f64>,
    on_request: bool,
    words: Option<String>,
}

impl KeyframesView {
    fn of(keyframes: &Keyframes) -> Self {
        Self {
            interval_seconds: keyframes.interval.map(|interval| interval.seconds()),
            on_request: keyframes.on_request,
            words: keyframes.words(),
        }
    }
}
