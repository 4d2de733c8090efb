//! Main loop of a worker: input from the network, other workers and the rest of the program, the clock, and a turn for the
//! role; then sleep.

mod mail;
mod tcp;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use base::Numbers;
use net::panics::{self, Panic};
use net::{Ready, udp};

use super::rest::Rest;
use super::shared::{Expected, Inbox, Mail, Shared};
use super::wire::{LISTENER, UDP, Wire};
use super::{Counters, Outbox, Role};
use crate::dtls::ServerIdentity;
use crate::ice::{Path, Transport};
use crate::mux::{self, Claim, CloseReason, Event, Handle, Mux, Received};

/// Batches of datagrams taken before the role has a turn: the feedback of a thousand viewers.
const BATCHES_PER_TURN: usize = 8;

/// Limit of the workers that may forward one datagram: from the worker where it arrives to that of a former session on the same
/// path, and from there to the present one.
const HOPS_MAX: u8 = 2;

/// Interval between two searches for sessions whose peers never arrived.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);

/// State of one worker thread; [`run`](Self::run) serves its sessions until the port is stopped.
pub(super) struct Worker<R: Role> {
    number: usize,
    shared: Arc<Shared<R::Ticket>>,
    inbox: Inbox,
    mux: Mux,
    wire: Wire,
    role: R,
    rest: Rest,
    /// Tickets of sessions that are not connected yet.
    tickets: HashMap<Handle, R::Ticket>,
    counters: Counters,
    next_turn: Option<Instant>,
    next_sweep: Instant,
    /// Time at which to listen again after descriptors ran out.
    accept_again: Option<Instant>,
}

impl<R: Role> Worker<R> {
    pub(super) fn new(
        number: usize,
        shared: Arc<Shared<R::Ticket>>,
        identity: &ServerIdentity,
        inbox: Inbox,
        wire: Wire,
        role: R,
        rest: Rest,
    ) -> Self {
        let now = Instant::now();
        Self {
            number,
            shared,
            inbox,
            mux: Mux::new(identity),
            wire,
            role,
            rest,
            tickets: HashMap::new(),
            counters: Counters::default(),
            next_turn: Some(now),
            next_sweep: now + SWEEP_INTERVAL,
            accept_again: None,
        }
    }

    /// Runs until the port is stopped.
    ///
    /// A panic over one peer's input ends that peer's session. Any other panic has cost this worker's sessions their state. The
    /// kernel would still send it its share of the peers, so the process ends, and its supervisor restarts it.
    pub(super) fn run(mut self) {
        let _guard = net::AbortOnPanic(format!("WebRTC worker {}", self.number));
        net::time_slice::request_short();
        self.role.start(Instant::now());
        let mut arrivals = udp::Inbox::default();
        let mut ready = Vec::new();
        while !self.shared.is_stopping() {
            let now = Instant::now();
            self.take_mail(now);
            self.take_commands(now);
            self.on_time(now);
            self.take_turn(now);
            self.publish(&arrivals);
            let now = Instant::now();
            let due = self.due();
            // Events during the pause are found at the next read.
            std::thread::sleep(self.rest.get(now).min(due.saturating_duration_since(now)));
            let sleep = due.saturating_duration_since(Instant::now());
            if let Err(error) = self.wire.poller.wait(Some(sleep), &mut ready) {
                tracing::error!(
                    worker = self.number,
                    %error,
                    "sockets cannot be watched; the process cannot continue without this worker"
                );
                std::process::abort();
            }
            self.inbox.bell.answer();
            let now = Instant::now();
            for ready in ready.drain(..) {
                self.on_ready(ready, &mut arrivals, now);
            }
        }
        self.leave();
    }

    fn due(&self) -> Instant {
        let deadlines = [
            self.next_turn,
            self.mux.timeout(),
            self.wire.due(),
            self.accept_again,
        ];
        let earliest = deadlines.into_iter().flatten().min();
        earliest.map_or(self.next_sweep, |due| due.min(self.next_sweep))
    }

