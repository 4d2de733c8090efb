//! A stream: one named live thing, whoever publishes it at the moment.
//!
//! A stream outlives its publishers. It keeps what a lane needs in order to open in mid-stream (the
//! tracks, the headers, the recent past), the timeline that makes all epochs one, and the writing
//! ends of its lanes. All of that is behind one lock, taken by its publisher for each batch of items,
//! by whoever writes a derived track for each sample, and by whoever opens a lane; never by a worker.

mod backlog;
mod derived;
mod keyframes;
mod meter;
mod order;
mod publisher;
mod replaced;
mod tap;
mod timeline;

use std::net::SocketAddr;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use media::{Container, Item, Kind, Sample, Script, Span, StreamName, Title, Track, TrackId};

pub(crate) use derived::DeriverCell;
pub use derived::{Derivation, DerivedWriter, Deriver, Offer};
pub use keyframes::Keyframes;
pub use meter::Rate;
pub use order::PictureOrder;
pub use publisher::{Claim, Publisher, Superseded};
pub use tap::{Tap, Tapped};

use self::backlog::Backlog;
use self::derived::{Derived, Turn};
use self::keyframes::PictureGroups;
use self::meter::Meters;
use self::order::OrderWatch;
use self::replaced::Replaced;
use self::tap::TapWriter;
use self::timeline::Timeline;
use crate::budget::{Account, Budget};
use crate::gate::{Authorized, Credential, Play};
use crate::keyframe::KeyframeWish;
use crate::lane::{Format, LaneGuard, LaneWriter};
use crate::packager::Packager;
use crate::policy::{Class, Policy};
use crate::registry::{PublishRefused, Takeover};
use crate::task_bells::{Place, TaskBells};
use crate::worker::Summons;

/// Lanes of one stream at the most. Each is a format; there are fewer formats than this.
const LANES_MAX: usize = 32;

/// Tracks of one stream at the most.
const TRACKS_MAX: usize = 16;

/// Taps of one stream at the most: more than there are kinds of things that need samples.
const TAPS_MAX: usize = 8;

/// How long after an epoch began a stream without a video track is taken for one that will not get
/// any: publishers announce both tracks within the first packets.
const VIDEO_TRACK_AWAITED: Duration = Duration::from_secs(2);

/// Who joins at a keyframe older than this has another asked for: behind by more than that, people notice.
const JOIN_AGE_WISHED: Span = Span::from_millis(2_000);

/// While somebody listens who cannot ask, keyframes are no further apart than this, so that whoever comes
/// finds one. A browser sends none by itself for minutes.
const KEYFRAME_INTERVAL: Span = Span::from_millis(3_000);

/// The rules for one stream.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// For lanes of streams without pictures.
    pub audio: Policy,
    /// For lanes of streams with pictures.
    pub video: Policy,
    /// How long listeners are kept while the publisher is away.
    pub linger: Duration,
    /// Whether the stream is listed to everybody.
    pub public: bool,
    /// Who may replace a publisher that is there.
    pub takeover: Takeover,
    /// A publisher that was replaced may not take the stream back for so long after its last attempt,
    /// as long as the one that replaced it sends.
    pub takeover_back: Duration,
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
        }
    }
}

