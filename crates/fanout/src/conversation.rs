//! Listeners that may speak: the protocol's side of a socket that a worker owns.
//!
//! A listener over HTTP says nothing after its request. A player over RTMP acknowledges, pauses,
//! chooses, or says goodbye. The worker knows no protocol: it passes what it receives to the
//! listener's [`Conversation`], sends the answers between two units of the lane, and gives the
//! socket back when more is to be decided than a worker should.

use std::fmt;
use std::time::Instant;

use bytes::BytesMut;
use media::Timestamp;
use net::Transport;
use net::panics::{self, Part};

/// What a listener sends while it listens, and what it is sent besides the lane.
///
/// All of it runs on a worker's thread and must not block: thousands of other listeners wait. A panic over what
/// a listener has sent hangs up on that listener only.
pub trait Conversation: Send + fmt::Debug {
    /// Takes `bytes` that the listener has sent, appending answers to `words`. They are sent
    /// between units, in order.
    fn hear(&mut self, bytes: &[u8], words: &mut BytesMut, now: Instant) -> Heard;

    /// The server is about to leave: the last chance to say so in `words`. It may be called for a listener that
    /// was told before a worker took it in.
    fn announce_leave(&mut self, words: &mut BytesMut);

    /// Takes the connection back. Everything up to the end of a unit, and all `words`, has been sent; the socket is
    /// non-blocking. `reached` is the time of that unit, if one was sent.
    fn release(self: Box<Self>, transport: Transport, why: Released, reached: Option<Timestamp>);
}

/// What follows from what was received.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Heard {
    /// The listener goes on.
    Stay,
    /// The listener finishes the unit it has begun, and its socket is given back.
    Release,
    /// The connection is of no more use.
    HangUp,
}

/// Why a socket is given back.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Released {
    /// The conversation asked for it.
    Asked,
    /// The lane has ended.
    Ended,
    /// No worker has taken it in. Set by the caller that attached it.
    Refused,
}

/// Unsent answers that may wait for a listener that takes nothing. Answers are some tens of bytes each, so a
/// peer with this many unread does not follow the conversation.
const WORDS_BYTES_MAX: usize = 16 * 1024;

/// A listener's conversation and its unsent answers.
#[derive(Debug)]
pub(crate) struct Talk {
    conversation: Box<dyn Conversation>,
    words: BytesMut,
    is_leaving: bool,
    /// What the listener has had before.
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

    /// `false` when the connection is of no more use.
    pub(crate) fn hear(&mut self, bytes: &[u8], now: Instant) -> bool {
        // Once it leaves, what arrives is for the next owner of the socket; it is not read here.
        debug_assert!(!self.is_leaving);
        let Self {
            conversation,
            words,
            ..
        } = self;
        let heard = panics::contain(|| conversation.hear(bytes, words, now));
        match heard.unwrap_or_else(|panic| {
            panic.report(Part::Listener, &"a player");
            Heard::HangUp
        }) {
            Heard::Stay => {}
            Heard::Release => self.is_leaving = true,
            Heard::HangUp => return false,
        }
        let follows = self.words.len() <= WORDS_BYTES_MAX;
        // A peer that does not follow is not given back either.
        self.is_leaving &= follows;
        follows
    }

    pub(crate) fn announce_leave(&mut self) {
        let Self {
            conversation,
            words,
            ..
        } = self;
        if words.len() <= WORDS_BYTES_MAX
            && let Err(panic) = panics::contain(|| conversation.announce_leave(words))
        {
            panic.report(Part::Listener, &"what a player is told");
        }
    }

    /// Whether the listener wants to pause between units.
    pub(crate) fn has_something(&self) -> bool {
        self.is_leaving || !self.words.is_empty()
    }

    pub(crate) fn is_leaving(&self) -> bool {
        self.is_leaving
    }

    pub(crate) fn take_words(&mut self) -> BytesMut {
        std::mem::take(&mut self.words)
    }

    pub(crate) fn release(self, transport: Transport, why: Released, reached: Option<Timestamp>) {
        let conversation = self.conversation;
        if let Err(panic) = panics::contain(|| conversation.release(transport, why, reached)) {
            panic.report(Part::Listener, &"a player");
        }
    }
}
