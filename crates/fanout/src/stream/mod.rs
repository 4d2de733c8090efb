//! A stream: one named live thing, whoever publishes it at the moment.
//!
//! A stream outlives its publishers. It keeps what a lane needs in order to open in mid-stream (the
//! tracks, the headers, the recent past), the timeline that makes all epochs one, and the writing
//! ends of its lanes. All of that is behind one lock, taken by its publisher for each batch of items
//! and by whoever opens a lane; never by a worker.

mod backlog;
mod publisher;
mod timeline;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use media::{Container, Item, Kind, Script, StreamName, Title, Track, TrackId};

pub use publisher::{Claim, Publisher, Superseded};

use self::backlog::Backlog;
use self::timeline::Timeline;
use crate::budget::Budget;
use crate::gate::{Authorized, Credential, Play};
use crate::keyframe::KeyframeWish;
use crate::lane::{Format, LaneGuard, LaneWriter};
use crate::packager::Packager;
use crate::policy::{Class, Policy};
use crate::task_bells::{Place, TaskBells};
use crate::worker::Summons;

/// Lanes of one stream at the most. Each is a format; there are fewer formats than this.
const LANES_MAX: usize = 32;

/// Tracks of one stream at the most.
const TRACKS_MAX: usize = 16;

/// How long after an epoch began a stream without a video track is taken for one that will not get
/// any: publishers announce both tracks within the first packets.
const VIDEO_TRACK_AWAITED: Duration = Duration::from_secs(2);

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
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            audio: Policy::default_for(Class::Audio),
            video: Policy::default_for(Class::Video),
            linger: Duration::from_secs(15),
            public: true,
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
    /// Its tracks, in the order they appeared.
    pub tracks: Vec<Arc<Track>>,
    /// What is playing.
    pub title: Option<Arc<Title>>,
    /// Listeners of all lanes.
    pub listeners: usize,
    /// The most listeners there have been at once.
    pub listeners_peak: usize,
    /// Media bytes received in all epochs.
    pub ingest_bytes: u64,
    /// Its rules.
    pub settings: Settings,
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
    wish: Arc<KeyframeWish>,
}

struct Core {
    phase: Phase,
    epoch: u32,
    credential: Credential,
    source: Arc<Source>,
    settings: Settings,
    since: SystemTime,
    began: Instant,
    /// When the publisher was last heard of, or the epoch began.
    last_item: Instant,
    linger_until: Instant,
    /// When the present epoch began, if it did by taking over from another publisher.
    taken_over: Option<Instant>,
    tracks: Vec<Arc<Track>>,
    header: Option<Bytes>,
    metadata: Option<Script>,
    title: Option<Arc<Title>>,
    backlog: Backlog,
    timeline: Timeline,
    lanes: Vec<LaneWriter>,
    /// Tells the present publisher that it has been superseded.
    superseded: Option<Waker>,
    /// Rung at the end.
    over: Arc<TaskBells>,
    wish: Arc<KeyframeWish>,
    ingest_bytes: u64,
    listeners_peak: usize,
}

impl Stream {
    pub(crate) fn new(
        name: StreamName,
        credential: Credential,
        source: Source,
        settings: Settings,
        summons: Arc<[Summons]>,
        budget: Arc<Budget>,
        now: Instant,
    ) -> Self {
        let over = Arc::new(TaskBells::default());
        let wish = Arc::new(KeyframeWish::default());
        let core = Core {
            phase: Phase::Lingering,
            epoch: 0,
            credential,
            source: Arc::new(source),
            settings,
            since: SystemTime::now(),
            began: now,
            last_item: now,
            linger_until: now + settings.linger,
            taken_over: None,
            tracks: Vec::new(),
            header: None,
            metadata: None,
            title: None,
            backlog: Backlog::default(),
            timeline: Timeline::default(),
            lanes: Vec::new(),
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
            wish,
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
            tracks: core.tracks.clone(),
            title: core.title.clone(),
            listeners,
            listeners_peak: core.listeners_peak,
            ingest_bytes: core.ingest_bytes,
            settings: core.settings,
        }
    }

