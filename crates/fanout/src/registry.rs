//! Registry of all streams by name.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use base::Lock;
use media::{StreamName, TrackId};

use crate::Fanout;
use crate::blocks::{Blocks, TooManyBlocks};
use crate::events::EndReason;
use crate::gate::{Authorized, Gatekeeper, Publish};
use crate::origin::{Expected, Located, Origin, Origins};
use crate::stream::{
    Commons, Deriver, DeriverCell, Incumbent, Phase, Publisher, Rendition, RenditionRefused,
    Settings, Source, Stream,
};
use crate::takeover::PublishRefused;
use crate::task_bells::TaskBells;

/// All streams by name; publishers begin them and listeners find them here. Call [`tick`](Self::tick) a few times a
/// second.
pub struct Registry {
    fanout: Arc<Fanout>,
    rules: Rules,
    publishers_max: usize,
    blocks: Blocks,
    takeovers: AtomicU64,
    /// Epochs of all streams begun by publishers; renditions are not counted.
    begun: AtomicU64,
    /// Sorted by name, so that a stream's renditions stand together.
    streams: Lock<BTreeMap<StreamName, Arc<Stream>>>,
    /// Bells rung when a publisher has begun.
    appeared: TaskBells,
    origins: Arc<Origins>,
    deriver: DeriverCell,
}

/// Function from a stream's name to its rules.
pub type Rules = Box<dyn Fn(&StreamName) -> Settings + Send + Sync>;

/// Lower bound on the labels of renditions in string order.
const FIRST_LABEL: &str = "-";

/// Upper bound on streams, including lingering ones; bounds the memory that publishers can make the server use.
pub const STREAMS_MAX: usize = 100_000;

impl Registry {
    /// Creates an empty registry and its gatekeeper. `fanout` carries the streams under `rules`. A `publishers_max` of
    /// 0 means no limit but [`STREAMS_MAX`].
    pub fn new(fanout: Arc<Fanout>, publishers_max: usize, rules: Rules) -> (Self, Gatekeeper) {
        let publishers_max = if publishers_max == 0 {
            STREAMS_MAX
        } else {
            publishers_max
        };
        let registry = Self {
            fanout,
            rules,
            publishers_max,
            blocks: Blocks::default(),
            takeovers: AtomicU64::new(0),
            begun: AtomicU64::new(0),
            streams: Lock::default(),
            appeared: TaskBells::default(),
            origins: Arc::default(),
            deriver: DeriverCell::default(),
        };
        (registry, Gatekeeper::new())
    }

    /// Returns the number of publications so far, without renditions that came with others.
    pub fn publications(&self) -> u64 {
        self.begun.load(Ordering::Relaxed)
    }

    /// Returns the workers that carry the streams.
    pub fn fanout(&self) -> &Arc<Fanout> {
        &self.fanout
    }

    /// Begins an epoch of a stream, creating the stream if need be.
    ///
    /// # Errors
    /// Returns the reason as [`PublishRefused`].
    pub fn publish(
        &self,
        permission: &Authorized<Publish>,
        source: Source,
        now: Instant,
    ) -> Result<Publisher, PublishRefused> {
        let Publish {
            stream: name,
            credential,
        } = permission.action();
        self.check_block(name, now)?;
        let settings = (self.rules)(name);
        let identity = permission.identity().cloned();
        let publisher = Incumbent::new(*credential, identity, source, settings, now);
        let stream = {
            let mut streams = self.streams.lock();
            streams.retain(|_, stream| !stream.is_over(now));
            self.has_room(&streams, name, &settings)?;
            match streams.get(name) {
                Some(stream) => Arc::clone(stream),
                None => {
                    let stream = self.create(name, &publisher, now);
                    // If the qualities of a programme are published separately, their times agree to within the delay
                    // of their first samples.
                    let parent = name.parent();
                    let programme = parent.as_ref().unwrap_or(name);
                    let others = streams.values();
                    let ends = others.filter_map(|other| {
                        other.end_beside(programme, settings.group, &publisher.source)
                    });
                    if let Some(end) = ends.max() {
                        stream.begin_at(end);
                    }
                    streams.insert(name.clone(), Arc::clone(&stream));
                    stream
                }
            }
        };
        let publisher = Publisher::begin(stream, publisher, now)?;
        self.begun.fetch_add(1, Ordering::Relaxed);
        if publisher.takes_over {
            self.takeovers.fetch_add(1, Ordering::Relaxed);
        }
        self.appeared.ring();
        Ok(publisher)
    }

