//! Publishers over WebRTC (WHIP): from a session's packets to a stream's items.
//!
//! ```text
//!  offer ── agree ──► Agreed ──► answer
//!                        │ admit: gate
//!                        ▼
//!                     PublisherTicket ──► Publishers::connected
//!                                   first frame: registry ─────────────────────┐
//!  RTP ─ track? ─► order, repair ─► frames ─► audio and video in step ─► Publisher ──► stream
//!            │            └► NACK      └► PLI            ▲                   and its renditions
//!            └► arrival time                             │
//!  RTCP ─────────────────────────────────────────────────┘ sender reports
//! ```
//!
//! Each simulcast layer is a track of its own in this diagram, from the packets' sources to the requests for
//! keyframes; `streams` decides which stream it belongs to.
//!
//! [`agree()`] chooses the formats of an offer's sections; [`Publishers`] holds the sessions of one worker of
//! the WebRTC port, which calls it with plain packets and the time. Replies are sent through
//! [`PublisherOutbox`].
//!
//! Packets are waited for as long as they may still be repaired; an unrepaired loss leads to a request for a
//! keyframe. Items that one datagram completes are written to the stream at once. An answer reserves nothing:
//! the stream is taken with the first frame, and its present publisher continues until then. Many offers come
//! to nothing, for example in networks without UDP. A publisher that leaves, falls silent or has lost its
//! stream to another ends its epoch; listeners stay for the next one.
//!
//! Congestion is the sender's to control: only it can pace packets and probe for more. Browsers and others
//! that offer transport-cc receive the arrival time of each packet (`arrivals`), some twelve times a second,
//! and find their rate within a second or two. Other senders that support it receive their allowed bit rate
//! each second (`allowance`); without either, reports of losses are all that a sender has.
//!
//! Bounds: a packet's length, packets that wait per track, requests per packet, a frame's length, messages
//! per time. No input of a peer should make this panic; if one does, that session ends.
//!
//! Sources: RFC 9725 (WHIP), RFC 3550 (reports), RFC 4585 and 5104 (feedback), RFC 4588 (repetition), RFC
//! 8851 to 8853 (simulcast), draft-holmer-rmcat-transport-wide-cc-extensions-01 and
//! draft-alvestrand-rmcat-remb-03 (congestion).

mod agree;
mod allowance;
mod arrivals;
mod clock;
mod counters;
mod feed;
mod keyframes;
mod layers;
mod picture;
mod reception;
mod repair;
mod session;
mod source;
mod streams;
#[cfg(test)]
mod tests;
mod track;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use fanout::gate::{Authorized, Denied, Publish, Request};
use fanout::{Registry, Source};
use net::panics::{self, Part};
use webrtc::mux::{CloseReason, Handle};

use self::session::Session;
use crate::admission::{self, PublishedEpoch};
use crate::{Context, Error, Protocol, Settings, Stats, refusal};

pub use agree::{Agreed, Unusable, agree};
pub use counters::Counters;

/// Outbox for packets to sessions, implemented by the port.
pub trait PublisherOutbox {
    /// Seals a compound packet and sends it to the session's peer.
    fn rtcp(&mut self, session: Handle, compound: &[u8]);

    /// Ends the session. It is not reported as closed.
    fn close(&mut self, session: Handle);
}

/// A publisher's right to a session. Dropping it gives up the publisher.
#[derive(Debug)]
pub struct PublisherTicket {
    agreed: Agreed,
    /// `None` once the claim was passed on.
    claim: Option<Claim>,
}

/// Right to take a stream, with the details of its owner.
#[derive(Debug)]
struct Claim {
    registry: Arc<Registry>,
    stats: Arc<Stats>,
    permission: Authorized<Publish>,
    source: Source,
}

impl Claim {
    /// Takes the stream, if it is still available.
    fn redeem(&self, now: Instant) -> Result<PublishedEpoch, Error> {
        let Self {
            registry,
            stats,
            permission,
            source,
        } = self;
        admission::enter(registry, stats, permission, Protocol::Whip, source, now)
    }

