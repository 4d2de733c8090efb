//! A stream: one named live source, independent of its present publisher.
//!
//! A stream outlives its publishers. It keeps what a lane needs in order to open in mid-stream (the tracks, the
//! headers, the recent past), the timeline that makes all epochs one, and the writing ends of its lanes. All of
//! that is behind one lock, taken by its publisher for each batch of items, by the writer of a derived track
//! for each sample, and by callers that open a lane; never by a worker.

mod aside;
mod backlog;
mod core;
mod derived;
mod emit;
mod info;
mod keyframes;
mod meter;
mod missed;
mod news;
mod order;
mod own_titles;
mod places;
mod publisher;
mod readers;
mod rendition;
mod replaced;
mod source;
mod spool;
mod tap;
mod timed;
mod timeline;

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Instant;

use base::Lock;
use log::{Account, Budget};
use media::{EventContent, Item, Kind, Sample, Span, StreamName, Timestamp, Title, Track};

pub(crate) use derived::DeriverCell;
pub use derived::{Derivation, DerivedWriter, Deriver};
pub use info::{DerivedOffer, Info, PLAYED_MAX, Phase, Played, Settings};
pub use keyframes::Keyframes;
pub use meter::Rate;
pub use order::PictureOrder;
pub use publisher::{EpochWatch, Publisher, Superseded};
pub(crate) use rendition::Rendition;
pub use rendition::{RENDITIONS_MAX, RenditionRefused};
pub use source::Source;
pub use spool::{Follows, Spool, Spooled};
pub use tap::{Tap, Tapped};

use self::core::{Core, Shared};
use self::derived::Derived;
use self::news::News;
pub(crate) use self::places::Full;
use self::places::Places;
use self::spool::SpoolWriter;
use self::tap::TapWriter;
use crate::directory::{Departed, Permit};
use crate::events::{EndReason, Events, StreamEvents};
use crate::format::Format;
use crate::gate::{Authorized, Credential, Play};
use crate::keyframe::KeyframeWish;
use crate::lane::{LaneGuard, LaneWriter};
use crate::packager::Packager;
use crate::takeover::PublishRefused;
use crate::worker::WorkerWaker;

/// Lanes of one stream at the most. Each is a format; there are fewer formats than this.
const LANES_MAX: usize = 32;

/// Taps of one stream at most: each stream that has it as its fallback may have one, besides what makes derived tracks.
/// An item costs each of them a push of some words.
const TAPS_MAX: usize = 128;

/// A joiner that gets a keyframe older than this causes a request for a new one: a longer delay is noticed.
const JOIN_AGE_WISHED: Span = Span::from_millis(2_000);

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
    /// A packager may panic under it; the state is valid all the same.
    core: Lock<Core>,
    news: Arc<News>,
    wakers: Arc<[WorkerWaker]>,
    budget: Arc<Budget>,
    deriver: DeriverCell,
    wish: Arc<KeyframeWish>,
    /// Bytes that the logs of all its lanes hold.
    log_bytes: Arc<AtomicUsize>,
    departed: Arc<Departed>,
    /// Listeners that have joined, while there is a limit of them.
    places: Arc<Places>,
}

