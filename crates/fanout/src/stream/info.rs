//! Description of a stream: its rules, its publisher, and its public properties.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use media::{Charset, Span, StreamName, Title, Track};

use super::core::Core;
use super::{Keyframes, PictureOrder, Rate, Source};
use crate::gate::Identity;
use crate::index::Segmentation;
use crate::policy::{Class, Policy};
use crate::takeover::Takeover;

/// Rules for one stream.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Rules for lanes of streams without video.
    pub audio: Policy,
    /// Rules for lanes of streams with video.
    pub video: Policy,
    /// Time for which listeners are kept while the publisher is away.
    pub linger: Duration,
    /// Whether the stream is listed publicly.
    pub public: bool,
    /// Condition for replacing a present publisher.
    pub takeover: Takeover,
    /// Time after its last attempt during which a replaced publisher may not take the stream back, as long as its
    /// replacement sends.
    pub takeover_back: Duration,
    /// Whether its publisher counts towards the limit on publishers.
    pub counts: bool,
    /// Upper bound on listeners; `None` for no limit of its own.
    pub listeners_max: Option<NonZeroU32>,
    /// Group of streams that show one programme, by any number that other groups do not have. The time of a new stream
    /// begins at the current time of the others in its group.
    pub group: Option<usize>,
    /// Whether listeners receive the links of an Ogg chain as one logical stream.
    pub unchain: bool,
    /// Character set of texts that are not UTF-8, and of the titles sent to listeners.
    pub charset: Charset,
    /// Slot of segments, [`Segmentation::segment`], of lanes that have any: enough of the recent past is kept for such
    /// a lane to open with a complete segment.
    pub segment: Span,
}

impl Settings {
    /// Returns the rules for lanes of a class.
    pub(super) fn policy(&self, class: Class) -> Policy {
        match class {
            Class::Audio => self.audio,
            Class::Video => self.video,
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            audio: Policy::default_for(Class::Audio),
            video: Policy::default_for(Class::Video),
            linger: Duration::from_secs(15),
            public: true,
            takeover: Takeover::SameCredential,
            takeover_back: Duration::from_secs(30),
            counts: true,
            listeners_max: None,
            group: None,
            unchain: false,
            charset: Charset::UTF_8,
            segment: Segmentation::DEFAULT.segment,
        }
    }
}

/// Offer to listeners that cannot take the publisher's audio.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum DerivedOffer {
    /// No track: there is no audio yet, or every listener can take it.
    #[default]
    Nothing,
    /// A derived track, produced from the time a lane takes it.
    Track {
        /// Track as it will be announced.
        track: Arc<Track>,
        /// Loss in the conversion, as a sentence for people.
        caveat: Option<Arc<str>>,
    },
    /// No track, for this reason: a sentence for people.
    Impossible(Arc<str>),
}

impl DerivedOffer {
    /// Returns the track, if there is one.
    pub fn track(&self) -> Option<&Arc<Track>> {
        match self {
            Self::Track { track, .. } => Some(track),
            Self::Nothing | Self::Impossible(_) => None,
        }
    }

    /// Returns a note for people: the loss in the conversion, or the reason why there is no track.
    pub fn words(&self) -> Option<&str> {
        match self {
            Self::Nothing => None,
            Self::Track { caveat, .. } => caveat.as_deref(),
            Self::Impossible(reason) => Some(reason),
        }
    }
}

/// Stage of a stream's life.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Phase {
    /// A publisher is sending.
    Live,
    /// The publisher is away; listeners are kept.
    Lingering,
    /// The stream has ended.
    Ended,
}

/// The public description of a stream.
#[derive(Clone, Debug)]
pub struct Info {
    /// Name of the stream.
    pub name: StreamName,
    /// Stage of its life.
    pub phase: Phase,
    /// Number of epochs so far.
    pub epoch: u32,
    /// Time from which the current publisher has been sending.
    pub since: SystemTime,
    /// Current publisher, or the last one.
    pub source: Arc<Source>,
    /// Identity of that publisher's permission: the name of its key, if it has one.
    pub identity: Option<Identity>,
    /// Media type that the publisher declared, if its bytes turned out to be something else.
    pub announced_type: Option<Arc<str>>,
    /// Whether the current publisher has sent media.
    pub has_media: bool,
    /// Its tracks, in the order they appeared.
    pub tracks: Vec<Arc<Track>>,
    /// Measured rate of each track, in the same order; `None` before two seconds of it have arrived.
    pub rates: Vec<Option<Rate>>,
    /// Order in which the video frames of this epoch are sent.
    pub picture_order: PictureOrder,
    /// Whether the publisher has announced video, has sent none, and began not long ago.
    pub awaits_pictures: bool,
    /// Whether its video has closed captions (CEA-608 or CEA-708), as far as the beginning of this epoch shows.
    pub captions: bool,
    /// Whether its video may have closed captions later.
    pub may_have_captions: bool,
    /// Distance of its keyframes; `None` without a video track.
    pub keyframes: Option<Keyframes>,
    /// Derived track that is offered beside them.
    pub offer: DerivedOffer,
    /// Whether the derived track is being produced now.
    pub is_deriving: bool,
    /// Current title.
    pub title: Option<Arc<Title>>,
    /// Container header in force.
    pub header: Option<Bytes>,
    /// Recent bits per second of a stream without video.
    pub bitrate: Option<u32>,
    /// Number of listeners of all lanes.
    pub listeners: usize,
    /// Highest number of listeners at once so far.
    pub listeners_peak: usize,
    /// Number of media bytes received in all epochs.
    pub ingest_bytes: u64,
    /// Its rules.
    pub settings: Settings,
}

impl Info {
    /// Whether it has media that can be played now.
    pub fn is_on_air(&self) -> bool {
        self.phase == Phase::Live && self.has_media
    }
}

impl Core {
    /// Returns the current public description of the stream.
    pub(super) fn info(&mut self, name: &StreamName) -> Info {
        let listeners = self.outputs.listeners();
        let (publisher, announced) = (&self.incumbent, &self.announced);
        let observed = &self.observed;
        let has_pictures = announced.video().is_some();
        let keyframes = || observed.groups.facts(self.wish.is_heeded());
        Info {
            name: name.clone(),
            phase: self.phase,
            epoch: self.epoch,
            since: self.clocks.since,
            source: Arc::clone(&publisher.source),
            identity: publisher.identity.clone(),
            announced_type: publisher.announced_type.clone(),
            has_media: observed.has_media,
            tracks: announced.tracks.clone(),
            rates: observed.rates(&announced.tracks),
            picture_order: observed.order.order,
            awaits_pictures: self.awaits_pictures(),
            captions: observed.captions.has_captions(),
            may_have_captions: observed.captions.may_have_captions(),
            keyframes: has_pictures.then(keyframes),
            offer: self.derived.offer.clone(),
            is_deriving: self.derived.is_announced(),
            title: announced.title.clone(),
            header: announced.header.clone(),
            bitrate: match has_pictures {
                true => None,
                false => self.recent.backlog.bitrate(),
            },
            listeners,
            listeners_peak: self.outputs.listeners_peak,
            ingest_bytes: observed.ingest_bytes,
            settings: publisher.settings,
        }
    }
}
