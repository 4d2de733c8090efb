//! Session machine of the server: the input accepted in each state, and its replies.

mod commands;
mod connecting;
mod ending;
mod playing;
mod recorded;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::{Bytes, BytesMut};

pub use self::connecting::Challenge;
use self::connecting::Connection;
use super::{
    event::{Event, RequestId, Withdrawn},
    playback::PlaybackState,
    publication::Publication,
};
use crate::{
    Error,
    chunk::{Limits, Reader},
    command::Command,
    flow::Flow,
    handshake::Handshake,
    message::{Kind, Message},
    words::{Words, control},
};

/// Most output bytes that the driver may leave unsent before the session gives up on the peer. All replies of
/// a connection that publishes and plays are below 2 KiB; the handshake adds 3.
pub const OUTPUT_BYTES_MAX: usize = 16 << 10;

/// Longest time for the handshake.
pub const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);

/// Longest time until a peer requests a stream, after the handshake or after a stream ended.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// Silence of a peer after which it is pinged.
const PING_AFTER: Duration = Duration::from_secs(15);

/// Configuration of a session.
#[derive(Debug, Clone, Default)]
pub struct Config {
    /// Passwords by challenge and response; `None` ignores what clients send for it.
    pub challenge: Option<Arc<Challenge>>,
}

/// Server's end of one connection.
///
/// Its memory is bounded: while it publishes by [`Limits::PUBLISHER`], otherwise to 256 KiB in all. A session
/// that plays and was [`shrink`](Self::shrink)ed holds less than 1 KiB and the address.
#[derive(Debug)]
pub struct Session {
    config: Config,
    /// Random bytes, for a challenge.
    nonce: [u8; 8],
    phase: Phase,
    reader: Reader,
    replies: Words,
    connection: Option<Connection>,
    /// Message streams that `createStream` returned.
    streams: Vec<u32>,
    publication: Publication,
    player: PlaybackState,
    /// Number of requests so far.
    serial: u32,
    flow: Flow,
    clock: Clock,
}

#[derive(Debug)]
enum Phase {
    Handshake(Handshake),
    Chunks,
    Closed,
}

/// Times that matter when nothing arrives.
#[derive(Debug)]
struct Clock {
    started: Instant,
    heard: Instant,
    pinged: Instant,
    /// Deadline of the handshake, or else of a request.
    deadline: Option<Instant>,
}

impl Session {
    /// Creates a session for a connection just accepted. `seed` is 32 random bytes, for the handshake.
    pub fn new(config: Config, seed: [u8; 32], now: Instant) -> Self {
        // The handshake reveals only hashes of the seed, so this part of it is still secret.
        let [a, b, c, d, e, f, g, h, ..] = seed;
        Self {
            nonce: [a, b, c, d, e, f, g, h],
            phase: Phase::Handshake(Handshake::new(seed)),
            reader: Reader::new(Limits::STRANGER),
            replies: Words::new(),
            connection: None,
            streams: Vec::new(),
            publication: Publication::default(),
            player: PlaybackState::default(),
            serial: 0,
            flow: Flow::new(),
            clock: Clock {
                started: now,
                heard: now,
                pinged: now,
                deadline: Some(now + HANDSHAKE_TIMEOUT),
            },
            config,
        }
    }

    /// Takes bytes from the front of `input` until there is an event. Returns `None` once `input` is used up.
    /// After [`accept_publish`](Self::accept_publish) it may return an event without any input.
    ///
    /// A closed session discards all input and returns `None`.
    ///
    /// # Errors
    /// The connection cannot continue. The session is then closed, and the output holds the message for the
    /// peer.
    pub fn read(&mut self, input: &mut &[u8], now: Instant) -> Result<Option<Event>, Error> {
        let result = self.advance(input, now);
        if let Err(error) = &result {
            self.fail(error);
        }
        result
    }

    /// Returns the number of bytes in incomplete messages and in the output.
    pub fn memory(&self) -> usize {
        self.reader.partial_bytes() + self.replies.output.len()
    }

    /// Returns the bytes to be sent; the driver takes them from the front.
    pub fn output(&mut self) -> &mut BytesMut {
        &mut self.replies.output
    }

    /// Whether the session is over: send the output and close.
    pub fn is_closed(&self) -> bool {
        matches!(self.phase, Phase::Closed)
    }

    /// Returns the time at which [`handle_timeout`](Self::handle_timeout) must be called next.
    pub fn poll_timeout(&self) -> Option<Instant> {
        if self.is_closed() {
            return None;
        }
        let ping = self.pings().then(|| self.ping_due());
        [ping, self.clock.deadline].into_iter().flatten().min()
    }

    /// Performs the work that is due at `now`: pings a silent peer, or ends a session that makes no progress.
    ///
    /// # Errors
    /// [`Error::HandshakeTimeout`], [`Error::RequestTimeout`]; the session is then closed.
    pub fn handle_timeout(&mut self, now: Instant) -> Result<(), Error> {
        if self.is_closed() {
            return Ok(());
        }
        if self.clock.deadline.is_some_and(|deadline| deadline <= now) {
            let error = match self.phase {
                Phase::Handshake(_) => Error::HandshakeTimeout,
                _ => Error::RequestTimeout,
            };
            self.fail(&error);
            return Err(error);
        }
        if self.pings() && self.ping_due() <= now {
            // The truncation makes it the 32-bit clock of RTMP.
            let time = now
                .saturating_duration_since(self.clock.started)
                .as_millis() as u32;
            self.replies.user_control(control::PING_REQUEST, &[time]);
            self.clock.pinged = now;
        }
        Ok(())
    }

