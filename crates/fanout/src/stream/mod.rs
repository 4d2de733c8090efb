//! A stream: one named live source, independent of its current publisher.
//!
//! A stream outlives its publishers. It keeps everything a lane needs in order to open in mid-stream (the tracks, the
//! headers, the recent past), the timeline that joins all epochs, and the writing ends of its lanes. All of that is
//! behind one lock, taken by its publisher for each batch of items, by the writer of a derived track for each sample,
//! and by callers that open a lane; never by a worker.

mod announced;
mod aside;
mod backlog;
mod clocks;
mod core;
mod derived;
mod emit;
mod incumbent;
mod info;
mod keyframes;
mod lanes;
mod meter;
mod missed;
mod news;
mod observed;
mod order;
mod outputs;
mod places;
mod publisher;
mod readers;
mod recent;
mod rendition;
mod replaced;
mod replay;
mod source;
mod spool;
mod tap;
mod timed;
mod timeline;
mod titles;

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Instant;

use base::Lock;
use log::Budget;
use media::{Sample, StreamName, Timestamp, Track};

pub(crate) use derived::DeriverCell;
pub use derived::{Derivation, DerivedWriter, Deriver};
pub(crate) use incumbent::Incumbent;
pub use info::{DerivedOffer, Info, Phase, Settings};
pub use keyframes::Keyframes;
pub use lanes::LaneRefused;
pub use meter::Rate;
pub use order::PictureOrder;
pub use publisher::{EpochOver, EpochWatch, Publisher};
pub(crate) use rendition::Rendition;
pub use rendition::{RENDITIONS_MAX, RenditionRefused};
pub use source::Source;
pub use spool::{Follows, Spool, Spooled};
pub use tap::{Tap, Tapped};
pub use titles::{PLAYED_MAX, Played};

use self::core::Core;
use self::news::News;
pub(crate) use self::places::Full;
use self::places::Places;
use crate::directory::{Departed, Permit};
use crate::events::{EndReason, Events};
use crate::gate::{Authorized, Play};
use crate::keyframe::KeyframeWish;
use crate::takeover::PublishRefused;
use crate::worker::WorkerWaker;

/// A named live source with all its readers; outlives its publishers.
pub struct Stream {
    name: StreamName,
    /// State behind the stream's lock. A packager may panic under it; the state stays valid.
    core: Lock<Core>,
    /// News, which signal changes of [`info`](Self::info).
    pub(crate) news: Arc<News>,
    wish: Arc<KeyframeWish>,
    commons: Commons,
    /// Number of bytes that the logs of all its lanes hold.
    log_bytes: Arc<AtomicUsize>,
    departed: Arc<Departed>,
    /// Number of listeners that have joined, counted only while there is a limit.
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
        publisher: &Incumbent,
        commons: Commons,
        now: Instant,
    ) -> Self {
        let incumbent = Incumbent {
            identity: None,
            ..publisher.clone()
        };
        let core = Core::new(&name, incumbent, &commons, now);
        Self {
            name,
            news: Arc::clone(&core.news),
            wish: Arc::clone(&core.wish),
            core: Lock::new(core),
            commons,
            log_bytes: Arc::default(),
            departed: Arc::default(),
            places: Arc::default(),
        }
    }

    /// Returns the name.
    pub fn name(&self) -> &StreamName {
        &self.name
    }

    pub(crate) fn phase(&self) -> Phase {
        self.core.lock().phase
    }

    /// Whether it has a publisher that counts: the publisher of a rendition is that of its parent.
    pub(crate) fn has_counted_publisher(&self) -> bool {
        let core = self.core.lock();
        core.phase == Phase::Live && !core.incumbent.is_rendition && core.incumbent.settings.counts
    }

    /// Whether the publisher of another stream writes it as a rendition.
    pub(crate) fn is_rendition(&self) -> bool {
        let core = self.core.lock();
        core.phase == Phase::Live && core.incumbent.is_rendition
    }

    /// Sets the beginning of its time. To be called before its first publisher begins.
    pub(crate) fn begin_at(&self, start: Timestamp) {
        self.core.lock().clocks.timeline.begin_at(start);
    }

    /// Returns the end of its media while it is live, if it is a quality of `programme`, or in `group`, and uses
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
        let is_beside = is_quality || group == core.incumbent.settings.group;
        let is_apart = source.peer.is_some() && !source.shares_connection(&core.incumbent.source);
        let is_live = core.phase == Phase::Live && core.observed.has_media;
        (is_live && is_apart && is_beside).then(|| core.clocks.timeline.end())
    }

    /// Returns the current public description.
    pub fn info(&self) -> Info {
        self.core.lock().info(&self.name)
    }

    /// Takes a place among its listeners, free again when the permit is dropped; `None` if there is no limit.
    pub(crate) fn place(&self) -> Result<Option<Permit>, Full> {
        let max = self.core.lock().incumbent.settings.listeners_max;
        max.map(|max| self.places.take(max)).transpose()
    }

    /// Returns the totals of its departed listeners.
    pub fn departed(&self) -> &Arc<Departed> {
        &self.departed
    }

    /// Returns the newest keyframe of the video, on the stream's timeline, and the track that describes it. Returns
    /// `None` without video, and when the newest keyframe is too old for a listener to start at.
    pub fn keyframe(&self, permission: &Authorized<Play>) -> Option<(Arc<Track>, Sample)> {
        debug_assert_eq!(permission.action().stream, self.name);
        self.core.lock().keyframe()
    }

    /// Requests a keyframe, if its publisher has an encoder that can be asked.
    pub fn request_keyframe(&self) {
        self.wish.set();
    }

    /// Checks whether a publisher's epoch could begin now.
    pub(crate) fn would_begin(
        &self,
        publisher: &Incumbent,
        now: Instant,
    ) -> Result<(), PublishRefused> {
        let mut core = self.core.lock();
        match core.phase {
            Phase::Live => core.permits(&self.name, publisher, now),
            Phase::Lingering | Phase::Ended => Ok(()),
        }
    }

    /// Ends the stream now: its listeners are closed and its publisher is notified.
    pub fn end(&self, reason: EndReason) {
        self.core.lock().end(reason);
    }

    /// Waits until it has no publisher; returns at once if it has none.
    pub async fn vacated(&self) {
        self.reaches(|phase| phase != Phase::Live).await;
    }

    /// Waits until it has ended.
    pub async fn over(&self) {
        self.reaches(|phase| phase == Phase::Ended).await;
    }

    async fn reaches(&self, fits: impl Fn(Phase) -> bool) {
        loop {
            let seen = self.news.seen();
            if fits(self.phase()) {
                return;
            }
            self.news.after(seen).await;
        }
    }

    pub(crate) fn is_over(&self, now: Instant) -> bool {
        let mut core = self.core.lock();
        if core.phase == Phase::Lingering {
            let linger = core.incumbent.settings.linger;
            if core.clocks.has_lingered(linger, now) {
                core.end(EndReason::Abandoned);
            }
        }
        core.outputs.close_unread(now);
        core.phase == Phase::Ended
    }
}

base::debug!(Stream { name });
