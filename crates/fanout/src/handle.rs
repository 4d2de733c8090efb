//! Handle of a listener that is served outside the workers.
//!
//! A [`ListenerHandle`] is a [`Guest`] that follows a lane. The thread that serves the listener reports to the handle,
//! and takes it into [books](Books) of its own; until then, and for as long as a task serves it, the tasks' books count
//! it. [`LogReader`](crate::LogReader) is built on it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::task::Waker;
use std::time::{Duration, Instant};

use base::Lock;
use media::Span;

use crate::Fanout;
use crate::books::Books;
use crate::checkup::Standing;
use crate::cursor::Reason;
use crate::gate::Revocation;
use crate::guest::Guest;
use crate::lane::LaneGuard;
use crate::listener::{ListenerId, ListenerReport};
use crate::stream::Stream;

/// A listener of a lane that another thread or a task serves; dropping it is the listener's departure.
#[derive(Debug)]
pub struct ListenerHandle {
    guest: Guest,
    guard: LaneGuard,
    /// Whether it has had no media yet.
    awaits_media: bool,
    is_degraded: bool,
    /// Degraded state last reported.
    is_reported_degraded: bool,
}

/// Shared state of a listener: its figures for reports, and the means to remove it.
#[derive(Debug, Default)]
pub(crate) struct Control {
    kicked: AtomicBool,
    /// Like `kicked`, for code that waits in a future.
    pub(crate) removal: Revocation,
    /// Whether it has yet to connect.
    waiting: AtomicBool,
    waker: Lock<Option<Waker>>,
    pub(crate) sent_bytes: AtomicU64,
    pub(crate) skips: AtomicU64,
    /// Lag in ticks; [`LAG_UNKNOWN`] when it is further behind than the log reaches back.
    lag_ticks: AtomicI64,
    /// Position of a reader on a task.
    pub(crate) standing: Option<Standing>,
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

    pub(crate) fn set_lag(&self, lag: Option<Span>) {
        let ticks = lag.map_or(LAG_UNKNOWN, Span::ticks);
        self.lag_ticks.store(ticks, Ordering::Relaxed);
    }

    pub(crate) fn is_kicked(&self) -> bool {
        self.kicked.load(Ordering::Acquire)
    }

    pub(crate) fn kick(&self) {
        self.kicked.store(true, Ordering::Release);
        self.removal.revoke();
        let mut waker = self.waker.lock();
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
    pub(crate) fn new(guest: Guest, guard: LaneGuard) -> Self {
        Self {
            guest,
            guard,
            awaits_media: true,
            is_degraded: false,
            is_reported_degraded: false,
        }
    }

    /// Returns the listener's identifier.
    pub fn id(&self) -> ListenerId {
        self.guest.id()
    }

    /// Moves the listener to `books`, whose thread serves it from here on.
    pub fn serve_in(&mut self, books: &Arc<Books>) {
        let degraded = u64::from(self.is_degraded);
        let before = self.guest.serve_in(books);
        self.books().degraded.add(degraded);
        before.degraded.sub(degraded);
    }

    /// Records that the listener of a [reserved](Stream::reserve_lane) lane has connected. From here on, or as soon as
    /// there is room, the derived track that it needs of `stream` is produced.
    pub fn connected(&mut self, stream: &Arc<Stream>) {
        self.guard.connected();
        self.guest.control.waiting.store(false, Ordering::Relaxed);
        stream.want_derived();
    }

    /// Returns the lane it listens to.
    pub fn lane(&self) -> &LaneGuard {
        &self.guard
    }

    pub(crate) fn fanout(&self) -> &Fanout {
        &self.guest.fanout
    }

    /// Whether an operator removed it; the thread or task that serves it must then drop it.
    pub fn is_kicked(&self) -> bool {
        self.guest.control.is_kicked()
    }

    /// Calls `waker` when the listener is removed. The caller must look once more afterwards.
    pub fn wake_if_kicked(&self, waker: &Waker) {
        let mut place = self.guest.control.waker.lock();
        match &mut *place {
            Some(present) => present.clone_from(waker),
            none => *none = Some(waker.clone()),
        }
    }

    /// Whether it has had no media yet.
    pub fn awaits_media(&self) -> bool {
        self.awaits_media
    }

    /// Returns the time it has waited for its first media.
    pub(crate) fn waited(&self, now: Instant) -> Duration {
        match self.awaits_media {
            true => self.guest.waited(now),
            false => Duration::ZERO,
        }
    }

    /// Records that its first media is being sent. Only the first call has an effect.
    pub fn began(&mut self, now: Instant) {
        if std::mem::take(&mut self.awaits_media) {
            let took = self.guest.waited(now);
            self.books().join_seconds[self.guest.protocol as usize].observe_duration(took, 1);
        }
    }

    /// Counts bytes sent to it, and the number of send calls. A thread that serves many may add up for a while first,
    /// so that its visits touch less memory.
    pub fn sent(&self, bytes: u64, sends: u64) {
        self.guest.sent(bytes, sends);
    }

    /// Records a move to a newer join point.
    pub fn skipped(&self) {
        self.guest.control.skips.fetch_add(1, Ordering::Relaxed);
        self.books().skips.add(1);
    }

    /// Sets whether it was moved forward within [`DEGRADED_FOR`](crate::books::DEGRADED_FOR). Not for listeners that a
    /// task serves, which the check-up counts anew each second.
    pub fn set_degraded(&mut self, is_degraded: bool) {
        self.count_degraded(is_degraded);
        let sender = &self.guest.fanout.conditions.sender;
        if is_degraded != self.is_reported_degraded && sender.tell(self.id(), is_degraded) {
            self.is_reported_degraded = is_degraded;
        }
    }

    fn count_degraded(&mut self, is_degraded: bool) {
        let before = std::mem::replace(&mut self.is_degraded, is_degraded);
        match (before, is_degraded) {
            (false, true) => self.books().degraded.add(1),
            (true, false) => self.books().degraded.sub(1),
            _ => {}
        }
    }

    /// Sets its lag; `None` when it is further behind than the log reaches back.
    pub fn lags(&self, lag: Option<Span>) {
        self.guest.control.set_lag(lag);
    }

    /// Requests a keyframe, without which the listener cannot continue, from a publisher that can ask its encoder for
    /// one.
    pub fn request_keyframe(&self) {
        self.guard.lane().wish.set();
    }

    /// Returns the reason for its end, as far as recorded.
    pub fn reason(&self) -> Reason {
        self.guest.reason()
    }

    /// Records the reason for its end, for the access log; without this call, it counts as removed or as having left.
    pub fn ends_by(&mut self, reason: Reason) {
        self.guest.ends_by(reason);
    }

    pub(crate) fn books(&self) -> &Books {
        &self.guest.books
    }

    /// Returns the position of the reader that has this handle.
    pub(crate) fn standing(&self) -> Option<&Standing> {
        self.guest.control.standing.as_ref()
    }
}

impl Drop for ListenerHandle {
    fn drop(&mut self) {
        self.count_degraded(false);
    }
}
