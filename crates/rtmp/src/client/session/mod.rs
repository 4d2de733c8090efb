//! Session machine of the client: the order of its messages, and the handling of replies.

mod answers;

use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};

use super::{Address, Error, Event, event, words::transaction};
use crate::{
    chunk::{Limits, Reader},
    command::Command,
    flow::Flow,
    handshake::ClientHandshake,
    message::{Aggregate, Kind, Message},
    server::OUTPUT_BYTES_MAX,
    words::{Words, control},
};

/// Buffer length that the client requests of a server, in milliseconds. Live servers send what they have;
/// others need a number.
const BUFFER_MILLIS: u32 = 3_000;
/// Start time that requests the live stream, and nothing else if there is none (RTMP 1.0 §7.2.2.1 has it in
/// seconds; ffmpeg and servers use milliseconds).
const START_LIVE: f64 = -2_000.0;
/// Longest time for the handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// Longest time for the reply to one command. Servers that ask a backend for permission, or hold `play`
/// back until there is a stream, need some time.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);

/// Use of the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Send the stream.
    Publish,
    /// Receive the stream.
    Play,
}

/// Client's end of one connection.
#[derive(Debug)]
pub struct Session {
    address: Address,
    purpose: Purpose,
    phase: Phase,
    reader: Reader,
    words: Words,
    /// Event of a media message, held because [`Event::Ready`] came first: media may overtake the status that
    /// announces it.
    held: Option<Event>,
    aggregate: Option<Aggregate>,
    flow: Flow,
    /// Random bytes, for the answer to a challenge.
    nonce: [u8; 4],
    deadline: Option<Instant>,
}

#[derive(Debug)]
enum Phase {
    Handshake(ClientHandshake),
    /// `connect` was sent.
    Connecting,
    /// `createStream` was sent.
    Creating,
    /// `publish` or `play` was sent on this message stream.
    Starting(u32),
    Running(u32),
    Closed,
}

impl Session {
    /// Creates a session for a connection just made; its output holds the first bytes to send. `seed` is 32
    /// random bytes, for the handshake and for the answer to a challenge.
    pub fn new(address: Address, purpose: Purpose, seed: [u8; 32], now: Instant) -> Self {
        let mut words = Words::new();
        let opening = ClientHandshake::new(&seed, &mut words.output);
        let [a, b, c, d, ..] = seed;
        Self {
            address,
            purpose,
            phase: Phase::Handshake(opening),
            reader: Reader::new(Limits::STRANGER),
            words,
            held: None,
            aggregate: None,
            flow: Flow::new(),
            nonce: [a, b, c, d],
            deadline: Some(now + HANDSHAKE_TIMEOUT),
        }
    }

    /// Returns the address of the stream.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Takes bytes from the front of `input` until there is an event. Returns `None` once `input` is used up.
    /// A closed session discards all input and returns `None`.
    ///
    /// # Errors
    /// The connection cannot continue. The session is then closed.
    pub fn read(&mut self, input: &mut &[u8], now: Instant) -> Result<Option<Event>, Error> {
        let result = self.advance(input, now);
        if result.is_err() {
            self.close();
        }
        result
    }

    /// Returns the bytes to be sent; the driver takes them from the front, whole messages before media of its
    /// own.
    pub fn output(&mut self) -> &mut BytesMut {
        &mut self.words.output
    }

    /// Whether the session is over: send the output and close.
    pub fn is_closed(&self) -> bool {
        matches!(self.phase, Phase::Closed)
    }

