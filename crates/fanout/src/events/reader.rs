//! Reader of events, at its own pace.

use std::sync::Arc;
use std::task::{Context, Poll};

use super::{Event, Events};
use crate::task_bells::TaskSlot;

/// Reads events in order, each once; from [`Events::subscribe`]. Call [`next`](Self::next) until it returns `None`.
#[derive(Debug)]
pub struct EventReader {
    events: Arc<Events>,
    /// Number of the event that it needs next.
    position: u64,
    /// Whether it has missed an unknown number of events of another run.
    is_lost: bool,
    slot: Arc<TaskSlot>,
}

/// Result of one read.
#[derive(Clone, Debug)]
pub enum Received {
    /// The next event.
    Event(Event),
    /// A gap of events that are no longer kept. The oldest event that is kept follows.
    Missed {
        /// Number of missed events; `None` when unknown, because the server has restarted since.
        count: Option<u64>,
    },
}

impl EventReader {
    pub(super) fn new(events: Arc<Events>, position: u64, is_lost: bool) -> Self {
        let slot = events.enter();
        Self {
            events,
            position,
            is_lost,
            slot,
        }
    }

    /// Returns the number of the last event that it has read or missed: the place from which
    /// [`subscribe_after`](Events::subscribe_after) continues.
    pub fn reached(&self) -> u64 {
        self.position - 1
    }

    /// Waits for the next event; `None` when there will be none.
    pub async fn next(&mut self) -> Option<Received> {
        std::future::poll_fn(|cx| self.poll_next(cx)).await
    }

    /// Polls for [`next`](Self::next).
    pub fn poll_next(&mut self, cx: &Context<'_>) -> Poll<Option<Received>> {
        let at_hand = self.at_hand();
        if at_hand.is_ready() {
            return at_hand;
        }
        self.events.bells.arm(&self.slot, cx.waker());
        self.at_hand()
    }

    fn at_hand(&mut self) -> Poll<Option<Received>> {
        let ring = self.events.ring.lock();
        if std::mem::take(&mut self.is_lost) {
            return Poll::Ready(Some(Received::Missed { count: None }));
        }
        let missed = ring.oldest().saturating_sub(self.position);
        if missed > 0 {
            self.position += missed;
            let count = Some(missed);
            return Poll::Ready(Some(Received::Missed { count }));
        }
        match ring.get(self.position) {
            Some(event) => {
                self.position += 1;
                Poll::Ready(Some(Received::Event(event.clone())))
            }
            None if ring.is_closed => Poll::Ready(None),
            None => Poll::Pending,
        }
    }
}

impl Drop for EventReader {
    fn drop(&mut self) {
        self.events.leave(&self.slot);
    }
}
