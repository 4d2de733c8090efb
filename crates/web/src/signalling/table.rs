//! Table of the open sessions, for requests over HTTP.
//!
//! An entry lives from the POST until the session ends. It is held by a [`SessionPermit`], which travels with the session: when
//! the session is dropped, so are the permit and the entry. So the table has no timeouts of its own.
//!
//! The table is locked when a session is opened, changed and ended, never for a packet.

use std::collections::HashMap;
use std::sync::Arc;

use base::Lock;
use config::Secret;
use media::StreamName;

use super::address::{Id, Way};

/// Maximum number of sessions: more than one host's network carries. An entry takes some 300 bytes.
const SESSIONS_MAX: usize = 65_536;

/// Session data for requests over HTTP.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry {
    pub(super) way: Way,
    /// Stream in the address, even if the gate has put another in its place.
    pub(super) stream: StreamName,
    /// Credential presented to open the session, if any.
    pub(super) key: Option<Secret>,
    /// Our ufrag in ICE, by which the port finds the session; also the entity tag.
    pub(super) ufrag: Box<str>,
    /// Ufrag of the peer. A different one in a PATCH means a restart.
    pub(super) remote_ufrag: Box<str>,
    /// Kind and name of the first section in use, for the answer to a restart.
    pub(super) first: (&'static str, Box<str>),
}

/// Table of the open sessions, by name.
#[derive(Debug, Default)]
pub(super) struct Table(Lock<HashMap<Id, Entry>>);

impl Table {
    /// Enters a session, with its permit while it waits for its peer. Returns `None` if there are as many as may be.
    pub(super) fn enter(
        self: &Arc<Self>,
        id: Id,
        entry: Entry,
        connection: Option<limits::ConnectionPermit>,
    ) -> Option<SessionPermit> {
        let mut entries = self.0.lock();
        if entries.len() >= SESSIONS_MAX {
            return None;
        }
        let way = entry.way;
        entries.insert(id, entry);
        let table = Arc::clone(self);
        Some(SessionPermit {
            table,
            id,
            way,
            connection,
        })
    }

    pub(super) fn get(&self, id: Id) -> Option<Entry> {
        self.0.lock().get(&id).cloned()
    }

    /// Changes a session's ufrags; returns false when the session is gone.
    pub(super) fn rename(&self, id: Id, ufrag: &str, remote_ufrag: &str) -> bool {
        let mut entries = self.0.lock();
        let Some(entry) = entries.get_mut(&id) else {
            return false;
        };
        entry.ufrag = ufrag.into();
        entry.remote_ufrag = remote_ufrag.into();
        true
    }

    /// Removes a session before it has ended everywhere.
    pub(super) fn remove(&self, id: Id) {
        self.0.lock().remove(&id);
    }
}

/// Entry of a session in the table, and its permit. Travels with the session.
#[derive(Debug)]
pub(super) struct SessionPermit {
    table: Arc<Table>,
    id: Id,
    way: Way,
    connection: Option<limits::ConnectionPermit>,
}

impl SessionPermit {
    /// Marks the peer as connected: from here on the session is bounded as a listener or a publisher, and no longer pending.
    pub(super) fn connected(&mut self) {
        if let Some(connection) = &mut self.connection {
            match self.way {
                Way::In => connection.settle_publisher(),
                Way::Out => connection.settle(),
            }
        }
    }
}

impl Drop for SessionPermit {
    fn drop(&mut self) {
        self.table.remove(self.id);
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;
    use std::time::Instant;

    use super::*;
    use limits::{Handover, Limits, Pool};

    fn entry() -> Entry {
        Entry {
            way: Way::Out,
            stream: StreamName::parse("live/show").expect("a name"),
            key: None,
            ufrag: "ours".into(),
            remote_ufrag: "theirs".into(),
            first: ("audio", "0".into()),
        }
    }

    #[test]
    fn an_entry_lives_as_long_as_its_permit() {
        let table = Arc::new(Table::default());
        let id = Id::new([7; 16]);
        let permit = table.enter(id, entry(), None).expect("room");
        assert!(table.rename(id, "new", "newer"));
        let known = table.get(id).expect("entered");
        assert_eq!((&*known.ufrag, &*known.remote_ufrag), ("new", "newer"));
        drop(permit);
        assert_eq!(table.get(id), None);
        assert!(!table.rename(id, "late", "later"));
    }

    #[test]
    fn a_session_that_waits_is_pending_and_one_that_is_there_is_not() {
        let limits = Limits::new(limits::Settings::default(), None, Instant::now());
        let here = IpAddr::from([192, 0, 2, 1]);
        let connection = limits.connection(Pool::Http, here, false, Box::new(|_| {}));
        let handover = Handover::new(connection.expect("a permit"));
        let session = handover.session(here, Box::new(|_| {}));
        drop(handover);
        let table = Arc::new(Table::default());
        let permit = table.enter(Id::new([7; 16]), entry(), Some(session));
        let mut permit = permit.expect("room");
        assert_eq!((limits.pending(), limits.pending_sessions()), (0, 1));
        permit.connected();
        assert_eq!(limits.pending_sessions(), 0);
        drop(permit);
        assert_eq!(limits.pending_sessions(), 0, "given back once");
    }

    #[test]
    fn sessions_are_bounded() {
        let table = Arc::new(Table::default());
        let id = |number: usize| Id::new((number as u128).to_be_bytes());
        let enter = |number| table.enter(id(number), entry(), None);
        let mut permits: Vec<_> = (0..SESSIONS_MAX).map(|n| enter(n).expect("room")).collect();
        assert!(enter(SESSIONS_MAX).is_none());
        permits.pop();
        assert!(enter(SESSIONS_MAX).is_some());
    }
}
