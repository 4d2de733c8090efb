//! A connection to the server, from its response on, and a viewer's session over it.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::epoll::EventFlags;
use webrtc::client::{Answer, ClientIdentity, Event, Peer};
use webrtc::ice::Credentials;
use webrtc::rtcp;
use webrtc::srtp::{Keys, RTCP_OVERHEAD_MAX, RtcpSealer};

use super::follower::Follower;
use super::lines::{Lines, Types};
use super::offer;
use super::packets::Packets;
use super::receiver::Moment;
use crate::group::{Context, Outcome, Reason, Seat};
use crate::socket::{converse, transmit_datagram, watch};

/// Interval between two receiver reports: browsers send at least one per second.
const REPORT_INTERVAL: Duration = Duration::from_secs(1);

/// Source that a viewer names in reports; a receiver need not have a number of its own.
const OWN_SSRC: u32 = 1;

/// Path to the server: the checks of its address, and the handshake.
#[derive(Debug)]
pub(super) struct Connection {
    peer: Peer,
    server: SocketAddr,
}

impl Connection {
    /// Opens the connection of a member to the server behind `answer`, and returns its UDP socket, which is watched.
    pub(super) fn open<B>(
        context: &Context<B>,
        seat: &Seat,
        identity: &ClientIdentity,
        (answer, local): (&Answer, Credentials),
    ) -> Result<(OwnedFd, Self), Reason> {
        let plan = &context.plan;
        let own = || offer::choose_candidate(answer, plan.target.addr);
        let server = plan.via.or_else(own);
        let server = server.ok_or("the answer names no UDP address")?;
        let socket = converse(server, seat.number);
        let socket = socket.map_err(|error| format!("no UDP socket: {error}"))?;
        watch(&context.epoll, &socket, seat.place, EventFlags::IN)?;
        let random = getrandom::u64()?;
        let peer = Peer::new(identity, local, answer, random, Instant::now());
        Ok((socket, Self { peer, server }))
    }

    /// Takes a datagram that is not media. Returns the keys once there are some.
    pub(super) fn receive(
        &mut self,
        datagram: &[u8],
        socket: &OwnedFd,
        now: Instant,
    ) -> Result<Option<Keys>, Reason> {
        let heard = self.peer.receive(datagram, self.server, now);
        self.flush(socket)?;
        match heard? {
            None => Ok(None),
            Some(Event::Closed) => Err("closed by the server".into()),
            Some(Event::Connected(keys)) => Ok(Some(*keys)),
        }
    }

    /// Returns the time at which [`wake`](Self::wake) is due.
    pub(super) fn due(&self) -> Instant {
        self.peer.timeout()
    }

    /// Sends everything that is due by now.
    pub(super) fn wake(&mut self, socket: &OwnedFd, now: Instant) -> Outcome {
        if self.due() <= now {
            self.peer.handle_timeout(now)?;
        }
        Ok(self.flush(socket)?)
    }

    /// Says goodbye. A failure does not matter: a server that is gone need not be notified.
    pub(super) fn close(&mut self, socket: &OwnedFd, now: Instant) {
        self.peer.close(now);
        self.flush(socket).ok();
    }

    fn flush(&mut self, socket: &OwnedFd) -> Result<(), &'static str> {
        while let Some(datagram) = self.peer.poll_transmit() {
            transmit_datagram(socket, &datagram)?;
        }
        Ok(())
    }
}

/// A viewer's session with the server.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) connection: Connection,
    pub(super) types: Types,
    /// Response from which a checked viewer's follower is made.
    answer: Option<Answer>,
    secure: Option<Secure>,
}

#[derive(Debug)]
struct Secure {
    rtcp_out: RtcpSealer,
    follower: Option<Box<Follower>>,
    next_report: Instant,
}

impl Session {
    pub(super) fn new(connection: Connection, answer: Answer, is_checked: bool) -> Self {
        Self {
            connection,
            types: Types::of(&answer),
            answer: is_checked.then_some(answer),
            secure: None,
        }
    }

    /// Takes a datagram that is not media.
    pub(super) fn receive(&mut self, datagram: &[u8], socket: &OwnedFd, at: Moment) -> Outcome {
        let Some(keys) = self.connection.receive(datagram, socket, at.now)? else {
            return Ok(());
        };
        let follower = match &self.answer {
            Some(answer) => Some(Box::new(Follower::new(answer, &keys, at.wall)?)),
            None => None,
        };
        self.secure = Some(Secure {
            rtcp_out: RtcpSealer::new(&keys)?,
            follower,
            next_report: at.now + REPORT_INTERVAL,
        });
        Ok(())
    }

    /// Returns the follower that checks this session's packets, if there is one.
    pub(super) fn follower(&mut self) -> Option<&mut Follower> {
        self.secure.as_mut()?.follower.as_deref_mut()
    }

    /// Returns the time at which [`Session::handle_timeout`] is due.
    pub(super) fn due(&self) -> Instant {
        let due = self.connection.due();
        let Some(secure) = &self.secure else {
            return due;
        };
        let due = due.min(secure.next_report);
        let follower = secure
            .follower
            .as_deref()
            .and_then(|follower| follower.receiver.deadline());
        follower.map_or(due, |follower| follower.min(due))
    }

    /// Sends what is due by now: checks, a report, and requests with or without it.
    pub(super) fn handle_timeout(
        &mut self,
        lines: &mut Lines,
        now: Instant,
        socket: &OwnedFd,
        packets: &mut Packets,
    ) -> Outcome {
        self.connection.wake(socket, now)?;
        let Some(secure) = &mut self.secure else {
            return Ok(());
        };
        let mut reports = Vec::new();
        let is_due = secure.next_report <= now;
        if is_due {
            secure.next_report = now + REPORT_INTERVAL;
            lines.report(&mut reports);
            if let Some(follower) = &secure.follower {
                follower.receiver.complete(&mut reports, now);
            }
        }
        let mut requests = Vec::new();
        if let Some(follower) = &mut secure.follower {
            let receiver = &mut follower.receiver;
            receiver.requests(OWN_SSRC, now, &mut requests, packets);
        }
        if !is_due && requests.is_empty() {
            return Ok(());
        }
        let mut compound = Vec::new();
        rtcp::write_receiver_report(&mut compound, OWN_SSRC, &reports);
        compound.extend(requests);
        let mut sealed = vec![0; compound.len() + RTCP_OVERHEAD_MAX];
        let length = secure.rtcp_out.seal(&compound, &mut sealed)?;
        Ok(transmit_datagram(socket, &sealed[..length])?)
    }
}