/// State shared by all streams.
pub(crate) struct Commons {
    pub(crate) wakers: Arc<[WorkerWaker]>,
    pub(crate) budget: Arc<Budget>,
    pub(crate) deriver: DeriverCell,
    pub(crate) events: Arc<Events>,
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
            wakers,
            budget,
            deriver,
            events,
        } = commons;
        let news = Arc::new(News::default());
        let wish = Arc::new(KeyframeWish::default());
        let shared = Shared {
            deriver: Arc::clone(&deriver),
            news: Arc::clone(&news),
            wish: Arc::clone(&wish),
            events: StreamEvents::new(&events, &name),
            older_bytes: Arc::clone(budget.older_bytes()),
        };
        let core = Core::new(credential, source, settings, shared, now);
        Self {
            name,
            core: Lock::new(core),
            news,
            wakers,
            budget,
            deriver,
            wish,
            log_bytes: Arc::default(),
            departed: Arc::default(),
            places: Arc::default(),
        }
    }

    /// Its name.
    pub fn name(&self) -> &StreamName {
        &self.name
    }

    pub(crate) fn phase(&self) -> Phase {
        self.core.lock().phase
    }

    /// Whether it has a publisher that counts: the publisher of a rendition is that of its parent.
    pub(crate) fn has_counted_publisher(&self) -> bool {
        let core = self.core.lock();
        core.phase == Phase::Live && !core.is_rendition && core.settings.counts
    }

    /// Whether the publisher of another stream writes it as a rendition.
    pub(crate) fn is_rendition(&self) -> bool {
        let core = self.core.lock();
        core.phase == Phase::Live && core.is_rendition
    }

    /// Has its time begin here. To be called before its first publisher begins.
    pub(crate) fn begin_at(&self, start: Timestamp) {
        self.core.lock().timeline.begin_at(start);
    }

    /// Where its media ends while it is live, if it is a quality of `programme`, or of that group, and comes over
    /// another connection than `source`.
    pub(crate) fn end_beside(
        &self,
        programme: &StreamName,
        group: Option<usize>,
        source: &Source,
    ) -> Option<Timestamp> {
        let is_quality = self.name == *programme || self.name.is_rendition_of(programme);
        if !is_quality && group.is_none() {
            return None;
        }
        let core = self.core.lock();
        let is_beside = is_quality || group == core.settings.group;
        let is_apart = source.peer.is_some() && !source.shares_connection(&core.source);
        let is_live = core.phase == Phase::Live && core.has_media;
        (is_live && is_apart && is_beside).then(|| core.timeline.end())
    }

    /// The public description now.
    pub fn info(&self) -> Info {
        let mut core = self.core.lock();
        let listeners = core.listeners();
        Info {
            name: self.name.clone(),
            phase: core.phase,
            epoch: core.epoch,
            since: core.since,
            source: Arc::clone(&core.source),
            identity: core.identity.clone(),
            announced_type: core.announced_type.clone(),
            has_media: core.has_media,
            tracks: core.tracks.clone(),
            rates: core.rates(),
            picture_order: core.picture_order.order(),
            awaits_pictures: core.awaits_pictures(),
            captions: core.captions.has_captions(),
            may_have_captions: core.captions.may_have_captions(),
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

    /// A place among its listeners, which is free again when the permit is dropped: `None` where there is no limit.
    pub(crate) fn place(&self) -> Result<Option<Permit>, Full> {
        let max = self.core.lock().settings.listeners_max;
        max.map(|max| self.places.take(max)).transpose()
    }

    /// What its listeners that have left were sent.
    pub fn departed(&self) -> &Arc<Departed> {
        &self.departed
    }

    /// The lane of a format, opened with a packager from `make` if it has no listener yet. The lane stays open
    /// while the guard, or a listener it was passed on to, lives. When what a listener would start at is old,
    /// the publisher is asked for a keyframe, if possible.
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
        self.lane_for(permission, format, make, now, |guard| guard)
    }

    /// The lane of a format; `holder` makes the result of its guard.
    fn lane_for(
        self: &Arc<Self>,
        permission: &Authorized<Play>,
        format: Format,
        make: impl FnOnce() -> Box<dyn Packager>,
        now: Instant,
        holder: impl FnOnce(LaneGuard) -> LaneGuard,
    ) -> Result<LaneGuard, LaneRefused> {
        debug_assert_eq!(permission.action().stream, self.name);
        let (guard, takes_derived) = {
            let mut core = self.core.lock();
            let (guard, takes_derived) = self.open_lane(&mut core, format, make, now)?;
            let guard = holder(guard);
            core.listeners();
            (guard, takes_derived)
        };
        match !takes_derived || self.want_derived() {
            true => Ok(guard),
            false => Err(LaneRefused::Derivation),
        }
    }

    /// The same for a listener that has yet to connect, and may never: nothing is derived for it before
    /// [`ListenerHandle::connected`](crate::ListenerHandle::connected).
    ///
    /// # Errors
    /// See [`LaneRefused`]. That nothing can be derived is an error only if there is no other track.
    pub fn reserve_lane(
        self: &Arc<Self>,
        permission: &Authorized<Play>,
        format: Format,
        make: impl FnOnce() -> Box<dyn Packager>,
        now: Instant,
    ) -> Result<LaneGuard, LaneRefused> {
        debug_assert_eq!(permission.action().stream, self.name);
        let (guard, needs_derived) = {
            let mut core = self.core.lock();
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
        let floor = LaneWriter::floor(format, class, &policy);
        if self.budget.refuses(floor, core.lanes.is_empty()) {
            return Err(LaneRefused::Memory);
        }
        let lane = LaneWriter::open(
            format,
            class,
            policy,
            make(),
            Arc::clone(&self.wakers),
            Account::new(&self.budget, &self.log_bytes),
            Arc::clone(&self.wish),
        );
        let mut lane = lane.ok_or(LaneRefused::Memory)?;
        lane.set_epoch(core.epoch);
        core.replay(&mut lane, now);
        if lane.has_failed() {
            return Err(LaneRefused::Memory);
        }
        let opened = (LaneGuard::new(Arc::clone(&lane.lane)), lane.takes_derived);
        core.lanes.push(lane);
        Ok(opened)
    }

    /// A reader of the stream's items, for samples of `kind` or of every kind. It begins with what a lane would
    /// begin with. `None` when the stream is over, or has the maximum of taps.
    pub fn tap(&self, kind: Option<Kind>) -> Option<Tap> {
        let mut core = self.core.lock();
        core.taps.retain(TapWriter::is_read);
        if core.phase == Phase::Ended || core.taps.len() >= TAPS_MAX {
            return None;
        }
        let (writer, tap) = tap::tap(kind);
        core.recall(false, core.burst_begins(), |item, kind| {
            writer.push(item, kind)
        });
        core.taps.push(writer);
        Some(tap)
    }

    /// The newest keyframe of the pictures, on the stream's timeline, and the track that describes it. `None` without
    /// pictures, and when the newest keyframe is too old for a listener to start at.
    pub fn keyframe(&self, permission: &Authorized<Play>) -> Option<(Arc<Track>, Sample)> {
        debug_assert_eq!(permission.action().stream, self.name);
        self.core.lock().keyframe()
    }

    /// Begins the stream's derived track. `None` while there is one, or when the stream is over.
    pub fn derive(self: &Arc<Self>) -> Option<Derivation> {
        let mut core = self.core.lock();
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
        self.core
            .lock()
            .write(&mut vec![Item::Title(Arc::new(title))], now);
    }

    /// Waits until its title differs from `told`, if that is known; `None` when the stream has ended.
    pub async fn next_title(
        &self,
        told: Option<&Option<Arc<Title>>>,
    ) -> Option<Option<Arc<Title>>> {
        loop {
            let seen = self.news.seen();
            {
                let core = self.core.lock();
                if core.phase == Phase::Ended {
                    return None;
                }
                if told != Some(&core.title) {
                    return Some(core.title.clone());
                }
            }
            self.news.after(seen).await;
        }
    }

    /// The last titles, the newest first: [`PLAYED_MAX`] at most.
    pub fn played(&self) -> Vec<Played> {
        self.core.lock().played.iter().cloned().collect()
    }

    /// Announces an event from outside the source's own bytes, and returns when it takes effect: now, behind the
    /// newest sample. `None` without a publisher.
    pub fn announce(
        &self,
        permission: &Authorized<crate::gate::UpdateMetadata>,
        content: EventContent,
        now: Instant,
    ) -> Option<Timestamp> {
        debug_assert_eq!(permission.action().stream, self.name);
        let mut core = self.core.lock();
        (core.phase == Phase::Live).then(|| core.announce(content, now))
    }

    /// Requests a keyframe, if its publisher has an encoder that can be asked.
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
        let mut core = self.core.lock();
        match core.phase {
            Phase::Live => core.permits(&self.name, credential, source, settings, now),
            Phase::Lingering | Phase::Ended => Ok(()),
        }
    }

    /// Ends the stream now: its listeners are closed and its publisher is told.
    pub fn end(&self, reason: EndReason) {
        self.core.lock().end(reason);
    }

    /// Waits until it has no publisher; at once if it has none.
    pub async fn vacated(&self) {
        loop {
            let seen = self.news.seen();
            if self.phase() != Phase::Live {
                return;
            }
            self.news.after(seen).await;
        }
    }

    /// Waits until it has ended.
    pub async fn over(&self) {
        loop {
            let seen = self.news.seen();
            if self.phase() == Phase::Ended {
                return;
            }
            self.news.after(seen).await;
        }
    }

    /// Signals changes of [`info`](Self::info).
    pub(crate) fn news(&self) -> &News {
        &self.news
    }

    pub(crate) fn is_over(&self, now: Instant) -> bool {
        let mut core = self.core.lock();
        if core.phase == Phase::Lingering {
            let linger = core.settings.linger;
            let until = *core.linger_until.get_or_insert(now + linger);
            if now >= until {
                core.end(EndReason::Abandoned);
            }
        }
        core.lanes.retain_mut(|lane| !lane.is_idle(now));
        core.taps.retain(TapWriter::is_read);
        core.spools.retain(SpoolWriter::is_read);
        core.phase == Phase::Ended
    }
}

impl std::fmt::Debug for Stream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Stream").field(&self.name).finish()
    }
}
