//! A stream as this server shows it: the one module where its facts are read and named. The API has all of
//! them as they are here; the status document, the pages and the metrics choose, and rename where their
//! contracts have other names.
//!
//! A view costs next to nothing to make; what must be computed (tracks) is computed when it is written.

use std::net::SocketAddr;
use std::time::SystemTime;

use base::date;
use derived_audio::FULL_WORDS;
use fanout::{DerivedOffer, Info, Keyframes, Phase, PictureOrder};
use media::codec::opus::plain_head_channels;
use media::{Codec, Framing, Kind, Track};
use serde::{Serialize, Serializer};

use crate::view::TrackView;

/// See the module's description.
#[derive(Clone, Debug, Serialize)]
pub struct StreamView<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its state.
    pub state: State,
    /// The number of its publisher's turn, from 1 on.
    pub epoch: u32,
    /// Since when the publisher has been sending.
    #[serde(serialize_with = "iso8601")]
    pub since: SystemTime,
    /// Whether it is on the public list.
    pub public: bool,
    /// The publisher's protocol.
    pub protocol: &'static str,
    /// The publisher's address; `None` for one within the server.
    pub peer: Option<SocketAddr>,
    /// The publisher's program, as it names itself.
    pub agent: &'a str,
    /// The gate's name for the publisher: the name of its key.
    identity: Option<&'a str>,
    /// The media type of what the publisher sends.
    pub content_type: &'a str,
    /// The media type that the publisher announced, where that is another one.
    pub announced_type: Option<&'a str>,
    tracks: Tracks<'a>,
    /// In the API only: it depends on whether another stream can be transcoded.
    #[serde(skip_serializing_if = "Option::is_none")]
    opus: Option<OpusView<'a>>,
    pictures: Option<PicturesView>,
    keyframes: Option<KeyframesView>,
    /// What is playing.
    pub title: Option<&'a str>,
    /// Present listeners.
    pub listeners: usize,
    /// The most listeners at one time.
    pub listeners_peak: usize,
    /// Bytes that publishers have sent.
    pub ingest_bytes: u64,
    /// The stream's record, for what single pages need besides.
    #[serde(skip)]
    pub info: &'a Info,
}

/// A stream's state.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// There is something to hear or see.
    Live,
    /// The publisher has not sent media yet.
    Starting,
    /// The publisher is away; listeners are kept.
    Lingering,
    /// There is no publisher, and none is waited for.
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
    /// The view of a stream.
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

    /// The same, with its state for listeners that take nothing but Opus. `has_room` says whether one more
    /// stream can be transcoded.
    pub fn with_opus(self, has_room: bool) -> Self {
        Self {
            opus: Some(OpusView::of(self.info, has_room)),
            ..self
        }
    }

    /// Its tracks, in the order they were announced.
    pub fn tracks(&self) -> Vec<TrackView> {
        TrackView::all(self.info)
    }

    /// A header that the source sent as `ice-…` or `icy-…`. Untrusted text.
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

/// Tracks, computed when they are written.
#[derive(Clone, Copy, Debug)]
struct Tracks<'a>(&'a Info);

impl Serialize for Tracks<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        TrackView::all(self.0).serialize(serializer)
    }
}

/// The stream's state for listeners that take nothing but Opus.
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

/// What the video frames show, and what it means for WebRTC.
#[derive(Clone, Copy, Debug, Serialize)]
struct PicturesView {
    b_frames: Option<bool>,
    words: Option<&'static str>,
}

impl PicturesView {
    /// `None` for a stream without video.
    fn of(info: &Info) -> Option<Self> {
        if info.tracks.iter().all(|track| track.kind != Kind::Video) {
            return None;
        }
        let (b_frames, words) = match info.picture_order {
            PictureOrder::Unknown => (None, None),
            PictureOrder::Presented => (Some(false), None),
            PictureOrder::Reordered => (Some(true), Some(formats::rtp::REORDERED)),
        };
        Some(Self { b_frames, words })
    }
}

/// How soon a joiner sees a picture, and what the encoder should change.
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
