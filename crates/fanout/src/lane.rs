//! A lane: one wire format of one stream, and all its listeners and readers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use log::{Account, Bell, Shared, Writer};
use media::{Item, Span, TimedEvent};

use crate::format::{Format, LaneId, Protocol};
use crate::index::{Mark, SharedIndex, TitleChange};
use crate::keyframe::KeyframeWish;
use crate::packager::{LaneSink, Packager};
use crate::policy::{Class, JOIN_AGE_MAX, JOIN_PATIENCE, Policy};
use crate::readers_window::ReadersWindow;
use crate::task_bells::TaskBells;
use crate::worker::WorkerWaker;

/// Home of a lane that has none.
const HOMELESS: usize = usize::MAX;

/// The half of a lane that readers see.
#[derive(Debug)]
pub(crate) struct Lane {
    pub(crate) id: LaneId,
    pub(crate) format: Format,
    pub(crate) class: Class,
    pub(crate) policy: Policy,
    pub(crate) log: Arc<Shared>,
    /// Index of marked parts; `None` for a packager that marks none.
    pub(crate) index: Option<SharedIndex>,
    /// Bells, one per worker.
    pub(crate) bells: Box<[Bell]>,
    /// Wakers of the workers that own these bells.
    wakers: Arc<[WorkerWaker]>,
    /// Tasks that wait for the lane.
    pub(crate) readers: TaskBells,
    /// Window over which its packager may combine output.
    pub(crate) window: ReadersWindow,
    /// Number of its listeners that have yet to connect.
    waiting: AtomicUsize,
    /// Number of its readers that are not listeners.
    uncounted: AtomicUsize,
    /// Worker that serves it while its audience is small; [`HOMELESS`] before the first listener.
    home: AtomicUsize,
    /// Whether nothing more will be written.
    ended: AtomicBool,
    /// Keyframe wish, shared with the lane's stream.
    pub(crate) wish: Arc<KeyframeWish>,
}

impl Lane {
    pub(crate) fn ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    /// Returns the number of its readers, which keep it open: listeners, and readers that are not listeners.
    pub(crate) fn listeners(&self) -> usize {
        self.log.readers().count()
    }

    /// Returns the number of its listeners, including those that have yet to connect.
    pub(crate) fn audience(&self) -> usize {
        let uncounted = self.uncounted.load(Ordering::Relaxed);
        self.listeners().saturating_sub(uncounted)
    }

    /// Returns the number of readers, without listeners that have yet to connect.
    pub(crate) fn connected(&self) -> usize {
        let waiting = self.waiting.load(Ordering::Relaxed);
        self.listeners().saturating_sub(waiting)
    }

    /// Returns the worker that serves this lane while its audience is small.
    pub(crate) fn home(&self) -> Option<usize> {
        let home = self.home.load(Ordering::Relaxed);
        (home != HOMELESS).then_some(home)
    }

    /// Sets its home, for new listeners from now on.
    pub(crate) fn settle(&self, worker: usize) {
        self.home.store(worker, Ordering::Relaxed);
    }

    /// Returns the longest past at which a listener that has waited this long may start. If a keyframe can be
    /// requested, it is no longer than the listener might fall behind: a longer past would be delay for good.
    pub(crate) fn reach(&self, waited: Duration) -> Span {
        if self.wish.is_heeded() && waited < JOIN_PATIENCE {
            self.policy.skip_after
        } else {
            JOIN_AGE_MAX
                .max(self.policy.skip_after)
                .max(self.policy.burst_span_max())
        }
    }

    /// Wakes the workers and tasks that sleep for this lane.
    fn ring(&self) {
        for (bell, waker) in self.bells.iter().zip(self.wakers.iter()) {
            if let Some(lane_index) = bell.ring() {
                waker.call(lane_index);
            }
        }
        self.readers.ring();
    }
}

/// Counts one listener of a lane for as long as it lives; a lane that no guard holds closes.
#[derive(Debug)]
pub struct LaneGuard {
    lane: Arc<Lane>,
    /// Whether its listener has yet to connect.
    pub(crate) is_waiting: bool,
    /// Whether it belongs to a reader that is not a listener.
    is_uncounted: bool,
}

