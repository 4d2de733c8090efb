//! Recent events, and the readers that wait for the next.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use base::{Lock, Quota};
use media::StreamName;

use super::{Event, EventKind, EventReader, Refusal, refusals};
use crate::task_bells::{TaskBells, TaskSlot};

/// Number of events kept: four seconds of a crowd of a thousand joins a second, so that a reader that has lost its
/// connection finds what it missed. They take half a megabyte.
pub const RECENT_MAX: usize = 4_096;

/// Sequence numbers reserved for each second of the server's life: the first number of a run is its start time in
/// seconds, times this. Numbers therefore grow across restarts, and stay below 2⁵³, the limit of JavaScript's integers,
/// until the year 2242.
const NUMBERS_PER_SECOND: u64 = 1 << 20;

/// Broadcast of events to all readers: [`emit`](Self::emit) writes, [`subscribe`](Self::subscribe) reads.
#[derive(Debug)]
pub struct Events {
    // A push is a few moves; none of them panics halfway.
    pub(super) ring: Lock<Ring>,
    pub(super) bells: TaskBells,
    readers: AtomicUsize,
}

#[derive(Debug)]
pub(super) struct Ring {
    /// Recent events, newest last; at most [`RECENT_MAX`].
    recent: VecDeque<Event>,
    /// Number of the first event of this run.
    first: u64,
    /// Number of the next event.
    next: u64,
    refusals: Quota,
    pub(super) is_closed: bool,
}

impl Ring {
    /// Returns the number of the oldest event that is kept; that of the next event if none is.
    pub(super) fn oldest(&self) -> u64 {
        self.next - self.recent.len() as u64
    }

    /// Whether this number, or the one after it, belongs to an event of this run.
    pub(super) fn knows(&self, sequence: u64) -> bool {
        (self.first..=self.next).contains(&sequence.saturating_add(1))
    }

    pub(super) fn get(&self, sequence: u64) -> Option<&Event> {
        let index = sequence.checked_sub(self.oldest())?;
        self.recent.get(usize::try_from(index).ok()?)
    }

    fn push(&mut self, stream: Option<&StreamName>, kind: EventKind) {
        if self.recent.len() >= RECENT_MAX {
            self.recent.pop_front();
        }
        self.recent.push_back(Event {
            sequence: self.next,
            at: SystemTime::now(),
            stream: stream.cloned(),
            kind,
        });
        self.next += 1;
    }
}

impl Events {
    /// Creates a broadcast without events. `started` is the start time of the server.
    pub fn new(started: SystemTime) -> Self {
        let since = started.duration_since(UNIX_EPOCH).unwrap_or_default();
        // At least one: 0 means that a reader has seen nothing.
        let first = (since.as_secs() * NUMBERS_PER_SECOND).max(1);
        Self {
            ring: Lock::new(Ring {
                recent: VecDeque::with_capacity(RECENT_MAX),
                first,
                next: first,
                refusals: refusals::quota(),
                is_closed: false,
            }),
            bells: TaskBells::default(),
            readers: AtomicUsize::new(0),
        }
    }

    /// Emits an event. Never waits for a reader, and allocates nothing.
    pub fn emit(&self, stream: Option<&StreamName>, kind: EventKind) {
        self.ring.lock().push(stream, kind);
        self.bells.ring();
    }

    /// Emits the refusal of a peer. Strangers cause these at any rate, so only
    /// [`REFUSALS_PER_SECOND`](super::REFUSALS_PER_SECOND) are emitted in a second; the next one carries the number of
    /// those that were not.
    pub fn refuse(&self, stream: Option<&StreamName>, refusal: Refusal) {
        {
            let mut ring = self.ring.lock();
            let Some(others) = ring.refusals.take(Instant::now()) else {
                return;
            };
            ring.push(stream, EventKind::Refused(Refusal { others, ..refusal }));
        }
        self.bells.ring();
    }

    /// Returns a reader of events from here on. The caller bounds the number of readers.
    pub fn subscribe(self: &Arc<Self>) -> EventReader {
        let next = self.ring.lock().next;
        EventReader::new(Arc::clone(self), next, false)
    }

    /// Returns a reader that continues after the event of this number. It reports events that are no longer kept as
    /// missed.
    pub fn subscribe_after(self: &Arc<Self>, sequence: u64) -> EventReader {
        let (position, is_lost) = {
            let ring = self.ring.lock();
            match ring.knows(sequence) {
                true => (sequence.saturating_add(1), false),
                // From another run.
                false => (ring.oldest(), true),
            }
        };
        EventReader::new(Arc::clone(self), position, is_lost)
    }

    /// Ends its readers, once they have read all events.
    pub fn close(&self) {
        self.ring.lock().is_closed = true;
        self.bells.ring();
    }

    /// Returns the number of readers.
    pub fn readers(&self) -> usize {
        self.readers.load(Ordering::Relaxed)
    }

    /// Registers a reader; returns its slot among the bells.
    pub(super) fn enter(&self) -> Arc<TaskSlot> {
        self.readers.fetch_add(1, Ordering::Relaxed);
        self.bells.enter()
    }

    pub(super) fn leave(&self, slot: &TaskSlot) {
        self.bells.leave(slot);
        self.readers.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Emits the events of one stream.
#[derive(Clone, Debug)]
pub(crate) struct StreamEvents {
    events: Arc<Events>,
    stream: StreamName,
}

impl StreamEvents {
    pub(crate) fn new(events: &Arc<Events>, stream: &StreamName) -> Self {
        Self {
            events: Arc::clone(events),
            stream: stream.clone(),
        }
    }

    pub(crate) fn emit(&self, kind: EventKind) {
        self.events.emit(Some(&self.stream), kind);
    }
}