    /// Temporarily takes over a live stream. The displaced publisher keeps its connection, but its media is ignored; it
    /// resumes when the returned guard is dropped.
    ///
    /// # Errors
    /// Fails if there is no such stream, or if its publisher is displaced already.
    pub fn divert(
        &self,
        permission: &Authorized<Publish>,
        source: Source,
        now: Instant,
    ) -> Result<Publisher, PublishRefused> {
        let Publish { stream, credential } = permission.action();
        let settings = (self.rules)(stream);
        let stream = self.stream(stream).ok_or(PublishRefused::Ended)?;
        let publisher = Incumbent::new(*credential, None, source, settings, now);
        let publisher = Publisher::divert(stream, publisher, now)?;
        self.appeared.ring();
        Ok(publisher)
    }

    /// Begins an epoch of a rendition of the stream that `parent` publishes: from here on the samples of its video
    /// track `track` go to the rendition, with the stream's audio. The publisher's permission covers the rendition.
    ///
    /// # Errors
    /// Returns the reason as [`RenditionRefused`]. The parent continues, and must not write that track.
    pub fn publish_rendition(
        &self,
        parent: &mut Publisher,
        track: TrackId,
        label: &str,
        now: Instant,
    ) -> Result<(), RenditionRefused> {
        let inherited = parent.parent()?;
        let name = parent.name().rendition(label);
        let name = name.ok_or(RenditionRefused::Name)?;
        self.check_block(&name, now)?;
        let mut streams = self.streams.lock();
        streams.retain(|_, stream| !stream.is_over(now));
        let present = streams.get(&name).map(Arc::clone);
        let rendition = match present.map(|it| Rendition::begin(it, track, inherited.clone(), now))
        {
            Some(Err(PublishRefused::Ended)) | None => {
                if streams.len() >= STREAMS_MAX {
                    return Err(PublishRefused::TooMany.into());
                }
                let stream = self.create(&name, &inherited.publisher, now);
                streams.insert(name, Arc::clone(&stream));
                Rendition::begin(stream, track, inherited, now)?
            }
            Some(begun) => begun?,
        };
        drop(streams);
        parent.add_rendition(rendition);
        self.appeared.ring();
        Ok(())
    }

    fn create(&self, name: &StreamName, publisher: &Incumbent, now: Instant) -> Arc<Stream> {
        let commons = Commons {
            wakers: Arc::clone(&self.fanout.wakers),
            budget: Arc::clone(&self.fanout.budget),
            deriver: Arc::clone(&self.deriver),
            events: Arc::clone(self.fanout.events()),
        };
        Arc::new(Stream::new(name.clone(), publisher, commons, now))
    }

    /// Checks whether [`publish`](Self::publish) would begin an epoch now, for a publisher that has no media yet. It
    /// changes nothing, so the result may differ when the media arrives.
    ///
    /// # Errors
    /// Returns the reason as [`PublishRefused`].
    pub fn would_publish(
        &self,
        permission: &Authorized<Publish>,
        source: &Source,
        now: Instant,
    ) -> Result<(), PublishRefused> {
        let Publish { stream, credential } = permission.action();
        self.check_block(stream, now)?;
        let settings = (self.rules)(stream);
        let streams = self.streams.lock();
        self.has_room(&streams, stream, &settings)?;
        match streams.get(stream) {
            Some(present) => {
                let source = source.clone();
                let publisher = Incumbent::new(*credential, None, source, settings, now);
                present.would_begin(&publisher, now)
            }
            None => Ok(()),
        }
    }

    /// Ends a stream, if there is one, with the renditions of its publisher, and blocks it for the time `block`. A time
    /// of zero lifts a block. Returns whether there was anything to end or lift, or a block was set.
    ///
    /// # Errors
    /// Returns [`TooManyBlocks`]; the stream then continues.
    pub fn end(
        &self,
        name: &StreamName,
        block: Option<Duration>,
        now: Instant,
    ) -> Result<bool, TooManyBlocks> {
        let is_known = match block {
            None => false,
            Some(Duration::ZERO) => self.blocks.lift(name, now),
            Some(time) => {
                self.blocks.set(name, time, now)?;
                true
            }
        };
        // A stream that has ended stays listed until the next tick.
        let is_there = |stream: &Arc<Stream>| stream.phase() != Phase::Ended;
        let stream = self.stream(name).filter(is_there);
        if let Some(stream) = &stream {
            let is_part = |one: &Arc<Stream>| {
                one.is_rendition() && one.name().parent().as_ref() == Some(name)
            };
            let renditions = self.list().into_iter().filter(is_part);
            for ended in renditions.chain([Arc::clone(stream)]) {
                ended.end(EndReason::Operator);
            }
        }
        Ok(is_known || stream.is_some())
    }

    /// Returns the blocked streams, each with its remaining time.
    pub fn blocks(&self, now: Instant) -> Vec<(StreamName, Duration)> {
        self.blocks.list(now)
    }

    /// Returns the number of takeovers so far.
    pub fn takeovers(&self) -> u64 {
        self.takeovers.load(Ordering::Relaxed)
    }