impl LaneGuard {
    pub(crate) fn new(lane: Arc<Lane>) -> Self {
        lane.log.readers().enter();
        Self {
            lane,
            is_waiting: false,
            is_uncounted: false,
        }
    }

    /// Turns this into the guard of a reader that keeps the lane open and is not a listener.
    pub(crate) fn uncounted(mut self) -> Self {
        if !std::mem::replace(&mut self.is_uncounted, true) {
            self.lane.uncounted.fetch_add(1, Ordering::Relaxed);
        }
        self
    }

    /// Turns this into the guard of a listener that has yet to connect.
    pub(crate) fn reserved(mut self) -> Self {
        if !std::mem::replace(&mut self.is_waiting, true) {
            self.lane.waiting.fetch_add(1, Ordering::Relaxed);
        }
        self
    }

    /// Records that its listener has connected.
    pub(crate) fn connected(&mut self) {
        if std::mem::take(&mut self.is_waiting) {
            self.lane.waiting.fetch_sub(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn lane(&self) -> &Arc<Lane> {
        &self.lane
    }

    /// Returns the lane's identifier.
    pub fn id(&self) -> LaneId {
        self.lane.id
    }

    /// Returns the lane's format.
    pub fn format(&self) -> Format {
        self.lane.format
    }
}

impl Clone for LaneGuard {
    fn clone(&self) -> Self {
        let mut copy = Self::new(Arc::clone(&self.lane));
        if self.is_waiting {
            copy = copy.reserved();
        }
        if self.is_uncounted {
            copy = copy.uncounted();
        }
        copy
    }
}

impl Drop for LaneGuard {
    fn drop(&mut self) {
        self.connected();
        if self.is_uncounted {
            self.lane.uncounted.fetch_sub(1, Ordering::Relaxed);
        }
        self.lane.log.readers().leave();
    }
}

/// The half of a lane that the stream owns: packager and writer.
pub(crate) struct LaneWriter {
    pub(crate) lane: Arc<Lane>,
    /// Result of [`Packager::takes_derived`].
    pub(crate) takes_derived: bool,
    packager: Box<dyn Packager>,
    writer: Writer,
    /// Parts that the packager has marked since the last commit.
    marks: Vec<Mark>,
    /// Arrival time of the newest item.
    arrived: Option<Instant>,
    /// Time from which it has had no listener.
    idle_since: Option<Instant>,
}

/// Time by which a lane outlives its last listener, so that a player that reconnects finds its burst and the packager's
/// state as they were.
const IDLE_MAX: Duration = Duration::from_secs(30);

impl LaneWriter {
    pub(crate) fn open(
        format: Format,
        class: Class,
        policy: Policy,
        packager: Box<dyn Packager>,
        wakers: Arc<[WorkerWaker]>,
        account: Account,
        wish: Arc<KeyframeWish>,
    ) -> Option<Self> {
        let burst_bytes = match format.protocol.counts_bytes() {
            true => policy.burst_bytes,
            false => 0,
        };
        let policy = Policy {
            burst_bytes,
            ..policy
        }
        .in_order();
        let limits = format.retention.limits(class, &policy);
        let writer = Writer::new(limits, account)?;
        let lane = Arc::new(Lane {
            id: LaneId::next(),
            format,
            class,
            policy,
            log: Arc::clone(writer.shared()),
            index: packager.segmentation().map(SharedIndex::new),
            bells: wakers.iter().map(|_| Bell::default()).collect(),
            wakers,
            readers: TaskBells::default(),
            window: ReadersWindow::default(),
            waiting: AtomicUsize::new(0),
            uncounted: AtomicUsize::new(0),
            home: AtomicUsize::new(HOMELESS),
            ended: AtomicBool::new(false),
            wish,
        });
        Some(Self {
            lane,
            takes_derived: packager.takes_derived(),
            packager,
            writer,
            marks: Vec::new(),
            arrived: None,
            idle_since: None,
        })
    }

    /// Returns the number of bytes that a lane needs in any case.
    pub(crate) fn floor(format: Format, class: Class, policy: &Policy) -> usize {
        format.retention.limits(class, policy).floor()
    }

    /// Sets the number of the stream's epoch.
    pub(crate) fn set_epoch(&mut self, epoch: u32) {
        self.writer.set_epoch(epoch);
    }

    /// Begins another epoch.
    pub(crate) fn begin_epoch(&mut self, epoch: u32, now: Instant) {
        // The packager's output at this point still belongs to the previous epoch.
        self.push(&Item::Epoch, now);
        self.writer.set_epoch(epoch);
    }

    /// Packages one item; listeners see it after [`publish`](Self::publish).
    pub(crate) fn push(&mut self, item: &Item, arrived: Instant) {
        self.arrived = Some(arrived);
        let window = self.lane.window.agreed();
        let mut sink = LaneSink::new(&mut self.writer, &mut self.marks, arrived, window);
        self.packager.push(item, &mut sink);
    }

    /// Records that the audio is encoded differently from here on. A listener that starts before this point would set
    /// up a decoder for the old audio, so none may; a lane with video begins at a keyframe anyway.
    pub(crate) fn change_audio(&mut self) {
        if self.lane.class == Class::Audio {
            self.writer.forget_joins();
        }
    }

    /// Pauses the packager: the publisher has left.
    pub(crate) fn pause(&mut self) {
        if let Some(arrived) = self.arrived {
            let window = self.lane.window.agreed();
            let mut sink = LaneSink::new(&mut self.writer, &mut self.marks, arrived, window);
            self.packager.pause(&mut sink);
            self.publish();
        }
    }

    /// Packages an event, and lists it.
    pub(crate) fn tell(&mut self, event: &Arc<TimedEvent>, arrived: Instant) {
        if let Some(index) = &self.lane.index {
            index.note(Arc::clone(event));
        }
        self.push(&Item::Event(Arc::clone(event)), arrived);
    }

    /// Lists a title. The packager receives it as an item.
    pub(crate) fn note_title(&self, change: &Arc<TitleChange>) {
        if let Some(index) = &self.lane.index {
            index.note_title(Arc::clone(change));
        }
    }

    /// Makes pushed items readable and wakes readers that wait for them.
    #[inline]
    pub(crate) fn publish(&mut self) {
        if self.writer.commit() {
            self.list_marks();
            self.lane.ring();
        }
    }

    /// Adds the marked parts to the index, now that they are readable.
    fn list_marks(&mut self) {
        match &self.lane.index {
            Some(index) => index.add(&mut self.marks, self.lane.log.start()),
            None => debug_assert!(self.marks.is_empty(), "see Packager::segmentation"),
        }
    }

    /// Whether memory for it ran out; it produces nothing more.
    pub(crate) fn has_failed(&self) -> bool {
        self.writer.has_failed()
    }

    /// Whether it had to drop the newest place at which a joiner could start.
    pub(crate) fn has_lost_join(&self) -> bool {
        self.lane.class == Class::Video && self.writer.has_lost_join()
    }

    /// Whether it has a listener that cannot request keyframes, as WebRTC receivers can.
    pub(crate) fn depends_on_joins(&self) -> bool {
        self.lane.format.protocol != Protocol::Webrtc && self.lane.listeners() > 0
    }

    /// Whether it has had no listener for long enough to be closed.
    pub(crate) fn is_idle(&mut self, now: Instant) -> bool {
        if self.lane.listeners() > 0 {
            self.idle_since = None;
            return false;
        }
        now.saturating_duration_since(*self.idle_since.get_or_insert(now)) >= IDLE_MAX
    }
}

base::debug!(LaneWriter { lane });

impl Drop for LaneWriter {
    fn drop(&mut self) {
        if let Some(arrived) = self.arrived {
            let window = self.lane.window.agreed();
            let mut sink = LaneSink::new(&mut self.writer, &mut self.marks, arrived, window);
            self.packager.end(&mut sink);
            self.writer.commit();
            self.list_marks();
        }
        self.lane.ended.store(true, Ordering::Release);
        self.lane.ring();
    }
}