    /// Returns the time at which [`handle_timeout`](Self::handle_timeout) must be called next. A session that
    /// is ready has no deadline: the caller decides how long media may be absent.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.deadline
    }

    /// Ends a session whose server does not reply in time.
    ///
    /// # Errors
    /// [`Error::HandshakeTimeout`], [`Error::NoAnswer`]; the session is then closed.
    pub fn handle_timeout(&mut self, now: Instant) -> Result<(), Error> {
        if self.deadline.is_none_or(|deadline| now < deadline) {
            return Ok(());
        }
        let error = match (&self.phase, self.purpose) {
            (Phase::Connecting, _) => Error::NoAnswer("connect"),
            (Phase::Creating, _) => Error::NoAnswer("createStream"),
            (Phase::Starting(_), Purpose::Publish) => Error::NoAnswer("publish"),
            (Phase::Starting(_), Purpose::Play) => Error::NoAnswer("play"),
            _ => Error::HandshakeTimeout,
        };
        self.close();
        Err(error)
    }

    /// Ends the stream and closes the session: the output announces that the stream is over. Call it between
    /// two messages.
    pub fn leave(&mut self) {
        if let Phase::Starting(stream) | Phase::Running(stream) = self.phase {
            if self.purpose == Purpose::Publish {
                let name = self.address.stream();
                self.words
                    .command("FCUnpublish", transaction::FC_UNPUBLISH, |e| {
                        e.null().string(&name);
                    });
            }
            self.words
                .command("deleteStream", transaction::DELETE_STREAM, |e| {
                    e.null().number(stream.into());
                });
        }
        self.close();
    }

    /// Returns the payload held for unfinished messages, in bytes.
    #[cfg(test)]
    pub(super) fn partial_bytes(&self) -> usize {
        self.reader.partial_bytes()
    }

    fn advance(&mut self, input: &mut &[u8], now: Instant) -> Result<Option<Event>, Error> {
        loop {
            if let Some(event) = self.next_event() {
                return Ok(Some(event));
            }
            match &mut self.phase {
                Phase::Closed => {
                    *input = &[];
                    return Ok(None);
                }
                Phase::Handshake(opening) => {
                    if !opening.read(input, &mut self.words.output)? {
                        return Ok(None);
                    }
                    self.words.connect(&self.address, self.purpose);
                    self.await_answer(Phase::Connecting, now);
                }
                _ => {
                    let before = input.len();
                    let message = self.reader.read(input)?;
                    let received = self.flow.count(before - input.len(), true);
                    if let Some(received) = received {
                        self.words.acknowledgement(received);
                    }
                    let Some(message) = message else {
                        return Ok(None);
                    };
                    let event = self.message(message, now)?;
                    if self.words.output.len() > OUTPUT_BYTES_MAX {
                        return Err(crate::Error::RepliesUnread.into());
                    }
                    if event.is_some() {
                        return Ok(event);
                    }
                }
            }
        }
    }

    /// Returns an event that follows from messages read before.
    fn next_event(&mut self) -> Option<Event> {
        if let Some(event) = self.held.take() {
            return Some(event);
        }
        let event = self.aggregate.as_mut()?.find_map(event::of);
        if event.is_none() {
            self.aggregate = None;
        }
        event
    }

    fn message(&mut self, message: Message, now: Instant) -> Result<Option<Event>, Error> {
        match message.kind {
            Kind::Audio | Kind::Video | Kind::DataAmf0 | Kind::DataAmf3 | Kind::Aggregate => {
                Ok(self.media(message))
            }
            Kind::CommandAmf0 | Kind::CommandAmf3 => {
                let body = message.amf0();
                let command = Command::decode(&body).map_err(crate::Error::from)?;
                self.command(&command, now)
            }
            Kind::UserControl => Ok(self.user_control(&message.payload)),
            Kind::WindowAckSize => {
                self.flow.set_window(message.control_value()?);
                Ok(None)
            }
            Kind::SetPeerBandwidth => {
                if let Some(size) = self.flow.limit(message.control_value()?) {
                    self.words.window_ack_size(size);
                }
                Ok(None)
            }
            // The reader follows SetChunkSize and Abort.
            Kind::Acknowledgement | Kind::SetChunkSize | Kind::Abort | Kind::Other(_) => Ok(None),
        }
    }

    /// Handles media of the played stream. The first of it proves as well as any status that playing has
    /// begun.
    fn media(&mut self, message: Message) -> Option<Event> {
        if self.purpose != Purpose::Play {
            return None;
        }
        let starting = match self.phase {
            Phase::Starting(stream) => Some(stream),
            Phase::Running(_) => None,
            _ => return None,
        };
        let event = match message.kind {
            Kind::Aggregate => {
                self.aggregate = Some(Aggregate::new(message));
                self.next_event()?
            }
            _ => event::of(message)?,
        };
        Some(match starting {
            Some(stream) => {
                self.held = Some(event);
                self.ready(stream)
            }
            None => event,
        })
    }

    fn user_control(&mut self, body: &Bytes) -> Option<Event> {
        let &[event_high, event_low, a, b, c, d] = body.first_chunk()?;
        let value = u32::from_be_bytes([a, b, c, d]);
        match u16::from_be_bytes([event_high, event_low]) {
            control::PING_REQUEST => self.words.user_control(control::PING_RESPONSE, &[value]),
            control::STREAM_EOF => match self.phase {
                Phase::Running(stream) if stream == value && self.purpose == Purpose::Play => {
                    return Some(self.ended("StreamEOF".to_owned(), String::new()));
                }
                _ => {}
            },
            _ => {}
        }
        None
    }

    fn await_answer(&mut self, phase: Phase, now: Instant) {
        self.phase = phase;
        self.deadline = Some(now + ANSWER_TIMEOUT);
    }

    fn ready(&mut self, stream: u32) -> Event {
        self.phase = Phase::Running(stream);
        self.deadline = None;
        Event::Ready {
            message_stream: stream,
        }
    }

    fn ended(&mut self, code: String, description: String) -> Event {
        self.close();
        Event::Ended { code, description }
    }

    fn close(&mut self) {
        self.phase = Phase::Closed;
        self.deadline = None;
        self.held = None;
        self.aggregate = None;
    }
}
