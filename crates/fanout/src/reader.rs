//! The asynchronous way to follow a lane: for TLS, recording, pushing to others: whatever is not a
//! plain TCP socket.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use bytes::Bytes;
use media::{Span, Timestamp};

use crate::cursor::{Reason, Start, Verdict, judge, lag, start};
use crate::lane::LaneGuard;
use crate::log::View;
use crate::stats::Counter;
use crate::worker::{Departure, ListenerReport};
use crate::{Fanout, ListenerId};

/// Bytes handed out at once: one TLS record batch, and the most that a stalled reader pins beside
/// the page it lies in.
const CHUNK_BYTES_MAX: usize = 64 * 1024;

/// CPU time of one message to one reader: waking its task, sealing a record, the send.
const MESSAGE_COST: Duration = Duration::from_micros(15);

/// Follows one lane from a join point on, under the same rules as the workers' listeners.
#[derive(Debug)]
pub struct LogReader {
    id: ListenerId,
    fanout: Arc<Fanout>,
    guard: LaneGuard,
    view: View,
    /// This reader's place among those that wait for the lane.
    slot: usize,
    /// `None` until there is a join point.
    offset: Option<u64>,
    control: Arc<Control>,
    /// What the listener has had before it began to follow.
    after: Option<Timestamp>,
    requested: Option<Instant>,
    reason: Reason,
}

/// What others know of a reader, and how they end it.
#[derive(Debug, Default)]
pub(crate) struct Control {
    kicked: AtomicBool,
    waker: Mutex<Option<Waker>>,
    sent_bytes: AtomicU64,
    skips: AtomicU64,
    lag_ticks: AtomicU64,
}

impl Control {
    pub(crate) fn kick(&self) {
        self.kicked.store(true, Ordering::Release);
        if let Some(waker) = self
            .waker
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
        {
            waker.wake();
        }
    }

    pub(crate) fn report(&self, id: ListenerId) -> ListenerReport {
        ListenerReport {
            id,
            sent_bytes: self.sent_bytes.load(Ordering::Relaxed),
            skips: self.skips.load(Ordering::Relaxed) as u32,
            lag: Some(Span::from_ticks(
                self.lag_ticks.load(Ordering::Relaxed) as i64
            )),
        }
    }
}

impl LogReader {
    pub(crate) fn new(
        id: ListenerId,
        fanout: Arc<Fanout>,
        guard: LaneGuard,
        control: Arc<Control>,
        requested: Instant,
    ) -> Self {
        let view = View::new(Arc::clone(&guard.lane().log));
        let slot = guard.lane().readers().enter();
        let stats = fanout.reader_stats();
        stats.listeners[guard.lane().format.protocol as usize].add(1);
        Self {
            id,
            fanout,
            guard,
            view,
            slot,
            offset: None,
            control,
            after: None,
            requested: Some(requested),
            reason: Reason::Left,
        }
    }

    /// Which listener this is.
    pub fn id(&self) -> ListenerId {
        self.id
    }

    /// The next bytes; `None` when the stream is over or this reader was given up.
    pub async fn next(&mut self) -> Option<Bytes> {
        std::future::poll_fn(|cx| self.poll_next(cx)).await
    }

    /// What [`next`](Self::next) gives without waiting; `None` when it would wait.
    pub async fn at_hand(&mut self) -> Option<Option<Bytes>> {
        std::future::poll_fn(|cx| match self.poll_next(cx) {
            Poll::Ready(next) => Poll::Ready(Some(next)),
            Poll::Pending => Poll::Ready(None),
        })
        .await
    }

    /// See [`next`](Self::next).
    pub fn poll_next(&mut self, cx: &Context<'_>) -> Poll<Option<Bytes>> {
        loop {
            self.view.refresh();
            if self.control.kicked.load(Ordering::Acquire) {
                return self.finish(Reason::Kicked);
            }
            match self.step() {
                Step::Give(bytes) => return Poll::Ready(Some(self.give(bytes))),
                Step::Finish(reason) => return self.finish(reason),
                Step::Again => continue,
                Step::Wait => {}
            }
            let lane = self.guard.lane();
            if lane.ended() && !self.view.is_stale() {
                return self.finish(Reason::Ended);
            }
            let mut waker = self
                .control
                .waker
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            *waker = Some(cx.waker().clone());
            drop(waker);
            lane.readers().arm(self.slot, cx.waker());
            let kicked = self.control.kicked.load(Ordering::Acquire);
            if !(self.view.is_stale() || lane.ended() || kicked) {
                return Poll::Pending;
            }
        }
    }

