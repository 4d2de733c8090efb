//! Directory of all current listeners, for the admin port's list and the access log.
//!
//! Control plane only. Workers know listeners by their id and never look here.

use std::any::Any;
use std::collections::{BTreeSet, HashMap};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use base::{Counter, Lock};
use media::StreamName;

use crate::cursor::Reason;
use crate::events::{EventKind, Events};
use crate::format::Format;
use crate::listener::{Departure, ListenerId};

/// One listener, as it introduced itself.
#[derive(Debug)]
pub struct ListenerRecord {
    /// Identifier from [`Fanout::next_id`](crate::Fanout::next_id).
    pub id: ListenerId,
    /// Stream it listens to.
    pub stream: StreamName,
    /// Format it receives, with the protocol it counts as: its lane's, unless another protocol carries the same bytes
    /// to it.
    pub format: Format,
    /// Whether it receives the live stream; for a recording, the stream's titles are not those of its media.
    pub is_live: bool,
    /// Address it connects from.
    pub peer: SocketAddr,
    /// First line of its request. Untrusted text.
    pub request: String,
    /// Name that its program reports. Untrusted text.
    pub agent: String,
    /// Page that referred it here. Untrusted text.
    pub referer: String,
    /// Time of its request, by the wall clock.
    pub since: SystemTime,
    /// Time of its request, for measuring.
    pub requested: Instant,
    /// Its permit under the limits, held as long as the listener is connected.
    pub permit: Option<Permit>,
    /// Time at which its permission expires, if it does. The registry's next tick removes the listener.
    pub until: Option<Instant>,
    /// Its stream's totals, which count it once it has left.
    pub departed: Arc<Departed>,
}

/// Totals of a stream's departed listeners, over all its epochs.
#[derive(Debug, Default)]
pub struct Departed {
    /// Number of these listeners.
    pub listeners: Counter,
    /// Bytes that their sockets had taken.
    pub sent_bytes: Counter,
    /// Number of these listeners that were dropped because they took less than the stream brought.
    pub too_slow: Counter,
}

impl ListenerRecord {
    /// Upper bound on the bytes kept of each text that a listener sends about itself: they stay in memory as long as it
    /// listens. The agents of players and the addresses of pages are shorter.
    pub const TEXT_BYTES_MAX: usize = 512;

    /// Returns the beginning of a text, as it may be recorded.
    pub fn cut(text: &str) -> &str {
        &text[..text.floor_char_boundary(Self::TEXT_BYTES_MAX)]
    }
}

