//! What a worker does with the sessions of its peers.

use std::time::Instant;

use super::Outbox;
use crate::ice::Path;
use crate::mux::{CloseReason, Handle};
use crate::srtp::Keys;

/// What a worker does with its sessions. All methods are called on the worker's thread and must not
/// block: one session's wait delays every session.
///
/// A panic in [`connected`](Self::connected), [`rtp`](Self::rtp) or [`rtcp`](Self::rtcp) ends that
/// session, and [`closed`](Self::closed) is called whether the role knows of the session or not. A
/// panic anywhere else ends the process.
pub trait Role: Send + 'static {
    /// What a session is for, as given to [`Port::expect`](super::Port::expect).
    type Ticket: Send + 'static;

    /// The worker's thread has begun; this is the first call.
    fn start(&mut self, now: Instant) {
        let _ = now;
    }

    /// A peer is connected and authenticated. Media for it goes to `path`, sealed with `keys`.
    fn connected(
        &mut self,
        session: Handle,
        ticket: Self::Ticket,
        keys: &Keys,
        path: Path,
        now: Instant,
        out: &mut Outbox<'_>,
    );

    /// A session is over whose peer never connected.
    fn abandoned(&mut self, ticket: Self::Ticket, reason: CloseReason) {
        drop((ticket, reason));
    }

    /// A connected peer has nominated another path: everything goes there from now on.
    fn moved(&mut self, session: Handle, path: Path, now: Instant);

    /// A connected session is over. Not called for sessions that the role closed itself.
    fn closed(&mut self, session: Handle, reason: CloseReason, now: Instant);

    /// A connected peer sent an RTP packet; `index` is its sequence number extended over wraps.
    fn rtp(
        &mut self,
        session: Handle,
        index: u64,
        packet: &[u8],
        now: Instant,
        out: &mut Outbox<'_>,
    );

    /// A connected peer sent a compound RTCP packet.
    fn rtcp(&mut self, session: Handle, compound: &[u8], now: Instant, out: &mut Outbox<'_>);

    /// Does what is due. Called after every wake-up: by the worker's waker, by a socket with input
    /// or with room again, or by the deadline that was returned last.
    fn turn(&mut self, now: Instant, out: &mut Outbox<'_>) -> Option<Instant>;

    /// The port is closed: all sessions end. This is the last call.
    fn end(&mut self);
}
