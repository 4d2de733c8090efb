//! All streams by name.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
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
use crate::task_bells::{TaskBells, WaitSlot};

/// See the module's description.
pub struct Registry {
    fanout: Arc<Fanout>,
    rules: Rules,
    publishers_max: usize,
    blocks: Blocks,
    takeovers: AtomicU64,
    /// Epochs begun by publishers of their own, of all streams.
    begun: AtomicU64,
    /// In the order of their names, so that a stream's renditions stand together.
    streams: Lock<BTreeMap<StreamName, Arc<Stream>>>,
    /// Rung when a publisher has begun.
    appeared: TaskBells,
    origins: Arc<Origins>,
    deriver: DeriverCell,
}

/// Finds the rules for a stream by its name.
pub type Rules = Box<dyn Fn(&StreamName) -> Settings + Send + Sync>;

/// No label of a rendition comes before it.
const FIRST_LABEL: &str = "-";

/// Upper bound on streams, lingering ones included: bounds what publishers can make us remember.
pub const STREAMS_MAX: usize = 100_000;

impl Registry {
    /// An empty registry whose streams are carried by `fanout` under `rules`, and its gatekeeper.
    /// `publishers_max` of 0 means no limit but [`STREAMS_MAX`].
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

    /// Publications so far, without those of renditions that came with others.
    pub fn publications(&self) -> u64 {
        self.begun.load(Ordering::Relaxed)
    }

    /// The workers that carry the streams.
    pub fn fanout(&self) -> &Arc<Fanout> {
        &self.fanout
    }

    /// Begins an epoch of a stream, creating the stream if need be.
    ///
    /// # Errors
    /// See [`PublishRefused`].
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
                    // Published apart, the qualities of a programme have at least the same time to within the
                    // delay of their first samples.
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
        if publisher.took_over() {
            self.takeovers.fetch_add(1, Ordering::Relaxed);
        }
        self.appeared.ring();
        Ok(publisher)
    }

    /// Has a stream that is here, while its publisher is set aside: it keeps its connection and is not heard. When what
    /// this returns is dropped, it goes on.
    ///
    /// # Errors
    /// There is no such stream, or its publisher is set aside already.
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

    /// Begins an epoch of a rendition of the stream that `parent` publishes: from here on the samples of its
    /// picture track `track` go there, with the stream's sound. The publisher's permission is the rendition's.
    ///
    /// # Errors
    /// See [`RenditionRefused`]. The parent goes on, and nothing may be written of that track.
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
            wakers: Arc::clone(self.fanout.wakers()),
            budget: Arc::clone(self.fanout.budget()),
            deriver: Arc::clone(&self.deriver),
            events: Arc::clone(self.fanout.events()),
        };
        Arc::new(Stream::new(name.clone(), publisher, commons, now))
    }

    /// Whether [`publish`](Self::publish) would begin an epoch now, for a publisher that has no media
    /// yet. It changes nothing, so it may be otherwise when the media comes.
    ///
    /// # Errors
    /// See [`PublishRefused`].
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

    /// Ends a stream, if there is one, with the renditions of its publisher, and blocks it for this long. A time of zero lifts a block. Returns
    /// whether there was anything to end or to lift.
    ///
    /// # Errors
    /// When there are too many blocks; the stream goes on then.
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
        // A stream that has ended is known until the next tick.
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

    /// The blocked streams, and for how much longer each is.
    pub fn blocks(&self, now: Instant) -> Vec<(StreamName, Duration)> {
        self.blocks.list(now)
    }

    /// Takeovers so far.
    pub fn takeovers(&self) -> u64 {
        self.takeovers.load(Ordering::Relaxed)
    }

    fn check_block(&self, name: &StreamName, now: Instant) -> Result<(), PublishRefused> {
        match self.blocks.remaining(name, now) {
            Some(time) => Err(PublishRefused::Blocked(time.as_secs().max(1))),
            None => Ok(()),
        }
    }

    /// Whether a publisher of the stream would be within the limit.
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

    /// A stream that is live or lingers.
    pub fn stream(&self, name: &StreamName) -> Option<Arc<Stream>> {
        self.streams.lock().get(name).cloned()
    }

    /// Waits until there is a stream of that name; at once when there is.
    pub async fn appearance(&self, name: &StreamName) -> Arc<Stream> {
        self.appears(name, |phase| phase != Phase::Ended).await
    }

    /// Waits until a stream of that name is live; at once when it is.
    pub async fn live(&self, name: &StreamName) -> Arc<Stream> {
        self.appears(name, |phase| phase == Phase::Live).await
    }

    /// The rules for a stream of that name.
    pub fn settings(&self, name: &StreamName) -> Settings {
        (self.rules)(name)
    }

    /// Waits until there is a stream of that name in a phase that fits.
    pub(crate) async fn appears(
        &self,
        name: &StreamName,
        fits: impl Fn(Phase) -> bool,
    ) -> Arc<Stream> {
        let place = WaitSlot::new(&self.appeared);
        std::future::poll_fn(|cx| {
            // From here on no ring is missed, so the look comes after.
            place.arm(cx.waker());
            let stream = self.stream(name);
            match stream.filter(|stream| fits(stream.phase())) {
                Some(stream) => Poll::Ready(stream),
                None => Poll::Pending,
            }
        })
        .await
    }

    /// Sets the origin of streams that are not here. The first one stays.
    pub fn set_origin(&self, origin: Arc<dyn Origin>) {
        if !self.origins.set(origin) {
            tracing::warn!("streams from elsewhere have an origin already");
        }
    }

    /// How a stream that may not be here is known by its name. Asks no other server and does not wait.
    pub fn expects(&self, name: &StreamName) -> Expected {
        self.origins.expects(name)
    }

    /// Tells the origin that a permitted listener wants a stream that is not here, and returns its answer.
    pub(crate) async fn locate(&self, name: &StreamName) -> Located {
        self.origins.locate(name).await
    }

    /// Sets the maker of derived tracks, for the tracks that are announced from here on. The first one stays.
    pub fn set_deriver(&self, deriver: Arc<dyn Deriver>) {
        if self.deriver.set(deriver).is_err() {
            tracing::warn!("derived tracks have a maker already");
        }
    }

    /// All streams, in the order of their names.
    pub fn list(&self) -> Vec<Arc<Stream>> {
        self.streams.lock().values().cloned().collect()
    }

    /// The renditions of a stream, whether that is here or not, in the order of their names: at most `max`.
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

    /// Ends streams that have lingered long enough and listeners whose permission is over, closes idle lanes,
    /// retries derived tracks there was no room for, and emits which listeners were degraded. To be called a few times
    /// a second.
    pub fn tick(&self, now: Instant) {
        self.fanout.emit_conditions();
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
