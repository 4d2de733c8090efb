//! The sessions that there are, as HTTP knows them.
//!
//! An entry stands from the POST until the session ends. It is held by a [`SessionPermit`], which travels with the
//! session: whoever lets go of the session lets go of the pass, and the entry is gone. So the table expires
//! with the sessions and has no clock.
//!
//! Locked when a session is opened, changed and ended, never for a packet.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use media::StreamName;

use super::address::{Id, Way};
use crate::door::limits;

/// Sessions at a time: more than one host's network carries. An entry has some 300 bytes.
const SESSIONS_MAX: usize = 65_536;

/// What HTTP knows of a session.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Entry {
    pub(super) way: Way,
    pub(super) stream: StreamName,
    /// Our name in ICE, by which the port finds the session; it is the entity tag, too.
    pub(super) ufrag: Box<str>,
    /// The peer's name. Another one in a PATCH means a restart.
    pub(super) remote_ufrag: Box<str>,
    /// The kind and the name of the first section we use, for the answer to a restart.
    pub(super) first: (&'static str, Box<str>),
}

/// There are as many sessions as there may be.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("the server has as many WebRTC sessions as it may have")]
pub(super) struct Full;

/// See the module's description.
#[derive(Debug, Default)]
pub(super) struct Table(Mutex<HashMap<Id, Entry>>);

impl Table {
    /// Enters a session, which has a place while it waits for its peer.
    pub(super) fn enter(
        self: &Arc<Self>,
        id: Id,
        entry: Entry,
        place: Option<limits::ConnectionPermit>,
    ) -> Result<SessionPermit, Full> {
        let mut entries = self.entries();
        if entries.len() >= SESSIONS_MAX {
            return Err(Full);
        }
        let way = entry.way;
        entries.insert(id, entry);
        let table = Arc::clone(self);
        Ok(SessionPermit {
            table,
            id,
            way,
            place,
        })
    }

    pub(super) fn get(&self, id: Id) -> Option<Entry> {
        self.entries().get(&id).cloned()
    }

    /// Notes that a session has other names now. False when it is gone.
    pub(super) fn rename(&self, id: Id, ufrag: &str, remote_ufrag: &str) -> bool {
        let mut entries = self.entries();
        let Some(entry) = entries.get_mut(&id) else {
            return false;
        };
        entry.ufrag = ufrag.into();
        entry.remote_ufrag = remote_ufrag.into();
        true
    }

    /// Strikes a session out before it has ended everywhere.
    pub(super) fn remove(&self, id: Id) {
        self.entries().remove(&id);
    }

    fn entries(&self) -> MutexGuard<'_, HashMap<Id, Entry>> {
        // Each change is one call to the map.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A session's place in the table and under the limits. Goes wherever the session goes.
#[derive(Debug)]
pub(crate) struct SessionPermit {
    table: Arc<Table>,
    id: Id,
    way: Way,
    place: Option<limits::ConnectionPermit>,
}

impl SessionPermit {
    /// The peer is there: from here on the session is bounded as a listener or a publisher, and pending no
    /// more.
    pub(super) fn connected(&mut self) {
        if let Some(place) = &mut self.place {
            match self.way {
                Way::In => place.settle_publisher(),
                Way::Out => place.settle(),
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
    use crate::door::limits::{Handover, Limits, Pool};

    fn entry() -> Entry {
        Entry {
            way: Way::Out,
            stream: StreamName::parse("live/show").expect("a name"),
            ufrag: "ours".into(),
            remote_ufrag: "theirs".into(),
            first: ("audio", "0".into()),
        }
    }

    #[test]
    fn an_entry_lives_as_long_as_its_pass() {
        let table = Arc::new(Table::default());
        let id = Id::new([7; 16]);
        let pass = table.enter(id, entry(), None).expect("room");
        assert!(table.rename(id, "new", "newer"));
        let known = table.get(id).expect("entered");
        assert_eq!((&*known.ufrag, &*known.remote_ufrag), ("new", "newer"));
        drop(pass);
        assert_eq!(table.get(id), None);
        assert!(!table.rename(id, "late", "later"));
    }

    #[test]
    fn a_session_that_waits_is_pending_and_one_that_is_there_is_not() {
        let limits = Limits::new(config::Limits::default(), None, Instant::now());
        let here = IpAddr::from([192, 0, 2, 1]);
        let connection = limits.connection(Pool::Http, here, false, Box::new(|_| {}));
        let handover = Handover::new(connection.expect("a place"));
        let place = handover.session(here, Box::new(|_| {}));
        drop(handover);
        let table = Arc::new(Table::default());
        let pass = table.enter(Id::new([7; 16]), entry(), Some(place));
        let mut pass = pass.expect("room");
        assert_eq!((limits.pending(), limits.pending_sessions()), (0, 1));
        pass.connected();
        assert_eq!(limits.pending_sessions(), 0);
        drop(pass);
        assert_eq!(limits.pending_sessions(), 0, "given back once");
    }

    #[test]
    fn sessions_are_bounded() {
        let table = Arc::new(Table::default());
        let id = |number: usize| Id::new((number as u128).to_be_bytes());
        let enter = |number| table.enter(id(number), entry(), None);
        let mut passes: Vec<_> = (0..SESSIONS_MAX).map(|n| enter(n).expect("room")).collect();
        assert_eq!(enter(SESSIONS_MAX).err(), Some(Full));
        passes.pop();
        assert!(enter(SESSIONS_MAX).is_ok());
    }
}
