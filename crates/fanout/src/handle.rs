//! A listener that is served outside the workers, as the core knows it.
//!
//! As long as a [`ListenerHandle`] lives, its listener is counted, listed, reported and removable; it ends in a
//! [`Departure`]. The thread that serves the listener reports to the handle, and takes it into [books](Books)
//! of its own; until then, and for as long as a task serves it, it is in those of tasks.
//! [`LogReader`](crate::LogReader) is built on it.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Waker;
use std::time::{Duration, Instant};

use media::Span;

use crate::books::Books;
use crate::checkup::Standing;
use crate::cursor::Reason;
use crate::lane::{LaneGuard, Protocol};
use crate::stream::Stream;
use crate::worker::{Departure, ListenerReport};
use crate::{Fanout, ListenerId};

/// A listener of a lane, as the core knows it. See the module's description.
#[derive(Debug)]
pub struct ListenerHandle {
    id: ListenerId,
    /// As what it counts.
    protocol: Protocol,
    fanout: Arc<Fanout>,
    /// The books it is in.
    books: Arc<Books>,
    guard: LaneGuard,
    control: Arc<Control>,
    /// When the listener asked; cleared with its first media.
    requested: Option<Instant>,
    is_degraded: bool,
    /// Whether it was degraded at the last report.
    is_told_degraded: bool,
    reason: Reason,
}

/// What others know of a listener, and how they end it.
#[derive(Debug, Default)]
pub(crate) struct Control {
    kicked: AtomicBool,
    /// It has yet to connect.
    waiting: AtomicBool,
    waker: Mutex<Option<Waker>>,
    sent_bytes: AtomicU64,
    skips: AtomicU64,
    /// [`LAG_UNKNOWN`] when it is further behind than the log reaches back.
    lag_ticks: AtomicI64,
    /// Of a reader on a task.
    standing: Option<Standing>,
}

const LAG_UNKNOWN: i64 = i64::MAX;

impl Control {
    pub(crate) fn new(is_waiting: bool, standing: Option<Standing>) -> Self {
        Self {
            waiting: is_waiting.into(),
            standing,
            ..Self::default()
        }
    }

    pub(crate) fn standing(&self) -> Option<&Standing> {
        self.standing.as_ref()
    }

    pub(crate) fn set_lag(&self, lag: Option<Span>) {
        let ticks = lag.map_or(LAG_UNKNOWN, Span::ticks);
        self.lag_ticks.store(ticks, Ordering::Relaxed);
    }

    pub(crate) fn kick(&self) {
        self.kicked.store(true, Ordering::Release);
        let mut waker = self.waker.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(waker) = waker.take() {
            waker.wake();
        }
    }

    pub(crate) fn report(&self, id: ListenerId) -> ListenerReport {
        let ticks = self.lag_ticks.load(Ordering::Relaxed);
        ListenerReport {
            id,
            is_waiting: self.waiting.load(Ordering::Relaxed),
            sent_bytes: self.sent_bytes.load(Ordering::Relaxed),
            skips: self.skips.load(Ordering::Relaxed) as u32,
            lag: (ticks != LAG_UNKNOWN).then(|| Span::from_ticks(ticks)),
        }
    }
}

impl ListenerHandle {
    pub(crate) fn new(
        (id, protocol): (ListenerId, Protocol),
        fanout: Arc<Fanout>,
        guard: LaneGuard,
        control: Arc<Control>,
        requested: Instant,
    ) -> Self {
        let handle = Self {
            id,
            protocol,
            books: Arc::clone(fanout.task_books()),
            fanout,
            guard,
            control,
            requested: Some(requested),
            is_degraded: false,
            is_told_degraded: false,
            reason: Reason::Left,
        };
        handle.books.listeners[handle.protocol()].add(1);
        handle
    }

    /// Which listener this is.
    pub fn id(&self) -> ListenerId {
        self.id
    }

    /// The thread that keeps `books` serves it from here on, and it is in those.
    pub fn serve_in(&mut self, books: &Arc<Books>) {
        let (protocol, degraded) = (self.protocol(), u64::from(self.is_degraded));
        let before = std::mem::replace(&mut self.books, Arc::clone(books));
        self.books.listeners[protocol].add(1);
        self.books.degraded.add(degraded);
        before.listeners[protocol].sub(1);
        before.degraded.sub(degraded);
    }