/// What is known of a publisher and of what it sends.
#[derive(Clone, Debug)]
pub struct Source {
    /// `rtmp`, `icecast`, `demo`: the metric label.
    pub protocol: &'static str,
    /// Where it connects from; `None` for one inside the server.
    pub peer: Option<SocketAddr>,
    /// What the publishing program calls itself. Untrusted text.
    pub agent: String,
    /// What kind of bytes it sends.
    pub container: Container,
    /// The media type of those bytes, for listeners that take them as they are.
    pub content_type: String,
    /// `ice-*` and `icy-*` headers as the source sent them. Untrusted text.
    pub headers: Vec<(String, String)>,
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

/// What everybody may know of a stream.
#[derive(Clone, Debug)]
pub struct Info {
    /// Its name.
    pub name: StreamName,
    /// Where it is in its life.
    pub phase: Phase,
    /// How many publishers it has had.
    pub epoch: u32,
    /// Since when the current publisher has been sending.
    pub since: SystemTime,
    /// Its publisher, or the last one.
    pub source: Arc<Source>,
    /// What that one called its bytes, where they turned out to be something else.
    pub announced_type: Option<Arc<str>>,
    /// Whether the present publisher has sent media.
    pub has_media: bool,
    /// Its tracks, in the order they appeared.
    pub tracks: Vec<Arc<Track>>,
    /// What each of them sends, in the same order; `None` before two seconds of it have come.
    pub rates: Vec<Option<Rate>>,
    /// In which order the pictures of this epoch come.
    pub picture_order: PictureOrder,
    /// How far apart its keyframes are; `None` without a picture track.
    pub keyframes: Option<Keyframes>,
    /// What is offered beside them.
    pub offer: Offer,
    /// Whether that is being made now.
    pub is_deriving: bool,
    /// What is playing.
    pub title: Option<Arc<Title>>,
    /// The container header in force.
    pub header: Option<Bytes>,
    /// Bits per second of late, of a stream without pictures.
    pub bitrate: Option<u32>,
    /// Listeners of all lanes.
    pub listeners: usize,
    /// The most listeners there have been at once.
    pub listeners_peak: usize,
    /// Media bytes received in all epochs.
    pub ingest_bytes: u64,
    /// Its rules.
    pub settings: Settings,
}

impl Info {
    /// Whether there is something to be heard or seen of it now.
    pub fn is_on_air(&self) -> bool {
        self.phase == Phase::Live && self.has_media
    }
}

/// Why a lane could not be opened.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum LaneRefused {
    /// The stream is over.
    #[error("the stream has ended")]
    Ended,
    /// Logs hold as much memory as they may.
    #[error("the memory for streams is used up")]
    Memory,
    /// What the lane needs beside the publisher's tracks cannot be made now.
    #[error("the server makes sound of as many streams as it may")]
    Derivation,
    /// More formats than there are: a defect of the caller.
    #[error("the stream has too many lanes")]
    TooMany,
}

/// See the module's description.
pub struct Stream {
    name: StreamName,
    core: Mutex<Core>,
    over: Arc<TaskBells>,
    summons: Arc<[Summons]>,
    budget: Arc<Budget>,
    deriver: DeriverCell,
    wish: Arc<KeyframeWish>,
    /// Bytes that the logs of all its lanes hold.
    log_bytes: Arc<AtomicUsize>,
}

struct Core {
    phase: Phase,
    epoch: u32,
    credential: Credential,
    source: Arc<Source>,
    announced_type: Option<Arc<str>>,
    /// Container and media type that the present lanes' listeners were promised.
    promised: (Container, String),
    has_media: bool,
    settings: Settings,
    since: SystemTime,
    began: Instant,
    /// When the publisher was last heard of, or the epoch began.
    last_item: Instant,
    /// When a lingering stream ends; `None` from when its publisher leaves to the next
    /// [look](Stream::is_over) at it.
    linger_until: Option<Instant>,
    /// When the present epoch began, if it did by taking over from another publisher.
    taken_over: Option<Instant>,
    replaced: Replaced,
    tracks: Vec<Arc<Track>>,
    header: Option<Bytes>,
    metadata: Option<Script>,
    title: Option<Arc<Title>>,
    backlog: Backlog,
    picture_order: OrderWatch,
    picture_groups: PictureGroups,
    meters: Meters,
    timeline: Timeline,
    lanes: Vec<LaneWriter>,
    taps: Vec<TapWriter>,
    deriver: DeriverCell,
    offer: Offer,
    derived: Option<Derived>,
    /// Names the next derivation.
    next_turn: Turn,
    /// Tells the present publisher that it has been superseded.
    superseded: Option<Waker>,
    /// Rung at the end.
    over: Arc<TaskBells>,
    wish: Arc<KeyframeWish>,
    ingest_bytes: u64,
    listeners_peak: usize,
}

/// What a stream has in common with all others.
pub(crate) struct Commons {
    pub(crate) summons: Arc<[Summons]>,
    pub(crate) budget: Arc<Budget>,
    pub(crate) deriver: DeriverCell,
}