    /// Starts later than `after`, because the listener has had everything up to there. To be said
    /// before anything is read.
    pub fn start_after(&mut self, after: Option<Timestamp>) {
        self.after = after;
    }

    /// The time up to which it has given media; `None` before there was any.
    pub fn reached(&self) -> Option<Timestamp> {
        self.view.time_before(self.offset?)
    }

    /// Why it ended, once [`next`](Self::next) gave nothing.
    pub fn reason(&self) -> Reason {
        self.reason
    }

    /// How long to gather bytes between two looks: the workers' law, so that a large audience does
    /// not cost one small message per sample and listener. The cost of a turn grows with the number
    /// of readers.
    pub fn window(&self) -> Duration {
        let listeners = &self.fanout.reader_stats().listeners;
        let listeners: u64 = listeners.iter().map(Counter::value).sum();
        let turn_cost = MESSAGE_COST.saturating_mul(listeners.try_into().unwrap_or(u32::MAX));
        let utilisation = self.fanout.target_utilisation();
        let policy = &self.guard.lane().policy;
        policy.window(turn_cost, utilisation, Span::ZERO)
    }

    /// The rest of the unit that was begun, in pieces; `None` between units, where a protocol may
    /// have words of its own.
    pub fn rest_of_unit(&mut self) -> Option<Bytes> {
        let offset = self.offset?;
        let pause = self.view.boundary_from(offset);
        if offset < self.view.start() || pause <= offset {
            return None;
        }
        let max = CHUNK_BYTES_MAX.min((pause - offset) as usize);
        let chunk = self.view.chunk(offset, max);
        self.offset = Some(offset + chunk.len() as u64);
        Some(self.give(chunk))
    }

    /// Says how the connection really ended, for the access log; without it the listener left.
    pub fn ended_by(&mut self, reason: Reason) {
        self.reason = reason;
    }

    fn step(&mut self) -> Step {
        let policy = self.guard.lane().policy;
        let Some(offset) = self.offset else {
            return match start(&self.view, policy.burst, self.after) {
                Some(start) => self.go(start),
                None => Step::Wait,
            };
        };
        let behind = lag(&self.view, offset).map_or(i64::MAX, |lag| lag.ticks());
        self.control
            .lag_ticks
            .store(behind as u64, Ordering::Relaxed);
        if offset >= self.view.end() {
            return Step::Wait;
        }
        let to = match judge(&self.view, offset, &policy) {
            Verdict::Keep => self.view.end(),
            Verdict::Finish(exit) => exit,
            Verdict::Drop(reason) => return Step::Finish(reason),
            Verdict::Skip(start) => {
                self.control.skips.fetch_add(1, Ordering::Relaxed);
                self.fanout.reader_stats().skips.add(1);
                return self.go(start);
            }
        };
        let chunk = self
            .view
            .chunk(offset, CHUNK_BYTES_MAX.min((to - offset) as usize));
        self.offset = Some(offset + chunk.len() as u64);
        Step::Give(chunk)
    }

    fn go(&mut self, start: Start) -> Step {
        self.offset = Some(start.offset);
        if start.preamble.is_empty() {
            Step::Again
        } else {
            Step::Give(start.preamble)
        }
    }

    fn give(&mut self, bytes: Bytes) -> Bytes {
        let stats = self.fanout.reader_stats();
        let protocol = self.guard.lane().format.protocol as usize;
        stats.sends.add(1);
        stats.egress_bytes[protocol].add(bytes.len() as u64);
        self.control
            .sent_bytes
            .fetch_add(bytes.len() as u64, Ordering::Relaxed);
        if let Some(requested) = self.requested.take() {
            stats.join_seconds[protocol].observe_duration(requested.elapsed(), 1);
        }
        bytes
    }

    fn finish(&mut self, reason: Reason) -> Poll<Option<Bytes>> {
        self.reason = reason;
        Poll::Ready(None)
    }
}

enum Step {
    Give(Bytes),
    Again,
    Wait,
    Finish(Reason),
}

impl Drop for LogReader {
    fn drop(&mut self) {
        let lane = self.guard.lane();
        lane.readers().leave(self.slot);
        self.fanout.reader_stats().listeners[lane.format.protocol as usize].sub(1);
        self.fanout.reader_left(Departure {
            id: self.id,
            reason: self.reason,
            sent_bytes: self.control.sent_bytes.load(Ordering::Relaxed),
            skips: self.control.skips.load(Ordering::Relaxed) as u32,
        });
    }
}
