//! Router of the sessions of one WebRTC port worker: listeners to egress, publishers to ingest.
//!
//! A session's ticket determines which of the two it is, for its life; afterwards its slot is looked up.

use std::sync::Arc;
use std::time::Instant;

use egress_webrtc::Viewers;
use fanout::Stream;
use ingest::whip::{self, Publishers};
use webrtc::ice::Path;
use webrtc::mux::{CloseReason, Handle};
use webrtc::port::{Outbox, Role};
use webrtc::srtp::Keys;

use super::table::SessionPermit;

/// Data that the port keeps for a session until its peer connects.
#[derive(Debug)]
pub struct SessionTicket {
    pub(super) task: Task,
    pub(super) permit: SessionPermit,
}

/// Task for a connected session.
#[derive(Debug)]
pub(super) enum Task {
    /// Send this stream to the peer.
    Listen(egress_webrtc::ViewerTicket, Arc<Stream>),
    /// Receive a stream from the peer.
    Publish(whip::PublisherTicket),
}

/// Connected session.
#[derive(Debug)]
struct ConnectedSession {
    session: Handle,
    is_publisher: bool,
    #[expect(dead_code, reason = "held until the session ends")]
    permit: SessionPermit,
}

/// Router of one worker's sessions; the port drives it as its [`Role`].
pub(super) struct SessionRouter {
    viewers: Viewers,
    publishers: Publishers,
    /// Sessions by the slots of their handles, of which there are as many as a worker has sessions.
    sessions: Sessions,
}

#[derive(Debug, Default)]
struct Sessions(Vec<Option<ConnectedSession>>);

impl Sessions {
    fn enter(&mut self, connected: ConnectedSession) {
        let slot = connected.session.slot as usize;
        if self.0.len() <= slot {
            self.0.resize_with(slot + 1, || None);
        }
        self.0[slot] = Some(connected);
    }

    /// Returns whether a session is a publisher's; `None` when it is not connected.
    fn is_publisher(&self, session: Handle) -> Option<bool> {
        let connected = self.0.get(session.slot as usize)?.as_ref()?;
        (connected.session == session).then_some(connected.is_publisher)
    }

    fn leave(&mut self, session: Handle) {
        if let Some(entry) = self.0.get_mut(session.slot as usize) {
            entry.take_if(|connected| connected.session == session);
        }
    }

    /// Returns the port's outbox, which reports here the sessions that this side ends.
    fn outbox<'o, 'p>(&'o mut self, outbox: &'o mut Outbox<'p>) -> RouterOutbox<'o, 'p> {
        RouterOutbox {
            outbox,
            sessions: self,
        }
    }
}

impl SessionRouter {
    pub(super) fn new(viewers: Viewers, publishers: Publishers) -> Self {
        Self {
            viewers,
            publishers,
            sessions: Sessions::default(),
        }
    }
}

/// Outbox of the port that also reports to the router the sessions that this side ends.
struct RouterOutbox<'o, 'p> {
    outbox: &'o mut Outbox<'p>,
    sessions: &'o mut Sessions,
}

impl whip::PublisherOutbox for RouterOutbox<'_, '_> {
    fn rtcp(&mut self, session: Handle, compound: &[u8]) {
        self.outbox.rtcp(session, compound);
    }

    fn close(&mut self, session: Handle) {
        self.sessions.leave(session);
        self.outbox.close(session);
    }
}

impl egress_webrtc::ViewerOutbox for RouterOutbox<'_, '_> {
    fn buffer(&mut self) -> &mut [u8] {
        self.outbox.buffer()
    }

    fn send(&mut self, path: Path, len: usize, segment: usize) -> egress_webrtc::Sent {
        self.outbox.send(path, len, segment)
    }

    fn rtcp(&mut self, session: Handle, compound: &[u8]) {
        self.outbox.rtcp(session, compound);
    }

    fn close(&mut self, session: Handle) {
        self.sessions.leave(session);
        self.outbox.close(session);
    }
}

impl Role for SessionRouter {
    type Ticket = SessionTicket;

    fn start(&mut self, now: Instant) {
        self.viewers.start(now);
    }

    fn connected(
        &mut self,
        session: Handle,
        ticket: SessionTicket,
        keys: &Keys,
        path: Path,
        now: Instant,
        out: &mut Outbox<'_>,
    ) {
        let SessionTicket { task, mut permit } = ticket;
        permit.connected();
        self.sessions.enter(ConnectedSession {
            session,
            is_publisher: matches!(task, Task::Publish(_)),
            permit,
        });
        let out = &mut self.sessions.outbox(out);
        match task {
            Task::Listen(mut ticket, stream) => {
                ticket.handle.connected(&stream);
                self.viewers
                    .connected(session, ticket, keys, path, now, out);
            }
            Task::Publish(ticket) => self.publishers.connected(session, ticket, now),
        }
    }

    fn abandoned(&mut self, ticket: SessionTicket, reason: CloseReason) {
        match ticket.task {
            Task::Publish(ticket) => ticket.abandon(reason),
            // The port counts them, and any client can cause any number of them.
            Task::Listen(..) => {}
        }
    }

    fn moved(&mut self, session: Handle, path: Path) {
        // A publisher's packets are taken whatever their path.
        if self.sessions.is_publisher(session) == Some(false) {
            self.viewers.moved(session, path);
        }
    }

    fn closed(&mut self, session: Handle, reason: CloseReason) {
        match self.sessions.is_publisher(session) {
            Some(true) => self.publishers.closed(session, reason),
            Some(false) => self.viewers.closed(session),
            None => {}
        }
        self.sessions.leave(session);
    }

    fn rtp(
        &mut self,
        session: Handle,
        _index: u64,
        packet: &[u8],
        now: Instant,
        out: &mut Outbox<'_>,
    ) {
        // Media from listeners is ignored.
        if self.sessions.is_publisher(session) == Some(true) {
            let out = &mut self.sessions.outbox(out);
            self.publishers.rtp(session, packet, now, out);
        }
    }

    fn rtcp(&mut self, session: Handle, compound: &[u8], now: Instant, out: &mut Outbox<'_>) {
        let is_publisher = self.sessions.is_publisher(session);
        let out = &mut self.sessions.outbox(out);
        match is_publisher {
            Some(true) => self.publishers.rtcp(session, compound, now, out),
            Some(false) => self.viewers.rtcp(session, compound, now, out),
            None => {}
        }
    }

    fn turn(&mut self, now: Instant, out: &mut Outbox<'_>) -> Option<Instant> {
        let out = &mut self.sessions.outbox(out);
        let publishers = self.publishers.turn(now, out);
        let began = net::cpu::thread_time();
        let viewers = self.viewers.turn(now, out);
        let ended = net::cpu::thread_time();
        self.viewers.took(ended.saturating_sub(began), ended, now);
        publishers.into_iter().chain(viewers).min()
    }

    fn end(&mut self) {
        self.viewers.end();
        self.publishers.end();
        self.sessions.0.clear();
    }
}