/// A permit that is released when its last copy is dropped.
#[derive(Clone)]
pub struct Permit(#[expect(dead_code, reason = "held for its Drop")] Arc<dyn Any + Send + Sync>);

impl Permit {
    /// Wraps a value that releases the permit when dropped.
    pub fn new(place: impl Any + Send + Sync) -> Self {
        Self(Arc::new(place))
    }

    /// Returns a permit that holds all of these; `None` if there are none.
    pub fn of_all<const N: usize>(permits: [Option<Self>; N]) -> Option<Self> {
        let mut some = permits.into_iter().flatten();
        let first = some.next()?;
        Some(some.fold(first, |held, next| Self::new((held, next))))
    }
}

base::debug!(Permit {});

/// All listeners by id. Emits the events of joins and departures.
#[derive(Debug)]
pub struct Directory {
    entries: Lock<Entries>,
    /// Number of listeners that have joined so far.
    joined: Counter,
    events: Arc<Events>,
}

#[derive(Debug, Default)]
struct Entries {
    by_id: HashMap<ListenerId, Entry>,
    /// Times at which permissions expire, soonest first.
    ends: BTreeSet<(Instant, ListenerId)>,
}

impl Entries {
    fn insert(&mut self, entry: Entry) {
        let id = entry.record.id;
        self.ends.extend(entry.until.map(|until| (until, id)));
        self.by_id.insert(id, entry);
    }

    fn remove(&mut self, id: ListenerId) -> Option<Entry> {
        let entry = self.by_id.remove(&id)?;
        if let Some(until) = entry.until {
            self.ends.remove(&(until, id));
        }
        Some(entry)
    }
}

#[derive(Debug)]
struct Entry {
    record: Arc<ListenerRecord>,
    /// Time at which its permission expires, which may be earlier than the granted time.
    until: Option<Instant>,
    /// Whether its join has been emitted.
    is_reported: bool,
}

impl Directory {
    pub(crate) fn new(events: Arc<Events>) -> Self {
        Self {
            entries: Lock::default(),
            joined: Counter::default(),
            events,
        }
    }

    /// Returns the record of a listener.
    pub fn get(&self, id: ListenerId) -> Option<Arc<ListenerRecord>> {
        let entries = self.entries.lock();
        entries
            .by_id
            .get(&id)
            .map(|entry| Arc::clone(&entry.record))
    }

    /// Returns all listeners, oldest first.
    pub fn list(&self) -> Vec<Arc<ListenerRecord>> {
        let entries = self.entries.lock();
        let records = entries
            .by_id
            .values()
            .map(|entry| Arc::clone(&entry.record));
        let mut all: Vec<_> = records.collect();
        drop(entries);
        all.sort_by_key(|record| record.id);
        all
    }

    /// Returns the number of listeners that have joined so far.
    pub fn joined_total(&self) -> u64 {
        self.joined.value()
    }

    /// Removes a listener whose [`Departure`] was read, and returns its record for the access log.
    pub fn leave(&self, departure: &Departure) -> Option<Arc<ListenerRecord>> {
        let mut entries = self.entries.lock();
        let mut entry = entries.remove(departure.id)?;
        // The listener may have left before the thread that attached it has reported its arrival.
        self.tell_joined(&mut entry);
        let record = entry.record;
        record.departed.listeners.add(1);
        record.departed.sent_bytes.add(departure.sent_bytes);
        if matches!(departure.reason, Reason::Lag | Reason::Overrun) {
            record.departed.too_slow.add(1);
        }
        let left = EventKind::ListenerLeft {
            listener: record.id,
            protocol: record.format.protocol,
            reason: departure.reason,
            sent_bytes: departure.sent_bytes,
            skips: departure.skips,
            lasted: record.requested.elapsed(),
        };
        self.events.emit(Some(&record.stream), left);
        Some(record)
    }

    /// Lists a listener on its way to the thread or task that serves it.
    pub(crate) fn enter(&self, record: ListenerRecord) {
        let entry = Entry {
            until: record.until,
            record: Arc::new(record),
            is_reported: false,
        };
        self.entries.lock().insert(entry);
    }

    /// Emits the arrival of a listener, unless it has left already.
    pub(crate) fn joined(&self, id: ListenerId) {
        if let Some(entry) = self.entries.lock().by_id.get_mut(&id) {
            self.tell_joined(entry);
        }
    }

    /// Removes a listener that never arrived.
    pub(crate) fn withdraw(&self, id: ListenerId) -> Option<Arc<ListenerRecord>> {
        self.entries.lock().remove(id).map(|entry| entry.record)
    }

    /// Returns the listeners whose permission has expired and that have not left, first to expire first.
    pub(crate) fn over(&self, now: Instant) -> Vec<ListenerId> {
        let entries = self.entries.lock();
        let over = entries.ends.range(..=(now, ListenerId(u64::MAX)));
        over.map(|(_, id)| *id).collect()
    }

    /// Ends the permission of a listed listener, now unless it ended earlier; the registry's next tick removes the
    /// listener. Returns `false` for one that is not listed, or not yet.
    pub fn end_permission(&self, id: ListenerId, now: Instant) -> bool {
        let mut entries = self.entries.lock();
        let Entries { by_id, ends } = &mut *entries;
        let Some(entry) = by_id.get_mut(&id) else {
            return false;
        };
        if entry.until.is_none_or(|until| until > now) {
            if let Some(until) = entry.until.replace(now) {
                ends.remove(&(until, id));
            }
            ends.insert((now, id));
        }
        true
    }

    /// Emits an event about a listener, unless it has left.
    pub(crate) fn emit_of(&self, id: ListenerId, kind: EventKind) {
        if let Some(entry) = self.entries.lock().by_id.get(&id) {
            self.events.emit(Some(&entry.record.stream), kind);
        }
    }

    fn tell_joined(&self, entry: &mut Entry) {
        if std::mem::replace(&mut entry.is_reported, true) {
            return;
        }
        self.joined.add(1);
        let record = &entry.record;
        let joined = EventKind::ListenerJoined {
            listener: record.id,
            format: record.format,
            peer: record.peer,
        };
        self.events.emit(Some(&record.stream), joined);
    }
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Poll, Waker};
    use std::time::Duration;

    use super::*;
    use crate::events::{EventReader, Received, Topic};
    use crate::{Protocol, testing};

    fn record(id: u64) -> ListenerRecord {
        let format = Format {
            name: "mp3",
            protocol: Protocol::Http,
            retention: crate::Retention::Live,
        };
        let stream = StreamName::parse("radio").expect("a name");
        testing::record(ListenerId(id), stream, format)
    }

    fn departure(id: u64) -> Departure {
        Departure {
            id: ListenerId(id),
            reason: Reason::Left,
            sent_bytes: 0,
            skips: 0,
        }
    }

    fn reported(reader: &mut EventReader) -> Vec<Topic> {
        let mut all = Vec::new();
        let cx = Context::from_waker(Waker::noop());
        while let Poll::Ready(Some(Received::Event(event))) = reader.poll_next(&cx) {
            all.push(event.kind.topic());
        }
        all
    }

    #[test]
    fn a_listener_that_leaves_at_once_has_come_before() {
        let events = Arc::new(Events::new(SystemTime::now()));
        let mut reader = events.subscribe();
        let directory = Directory::new(events);
        directory.enter(record(1));
        assert!(directory.leave(&departure(1)).is_some());
        directory.joined(ListenerId(1));
        assert_eq!(
            reported(&mut reader),
            [Topic::ListenerJoined, Topic::ListenerLeft]
        );
        assert!(directory.leave(&departure(1)).is_none());
        assert_eq!(reported(&mut reader), []);
    }

    #[test]
    fn a_listener_that_never_arrived_has_neither_come_nor_left() {
        let events = Arc::new(Events::new(SystemTime::now()));
        let mut reader = events.subscribe();
        let directory = Directory::new(events);
        directory.enter(record(1));
        assert!(directory.withdraw(ListenerId(1)).is_some());
        directory.joined(ListenerId(1));
        assert_eq!(reported(&mut reader), []);
        assert!(directory.list().is_empty());
    }

    #[test]
    fn listeners_are_over_from_the_end_of_their_permission_until_they_leave() {
        let events = Arc::new(Events::new(SystemTime::now()));
        let directory = Directory::new(events);
        let now = Instant::now();
        let after = |seconds| now + Duration::from_secs(seconds);
        for (id, until) in [(1, Some(2)), (2, None), (3, Some(1)), (4, Some(3))] {
            directory.enter(ListenerRecord {
                until: until.map(after),
                ..record(id)
            });
        }
        let over = |seconds| {
            let ids = directory.over(after(seconds)).into_iter();
            ids.map(|id| id.0).collect::<Vec<_>>()
        };
        assert!(over(0).is_empty());
        assert_eq!(over(2), [3, 1]);
        directory.leave(&departure(3));
        assert_eq!(over(2), [1]);
        directory.withdraw(ListenerId(1));
        assert_eq!(over(9), [4]);
        // A permission may end early, and never late.
        assert!(directory.end_permission(ListenerId(2), after(1)));
        assert!(directory.end_permission(ListenerId(4), after(2)));
        assert!(directory.end_permission(ListenerId(4), after(9)));
        assert!(!directory.end_permission(ListenerId(3), after(1)));
        assert_eq!((over(1), over(9)), (vec![2], vec![2, 4]));
        directory.leave(&departure(2));
        directory.leave(&departure(4));
        assert!(over(99).is_empty());
    }
}