    /// Counts and logs that the session published nothing.
    fn fail(&self, error: &Error) {
        let Self {
            registry, stats, ..
        } = self;
        let stream = &self.permission.action().stream;
        let (protocol, peer) = (Protocol::Whip, self.source.peer);
        refusal::note(registry, stats, protocol, peer, Some(stream), error);
        tracing::info!(
            %stream,
            ?peer,
            agent = ?self.source.agent,
            reason = %error,
            "a publisher over WebRTC came to nothing"
        );
    }
}

impl PublisherTicket {
    /// Gives up a session that ended before its peer had connected. `reason` states how far it got.
    pub fn abandon(mut self, reason: CloseReason) {
        self.give_up(reason);
    }

    fn give_up(&mut self, reason: CloseReason) {
        if let Some(claim) = self.claim.take() {
            claim.fail(&Error::NotConnected(reason));
        }
    }
}

impl Drop for PublisherTicket {
    fn drop(&mut self) {
        self.give_up(CloseReason::Requested);
    }
}

/// Asks the gate whether a client may publish over WebRTC.
///
/// # Errors
/// The client may not publish; the event has been logged and counted by then.
pub async fn permit(
    context: &Context,
    request: &Request<'_>,
) -> Result<Authorized<Publish>, Error> {
    let asked = async {
        // The route knows names, but not which of them are the server's own.
        admission::name(request.stream.as_str(), context.is_taken)?;
        Ok(context.gate.publish(request).await?)
    };
    let (peer, agent) = (request.peer, request.agent);
    asked
        .await
        .inspect_err(|error| refuse(context, peer, agent, error))
}

/// Lets a publisher that has agreed on its tracks take its stream once its media arrives, if the stream is
/// available now. `agent` is the name of its program.
///
/// # Errors
/// The stream is not available; the event has been logged and counted by then.
pub fn admit(
    context: &Context,
    permission: Authorized<Publish>,
    peer: SocketAddr,
    agent: &str,
    agreed: Agreed,
) -> Result<PublisherTicket, Error> {
    let source = admission::source(Protocol::Whip, Some(peer), agent);
    let now = crate::now();
    let could = context.registry.would_publish(&permission, &source, now);
    could
        .map_err(Error::from)
        .inspect_err(|error| refuse(context, peer, agent, error))?;
    let claim = Some(Claim {
        registry: Arc::clone(&context.registry),
        stats: Arc::clone(&context.stats),
        permission,
        source,
    });
    Ok(PublisherTicket { agreed, claim })
}

/// Counts and logs a refused publisher.
fn refuse(context: &Context, peer: SocketAddr, agent: &str, error: &Error) {
    context.note_refusal(Protocol::Whip, peer, None, error);
    // Clients may well send a first request without a token.
    if !matches!(error, Error::Denied(Denied::Missing)) {
        tracing::info!(%peer, ?agent, reason = %error, "publisher refused");
    }
}

/// Publishers of one worker; call [`turn`](Self::turn) whenever the time it returned has come.
#[derive(Debug)]
pub struct Publishers {
    settings: Settings,
    stats: Arc<Stats>,
    /// Sessions by the slot of their handles, of which there are as many as a worker has sessions.
    sessions: Vec<Option<Box<Session>>>,
    /// Earliest time at which a session may be due.
    due: Option<Instant>,
}

impl Publishers {
    /// Creates an empty table.
    pub const fn new(settings: Settings, stats: Arc<Stats>) -> Self {
        Self {
            settings,
            stats,
            sessions: Vec::new(),
            due: None,
        }
    }

    /// Whether there are no sessions.
    pub fn is_empty(&self) -> bool {
        self.sessions.iter().all(Option::is_none)
    }

