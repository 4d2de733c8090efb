//! The description of a stream: its rules, its publisher, and what is public.

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

/// The rules for one stream.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// For lanes of streams without pictures.
    pub audio: Policy,
    /// For lanes of streams with pictures.
    pub video: Policy,
    /// How long listeners are kept while the publisher is away.
    pub linger: Duration,
    /// Whether the stream is listed publicly.
    pub public: bool,
    /// The condition for replacing a present publisher.
    pub takeover: Takeover,
    /// For this long after its last attempt a replaced publisher may not take the stream back, as long as its
    /// replacement sends.
    pub takeover_back: Duration,
    /// Whether its publisher is one of those of which there may be so many.
    pub counts: bool,
    /// How many listeners may join it; `None` for no limit of its own.
    pub listeners_max: Option<NonZeroU32>,
    /// The group of streams that show one programme, by any number that other groups do not have. The time of a new
    /// stream begins where others of its group are.
    pub group: Option<usize>,
    /// Listeners are sent the links of an Ogg chain as one logical stream.
    pub unchain: bool,
    /// The character set of texts that are not UTF-8, and that listeners are sent titles in.
    pub charset: Charset,
    /// The slot of segments, [`Segmentation::segment`], of lanes that have any: enough of the recent past is kept for
    /// such a lane to open with a complete segment.
    pub segment: Span,
}

impl Settings {
    /// The rule for lanes of a class.
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

/// What is offered to listeners that cannot take the publisher's audio.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum DerivedOffer {
    /// Nothing: there is no audio yet, or every listener can take it.
    #[default]
    Nothing,
    /// This track, from when a lane takes it.
    Track {
        /// As it will be announced.
        track: Arc<Track>,
        /// What is lost in the conversion, as a sentence for people.
        caveat: Option<Arc<str>>,
    },
    /// Nothing, for this reason: a sentence for people.
    Impossible(Arc<str>),
}

impl DerivedOffer {
    /// The track, if there is one.
    pub fn track(&self) -> Option<&Arc<Track>> {
        match self {
            Self::Track { track, .. } => Some(track),
            Self::Nothing | Self::Impossible(_) => None,
        }
    }

    /// A note for people: what is lost, or why there is nothing.
    pub fn words(&self) -> Option<&str> {
        match self {
            Self::Nothing => None,
            Self::Track { caveat, .. } => caveat.as_deref(),
            Self::Impossible(reason) => Some(reason),
        }
    }
}

/// Where a stream is in its life.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Phase {
    /// A publisher is sending.
    Live,
    /// The publisher is away; listeners are kept.
    Lingering,
    /// It is over.
    Ended,
}

/// The public description of a stream.
#[derive(Clone, Debug)]
pub struct Info {
    /// Its name.
    pub name: StreamName,
    /// Where it is in its life.
    pub phase: Phase,
    /// The number of epochs so far.
    pub epoch: u32,
    /// Since when the current publisher has been sending.
    pub since: SystemTime,
    /// Its publisher, or the last one.
    pub source: Arc<Source>,
    /// The identity of that publisher's permission: the name of its key, if it has one.
    pub identity: Option<Identity>,
    /// The media type it declared, where its bytes turned out to be something else.
    pub announced_type: Option<Arc<str>>,
    /// Whether the present publisher has sent media.
    pub has_media: bool,
    /// Its tracks, in the order they appeared.
    pub tracks: Vec<Arc<Track>>,
    /// What each of them sends, in the same order; `None` before two seconds of it have come.
    pub rates: Vec<Option<Rate>>,
    /// The order in which the pictures of this epoch are sent.
    pub picture_order: PictureOrder,
    /// The publisher has announced pictures, has sent none, and has not been there for long.
    pub awaits_pictures: bool,
    /// Its pictures have closed captions (CEA-608 or CEA-708), as far as the beginning of this epoch shows.
    pub captions: bool,
    /// Or may have some later.
    pub may_have_captions: bool,
    /// How far apart its keyframes are; `None` without a picture track.
    pub keyframes: Option<Keyframes>,
    /// The derived track that is offered beside them.
    pub offer: DerivedOffer,
    /// Whether that is being made now.
    pub is_deriving: bool,
    /// The title.
    pub title: Option<Arc<Title>>,
    /// The container header in force.
    pub header: Option<Bytes>,
    /// Recent bits per second of a stream without pictures.
    pub bitrate: Option<u32>,
    /// Listeners of all lanes.
    pub listeners: usize,
    /// The most listeners at once so far.
    pub listeners_peak: usize,
    /// Media bytes received in all epochs.
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
    /// The public description of the stream now.
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
            picture_order: observed.order.order(),
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