impl Stream {
    pub(crate) fn new(
        name: StreamName,
        credential: Credential,
        source: Source,
        settings: Settings,
        commons: Commons,
        now: Instant,
    ) -> Self {
        let Commons {
            summons,
            budget,
            deriver,
        } = commons;
        let over = Arc::new(TaskBells::default());
        let wish = Arc::new(KeyframeWish::default());
        let core = Core {
            phase: Phase::Lingering,
            epoch: 0,
            credential,
            promised: (source.container, source.content_type.clone()),
            source: Arc::new(source),
            announced_type: None,
            has_media: false,
            settings,
            since: SystemTime::now(),
            began: now,
            last_item: now,
            linger_until: None,
            taken_over: None,
            replaced: Replaced::default(),
            tracks: Vec::new(),
            header: None,
            metadata: None,
            title: None,
            backlog: Backlog::default(),
            picture_order: OrderWatch::default(),
            picture_groups: PictureGroups::default(),
            meters: Meters::default(),
            timeline: Timeline::default(),
            lanes: Vec::new(),
            taps: Vec::new(),
            deriver: Arc::clone(&deriver),
            offer: Offer::Nothing,
            derived: None,
            next_turn: 0,
            superseded: None,
            over: Arc::clone(&over),
            wish: Arc::clone(&wish),
            ingest_bytes: 0,
            listeners_peak: 0,
        };
        Self {
            name,
            core: Mutex::new(core),
            over,
            summons,
            budget,
            deriver,
            wish,
            log_bytes: Arc::default(),
        }
    }

    /// Its name.
    pub fn name(&self) -> &StreamName {
        &self.name
    }

    pub(crate) fn phase(&self) -> Phase {
        self.core().phase
    }

    /// What everybody may know of it now.
    pub fn info(&self) -> Info {
        let mut core = self.core();
        let listeners = core.listeners();
        Info {
            name: self.name.clone(),
            phase: core.phase,
            epoch: core.epoch,
            since: core.since,
            source: Arc::clone(&core.source),
            announced_type: core.announced_type.clone(),
            has_media: core.has_media,
            tracks: core.tracks.clone(),
            rates: core.rates(),
            picture_order: core.picture_order.order(),
            keyframes: core.keyframes(),
            offer: core.offer.clone(),
            is_deriving: core.is_deriving(),
            title: core.title.clone(),
            header: core.header.clone(),
            bitrate: core
                .video()
                .map_or_else(|| core.backlog.bitrate(), |_| None),
            listeners,
            listeners_peak: core.listeners_peak,
            ingest_bytes: core.ingest_bytes,
            settings: core.settings,
        }
    }

    /// The lane of a format, opened with a packager from `make` if nobody listens to it yet. The
    /// lane stays open while the guard, or a listener it was passed on to, lives. When what a listener
    /// would start at is old, the publisher is asked for a keyframe, if it can be.
    ///
    /// # Errors
    /// See [`LaneRefused`].
    pub fn lane(
        self: &Arc<Self>,
        permission: &Authorized<Play>,
        format: Format,
        make: impl FnOnce() -> Box<dyn Packager>,
        now: Instant,
    ) -> Result<LaneGuard, LaneRefused> {
        debug_assert_eq!(permission.action().stream, self.name);
        let (guard, takes_derived) = {
            let mut core = self.core();
            let opened = self.open_lane(&mut core, format, make, now)?;
            core.listeners();
            opened
        };
        match !takes_derived || self.want_derived() {
            true => Ok(guard),
            false => Err(LaneRefused::Derivation),
        }
    }

    /// The same for a listener who has yet to connect, and perhaps never will: nothing is derived for
    /// it before [`Seat::connected`](crate::Seat::connected).
    ///
    /// # Errors
    /// See [`LaneRefused`]. That nothing can be derived is an error only if there is nothing else.
    pub fn reserve_lane(
        self: &Arc<Self>,
        permission: &Authorized<Play>,
        format: Format,
        make: impl FnOnce() -> Box<dyn Packager>,
        now: Instant,
    ) -> Result<LaneGuard, LaneRefused> {
        debug_assert_eq!(permission.action().stream, self.name);
        let (guard, needs_derived) = {
            let mut core = self.core();
            let (guard, takes_derived) = self.open_lane(&mut core, format, make, now)?;
            let guard = guard.reserved();
            core.listeners();
            let is_all = takes_derived && core.video().is_none();
            (guard, is_all && core.lacks_derived())
        };
        let has_room = |deriver: &Arc<dyn Deriver>| deriver.has_room(self);
        match needs_derived && !self.deriver.get().is_none_or(has_room) {
            false => Ok(guard),
            true => Err(LaneRefused::Derivation),
        }
    }

