//! The asynchronous listener of a lane: for HTTP/2, WebSocket, pushes and anything else that no worker serves. A reader
//! that must not lose anything is an [`ArchiveReader`](crate::ArchiveReader).

use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use log::View;
use media::{Span, Timestamp};

use crate::books::LATE_AFTER;
use crate::cursor::{Reason, Start, Verdict, first, judge, lag};
use crate::follower::Follower;
use crate::handle::ListenerHandle;
use crate::listener::ListenerId;
use crate::policy::Policy;

/// Upper bound on the bytes returned at once: one TLS record batch, and the most that a stalled reader pins beside its
/// page.
const CHUNK_BYTES_MAX: usize = 64 * 1024;

/// CPU time of one message to one reader: waking its task, sealing a record, the send.
pub(crate) const MESSAGE_COST: Duration = Duration::from_micros(15);

/// Follows one lane from a join point on, under the same rules as the workers' listeners; call [`next`](Self::next)
/// until it returns `None`.
#[derive(Debug)]
pub struct LogReader {
    handle: ListenerHandle,
    follower: Follower,
    /// Log offset of the next byte; `None` until there is a join point.
    offset: Option<u64>,
    /// Whether it was up to date at its last look.
    is_in_step: bool,
}

impl LogReader {
    pub(crate) fn new(handle: ListenerHandle) -> Self {
        let follower = Follower::new(handle.lane());
        handle.fanout().readers_now.add(1);
        Self {
            handle,
            follower,
            offset: None,
            is_in_step: false,
        }
    }

    /// Returns the listener's identifier.
    pub fn id(&self) -> ListenerId {
        self.handle.id()
    }

    /// Waits for and returns the next bytes; `None` when the stream has ended or this reader was removed.
    pub async fn next(&mut self) -> Option<Bytes> {
        std::future::poll_fn(|cx| self.poll_next(cx)).await
    }

    /// Returns the result of [`next`](Self::next) without waiting; `None` when it would wait.
    pub async fn at_hand(&mut self) -> Option<Option<Bytes>> {
        std::future::poll_fn(|cx| match self.poll_next(cx) {
            Poll::Ready(next) => Poll::Ready(Some(next)),
            Poll::Pending => Poll::Ready(None),
        })
        .await
    }

    /// Polls for [`next`](Self::next).
    pub fn poll_next(&mut self, cx: &Context<'_>) -> Poll<Option<Bytes>> {
        loop {
            self.follower.refresh();
            if self.handle.is_kicked() {
                return self.finish(Reason::Kicked);
            }
            match self.step() {
                Step::Give(bytes) => return Poll::Ready(Some(self.give(bytes))),
                Step::Finish(reason) => return self.finish(reason),
                Step::Again => continue,
                Step::Wait => {}
            }
            if self.follower.has_ended() {
                return self.finish(Reason::Ended);
            }
            self.handle.wake_if_kicked(cx.waker());
            if self.follower.arm(cx.waker()) && !self.handle.is_kicked() {
                return Poll::Pending;
            }
        }
    }

    /// Returns the media time up to which this reader has returned media; `None` before there was any.
    pub fn reached(&self) -> Option<Timestamp> {
        self.view().time_before(self.offset?)
    }

    /// Returns the reason of its end, once [`next`](Self::next) has returned `None`.
    pub fn reason(&self) -> Reason {
        self.handle.reason()
    }

    /// Returns the reason for ending a listener that has not yet taken the last bytes returned; `None` if it may stay.
    /// A caller whose client takes nothing for a while calls this now and then.
    pub fn overdue(&mut self) -> Option<Reason> {
        if self.handle.is_kicked() {
            return Some(Reason::Kicked);
        }
        self.follower.refresh();
        let offset = self.offset.filter(|offset| *offset < self.view().end())?;
        self.handle.lags(lag(self.view(), offset));
        match judge(self.view(), offset, self.policy()) {
            Verdict::Drop(reason) => Some(reason),
            Verdict::Keep | Verdict::Finish(_) | Verdict::Skip(_) => None,
        }
    }

    /// Returns the time for which to gather bytes between two reads. The workers' law applies, so that a large audience
    /// does not cost one small message per sample and listener. The cost of a turn grows with the number of readers.
    pub fn window(&self) -> Duration {
        let utilisation = self.handle.fanout().target_utilisation;
        self.policy()
            .window(self.turn_cost(), utilisation, Span::ZERO)
    }

