//! One session of a viewer, from its answer on.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use webrtc::client::{self, Answer, ClientIdentity, Event, Peer};
use webrtc::ice::Credentials;
use webrtc::rtcp;
use webrtc::srtp::{self, Keys, RTCP_OVERHEAD_MAX, RtcpSealer};

use super::follower::Follower;
use super::lines::{Lines, Types};
use super::packets::Packets;
use super::receiver::Moment;
use crate::socket::{self, Moved};

/// Between two reports of a receiver: browsers send at least one per second.
const REPORT_INTERVAL: Duration = Duration::from_secs(1);

/// The source that a viewer names in reports; a receiver need not have a number of its own.
const OWN_SSRC: u32 = 1;

/// Why a session ended.
#[derive(Debug, thiserror::Error)]
pub(super) enum SessionError {
    #[error(transparent)]
    Client(#[from] client::Error),
    #[error(transparent)]
    Srtp(#[from] srtp::Error),
    #[error("closed by the server")]
    Closed,
    #[error("{0}")]
    Socket(&'static str),
}

/// A session with the server.
#[derive(Debug)]
pub(super) struct Session {
    peer: Peer,
    server: SocketAddr,
    pub(super) types: Types,
    /// Of a viewer that is checked: what its follower is made from.
    sections: Option<Vec<client::Accepted>>,
    secure: Option<Secure>,
}

#[derive(Debug)]
struct Secure {
    rtcp_out: RtcpSealer,
    follower: Option<Box<Follower>>,
    next_report: Instant,
}

impl Session {
    pub(super) fn new(
        identity: &ClientIdentity,
        local: Credentials,
        (answer, server): (&Answer, SocketAddr),
        random: u64,
        is_checked: bool,
        now: Instant,
    ) -> Self {
        Self {
            peer: Peer::new(identity, local, answer, random, now),
            server,
            types: Types::of(answer),
            sections: is_checked.then(|| Follower::sections(answer)),
            secure: None,
        }
    }

    /// Takes a datagram that is not media.
    pub(super) fn receive(&mut self, datagram: &[u8], at: Moment) -> Result<(), SessionError> {
        match self.peer.receive(datagram, self.server, at.now)? {
            None => Ok(()),
            Some(Event::Closed) => Err(SessionError::Closed),
            Some(Event::Connected(keys)) => self.connected(&keys, at),
        }
    }

    fn connected(&mut self, keys: &Keys, at: Moment) -> Result<(), SessionError> {
        let follower = match &self.sections {
            Some(sections) => Some(Box::new(Follower::new(sections, keys, at.wall)?)),
            None => None,
        };
        self.secure = Some(Secure {
            rtcp_out: RtcpSealer::new(keys)?,
            follower,
            next_report: at.now + REPORT_INTERVAL,
        });
        Ok(())
    }

    /// The follower that checks this session's packets, if there is one.
    pub(super) fn follower(&mut self) -> Option<&mut Follower> {
        self.secure.as_mut()?.follower.as_deref_mut()
    }

    /// When [`Session::handle_timeout`] is due.
    pub(super) fn due(&self) -> Instant {
        let due = self.peer.timeout();
        let Some(secure) = &self.secure else {
            return due;
        };
        let due = due.min(secure.next_report);
        let follower = secure.follower.as_deref().and_then(Follower::deadline);
        follower.map_or(due, |follower| follower.min(due))
    }

    pub(super) fn handle_timeout(
        &mut self,
        lines: &mut Lines,
        now: Instant,
        socket: &OwnedFd,
        packets: &mut Packets,
    ) -> Result<(), SessionError> {
        if self.peer.timeout() <= now {
            self.peer.handle_timeout(now)?;
        }
        self.feed_back(lines, now, socket, packets)?;
        self.flush(socket)
    }

    /// Sends a report when one is due, and requests with it or without.
    pub(super) fn feed_back(
        &mut self,
        lines: &mut Lines,
        now: Instant,
        socket: &OwnedFd,
        packets: &mut Packets,
    ) -> Result<(), SessionError> {
        let Some(secure) = &mut self.secure else {
            return Ok(());
        };
        let mut reports = Vec::new();
        let is_due = secure.next_report <= now;
        if is_due {
            secure.next_report = now + REPORT_INTERVAL;
            lines.report(&mut reports);
            if let Some(follower) = &secure.follower {
                follower.complete(&mut reports, now);
            }
        }
        let mut requests = Vec::new();
        if let Some(follower) = &mut secure.follower {
            follower.requests(OWN_SSRC, now, &mut requests, packets);
        }
        if !is_due && requests.is_empty() {
            return Ok(());
        }
        let mut compound = Vec::new();
        rtcp::write_receiver_report(&mut compound, OWN_SSRC, &reports);
        compound.extend(requests);
        let mut sealed = vec![0; compound.len() + RTCP_OVERHEAD_MAX];
        let length = secure.rtcp_out.seal(&compound, &mut sealed)?;
        send(socket, &sealed[..length])
    }

    /// Sends what the session has queued.
    pub(super) fn flush(&mut self, socket: &OwnedFd) -> Result<(), SessionError> {
        while let Some(datagram) = self.peer.poll_transmit() {
            send(socket, &datagram)?;
        }
        Ok(())
    }

    /// Says goodbye.
    pub(super) fn close(&mut self, socket: &OwnedFd, now: Instant) {
        self.peer.close(now);
        // A server that is gone need not be told.
        self.flush(socket).ok();
    }
}

/// A full socket drops the datagram, as networks do.
fn send(socket: &OwnedFd, datagram: &[u8]) -> Result<(), SessionError> {
    match socket::transmit_datagram(socket, datagram) {
        Moved::Bytes(_) | Moved::Later => Ok(()),
        Moved::Gone(why) => Err(SessionError::Socket(why)),
    }
}
