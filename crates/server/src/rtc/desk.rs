//! What one worker of the WebRTC port does with its sessions: listeners go to egress, publishers to ingest.
//!
//! A session is one or the other for its life, as its ticket says; which, is known by its slot.

use std::task::Waker;
use std::time::Instant;

use egress_webrtc::Viewers;
use ingest::whip::{self, Publishers};
use webrtc::ice::Path;
use webrtc::mux::{Handle, Reason};
use webrtc::port::{Outbox, Role};
use webrtc::srtp::Keys;

use super::table::Pass;

/// What a session is for.
#[derive(Debug)]
pub(crate) struct Ticket {
    pub(super) task: Task,
    pub(super) pass: Pass,
}

/// What is to be done for a session.
#[derive(Debug)]
pub(super) enum Task {
    /// Send it a stream. Its seat holds the pass as well, for it ends in one place only.
    Listen(egress_webrtc::Ticket),
    /// Take a stream from it.
    Publish(whip::Ticket),
}

/// Who serves the session of a slot.
#[derive(Debug)]
enum Guest {
    Listener(Handle),
    Publisher(Handle, #[expect(dead_code, reason = "held until the session ends")] Pass),
}

/// See the module's description.
pub(crate) struct Desk {
    viewers: Viewers,
    publishers: Publishers,
    /// By the slots of their handles, of which there are as many as a worker has sessions. A listener
    /// that egress has closed stays here until its slot is used again, which means nothing.
    guests: Vec<Option<Guest>>,
}

impl Desk {
    pub(super) fn new(viewers: Viewers, publishers: Publishers) -> Self {
        Self {
            viewers,
            publishers,
            guests: Vec::new(),
        }
    }

    /// Who serves a session.
    fn guest(&self, session: Handle) -> Option<&Guest> {
        let guest = self.guests.get(session.slot as usize)?.as_ref()?;
        let (Guest::Listener(known) | Guest::Publisher(known, _)) = guest;
        (*known == session).then_some(guest)
    }

    fn seat(&mut self, session: Handle, guest: Guest) {
        let slot = session.slot as usize;
        if self.guests.len() <= slot {
            self.guests.resize_with(slot + 1, || None);
        }
        self.guests[slot] = Some(guest);
    }
}

/// The way out for publishers, by which the desk learns of those that ingest closes.
struct Out<'o, 'p> {
    outbox: &'o mut Outbox<'p>,
    guests: &'o mut [Option<Guest>],
}

impl whip::Out for Out<'_, '_> {
    fn rtcp(&mut self, session: Handle, compound: &[u8]) {
        self.outbox.rtcp(session, compound);
    }

    fn close(&mut self, session: Handle) {
        if let Some(guest) = self.guests.get_mut(session.slot as usize) {
            *guest = None;
        }
        self.outbox.close(session);
    }
}

impl Role for Desk {
    type Ticket = Ticket;

    fn connected(
        &mut self,
        session: Handle,
        ticket: Ticket,
        keys: &Keys,
        path: Path,
        now: Instant,
        out: &mut Outbox<'_>,
    ) {
        let Ticket { task, pass } = ticket;
        pass.connected();
        match task {
            Task::Listen(ticket) => {
                self.seat(session, Guest::Listener(session));
                self.viewers
                    .connected(session, ticket, keys, path, now, out);
            }
            Task::Publish(ticket) => {
                self.seat(session, Guest::Publisher(session, pass));
                let Self {
                    publishers, guests, ..
                } = self;
                let out = &mut Out {
                    outbox: out,
                    guests,
                };
                publishers.connected(session, ticket, keys, path, now, out);
            }
        }
    }

    fn moved(&mut self, session: Handle, path: Path, now: Instant) {
        match self.guest(session) {
            Some(Guest::Listener(_)) => self.viewers.moved(session, path, now),
            Some(Guest::Publisher(..)) => self.publishers.moved(session, path, now),
            None => {}
        }
    }

    fn closed(&mut self, session: Handle, reason: Reason, now: Instant) {
        match self.guest(session) {
            Some(Guest::Listener(_)) => self.viewers.closed(session, reason, now),
            Some(Guest::Publisher(..)) => self.publishers.closed(session, reason, now),
            None => return,
        }
        self.guests[session.slot as usize] = None;
    }

    fn rtp(
        &mut self,
        session: Handle,
        index: u64,
        packet: &[u8],
        now: Instant,
        out: &mut Outbox<'_>,
    ) {
        // Listeners have nothing to send.
        if let Some(Guest::Publisher(..)) = self.guest(session) {
            let Self {
                publishers, guests, ..
            } = self;
            let out = &mut Out {
                outbox: out,
                guests,
            };
            publishers.rtp(session, index, packet, now, out);
        }
    }

    fn rtcp(&mut self, session: Handle, compound: &[u8], now: Instant, out: &mut Outbox<'_>) {
        match self.guest(session) {
            Some(Guest::Listener(_)) => self.viewers.rtcp(session, compound, now, out),
            Some(Guest::Publisher(..)) => {
                let Self {
                    publishers, guests, ..
                } = self;
                let out = &mut Out {
                    outbox: out,
                    guests,
                };
                publishers.rtcp(session, compound, now, out);
            }
            None => {}
        }
    }

    fn turn(&mut self, now: Instant, out: &mut Outbox<'_>) -> Option<Instant> {
        let viewers = self.viewers.turn(now, out);
        let Self {
            publishers, guests, ..
        } = self;
        let out = &mut Out {
            outbox: out,
            guests,
        };
        let publishers = publishers.turn(now, out);
        viewers.into_iter().chain(publishers).min()
    }

    fn end(&mut self) {
        self.viewers.end();
        self.publishers.end();
        self.guests.clear();
    }
}
