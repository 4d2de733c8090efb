//! Visits and joins without a worker's loop around them, for measuring their cost.

use std::net::TcpStream;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Instant;

use bytes::Bytes;
use net::tls::RecordLayer;
use net::{Backend, Slot};

use super::carousel::Carousel;
use super::listener::Listener;
use super::outlet::Outlet;
use super::{Attach, Links, Worker, WorkerWaker};
use crate::books::{Books, Plane};
use crate::events::Conditions;
use crate::lane::LaneGuard;
use crate::listener::{Departure, ListenerId};

/// One lane with a full audience.
#[derive(Debug)]
pub(crate) struct Visits {
    carousel: Carousel,
    outlet: Outlet,
}

impl Visits {
    pub(crate) fn new(lane: &LaneGuard, listeners: usize, backend: Box<dyn Backend>) -> Self {
        let now = Instant::now();
        let mut carousel = Carousel::new(Arc::clone(lane.lane()), now);
        for index in 0..listeners {
            let group = carousel.group_with_room();
            let slot = Slot {
                index: index as u32,
                reuse: 0,
            };
            let id = ListenerId(index as u64);
            let listener = Listener::new(id, slot, Bytes::new(), now, lane.clone(), None, None);
            carousel.groups[group].members.push(listener);
        }
        Self {
            carousel,
            outlet: Outlet::new(backend),
        }
    }

    /// Visits every subgroup that has something to do, once.
    pub(crate) fn turn(&mut self, books: &Books, now: Instant) {
        let mut leavers = Vec::new();
        for _ in 0..self.carousel.groups.len() {
            let Some(group) = self.carousel.take_due() else {
                return;
            };
            let outlet = &mut self.outlet;
            self.carousel.visit(group, outlet, books, now, &mut leavers);
        }
        debug_assert!(leavers.is_empty());
    }

    /// Puts the first listeners behind TLS.
    pub(crate) fn secure(&mut self, records: impl IntoIterator<Item = Box<RecordLayer>>) {
        let groups = self.carousel.groups.iter_mut();
        let listeners = groups.flat_map(|group| &mut group.members);
        for (listener, records) in listeners.zip(records) {
            listener.records = Some(records);
        }
    }

    /// Makes exactly the listeners whose number `sits_out` accepts sit out the next visits.
    pub(crate) fn pause(&mut self, sits_out: impl Fn(usize) -> bool) {
        let groups = self.carousel.groups.iter_mut();
        for listener in groups.flat_map(|group| &mut group.members) {
            listener.blocked = sits_out(listener.slot.index as usize);
        }
    }
}

/// A worker that the caller steps, and one lane to join.
pub(crate) struct Joins {
    worker: Worker,
    guard: LaneGuard,
    socket: TcpStream,
    joined: u64,
    _departures: Receiver<Departure>,
}

impl Joins {
    /// Creates a worker with one lane. Joiners get copies of `socket`.
    pub(crate) fn new(
        guard: LaneGuard,
        backend: Box<dyn Backend>,
        waker: WorkerWaker,
        socket: TcpStream,
    ) -> Self {
        let (_, inbox) = sync_channel(1);
        let (departures, _departures) = sync_channel(1);
        let links = Links {
            inbox,
            waker,
            books: Arc::new(Books::new(Plane::Worker, 0)),
            departures,
            conditions: Conditions::default().sender,
        };
        Self {
            worker: Worker::new(0, 0.02, backend, links, Instant::now()),
            guard,
            socket,
            joined: 0,
            _departures,
        }
    }

    /// Adds one more listener, up to its first send.
    ///
    /// # Errors
    /// Fails when the process has no descriptor left.
    pub(crate) fn join(&mut self, head: Bytes) -> std::io::Result<()> {
        self.joined += 1;
        let now = Instant::now();
        let attach = Attach {
            id: ListenerId(self.joined),
            transport: self.socket.try_clone()?.into(),
            head,
            guard: self.guard.clone(),
            requested: now,
            conversation: None,
            after: None,
        };
        self.worker.attach(attach, now);
        Ok(())
    }

    pub(crate) fn sends(&self) -> u64 {
        self.worker.links.books.sends.value()
    }
}