    /// The lane of a format, opened with a packager from `make` if nobody listens to it yet. The
    /// lane stays open while the guard, or a listener it was passed on to, lives.
    ///
    /// # Errors
    /// See [`LaneRefused`].
    pub fn lane(
        &self,
        permission: &Authorized<Play>,
        format: Format,
        make: impl FnOnce() -> Box<dyn Packager>,
        now: Instant,
    ) -> Result<LaneGuard, LaneRefused> {
        debug_assert_eq!(permission.action().stream, self.name);
        let mut core = self.core();
        if core.phase == Phase::Ended {
            return Err(LaneRefused::Ended);
        }
        if let Some(open) = core.lanes.iter().find(|open| open.lane.format == format) {
            let guard = LaneGuard::new(Arc::clone(&open.lane));
            core.listeners();
            return Ok(guard);
        }
        if core.lanes.len() >= LANES_MAX {
            return Err(LaneRefused::TooMany);
        }
        if self.budget.refuses() {
            return Err(LaneRefused::Memory);
        }
        let class = core.class(now);
        let policy = core.policy(class);
        let mut lane = LaneWriter::open(
            format,
            class,
            policy,
            make(),
            Arc::clone(&self.summons),
            Arc::clone(&self.budget),
            Arc::clone(&self.wish),
        );
        core.replay(&mut lane, now);
        let guard = LaneGuard::new(Arc::clone(&lane.lane));
        core.lanes.push(lane);
        core.listeners();
        Ok(guard)
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
        if core.phase == Phase::Lingering && now >= core.linger_until {
            core.end();
        }
        core.lanes.retain_mut(|lane| !lane.is_idle(now));
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

    fn class(&self, now: Instant) -> Class {
        let has_video = self.video().is_some();
        let may_get_video = self.source.container == Container::Tracks
            && now.saturating_duration_since(self.began) < VIDEO_TRACK_AWAITED;
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
        for track in &self.tracks {
            lane.push(&Item::Track(Arc::clone(track)), now);
        }
        if let Some(header) = &self.header {
            lane.push(&Item::Header(header.clone()), now);
        }
        if let Some(metadata) = &self.metadata {
            lane.push(&Item::Metadata(metadata.clone()), now);
        }
        if let Some(title) = &self.title {
            lane.push(&Item::Title(Arc::clone(title)), now);
        }
        for sample in self.backlog.samples() {
            lane.push(&Item::Sample(sample.clone()), now);
        }
        lane.publish();
    }

    /// Takes over items, in order, and passes them to every lane.
    fn write(&mut self, items: &mut Vec<Item>, now: Instant) {
        let video = self.video();
        let burst = self.settings.audio.burst;
        for mut item in items.drain(..) {
            match &mut item {
                // The stream alone says it.
                Item::Epoch => continue,
                Item::Track(track) => self.remember_track(track),
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
                Item::Title(title) => self.title = Some(Arc::clone(title)),
                Item::Sample(sample) => {
                    self.timeline.place(sample);
                    self.ingest_bytes += sample.data.len() as u64;
                }
            }
            for lane in &mut self.lanes {
                lane.push(&item, now);
            }
            if let Item::Sample(sample) = item {
                let video = video.or_else(|| self.video());
                if sample.keyframe && video == Some(sample.track) {
                    self.wish.clear();
                }
                self.backlog.push(sample, video, burst);
            }
        }
        for lane in &mut self.lanes {
            lane.publish();
        }
    }

    fn remember_track(&mut self, track: &Arc<Track>) {
        let count = self.tracks.len();
        match self.tracks.iter_mut().find(|known| known.id == track.id) {
            Some(known) if known == track => {}
            Some(known) => {
                *known = Arc::clone(track);
                // What was coded under the old configuration cannot be decoded with this one.
                self.backlog.clear();
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
        if self.source.container != source.container
            || self.source.content_type != source.content_type
        {
            // Listeners were promised the old format; they are let go and may ask again.
            self.lanes.clear();
            self.title = None;
        }
        // Each epoch announces its own; a picture track that does not come back must not be
        // waited for.
        self.header = None;
        self.tracks.clear();
        self.metadata = None;
        self.backlog.clear();
        self.timeline.begin_epoch();
        for lane in &mut self.lanes {
            lane.push(&Item::Epoch, now);
        }
        self.taken_over = (self.phase == Phase::Live).then_some(now);
        self.phase = Phase::Live;
        self.epoch += 1;
        self.credential = credential;
        self.source = Arc::new(source);
        self.settings = settings;
        self.since = SystemTime::now();
        self.began = now;
        self.last_item = now;
    }

    fn end(&mut self) {
        self.phase = Phase::Ended;
        self.lanes.clear();
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