    fn on_ready(&mut self, ready: Ready, arrivals: &mut udp::Inbox, now: Instant) {
        let Ready {
            number,
            has_input,
            has_room,
        } = ready;
        match number {
            UDP => {
                if has_room {
                    self.wire.has_room();
                }
                if has_input {
                    self.receive(arrivals, now);
                    self.rest.worked(now, Instant::now());
                }
            }
            LISTENER => self.accept(now),
            connection => {
                if has_room {
                    self.wire.connections.flush(connection, &self.wire.poller);
                }
                if has_input {
                    self.read(connection, now);
                }
                self.settle(now);
            }
        }
    }

    fn receive(&mut self, arrivals: &mut udp::Inbox, now: Instant) {
        for _ in 0..BATCHES_PER_TURN {
            let count = match self.wire.udp.socket.receive(arrivals) {
                Ok(count) => count,
                Err(error) => {
                    tracing::warn!(worker = self.number, %error, "datagrams cannot be received");
                    return;
                }
            };
            self.counters.received += count as u64;
            for datagram in arrivals.datagrams() {
                let path = Path::udp(datagram.from).to_local(datagram.to);
                self.take(path, datagram.bytes, 0, now);
            }
            if count < udp::BATCH {
                return;
            }
        }
    }

    /// Processes a datagram that `hops` workers have forwarded.
    fn take(&mut self, path: Path, datagram: &mut [u8], hops: u8, now: Instant) {
        match self.mux.receive(path, datagram, now) {
            Received::Nothing => {}
            Received::Rtp {
                session,
                index,
                packet,
            } => {
                let mut out = Outbox::new(&mut self.mux, &mut self.wire, now);
                let role = &mut self.role;
                let taken = panics::contain(|| role.rtp(session, index, packet, now, &mut out));
                self.give_up_if(session, taken, now);
            }
            Received::Rtcp { session, packet } => {
                let mut out = Outbox::new(&mut self.mux, &mut self.wire, now);
                let role = &mut self.role;
                let taken = panics::contain(|| role.rtcp(session, packet, now, &mut out));
                self.give_up_if(session, taken, now);
            }
            Received::Unknown { ufrag } => {
                match self.shared.directory.claim(ufrag, self.index()) {
                    Claim::Adopted(expected) => {
                        if self.adopt(expected, now) {
                            // The mux now knows the path and takes the datagram.
                            let received = self.mux.receive(path, datagram, now);
                            debug_assert_eq!(received, Received::Nothing);
                        }
                    }
                    Claim::Owned(worker) => {
                        if path.transport == Transport::Udp {
                            self.mux.route(path, worker);
                        }
                        self.forward(worker, path, datagram, hops);
                    }
                    Claim::Unknown => self.counters.mux.strays += 1,
                }
            }
            Received::Elsewhere { worker } => self.forward(worker, path, datagram, hops),
        }
        self.settle(now);
    }

    /// Forwards a datagram to the worker that has its session.
    fn forward(&mut self, worker: u16, path: Path, datagram: &[u8], hops: u8) {
        // Another worker cannot answer on our connection; connections are passed on as a whole.
        if hops >= HOPS_MAX || path.transport == Transport::Tcp {
            self.counters.mux.strays += 1;
            return;
        }
        let mail = Mail::Datagram {
            path,
            bytes: datagram.into(),
            hops: hops + 1,
        };
        self.pass(worker, mail);
    }

    fn pass(&mut self, worker: u16, mail: Mail) {
        match self.shared.pass(worker, mail) {
            true => self.counters.forwarded += 1,
            false => self.counters.forwards_lost += 1,
        }
    }

    fn adopt(&mut self, expected: Expected<R::Ticket>, now: Instant) -> bool {
        let Expected { session, ticket } = expected;
        let ufrag = Box::<str>::from(session.local.ufrag());
        match self.mux.adopt(session, now) {
            Ok(handle) => {
                self.tickets.insert(handle, ticket);
                true
            }
            Err(error) => {
                tracing::warn!(worker = self.number, %error, "a session is refused");
                self.shared.directory.remove(&ufrag);
                false
            }
        }
    }