    /// Returns the next piece of the unit in progress; `None` between units, where a protocol may insert its own
    /// messages.
    pub fn rest_of_unit(&mut self) -> Option<Bytes> {
        let offset = self.offset?;
        let pause = self.view().boundary_from(offset);
        if offset < self.view().start() || pause <= offset {
            return None;
        }
        let max = CHUNK_BYTES_MAX.min((pause - offset) as usize);
        let chunk = self.view().chunk(offset, max);
        self.stand(offset + chunk.len() as u64);
        Some(self.give(chunk))
    }

    /// Records the actual end of the connection for the access log; without this call, the listener counts as having
    /// left.
    pub fn ended_by(&mut self, reason: Reason) {
        self.handle.ends_by(reason);
    }

    fn step(&mut self) -> Step {
        let Some(offset) = self.offset else {
            let waited = self.handle.waited(self.handle.fanout().now());
            let reach = self.follower.lane.reach(waited);
            return match first(self.view(), self.policy(), reach, None) {
                Some(start) => self.go(start),
                None => Step::Wait,
            };
        };
        self.handle.lags(lag(self.view(), offset));
        if offset >= self.view().end() {
            self.is_in_step = true;
            return Step::Wait;
        }
        if std::mem::take(&mut self.is_in_step) {
            self.count_message(offset);
        }
        let to = match judge(self.view(), offset, self.policy()) {
            Verdict::Keep => self.view().end(),
            Verdict::Finish(exit) => exit,
            Verdict::Drop(reason) => return Step::Finish(reason),
            Verdict::Skip(start) => {
                self.count_skip();
                return self.go(start);
            }
        };
        let max = CHUNK_BYTES_MAX.min((to - offset) as usize);
        let chunk = self.view().chunk(offset, max);
        self.stand(offset + chunk.len() as u64);
        Step::Give(chunk)
    }

    fn go(&mut self, start: Start) -> Step {
        self.stand(start.offset);
        if start.preamble.is_empty() {
            Step::Again
        } else {
            Step::Give(start.preamble)
        }
    }

    fn stand(&mut self, offset: u64) {
        self.offset = Some(offset);
        if let Some(standing) = self.handle.standing() {
            standing.at(offset);
        }
    }

    /// Returns the CPU time of one message to each reader.
    fn turn_cost(&self) -> Duration {
        let readers = self.handle.fanout().readers_now.value();
        MESSAGE_COST.saturating_mul(readers.try_into().unwrap_or(u32::MAX))
    }

    /// Counts a message that begins at `offset`, where the reader was up to date.
    fn count_message(&self, offset: u64) {
        let (view, books) = (self.view(), self.handle.books());
        let (Some(oldest), Some(newest)) = (view.unit_from(offset), view.newest()) else {
            return;
        };
        let samples = (newest.ordinal + 1).saturating_sub(oldest.ordinal);
        books.message_samples.observe(samples as f64, 1);
        let window = self.window();
        let now = self.handle.fanout().now();
        let delay = now.saturating_duration_since(oldest.arrived);
        books.forwarded(delay, window + LATE_AFTER, 1);
        books.window_seconds[self.follower.lane.class as usize].observe_duration(window, 1);
        books.turn_costs(self.turn_cost());
    }

    fn count_skip(&self) {
        self.handle.skipped();
        let fanout = self.handle.fanout();
        if let Some(standing) = self.handle.standing() {
            standing.skipped(fanout.now().saturating_duration_since(fanout.started));
        }
    }

    fn give(&mut self, bytes: Bytes) -> Bytes {
        self.handle.sent(bytes.len() as u64, 1);
        self.handle
            .books()
            .busy_nanos
            .add(MESSAGE_COST.as_nanos() as u64);
        if self.handle.awaits_media() {
            let now = self.handle.fanout().now();
            self.handle.began(now);
        }
        bytes
    }

    fn finish(&mut self, reason: Reason) -> Poll<Option<Bytes>> {
        self.handle.ends_by(reason);
        Poll::Ready(None)
    }

    fn view(&self) -> &View {
        &self.follower.view
    }

    fn policy(&self) -> &Policy {
        self.follower.policy()
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
        self.handle.fanout().readers_now.sub(1);
    }
}
