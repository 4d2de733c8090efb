//! Board of the present links and their totals, for the API and the metrics.

use std::collections::BTreeMap;
use std::sync::Arc;

use base::Lock;
use fanout::events::Events;
use media::StreamName;
use net::link::{LinkReport, State, Status};

use super::events::LinkEvents;

/// All links of one direction, by their keys.
#[derive(Debug)]
pub struct Board<K: Ord> {
    /// Direction: `push` or `pull`.
    direction: &'static str,
    events: Arc<Events>,
    rows: Lock<Rows<K>>,
}

#[derive(Debug)]
struct Rows<K> {
    present: BTreeMap<K, Arc<Row>>,
    /// Totals of past links.
    past: Totals,
}

/// Row of one link.
#[derive(Debug)]
pub struct Row {
    /// Stream name on this server.
    pub stream: StreamName,
    /// URL of the other server, without secrets.
    pub url: String,
    /// State and counts.
    pub status: Arc<Status>,
}

/// Totals of links.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Totals {
    /// Connection attempts.
    pub attempts: u64,
    /// Attempts that failed, and connections that broke off.
    pub failures: u64,
    /// Media bytes sent or received.
    pub bytes: u64,
}

impl Totals {
    fn add(&mut self, report: &LinkReport) {
        self.attempts += report.attempts;
        self.failures += report.failures;
        self.bytes += report.bytes;
    }
}

impl<K: Clone + Ord> Board<K> {
    /// Creates a board without links. Emits an event when a link goes up or down.
    pub(super) fn new(direction: &'static str, events: &Arc<Events>) -> Self {
        Self {
            direction,
            events: Arc::clone(events),
            rows: Lock::new(Rows {
                present: BTreeMap::new(),
                past: Totals::default(),
            }),
        }
    }

    /// Enters a link, which is present until the returned value is dropped. Returns `None` if the key has a link already.
    pub(super) fn enter(self: &Arc<Self>, key: K, row: Row) -> Option<Entry<K>> {
        let mut rows = self.rows.lock();
        if rows.present.contains_key(&key) {
            return None;
        }
        let row = Arc::new(row);
        rows.present.insert(key.clone(), Arc::clone(&row));
        let emitter = Arc::new(LinkEvents::new(self.direction, &self.events, &row));
        let observer = Arc::clone(&emitter);
        row.status.observe(move |report| observer.saw(report));
        Some(Entry {
            board: Arc::clone(self),
            key,
            row,
            events: emitter,
        })
    }

    /// Whether the key has a link.
    pub(super) fn contains(&self, key: &K) -> bool {
        self.rows.lock().present.contains_key(key)
    }

    /// Returns the number of links.
    pub(super) fn len(&self) -> usize {
        self.rows.lock().present.len()
    }

    /// Returns the number of links that are relaying their streams now.
    pub fn running(&self) -> u64 {
        let rows = self.rows.lock();
        let states = rows.present.values().map(|row| row.status.report().state);
        states.filter(|state| *state == State::Running).count() as u64
    }

    /// Lists every present link with its state and counts.
    pub fn list(&self) -> Vec<(Arc<Row>, LinkReport)> {
        let rows: Vec<_> = self.rows.lock().present.values().cloned().collect();
        rows.into_iter()
            .map(|row| {
                let report = row.status.report();
                (row, report)
            })
            .collect()
    }

    /// Returns the totals of all links, past ones included.
    pub fn totals(&self) -> Totals {
        let rows = self.rows.lock();
        let mut totals = rows.past;
        for row in rows.present.values() {
            totals.add(&row.status.report());
        }
        totals
    }
}

/// Entry of a link on the board; its drop removes the link.
#[derive(Debug)]
pub(super) struct Entry<K: Clone + Ord> {
    board: Arc<Board<K>>,
    key: K,
    row: Arc<Row>,
    events: Arc<LinkEvents>,
}

impl<K: Clone + Ord> Entry<K> {
    /// Returns the place where the link writes its state and counts.
    pub(super) fn status(&self) -> &Arc<Status> {
        &self.row.status
    }
}

impl<K: Clone + Ord> Drop for Entry<K> {
    fn drop(&mut self) {
        self.events.ended();
        let mut rows = self.board.rows.lock();
        rows.present.remove(&self.key);
        rows.past.add(&self.row.status.report());
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::time::SystemTime;

    use super::*;

    /// A link of the stream `live/show`.
    pub(crate) fn row() -> Row {
        Row {
            stream: StreamName::parse("live/show").expect("a name"),
            url: "rtmp://***@h/a".to_owned(),
            status: Arc::default(),
        }
    }

    #[test]
    fn a_link_is_there_once_and_what_it_did_is_not_forgotten() {
        let events = Arc::new(Events::new(SystemTime::now()));
        let board = Arc::new(Board::new("pull", &events));
        let entry = board.enter(7, row()).expect("the first");
        assert!(board.enter(7, row()).is_none());
        assert!(board.contains(&7));
        entry.status().enter(State::Connecting);
        entry.status().fail(&"no answer");
        entry.status().add_bytes(5);
        let done = Totals {
            attempts: 1,
            failures: 1,
            bytes: 5,
        };
        assert_eq!(board.totals(), done);
        let [(_, report)] = &board.list()[..] else {
            panic!("not one link")
        };
        assert_eq!(report.error.as_deref(), Some("no answer"));
        drop(entry);
        assert_eq!((board.len(), board.totals()), (0, done));
        let again = board.enter(7, row()).expect("free again");
        again.status().add_bytes(1);
        assert_eq!(board.totals().bytes, 6);
        let before = events.subscribe().reached();
        again.status().enter(State::Running);
        drop(again);
        let reached = events.subscribe().reached();
        assert_eq!(reached, before + 2, "it was up, and is down");
    }
}
