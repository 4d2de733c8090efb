//! A listener that the core carries nothing to: what it is sent was recorded, and comes from files.
//!
//! As long as a [`Guest`] lives, its listener is counted, listed, reported and removable like every other; its
//! permission ends by its term, by its key and by its authority, and it ends in a [`Departure`]. Whoever sends to it
//! stops when it has [ended](Guest::ended). [`ListenerHandle`](crate::ListenerHandle) is built on it, for those that
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

/// See the module's description.
#[derive(Debug)]
pub struct Guest {
    id: ListenerId,
    /// As what it counts.
    protocol: Protocol,
    fanout: Arc<Fanout>,
    /// The books it is in.
    books: Arc<Books>,
    control: Arc<Control>,
    /// When it asked.
    requested: Instant,
    /// Why it ended, where that was recorded.
    reason: Option<Reason>,
}

impl Guest {
    /// A listener that has its permission, and is sent what was recorded under that name: in which format, and who it
    /// is. Where there is a stream of the name, it takes a place among the stream's listeners, and is counted there
    /// when it has left.
    ///
    /// # Errors
    /// [`JoinRefused::Full`] when the stream has as many listeners as it may.
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

    /// One that is listed, and counted in the books of tasks from here on.
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
        guest.books.listeners[guest.protocol()].add(1);
        guest
    }

    /// Which listener this is.
    pub fn id(&self) -> ListenerId {
        self.id
    }

    /// Ends when the listener is removed: by an operator, or because its permission is over.
    pub fn ended(&self) -> &Revocation {
        self.control.removal()
    }

    /// Counts bytes sent to it, and in how many calls. A thread that serves many may add up for a while first,
    /// so that its visits touch less memory.
    pub fn sent(&self, bytes: u64, sends: u64) {
        self.books.sends.add(sends);
        self.books.egress_bytes[self.protocol()].add(bytes);
        self.control
            .sent_bytes()
            .fetch_add(bytes, Ordering::Relaxed);
    }

    /// How long it has been here.
    pub(crate) fn waited(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.requested)
    }

    /// The thread that keeps `books` serves it from here on, and it is in those. Returns those it was in.
    pub(crate) fn serve_in(&mut self, books: &Arc<Books>) -> Arc<Books> {
        let protocol = self.protocol();
        let before = std::mem::replace(&mut self.books, Arc::clone(books));
        self.books.listeners[protocol].add(1);
        before.listeners[protocol].sub(1);
        before
    }

    pub(crate) fn fanout(&self) -> &Fanout {
        &self.fanout
    }

    pub(crate) fn books(&self) -> &Books {
        &self.books
    }

    pub(crate) fn control(&self) -> &Control {
        &self.control
    }

    pub(crate) fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// Why it ends: what was recorded, else that it was removed, else that it left.
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
        self.books.listeners[self.protocol()].sub(1);
        self.books.departures[reason].add(1);
        self.fanout.reader_left(Departure {
            id: self.id,
            reason,
            sent_bytes: self.control.sent_bytes().load(Ordering::Relaxed),
            skips: self.control.skips().load(Ordering::Relaxed) as u32,
        });
    }
}
