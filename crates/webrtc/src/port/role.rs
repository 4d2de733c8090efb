//! Handler of one worker's sessions.

use std::time::Instant;

use super::Outbox;
use crate::ice::Path;
use crate::mux::{CloseReason, Handle};
use crate::srtp::Keys;

/// Handler of one worker's sessions. All methods are called on the worker's thread and must not block: one session's wait
/// delays every session.
///
/// A panic in [`connected`](Self::connected), [`rtp`](Self::rtp) or [`rtcp`](Self::rtcp) ends that session, and
/// [`closed`](Self::closed) is called whether the role knows of the session or not. A panic anywhere else ends the process.
pub trait Role: Send + 'static {
    /// Purpose of a session, as given to [`Port::expect`](super::Port::expect).
    type Ticket: Send + 'static;

    /// Called first, when the worker's thread has begun.
    fn start(&mut self, now: Instant) {
        let _ = now;
    }

    /// Called when a peer is connected and authenticated. Media for it goes to `path`, sealed with `keys`.
    fn connected(
        &mut self,
        session: Handle,
        ticket: Self::Ticket,
        keys: &Keys,
        path: Path,
        now: Instant,
        out: &mut Outbox<'_>,
    );

    /// Called when a session is over whose peer never connected.
    fn abandoned(&mut self, ticket: Self::Ticket, reason: CloseReason) {
        drop((ticket, reason));
    }

    /// Called when a connected peer has nominated another path; everything must be sent there from now on.
    fn moved(&mut self, session: Handle, path: Path);

    /// Called when a connected session is over, except for sessions that the role closed itself.
    fn closed(&mut self, session: Handle, reason: CloseReason);

    /// Called when a connected peer sent an RTP packet; `index` is its sequence number extended over wraps.
    fn rtp(
        &mut self,
        session: Handle,
        index: u64,
        packet: &[u8],
        now: Instant,
        out: &mut Outbox<'_>,
    );

    /// Called when a connected peer sent a compound RTCP packet.
    fn rtcp(&mut self, session: Handle, compound: &[u8], now: Instant, out: &mut Outbox<'_>);

    /// Does what is due and returns the next deadline. Called after every wake-up: by the worker's waker, by a socket with
    /// input or with room again, or by the deadline that was returned last.
    fn turn(&mut self, now: Instant, out: &mut Outbox<'_>) -> Option<Instant>;

    /// Called last, when the port is closed and all sessions end.
    fn end(&mut self);
}