    fn check_block(&self, name: &StreamName, now: Instant) -> Result<(), PublishRefused> {
        match self.blocks.remaining(name, now) {
            Some(time) => Err(PublishRefused::Blocked(time.as_secs().max(1))),
            None => Ok(()),
        }
    }

    /// Checks that a publisher of the stream would be within the limits.
    fn has_room(
        &self,
        streams: &BTreeMap<StreamName, Arc<Stream>>,
        name: &StreamName,
        settings: &Settings,
    ) -> Result<(), PublishRefused> {
        // A publisher's renditions count as one with their parent.
        let is_live = |stream: &Arc<Stream>| stream.has_counted_publisher();
        let present = streams.get(name);
        let takes_over = present.is_some_and(is_live);
        let live = streams.values().filter(|stream| is_live(stream)).count();
        let is_known = present.is_some();
        let is_one_more = settings.counts && !takes_over;
        if is_one_more && live >= self.publishers_max || !is_known && streams.len() >= STREAMS_MAX {
            return Err(PublishRefused::TooMany);
        }
        Ok(())
    }

    /// Returns a stream that is live or lingers.
    pub fn stream(&self, name: &StreamName) -> Option<Arc<Stream>> {
        self.streams.lock().get(name).cloned()
    }

    /// Waits for a stream of that name; returns at once if there is one.
    pub async fn appearance(&self, name: &StreamName) -> Arc<Stream> {
        self.appears(name, |phase| phase != Phase::Ended).await
    }

    /// Waits until a stream of that name is live; returns at once if it is.
    pub async fn live(&self, name: &StreamName) -> Arc<Stream> {
        self.appears(name, |phase| phase == Phase::Live).await
    }

    /// Returns the rules for a stream of that name.
    pub fn settings(&self, name: &StreamName) -> Settings {
        (self.rules)(name)
    }

    /// Waits until there is a stream of that name in a phase that fits.
    pub(crate) async fn appears(
        &self,
        name: &StreamName,
        fits: impl Fn(Phase) -> bool,
    ) -> Arc<Stream> {
        let fitting = || self.stream(name).filter(|stream| fits(stream.phase()));
        self.appeared.wait_for(fitting).await
    }

    /// Sets the origin of streams that are not here. Only the first call has an effect.
    pub fn set_origin(&self, origin: Arc<dyn Origin>) {
        if !self.origins.set(origin) {
            tracing::warn!("streams from elsewhere have an origin already");
        }
    }

    /// Returns how routing should treat the name of a stream that may not be here. It contacts no other server and does
    /// not wait.
    pub fn expects(&self, name: &StreamName) -> Expected {
        self.origins.expects(name)
    }

    /// Notifies the origin that a permitted listener wants a stream that is not here, and returns its answer.
    pub(crate) async fn locate(&self, name: &StreamName) -> Located {
        self.origins.locate(name).await
    }

    /// Sets the maker of derived tracks, for tracks announced from here on. Only the first call has an effect.
    pub fn set_deriver(&self, deriver: Arc<dyn Deriver>) {
        if self.deriver.set(deriver).is_err() {
            tracing::warn!("derived tracks have a maker already");
        }
    }

    /// Returns all streams, sorted by name.
    pub fn list(&self) -> Vec<Arc<Stream>> {
        self.streams.lock().values().cloned().collect()
    }

    /// Returns at most `max` renditions of a stream, sorted by name, whether the stream itself is here or not.
    pub fn renditions(&self, name: &StreamName, max: usize) -> Vec<Arc<Stream>> {
        let Some(first) = name.rendition(FIRST_LABEL) else {
            return Vec::new();
        };
        let streams = self.streams.lock();
        let from = streams.range(first..);
        let beginning = from.take_while(|(other, _)| other.as_str().starts_with(name.as_str()));
        let own = beginning.filter(|(other, _)| other.parent().as_ref() == Some(name));
        own.map(|(_, stream)| Arc::clone(stream))
            .take(max)
            .collect()
    }

    /// Ends streams that have lingered long enough and listeners whose permission has expired, closes idle lanes,
    /// retries derived tracks that had no room, and emits events about degraded listeners. Call it a few times a
    /// second.
    pub fn tick(&self, now: Instant) {
        self.fanout.conditions.emit(self.fanout.directory());
        self.fanout.end_permissions(now);
        self.streams.lock().retain(|_, stream| !stream.is_over(now));
        for stream in self.list() {
            stream.retry_derived();
        }
        self.fanout.check_up(now);
    }

    /// Ends every stream.
    pub fn end_all(&self) {
        for stream in std::mem::take(&mut *self.streams.lock()).into_values() {
            stream.end(EndReason::Shutdown);
        }
    }
}

base::debug!(Registry as it { streams: it.streams.lock().len() });
