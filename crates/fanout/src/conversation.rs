//! Two-way listeners: the protocol's side of a socket that a worker owns.
//!
//! A listener over HTTP sends nothing after its request. A player over RTMP acknowledges, pauses, chooses, or says
//! goodbye. The worker knows no protocol: it passes the bytes it receives to the listener's [`Conversation`], sends the
//! replies between two units of the lane, and gives the socket back when there is more to decide than a worker should.

use std::fmt;
use std::time::Instant;

use bytes::BytesMut;
use media::Timestamp;
use net::Transport;
use net::panics::{self, Part};

/// A protocol's dialogue with one listener: handles what it sends while it listens, and supplies the bytes sent to it
/// besides the lane's.
///
/// All methods run on a worker's thread and must not block: thousands of other listeners wait. A panic over a
/// listener's bytes hangs up on that listener only.
pub trait Conversation: Send + fmt::Debug {
    /// Handles `bytes` received from the listener and appends replies to `words`. They are sent between units, in
    /// order.
    fn hear(&mut self, bytes: &[u8], words: &mut BytesMut, now: Instant) -> Heard;

    /// Announces that the server is about to leave: the last chance to say so in `words`. It may be called for a
    /// listener that had the announcement before a worker took it in.
    fn announce_leave(&mut self, words: &mut BytesMut);

    /// Takes the connection back. Everything up to the end of a unit, and all `words`, has been sent; the socket is
    /// non-blocking. `reached` is the time of that unit, if one was sent.
    fn release(self: Box<Self>, transport: Transport, why: Released, reached: Option<Timestamp>);
}

/// Outcome of handling received bytes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Heard {
    /// The listener stays.
    Stay,
    /// The listener finishes the unit it has begun, then its socket is given back.
    Release,
    /// The connection is of no more use.
    HangUp,
}

/// Reason for giving a socket back.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Released {
    /// The conversation requested it.
    Asked,
    /// The lane has ended.
    Ended,
    /// No worker has taken it in; set by the caller that attached it.
    Refused,
}

/// Upper bound, in bytes, on unsent replies to a listener that reads nothing. A reply is some tens of bytes, so a peer
/// with this many unread does not follow the conversation.
const WORDS_BYTES_MAX: usize = 16 * 1024;

/// A listener's conversation and its unsent replies.
#[derive(Debug)]
pub(crate) struct Talk {
    conversation: Box<dyn Conversation>,
    pub(crate) words: BytesMut,
    pub(crate) is_leaving: bool,
    /// Media time up to which the listener has had everything.
    pub(crate) after: Option<Timestamp>,
}

impl Talk {
    pub(crate) fn new(conversation: Box<dyn Conversation>, after: Option<Timestamp>) -> Self {
        Self {
            conversation,
            words: BytesMut::new(),
            is_leaving: false,
            after,
        }
    }

    /// Passes received bytes to the conversation; returns `false` when the connection is of no more use.
    pub(crate) fn hear(&mut self, bytes: &[u8], now: Instant) -> bool {
        // Once the listener leaves, received bytes belong to the next owner of the socket; they are not read here.
        debug_assert!(!self.is_leaving);
        let heard = panics::contain(|| self.conversation.hear(bytes, &mut self.words, now));
        match heard.unwrap_or_else(|panic| {
            panic.report(Part::Listener, &"a player");
            Heard::HangUp
        }) {
            Heard::Stay => {}
            Heard::Release => self.is_leaving = true,
            Heard::HangUp => return false,
        }
        let follows = self.words.len() <= WORDS_BYTES_MAX;
        // A peer that does not follow the conversation is not given back either.
        self.is_leaving &= follows;
        follows
    }

    pub(crate) fn announce_leave(&mut self) {
        if self.words.len() > WORDS_BYTES_MAX {
            return;
        }
        let said = panics::contain(|| self.conversation.announce_leave(&mut self.words));
        if let Err(panic) = said {
            panic.report(Part::Listener, &"what a player receives");
        }
    }

    /// Whether the listener needs attention between units: it is leaving, or has unsent replies.
    pub(crate) fn has_something(&self) -> bool {
        self.is_leaving || !self.words.is_empty()
    }

    pub(crate) fn release(self, transport: Transport, why: Released, reached: Option<Timestamp>) {
        let conversation = self.conversation;
        if let Err(panic) = panics::contain(|| conversation.release(transport, why, reached)) {
            panic.report(Part::Listener, &"a player");
        }
    }
}