    /// Lets a publisher begin. Codec configuration that arrived early is returned by the next
    /// [`read`](Self::read)s.
    ///
    /// # Errors
    /// [`Withdrawn`] if the request no longer exists.
    pub fn accept_publish(&mut self, id: RequestId) -> Result<(), Withdrawn> {
        if self.is_closed() || !self.publication.accept(id) {
            return Err(Withdrawn);
        }
        self.reader.set_limits(Limits::PUBLISHER);
        self.replies
            .user_control(control::STREAM_BEGIN, &[id.stream]);
        self.tell_publishing(id.stream);
        Ok(())
    }

    fn tell_publishing(&mut self, stream: u32) {
        let code = "NetStream.Publish.Start";
        self.replies.status(stream, code, "Publishing.");
    }

    /// Frees unused memory, before a long time with little traffic from the peer.
    pub fn shrink(&mut self) {
        self.replies.shrink();
        self.reader.shrink();
        self.streams.shrink_to_fit();
    }

    fn advance(&mut self, input: &mut &[u8], now: Instant) -> Result<Option<Event>, Error> {
        loop {
            if let Some(event) = self.publication.next_event() {
                return Ok(Some(event));
            }
            match &mut self.phase {
                Phase::Closed => {
                    *input = &[];
                    return Ok(None);
                }
                Phase::Handshake(handshake) => {
                    if !handshake.read(input, &mut self.replies.output)? {
                        return Ok(None);
                    }
                    self.phase = Phase::Chunks;
                    self.clock.deadline = Some(now + REQUEST_TIMEOUT);
                }
                Phase::Chunks => {
                    let before = input.len();
                    let message = self.reader.read(input)?;
                    self.count(before - input.len(), now);
                    let Some(message) = message else {
                        return Ok(None);
                    };
                    let event = self.message(message, now)?;
                    if self.replies.output.len() > OUTPUT_BYTES_MAX {
                        return Err(Error::RepliesUnread);
                    }
                    if event.is_some() {
                        return Ok(event);
                    }
                }
            }
        }
    }

    fn message(&mut self, message: Message, now: Instant) -> Result<Option<Event>, Error> {
        match message.kind {
            Kind::Audio | Kind::Video | Kind::DataAmf0 | Kind::DataAmf3 | Kind::Aggregate => {
                Ok(self.publication.message(message))
            }
            Kind::CommandAmf0 | Kind::CommandAmf3 => {
                let body = message.amf0();
                let command = Command::decode(&body)?;
                self.command(&command, message.stream_id, now)
            }
            Kind::UserControl => {
                self.user_control(&message.payload);
                Ok(None)
            }
            Kind::WindowAckSize => {
                self.flow.set_window(message.control_value()?);
                Ok(None)
            }
            Kind::SetPeerBandwidth => {
                let size = message.control_value()?;
                if self.connection.is_some()
                    && let Some(size) = self.flow.limit(size)
                {
                    self.replies.window_ack_size(size);
                }
                Ok(None)
            }
            // Players differ in whether they acknowledge, so nothing depends on it. The reader follows
            // SetChunkSize and Abort; shared objects are not supported.
            Kind::Acknowledgement | Kind::SetChunkSize | Kind::Abort | Kind::Other(_) => Ok(None),
        }
    }

    fn user_control(&mut self, body: &Bytes) {
        let number = |at: usize| {
            let bytes = body.get(at..at + 4)?.try_into().ok()?;
            Some(u32::from_be_bytes(bytes))
        };
        let event = body.first_chunk().map(|event| u16::from_be_bytes(*event));
        match (event, number(2), number(6)) {
            (Some(control::PING_REQUEST), Some(time), _) => {
                self.replies.user_control(control::PING_RESPONSE, &[time]);
            }
            // A connection plays one stream, so it does not matter which one is named.
            (Some(control::SET_BUFFER_LENGTH), _, Some(millis)) => self.player.set_buffer(millis),
            // Pongs and unknown events need no answer.
            _ => {}
        }
    }

    /// Counts bytes received and acknowledges them when it is time.
    fn count(&mut self, bytes: usize, now: Instant) {
        if bytes == 0 {
            return;
        }
        self.clock.heard = now;
        // Before `connect` was answered, clients are not ready for anything.
        if let Some(received) = self.flow.count(bytes, self.connection.is_some()) {
            self.replies.acknowledgement(received);
        }
    }

    /// Whether a silent peer is pinged. A player sends nothing for hours; its reading shows whether it is
    /// still connected.
    fn pings(&self) -> bool {
        self.connection.is_some() && self.player.id().is_none()
    }

    fn ping_due(&self) -> Instant {
        self.clock.heard.max(self.clock.pinged) + PING_AFTER
    }
}
