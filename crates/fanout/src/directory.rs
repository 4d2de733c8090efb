//! Who is listening: what the operator's port lists and the access log records.
//!
//! Control plane only. Workers know listeners by their id and never look here.

use std::any::Any;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime};

use media::StreamName;

use crate::ListenerId;
use crate::lane::Format;

/// One listener, as it introduced itself.
#[derive(Debug)]
pub struct ListenerRecord {
    /// From [`Fanout::next_id`](crate::Fanout::next_id).
    pub id: ListenerId,
    /// What it listens to.
    pub stream: StreamName,
    /// In which format.
    pub format: Format,
    /// Where it connects from.
    pub peer: SocketAddr,
    /// The first line of its request. Untrusted text.
    pub request: String,
    /// What its program calls itself. Untrusted text.
    pub agent: String,
    /// The page that sent it here. Untrusted text.
    pub referer: String,
    /// When it asked, for people.
    pub since: SystemTime,
    /// When it asked, for measuring.
    pub requested: Instant,
    /// Held as long as the listener is there: its place under the limits.
    pub permit: Option<Permit>,
}

impl ListenerRecord {
    /// Bytes kept of each text that a listener says about itself: as long as it listens, they are in memory.
    /// The agents of players and the addresses of pages are shorter.
    pub const TEXT_BYTES_MAX: usize = 512;

    /// The front of a text, as it may be recorded.
    pub fn cut(text: &str) -> &str {
        &text[..text.floor_char_boundary(Self::TEXT_BYTES_MAX)]
    }
}

/// Something that is given back when its last copy is dropped.
#[derive(Clone)]
pub struct Permit(#[expect(dead_code, reason = "held for its Drop")] Arc<dyn Any + Send + Sync>);

impl Permit {
    /// Wraps whatever gives a place back when dropped.
    pub fn new(place: impl Any + Send + Sync) -> Self {
        Self(Arc::new(place))
    }
}

impl std::fmt::Debug for Permit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Permit")
    }
}

/// All listeners by id.
#[derive(Debug, Default)]
pub struct Directory {
    records: Mutex<HashMap<ListenerId, Arc<ListenerRecord>>>,
}

impl Directory {
    /// A listener.
    pub fn get(&self, id: ListenerId) -> Option<Arc<ListenerRecord>> {
        self.records().get(&id).cloned()
    }

    /// All listeners, the oldest first.
    pub fn list(&self) -> Vec<Arc<ListenerRecord>> {
        let mut all: Vec<_> = self.records().values().cloned().collect();
        all.sort_by_key(|record| record.id);
        all
    }

    /// Forgets a listener whose [`Departure`](crate::Departure) was read, and returns its record
    /// for the access log.
    pub fn leave(&self, id: ListenerId) -> Option<Arc<ListenerRecord>> {
        self.records().remove(&id)
    }

    pub(crate) fn enter(&self, record: ListenerRecord) {
        self.records().insert(record.id, Arc::new(record));
    }

    fn records(&self) -> MutexGuard<'_, HashMap<ListenerId, Arc<ListenerRecord>>> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