    /// The listener of a [reserved](Stream::reserve_lane) lane has connected: from here on, or as soon as there
    /// is room, what it needs of its `stream` beside the publisher's tracks is made.
    pub fn connected(&mut self, stream: &Arc<Stream>) {
        self.guard.connected();
        self.control.waiting.store(false, Ordering::Relaxed);
        stream.want_derived();
    }

    /// The lane it listens to.
    pub fn lane(&self) -> &LaneGuard {
        &self.guard
    }

    pub(crate) fn fanout(&self) -> &Fanout {
        &self.fanout
    }

    /// Whether an operator removed it; the thread or task that serves it is to let it go.
    pub fn is_kicked(&self) -> bool {
        self.control.kicked.load(Ordering::Acquire)
    }

    /// Calls `waker` when the listener is removed. The caller must look once more afterwards.
    pub fn wake_if_kicked(&self, waker: &Waker) {
        let control = &self.control;
        let mut place = control.waker.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *place {
            Some(present) => present.clone_from(waker),
            none => *none = Some(waker.clone()),
        }
    }

    /// Whether it has had no media yet.
    pub fn awaits_media(&self) -> bool {
        self.requested.is_some()
    }

    /// How long it has waited for its first media.
    pub(crate) fn waited(&self, now: Instant) -> Duration {
        self.requested.map_or(Duration::ZERO, |requested| {
            now.saturating_duration_since(requested)
        })
    }

    /// Records that its first media is being sent; true the first time.
    pub fn began(&mut self, now: Instant) {
        if let Some(requested) = self.requested.take() {
            let took = now.saturating_duration_since(requested);
            self.books.join_seconds[self.protocol()].observe_duration(took, 1);
        }
    }

    /// Counts bytes sent to it, and in how many calls. A thread that serves many may add up for a while first,
    /// so that its visits touch less memory.
    pub fn sent(&self, bytes: u64, sends: u64) {
        self.books.sends.add(sends);
        self.books.egress_bytes[self.protocol()].add(bytes);
        self.control.sent_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// It was moved to a newer join point.
    pub fn skipped(&self) {
        self.control.skips.fetch_add(1, Ordering::Relaxed);
        self.books.skips.add(1);
    }

    /// Whether it was moved forward within [`DEGRADED_FOR`](crate::books::DEGRADED_FOR). Not for listeners that
    /// a task serves, which the check-up counts anew each second.
    pub fn set_degraded(&mut self, is_degraded: bool) {
        self.count_degraded(is_degraded);
        let conditions = self.fanout.conditions().sender();
        if is_degraded != self.is_told_degraded && conditions.tell(self.id, is_degraded) {
            self.is_told_degraded = is_degraded;
        }
    }

    fn count_degraded(&mut self, is_degraded: bool) {
        let before = std::mem::replace(&mut self.is_degraded, is_degraded);
        match (before, is_degraded) {
            (false, true) => self.books.degraded.add(1),
            (true, false) => self.books.degraded.sub(1),
            _ => {}
        }
    }

    /// How far behind it is now; `None` when it is further behind than the log reaches back.
    pub fn lags(&self, lag: Option<Span>) {
        self.control.set_lag(lag);
    }

    /// It cannot go on without a keyframe: tells the publisher, if that can ask its encoder for one.
    pub fn request_keyframe(&self) {
        self.guard.lane().wish.set();
    }

    /// Why it ended, as far as that was recorded.
    pub fn reason(&self) -> Reason {
        self.reason
    }

    /// Records why it ends, for the access log; without it the listener left.
    pub fn ends_by(&mut self, reason: Reason) {
        self.reason = reason;
    }

    pub(crate) fn books(&self) -> &Books {
        &self.books
    }

    /// The position of the reader that has this handle.
    pub(crate) fn standing(&self) -> Option<&Standing> {
        self.control.standing()
    }

    fn protocol(&self) -> usize {
        self.protocol as usize
    }
}

impl Drop for ListenerHandle {
    fn drop(&mut self) {
        self.count_degraded(false);
        self.books.listeners[self.protocol()].sub(1);
        self.books.departures[self.reason as usize].add(1);
        self.fanout.reader_left(Departure {
            id: self.id,
            reason: self.reason,
            sent_bytes: self.control.sent_bytes.load(Ordering::Relaxed),
            skips: self.control.skips.load(Ordering::Relaxed) as u32,
        });
    }
}
