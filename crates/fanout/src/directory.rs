//! Who is listening: what the admin port lists and the access log records.
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
    /// From [`Fanout::next_id`](crate::Fanout::next_id).
    pub id: ListenerId,
    /// What it listens to.
    pub stream: StreamName,
    /// In which format, and as what it counts: its lane's protocol, unless another carries the same bytes to it.
    pub format: Format,
    /// It hears what is on air now, and not what was recorded: then the stream's titles are not those that it hears.
    pub is_live: bool,
    /// Where it connects from.
    pub peer: SocketAddr,
    /// The first line of its request. Untrusted text.
    pub request: String,
    /// What its program calls itself. Untrusted text.
    pub agent: String,
    /// The page that sent it here. Untrusted text.
    pub referer: String,
    /// When it asked, by the wall clock.
    pub since: SystemTime,
    /// When it asked, for measuring.
    pub requested: Instant,
    /// Held as long as the listener is connected: its permit under the limits.
    pub permit: Option<Permit>,
    /// When its permission ends, if it does. The registry's next tick removes the listener.
    pub until: Option<Instant>,
    /// Where it is counted when it has left: its stream's.
    pub departed: Arc<Departed>,
}

/// What the listeners of a stream that have left were sent, of all its epochs.
#[derive(Debug, Default)]
pub struct Departed {
    /// How many they were.
    pub listeners: Counter,
    /// Bytes that their sockets had taken.
    pub sent_bytes: Counter,
    /// Those that were dropped because they took less than the stream brought.
    pub too_slow: Counter,
}

impl ListenerRecord {
    /// Bytes kept of each text that a listener sends about itself: they stay in memory as long as it listens.
    /// The agents of players and the addresses of pages are shorter.
    pub const TEXT_BYTES_MAX: usize = 512;

    /// The beginning of a text, as it may be recorded.
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

    /// One that stands for all of them; `None` for none.
    pub fn of_all<const N: usize>(permits: [Option<Self>; N]) -> Option<Self> {
        let mut some = permits.into_iter().flatten();
        let first = some.next()?;
        Some(some.fold(first, |held, next| Self::new((held, next))))
    }
}

base::debug!(Permit {});

/// All listeners by id. Joins and leaves are emitted here.
#[derive(Debug)]
pub struct Directory {
    entries: Lock<Entries>,
    /// Listeners that have joined so far.
    joined: Counter,
    events: Arc<Events>,
}

#[derive(Debug, Default)]
struct Entries {
    by_id: HashMap<ListenerId, Entry>,
    /// The listeners whose permission ends, the first to end first.
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
    /// When its permission ends, which may be earlier than it was granted for.
    until: Option<Instant>,
    /// Its join has been emitted.
    is_told: bool,
}

impl Directory {
    pub(crate) fn new(events: Arc<Events>) -> Self {
        Self {
            entries: Lock::default(),
            joined: Counter::default(),
            events,
        }
    }

    /// A listener.
    pub fn get(&self, id: ListenerId) -> Option<Arc<ListenerRecord>> {
        let entries = self.entries.lock();
        entries
            .by_id
            .get(&id)
            .map(|entry| Arc::clone(&entry.record))
    }

    /// All listeners, the oldest first.
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

    /// Listeners that have joined so far.
    pub fn joined_total(&self) -> u64 {
        self.joined.value()
    }

    /// Removes a listener whose [`Departure`] was read, and returns its record for the access log.
    pub fn leave(&self, departure: &Departure) -> Option<Arc<ListenerRecord>> {
        let mut entries = self.entries.lock();
        let mut entry = entries.remove(departure.id)?;
        // It may be gone before the thread that attached it has reported its arrival.
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
            is_told: false,
        };
        self.entries.lock().insert(entry);
    }

    /// It has arrived, unless it is gone already.
    pub(crate) fn joined(&self, id: ListenerId) {
        if let Some(entry) = self.entries.lock().by_id.get_mut(&id) {
            self.tell_joined(entry);
        }
    }

    /// Removes a listener that never arrived.
    pub(crate) fn withdraw(&self, id: ListenerId) -> Option<Arc<ListenerRecord>> {
        self.entries.lock().remove(id).map(|entry| entry.record)
    }

    /// The listeners whose permission is over and that have not left, the first to end first.
    pub(crate) fn over(&self, now: Instant) -> Vec<ListenerId> {
        let entries = self.entries.lock();
        let over = entries.ends.range(..=(now, ListenerId(u64::MAX)));
        over.map(|(_, id)| *id).collect()
    }

    /// Ends the permission of a listener that is listed, at this moment at the latest: the registry's next tick removes it. False for one
    /// that is not listed, or not yet.
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

    /// Emits an event of a listener, unless it is gone.
    pub(crate) fn emit_of(&self, id: ListenerId, kind: EventKind) {
        if let Some(entry) = self.entries.lock().by_id.get(&id) {
            self.events.emit(Some(&entry.record.stream), kind);
        }
    }

    fn tell_joined(&self, entry: &mut Entry) {
        if std::mem::replace(&mut entry.is_told, true) {
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
    use std::net::Ipv4Addr;
    use std::task::{Context, Poll, Waker};
    use std::time::Duration;

    use super::*;
    use crate::events::{EventReader, Received, Topic};
    use crate::{Protocol, Reason};

    fn record(id: u64) -> ListenerRecord {
        ListenerRecord {
            id: ListenerId(id),
            stream: StreamName::parse("radio").expect("a name"),
            format: Format {
                name: "mp3",
                protocol: Protocol::Http,
                retention: crate::Retention::Live,
            },
            is_live: true,
            peer: (Ipv4Addr::LOCALHOST, 1).into(),
            request: String::new(),
            agent: String::new(),
            referer: String::new(),
            since: SystemTime::now(),
            requested: Instant::now(),
            permit: None,
            until: None,
            departed: Default::default(),
        }
    }

    fn departure(id: u64) -> Departure {
        Departure {
            id: ListenerId(id),
            reason: Reason::Left,
            sent_bytes: 0,
            skips: 0,
        }
    }

    fn told(reader: &mut EventReader) -> Vec<Topic> {
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
            told(&mut reader),
            [Topic::ListenerJoined, Topic::ListenerLeft]
        );
        assert!(directory.leave(&departure(1)).is_none());
        assert_eq!(told(&mut reader), []);
    }

    #[test]
    fn a_listener_that_never_arrived_has_neither_come_nor_left() {
        let events = Arc::new(Events::new(SystemTime::now()));
        let mut reader = events.subscribe();
        let directory = Directory::new(events);
        directory.enter(record(1));
        assert!(directory.withdraw(ListenerId(1)).is_some());
        directory.joined(ListenerId(1));
        assert_eq!(told(&mut reader), []);
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
        // One may end earlier than it was to, and no later.
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