    /// The lane of a format, and whether it takes the derived track.
    fn open_lane(
        &self,
        core: &mut Core,
        format: Format,
        make: impl FnOnce() -> Box<dyn Packager>,
        now: Instant,
    ) -> Result<(LaneGuard, bool), LaneRefused> {
        if core.phase == Phase::Ended {
            return Err(LaneRefused::Ended);
        }
        if core.picture_groups.lack_keyframe_since(JOIN_AGE_WISHED) {
            self.wish.set();
        }
        if let Some(open) = core.lanes.iter().find(|open| open.lane.format == format) {
            return Ok((LaneGuard::new(Arc::clone(&open.lane)), open.takes_derived));
        }
        if core.lanes.len() >= LANES_MAX {
            return Err(LaneRefused::TooMany);
        }
        let class = core.class(now);
        let policy = core.policy(class);
        let floor = LaneWriter::floor(class, &policy);
        if self.budget.refuses(floor, core.lanes.is_empty()) {
            return Err(LaneRefused::Memory);
        }
        let lane = LaneWriter::open(
            format,
            class,
            policy,
            make(),
            Arc::clone(&self.summons),
            Account::new(&self.budget, &self.log_bytes),
            Arc::clone(&self.wish),
        );
        let mut lane = lane.ok_or(LaneRefused::Memory)?;
        core.replay(&mut lane, now);
        if lane.has_failed() {
            return Err(LaneRefused::Memory);
        }
        let opened = (LaneGuard::new(Arc::clone(&lane.lane)), lane.takes_derived);
        core.lanes.push(lane);
        Ok(opened)
    }

    /// A reader of the stream's items, for samples of `kind` or of every kind. It begins with what
    /// a lane would begin with. `None` when the stream is over, or has as many as it may have.
    pub fn tap(&self, kind: Option<Kind>) -> Option<Tap> {
        let mut core = self.core();
        core.taps.retain(TapWriter::is_read);
        if core.phase == Phase::Ended || core.taps.len() >= TAPS_MAX {
            return None;
        }
        let (writer, tap) = tap::tap(kind);
        core.recall(|item, kind| writer.push(item, kind));
        core.taps.push(writer);
        Some(tap)
    }

    /// Begins the stream's derived track. `None` while there is one, or when the stream is over.
    pub fn derive(self: &Arc<Self>) -> Option<Derivation> {
        let mut core = self.core();
        if core.phase == Phase::Ended || core.derived.is_some() {
            return None;
        }
        let turn = core.next_turn;
        core.next_turn += 1;
        core.derived = Some(Derived::new(turn));
        Some(Derivation::new(Arc::clone(self), turn))
    }

    /// Sets the title from outside the source's own bytes.
    pub fn set_title(
        &self,
        permission: &Authorized<crate::gate::UpdateMetadata>,
        title: Title,
        now: Instant,
    ) {
        debug_assert_eq!(permission.action().stream, self.name);
        self.core()
            .write(&mut vec![Item::Title(Arc::new(title))], now);
    }

    /// Asks for a keyframe, if its publisher has an encoder that can be asked.
    pub fn request_keyframe(&self) {
        self.wish.set();
    }

    /// Whether a publisher's epoch could begin now.
    pub(crate) fn would_begin(
        &self,
        credential: Credential,
        source: &Source,
        settings: &Settings,
        now: Instant,
    ) -> Result<(), PublishRefused> {
        let mut core = self.core();
        match core.phase {
            Phase::Live => core.permits(&self.name, credential, source, settings, now),
            Phase::Lingering | Phase::Ended => Ok(()),
        }
    }

    /// Ends the stream now: its listeners are let go and its publisher is told.
    pub fn end(&self) {
        self.core().end();
    }

    /// Waits until it has ended.
    pub async fn over(&self) {
        let place = Place::new(&self.over);
        std::future::poll_fn(|cx| {
            place.arm(cx.waker());
            match self.phase() {
                Phase::Ended => Poll::Ready(()),
                Phase::Live | Phase::Lingering => Poll::Pending,
            }
        })
        .await;
    }