    /// Carries out the sessions' decisions: notifies the role, sends, and removes names.
    fn settle(&mut self, now: Instant) {
        // The last flight of a handshake precedes everything that the role then sends: a peer has no keys until it has received
        // that flight, and the first keyframe would be lost.
        self.transmit(now);
        while let Some((session, event)) = self.mux.poll_event() {
            match event {
                Event::Connected { keys, path } => {
                    let Some(ticket) = self.tickets.remove(&session) else {
                        continue;
                    };
                    let mut out = Outbox::new(&mut self.mux, &mut self.wire, now);
                    let role = &mut self.role;
                    let taken = panics::contain(|| {
                        role.connected(session, ticket, &keys, path, now, &mut out);
                    });
                    self.give_up_if(session, taken, now);
                }
                // The role may have closed the session since.
                Event::Moved { path } if self.mux.path(session).is_some() => {
                    self.role.moved(session, path);
                }
                Event::Moved { .. } => {}
                Event::Closed { reason } => self.closed(session, reason),
            }
        }
        self.transmit(now);
        while let Some(ufrag) = self.mux.poll_retired() {
            self.shared.directory.remove(&ufrag);
        }
        while let Some(connection) = self.wire.connections.take_broken() {
            self.hang_up(connection);
        }
    }

    fn transmit(&mut self, now: Instant) {
        while let Some(transmit) = self.mux.poll_transmit() {
            self.wire.send(transmit.path, &transmit.datagram, now);
        }
    }

    fn closed(&mut self, session: Handle, reason: CloseReason) {
        match self.tickets.remove(&session) {
            Some(ticket) => {
                tracing::debug!(worker = self.number, %reason, "a peer did not connect");
                self.counters.abandoned += 1;
                self.role.abandoned(ticket, reason);
            }
            None => self.role.closed(session, reason),
        }
    }

    /// Ends a session over which the role has panicked.
    fn give_up_if(&mut self, session: Handle, taken: Result<(), Panic>, now: Instant) {
        let Err(panic) = taken else {
            return;
        };
        mux::report(&panic, self.mux.path(session));
        if self.mux.close(session, now) {
            self.role.closed(session, CloseReason::Panicked);
        }
    }

    fn on_time(&mut self, now: Instant) {
        if self.wire.due().is_some_and(|due| due <= now) {
            self.wire.has_room();
        }
        if self.accept_again.take_if(|due| *due <= now).is_some() {
            self.listen(true);
        }
        self.mux.handle_timeout(now);
        self.settle(now);
        if self.next_sweep <= now {
            self.next_sweep = now + SWEEP_INTERVAL;
            self.sweep(now);
        }
    }

    fn sweep(&mut self, now: Instant) {
        let Self { mux, wire, .. } = self;
        let useless = wire.connections.useless(|path| mux.knows(path), now);
        for connection in useless {
            self.refuse(connection);
        }
        // One worker is enough to expire the sessions of all.
        if self.number == 0 {
            let expired = self.shared.directory.expire(now);
            if !expired.is_empty() {
                tracing::debug!(count = expired.len(), "peers never came");
            }
            self.counters.expired += expired.len() as u64;
            for Expected { ticket, .. } in expired {
                self.role.abandoned(ticket, CloseReason::NeverCame);
            }
        }
    }

    fn take_turn(&mut self, now: Instant) {
        let mut out = Outbox::new(&mut self.mux, &mut self.wire, now);
        self.next_turn = self.role.turn(now, &mut out);
        self.settle(now);
    }

    fn publish(&self, arrivals: &udp::Inbox) {
        let mut counters = Counters {
            mux: self.mux.counters(),
            oversized: arrivals.cut(),
            ..self.wire.udp.traffic
        };
        counters.merge(self.counters);
        self.shared.publish(self.number, counters, self.mux.len());
    }

    /// Ends all sessions.
    fn leave(mut self) {
        let now = Instant::now();
        self.role.end();
        let sessions: Vec<_> = self.mux.handles().collect();
        for session in sessions {
            self.mux.close(session, now);
        }
        self.transmit(now);
        self.publish(&udp::Inbox::default());
    }

    /// Returns the worker's number for claims of sessions. There are few workers.
    fn index(&self) -> u16 {
        self.number as u16
    }
}
