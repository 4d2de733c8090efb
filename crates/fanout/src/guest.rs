//! Listeners that the core sends nothing to: they receive recordings, which come from files.
//!
//! As long as a [`Guest`] lives, its listener is counted, listed, reported and removable like any other; its permission
//! ends by its term, by its key and by its authority, and it ends in a [`Departure`]. The code that sends to it stops
//! when it has [ended](Guest::ended). [`ListenerHandle`](crate::ListenerHandle) is built on it, for listeners that
//! follow a lane.
//!
//! Callers: `server` for files and recordings over HTTP, `egress-rtmp` for films.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime};

use crate::books::Books;
use crate::cursor::Reason;
use crate::directory::{ListenerRecord, Permit};
use crate::format::{Format, Protocol};
use crate::gate::{Authorized, Ongoing, Play, Revocation};
use crate::handle::Control;
use crate::join::{Introduction, JoinRefused};
use crate::listener::{Departure, ListenerId};
use crate::stream::Full;
use crate::{Fanout, Registry};

/// A listener's entry in the books and the directory; dropping it is the listener's departure.
#[derive(Debug)]
pub struct Guest {
    id: ListenerId,
    /// Protocol it counts as.
    pub(crate) protocol: Protocol,
    pub(crate) fanout: Arc<Fanout>,
    /// Books that count it.
    pub(crate) books: Arc<Books>,
    pub(crate) control: Arc<Control>,
    /// Time of its request.
    requested: Instant,
    /// Reason for its end, if recorded.
    reason: Option<Reason>,
}

impl Guest {
    /// Enters a listener that has its permission and receives the recording of that name in `format`. If there is a
    /// stream of the name, the listener takes a place among the stream's listeners, and counts there after it has left.
    ///
    /// # Errors
    /// Returns [`JoinRefused::Full`] when the stream has as many listeners as it may.
    pub fn enter(
        registry: &Registry,
        permission: &Authorized<Play>,
        format: Format,
        introduction: Introduction,
    ) -> Result<Self, JoinRefused> {
        let name = &permission.action().stream;
        let stream = registry.stream(name);
        let place = stream.as_ref().map(|stream| stream.place());
        let place = place.transpose().map_err(|Full| JoinRefused::Full)?;
        let departed = stream.map(|stream| Arc::clone(stream.departed()));
        let fanout = registry.fanout();
        let id = fanout.next_id();
        let record = ListenerRecord {
            id,
            stream: name.clone(),
            format,
            is_live: false,
            peer: introduction.peer,
            request: introduction.request,
            agent: introduction.agent,
            referer: introduction.referer,
            since: SystemTime::now(),
            requested: Instant::now(),
            permit: Permit::of_all([
                place.flatten(),
                introduction.permit,
                permission.begin(Ongoing::Listener(id)),
            ]),
            until: permission.until(),
            departed: departed.unwrap_or_default(),
        };
        let control = Control::new(false, None);
        control.set_lag(None);
        Ok(fanout.enter(record, control))
    }

    /// Creates the entry of a listed listener, counted in the books of tasks from here on.
    pub(crate) fn new(
        (id, protocol): (ListenerId, Protocol),
        fanout: Arc<Fanout>,
        control: Arc<Control>,
        requested: Instant,
    ) -> Self {
        let guest = Self {
            id,
            protocol,
            books: Arc::clone(fanout.task_books()),
            fanout,
            control,
            requested,
            reason: None,
        };
        guest.books.listeners[protocol].add(1);
        guest
    }

    /// Returns the listener's identifier.
    pub fn id(&self) -> ListenerId {
        self.id
    }

    /// Returns the revocation that ends when the listener is removed: by an operator, or because its permission has
    /// expired.
    pub fn ended(&self) -> &Revocation {
        &self.control.removal
    }

    /// Counts bytes sent to it, and the number of send calls. A thread that serves many may add up for a while first,
    /// so that its visits touch less memory.
    pub fn sent(&self, bytes: u64, sends: u64) {
        self.books.sends.add(sends);
        self.books.egress_bytes[self.protocol].add(bytes);
        self.control.sent_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Returns the time since its request.
    pub(crate) fn waited(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.requested)
    }

    /// Moves it to `books`, whose thread serves it from here on. Returns its previous books.
    pub(crate) fn serve_in(&mut self, books: &Arc<Books>) -> Arc<Books> {
        let before = std::mem::replace(&mut self.books, Arc::clone(books));
        self.books.listeners[self.protocol].add(1);
        before.listeners[self.protocol].sub(1);
        before
    }

    /// Returns the reason for its end: the recorded one, else removal, else that it left.
    pub(crate) fn reason(&self) -> Reason {
        match self.reason {
            Some(reason) => reason,
            None if self.control.is_kicked() => Reason::Kicked,
            None => Reason::Left,
        }
    }

    pub(crate) fn ends_by(&mut self, reason: Reason) {
        self.reason = Some(reason);
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        let reason = self.reason();
        self.books.listeners[self.protocol].sub(1);
        self.books.departures[reason].add(1);
        self.fanout.reader_left(Departure {
            id: self.id,
            reason,
            sent_bytes: self.control.sent_bytes.load(Ordering::Relaxed),
            skips: self.control.skips.load(Ordering::Relaxed) as u32,
        });
    }
}
