//! The way out of a worker.

use std::time::Instant;

use super::wire::Wire;
use crate::ice::Path;
use crate::mux::{Handle, Mux};

/// The result of a send.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[must_use]
pub enum Sent {
    /// It was sent. It may still be lost on the way.
    Sent,
    /// There is no room and nothing was sent. When there is room again, the role is given a turn.
    Blocked,
    /// The path is closed for good: it was a TCP connection, and the peer has hung up. A peer that has
    /// another path may still move.
    Gone,
}

/// Sends for a role, during a call to it.
pub struct Outbox<'a> {
    mux: &'a mut Mux,
    wire: &'a mut Wire,
    now: Instant,
}

impl<'a> Outbox<'a> {
    pub(super) fn new(mux: &'a mut Mux, wire: &'a mut Wire, now: Instant) -> Self {
        Self { mux, wire, now }
    }
}

impl Outbox<'_> {
    /// Datagrams that a send may be cut into.
    pub const SEGMENTS_MAX: usize = net::udp::SEGMENTS_MAX;

    /// Bytes in [`Outbox::buffer`]: as many datagrams of 1,500 bytes.
    pub const LEN_MAX: usize = Self::SEGMENTS_MAX * 1_500;

    /// Memory for the next send. It contains leftovers of earlier ones.
    pub fn buffer(&mut self) -> &mut [u8] {
        &mut self.wire.buffer
    }

    /// Sends the first `len` bytes of the buffer, cut into datagrams of `segment` bytes of which the last
    /// may be shorter. The kernel gets up to 64 KiB of them in one call.
    pub fn send(&mut self, path: Path, len: usize, segment: usize) -> Sent {
        self.wire.send_buffer(path, len, segment, self.now)
    }

    /// Seals a compound packet for a session's peer, to be sent as soon as the role returns. Does
    /// nothing when the session is over.
    pub fn rtcp(&mut self, session: Handle, compound: &[u8]) {
        if let Err(error) = self.mux.send_rtcp(session, compound) {
            tracing::trace!(?session, %error, "a report was not sent");
        }
    }

    /// Ends a session: the peer is notified, and the role is not called for it again.
    pub fn close(&mut self, session: Handle) {
        self.mux.close(session, self.now);
    }
}