    pub(crate) fn is_over(&self, now: Instant) -> bool {
        let mut core = self.core();
        if core.phase == Phase::Lingering {
            let linger = core.settings.linger;
            let until = *core.linger_until.get_or_insert(now + linger);
            if now >= until {
                core.end();
            }
        }
        core.lanes.retain_mut(|lane| !lane.is_idle(now));
        core.taps.retain(TapWriter::is_read);
        core.phase == Phase::Ended
    }

    fn core(&self) -> MutexGuard<'_, Core> {
        // A panic while the lock was held came from a packager; what it left is still a stream.
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Core {
    /// Counts the listeners, and remembers the most there were.
    fn listeners(&mut self) -> usize {
        let now = self.lanes.iter().map(|lane| lane.lane.listeners()).sum();
        self.listeners_peak = self.listeners_peak.max(now);
        now
    }

    fn video(&self) -> Option<TrackId> {
        self.tracks
            .iter()
            .find(|track| track.kind == Kind::Video)
            .map(|track| track.id)
    }

    fn keyframes(&self) -> Option<Keyframes> {
        self.video()?;
        Some(self.picture_groups.facts(self.wish.is_heeded()))
    }

    /// Whether those who listen and cannot ask lack a keyframe for who comes next.
    fn wants_keyframe(&self) -> bool {
        let is_old = self.picture_groups.lack_keyframe_since(KEYFRAME_INTERVAL);
        let lacks_one = |lane: &LaneWriter| is_old || lane.has_lost_join();
        let mut lanes = self.lanes.iter();
        lanes.any(|lane| lane.depends_on_joins() && lacks_one(lane))
    }

    fn class(&self, now: Instant) -> Class {
        let has_video = self.video().is_some();
        let is_young = now.saturating_duration_since(self.began) < VIDEO_TRACK_AWAITED;
        let may_get_video =
            self.source.container == Container::Tracks && (is_young || self.tracks.is_empty());
        if has_video || may_get_video {
            Class::Video
        } else {
            Class::Audio
        }
    }

    fn policy(&self, class: Class) -> Policy {
        match class {
            Class::Audio => self.settings.audio,
            Class::Video => self.settings.video,
        }
    }

    /// Brings a lane that has just opened to the present.
    fn replay(&self, lane: &mut LaneWriter, now: Instant) {
        let derived = self.derived.as_ref().filter(|_| lane.takes_derived);
        let mut track = derived.and_then(|derived| derived.track.clone());
        let mut samples = derived
            .into_iter()
            .flat_map(|derived| derived.samples())
            .peekable();
        self.recall(|item, _| {
            // After the publisher's own tracks, and each sample before the later ones of others.
            let is_track = matches!(item, Item::Track(_));
            if let Some(track) = track.take_if(|_| !is_track) {
                lane.push(&Item::Track(track), now);
            }
            if let Item::Sample(own) = item {
                while let Some(earlier) = samples.next_if(|sample| sample.dts < own.dts) {
                    lane.push(&Item::Sample(earlier.clone()), now);
                }
            }
            lane.push(item, now);
        });
        if let Some(track) = track {
            lane.push(&Item::Track(track), now);
        }
        for later in samples {
            lane.push(&Item::Sample(later.clone()), now);
        }
        lane.publish();
    }

    /// Tells what was announced and what was sent lately, by the publisher; with each sample the kind
    /// of its track.
    fn recall(&self, mut tell: impl FnMut(&Item, Option<Kind>)) {
        for track in &self.tracks {
            tell(&Item::Track(Arc::clone(track)), None);
        }
        if let Some(header) = &self.header {
            tell(&Item::Header(header.clone()), None);
        }
        if let Some(metadata) = &self.metadata {
            tell(&Item::Metadata(metadata.clone()), None);
        }
        if let Some(title) = &self.title {
            tell(&Item::Title(Arc::clone(title)), None);
        }
        for sample in self.backlog.samples() {
            let kind = self.kind(sample.track);
            tell(&Item::Sample(sample.clone()), kind);
        }
    }

    fn kind(&self, id: TrackId) -> Option<Kind> {
        let track = self.tracks.iter().find(|track| track.id == id);
        track.map(|track| track.kind)
    }

    /// Takes over items, in order, and passes them to every lane.
    fn write(&mut self, items: &mut Vec<Item>, now: Instant) {
        let video = self.video();
        let burst = self.settings.audio.burst;
        for mut item in items.drain(..) {
            match &mut item {
                // The stream alone says it.
                Item::Epoch => continue,
                // That number is taken.
                Item::Track(track) if track.id == TrackId::DERIVED => continue,
                Item::Sample(sample) if sample.track == TrackId::DERIVED => continue,
                Item::Track(track) => self.remember_track(track, now),
                Item::Header(header) => {
                    // What was sent under the old header cannot be decoded with this one.
                    self.backlog.clear();
                    self.header = Some(header.clone());
                }
                Item::Metadata(script) => {
                    self.timeline.place_script(script);
                    self.metadata = Some(script.clone());
                }
                Item::Script(script) => self.timeline.place_script(script),
                Item::Title(title) => {
                    self.title = (!title.is_empty()).then(|| Arc::clone(title));
                }
                Item::Sample(sample) => {
                    self.timeline.place(sample);
                    self.has_media = true;
                    self.ingest_bytes += sample.bytes() as u64;
                    self.meters.push(sample);
                    if self.video() == Some(sample.track) {
                        self.picture_order.saw(sample);
                    }
                }
            }
            for lane in &mut self.lanes {
                lane.push(&item, now);
            }
            if !self.taps.is_empty() {
                let kind = match &item {
                    Item::Sample(sample) => self.kind(sample.track),
                    _ => None,
                };
                self.taps.iter().for_each(|tap| tap.push(&item, kind));
            }
            if let Item::Sample(sample) = item {
                let video = video.or_else(|| self.video());
                if video == Some(sample.track) {
                    self.picture_groups.push(&sample);
                    if sample.keyframe {
                        self.wish.clear();
                    }
                }
                self.backlog.push(sample, video, burst);
            }
        }
        self.publish_lanes();
        self.taps.iter().for_each(TapWriter::publish);
    }

    /// Makes what was pushed readable, and closes lanes that there is no memory for.
    fn publish_lanes(&mut self) {
        self.lanes.retain_mut(|lane| {
            lane.publish();
            if lane.has_failed() {
                tracing::warn!(
                    format = lane.lane.format.name,
                    "a format of a stream is closed: the memory for streams (fanout.log_mib) is used up"
                );
            }
            !lane.has_failed()
        });
    }

    fn rates(&self) -> Vec<Option<Rate>> {
        let tracks = self.tracks.iter();
        tracks.map(|track| self.meters.rate(track.id)).collect()
    }

    fn remember_track(&mut self, track: &Arc<Track>, now: Instant) {
        if self.tracks.contains(track) {
            return;
        }
        if self.tracks.is_empty() {
            // Between a publisher's admission and its first track may lie a handshake; how long the others
            // are awaited counts from here.
            self.began = now;
            self.since = SystemTime::now();
        }
        self.note_track(track);
        self.offer = match self.deriver.get() {
            Some(deriver) => deriver.offer(self.source.container, &self.tracks),
            None => Offer::Nothing,
        };
    }

    fn note_track(&mut self, track: &Arc<Track>) {
        let count = self.tracks.len();
        match self.tracks.iter_mut().find(|known| known.id == track.id) {
            Some(known) => {
                *known = Arc::clone(track);
                // What was coded under the old configuration cannot be decoded with this one.
                self.backlog.clear();
                if track.kind == Kind::Video {
                    self.picture_order = OrderWatch::default();
                }
            }
            None if count < TRACKS_MAX => self.tracks.push(Arc::clone(track)),
            None => tracing::warn!(
                track = track.id.0,
                "a track beyond the limit is not announced"
            ),
        }
    }

    /// Another publisher's turn begins.
    fn begin_epoch(
        &mut self,
        credential: Credential,
        source: Source,
        settings: Settings,
        now: Instant,
    ) {
        if let Some(waker) = self.superseded.take() {
            waker.wake();
        }
        self.promise(&source);
        // Each epoch announces its own; a picture track that does not come back must not be
        // waited for, and the last programme's title is not the next one's.
        self.title = None;
        self.header = None;
        self.tracks.clear();
        self.metadata = None;
        self.offer = Offer::Nothing;
        self.backlog.clear();
        self.picture_order = OrderWatch::default();
        self.picture_groups = PictureGroups::default();
        self.meters = Meters::default();
        self.wish.set_heeded(false);
        self.timeline.begin_epoch();
        for lane in &mut self.lanes {
            lane.push(&Item::Epoch, now);
        }
        self.begin_derived_epoch(now);
        for tap in &self.taps {
            tap.push(&Item::Epoch, None);
            tap.publish();
        }
        self.taken_over = (self.phase == Phase::Live).then_some(now);
        self.phase = Phase::Live;
        self.epoch += 1;
        self.credential = credential;
        self.source = Arc::new(source);
        self.announced_type = None;
        self.has_media = false;
        self.settings = settings;
        self.since = SystemTime::now();
        self.began = now;
        self.last_item = now;
    }

    /// Listeners that were promised another format are let go, and may ask again. What a source of
    /// an unknown one sends is decided by its first bytes.
    fn promise(&mut self, source: &Source) {
        if source.container == Container::Unknown {
            return;
        }
        let (container, content_type) = &self.promised;
        let is_same = *container == source.container && *content_type == source.content_type;
        if !is_same && *container != Container::Unknown {
            self.lanes.clear();
        }
        self.promised = (source.container, source.content_type.clone());
    }

    /// The present publisher's bytes are of this kind, whatever it called them.
    fn identify(&mut self, container: Container, content_type: &str) {
        let mut source = (*self.source).clone();
        source.container = container;
        let announced = std::mem::replace(&mut source.content_type, content_type.to_owned());
        if announced != content_type {
            self.announced_type = Some(announced.into());
        }
        self.promise(&source);
        self.source = Arc::new(source);
    }

    /// Lanes that take the derived track.
    fn takers(&mut self) -> impl Iterator<Item = &mut LaneWriter> {
        self.lanes.iter_mut().filter(|lane| lane.takes_derived)
    }

    fn derived_wanted(&self) -> usize {
        let takers = self.lanes.iter().filter(|lane| lane.takes_derived);
        takers.map(|lane| lane.lane.connected()).sum()
    }

    /// Whether a track is on offer that nobody makes.
    fn lacks_derived(&self) -> bool {
        self.derived.is_none() && self.offer.track().is_some()
    }

    fn is_derived_by(&self, turn: Turn) -> bool {
        let derived = self.derived.as_ref();
        derived.is_some_and(|derived| derived.turn == turn)
    }

    /// Whether a derived track is announced.
    fn is_deriving(&self) -> bool {
        let derived = self.derived.as_ref();
        derived.is_some_and(|derived| derived.track.is_some())
    }

    fn announce_derived(&mut self, turn: Turn, track: Arc<Track>, now: Instant) {
        let Some(derived) = self.derived.as_mut().filter(|one| one.turn == turn) else {
            return;
        };
        if derived.track.as_ref() != Some(&track) {
            derived.forget();
        }
        derived.track = Some(Arc::clone(&track));
        let item = Item::Track(track);
        for lane in self.takers() {
            lane.push(&item, now);
            lane.publish();
        }
    }

    fn write_derived(&mut self, turn: Turn, sample: Sample, now: Instant) {
        let derived = self.derived.as_mut().filter(|one| one.turn == turn);
        let Some(derived) = derived.filter(|one| one.track.is_some()) else {
            return;
        };
        let sample = derived.place(sample);
        derived.keep(sample.clone(), &self.backlog);
        let item = Item::Sample(sample);
        for lane in self.takers() {
            lane.push(&item, now);
            lane.publish();
        }
    }

    /// The derived track goes on in the new epoch.
    fn begin_derived_epoch(&mut self, now: Instant) {
        let Some(derived) = &mut self.derived else {
            return;
        };
        derived.forget();
        if let Some(track) = derived.track.clone() {
            let item = Item::Track(track);
            self.takers().for_each(|lane| lane.push(&item, now));
        }
    }

    fn end_derived(&mut self, turn: Turn) {
        if !self.is_derived_by(turn) {
            return;
        }
        self.derived = None;
        // What an idle lane holds is the past; whoever comes next begins with the present.
        self.lanes
            .retain(|lane| !lane.takes_derived || lane.lane.listeners() > 0);
    }

    fn end(&mut self) {
        self.phase = Phase::Ended;
        self.lanes.clear();
        self.taps.clear();
        self.derived = None;
        // Whoever still holds the stream holds no media.
        self.backlog.clear();
        self.over.ring();
        if let Some(waker) = self.superseded.take() {
            waker.wake();
        }
    }
}

impl std::fmt::Debug for Stream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Stream").field(&self.name).finish()
    }
}