    /// Adds a publisher that has connected.
    pub fn connected(&mut self, session: Handle, mut ticket: PublisherTicket, now: Instant) {
        let Some(claim) = ticket.claim.take() else {
            return;
        };
        let agreed = &ticket.agreed;
        let new = Session::new(session, claim, agreed, &self.settings, &self.stats, now);
        let slot = session.slot as usize;
        if self.sessions.len() <= slot {
            self.sessions.resize_with(slot + 1, || None);
        }
        self.wake_by(new.due());
        if let Some(before) = self.sessions[slot].replace(Box::new(new)) {
            before.end(&"another session has its slot");
        }
    }

    /// Removes a publisher that has left.
    pub fn closed(&mut self, session: Handle, reason: CloseReason) {
        if let Some(session) = self.remove(session) {
            session.end(&reason);
        }
    }

    /// Handles a media packet.
    pub fn rtp(
        &mut self,
        session: Handle,
        packet: &[u8],
        now: Instant,
        out: &mut impl PublisherOutbox,
    ) {
        self.with(session, out, |found, out| found.rtp(packet, now, out));
    }

    /// Handles reports and requests.
    pub fn rtcp(
        &mut self,
        session: Handle,
        compound: &[u8],
        now: Instant,
        out: &mut impl PublisherOutbox,
    ) {
        self.with(session, out, |found, _| {
            found.rtcp(compound, now);
            Ok(())
        });
    }

    /// Performs the work that is due: reports, requests, and ending silent publishers. Returns the time at
    /// which it must be called again.
    pub fn turn(&mut self, now: Instant, out: &mut impl PublisherOutbox) -> Option<Instant> {
        if self.due.is_none_or(|due| now < due) {
            return self.due;
        }
        self.due = None;
        for slot in 0..self.sessions.len() {
            let Some(session) = self.sessions[slot].as_deref_mut() else {
                continue;
            };
            if session.due() <= now
                && let Err(error) = on_time(session, now, out)
            {
                let handle = session.handle;
                self.give_up(handle, &error, out);
            } else {
                let due = session.due();
                self.wake_by(due);
            }
        }
        self.due
    }

    /// Ends all sessions because the server shuts down.
    pub fn end(&mut self) {
        for session in self.sessions.drain(..).flatten() {
            session.end(&"the server leaves");
        }
        self.due = None;
    }

    /// Runs an action on a session, and ends the session if the action fails.
    fn with<O: PublisherOutbox>(
        &mut self,
        handle: Handle,
        out: &mut O,
        act: impl FnOnce(&mut Session, &mut O) -> Result<(), Error>,
    ) {
        let place = self.sessions.get_mut(handle.slot as usize);
        let found = place.and_then(|place| place.as_deref_mut());
        let Some(found) = found.filter(|found| found.handle == handle) else {
            return;
        };
        match act(found, out) {
            Ok(()) => {
                let due = found.due();
                self.wake_by(due);
            }
            Err(error) => self.give_up(handle, &error, out),
        }
    }

    /// Ends a session from this side.
    fn give_up(&mut self, handle: Handle, error: &Error, out: &mut impl PublisherOutbox) {
        out.close(handle);
        if let Some(session) = self.remove(handle) {
            session.fail(error);
        }
    }

    fn remove(&mut self, handle: Handle) -> Option<Box<Session>> {
        let place = self.sessions.get_mut(handle.slot as usize)?;
        place.take_if(|session| session.handle == handle)
    }

    fn wake_by(&mut self, due: Instant) {
        self.due = Some(self.due.map_or(due, |before| before.min(due)));
    }
}

/// Performs the work that is due for a session. Packets that waited for their order are processed here, so a
/// panic ends that session only, like a panic over a packet.
fn on_time(
    session: &mut Session,
    now: Instant,
    out: &mut impl PublisherOutbox,
) -> Result<(), Error> {
    panics::contain(|| session.handle_timeout(now, out)).unwrap_or_else(|panic| {
        // The log line about the end names the stream.
        panic.report(Part::Webrtc, &"a WebRTC publisher");
        Err(Error::Panicked)
    })
}
