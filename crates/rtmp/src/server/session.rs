//! The session machine: who may say what when, and what is answered.

use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};

use super::{
    event::{Connect, Event, Mode, Rejection, Request, RequestId, Withdrawn},
    path::StreamPath,
    publication::Publication,
    reply::{self, Level, Replies, control},
};
use crate::{
    Error,
    amf0::Value,
    chunk::{CHUNK_SIZE_INITIAL, CHUNK_SIZE_MAX, Limits, Reader},
    command::{self, Command},
    handshake::Handshake,
    message::{Kind, Message},
};

/// Output the driver may leave unsent before the session gives up on the peer. All replies of a
/// connection that publishes and plays are below 2 KiB; the handshake adds 3.
pub const OUTPUT_BYTES_MAX: usize = 32 << 10;
/// Message streams a connection may have open. Encoders open one, Flash players two.
const STREAMS_MAX: usize = 8;
/// The smallest window the peer may ask us to acknowledge by. Smaller ones would make us send more
/// acknowledgements than it sends media.
const ACK_WINDOW_MIN: u32 = 32 << 10;
/// Text of `connect` that is kept: the address is asked for again with each stream.
const ADDRESS_BYTES_MAX: usize = 4 << 10;
/// Codecs a peer may name in `connect`; more are ignored.
const FOUR_CCS_MAX: usize = 64;

/// How a session behaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The size of the chunks we send, bytes. ffmpeg takes it over for what it sends us.
    pub chunk_size: u32,
    /// The smallest chunk size a peer may set, bytes: a header per byte makes work without purpose.
    pub chunk_size_floor: u32,
    /// How many bytes a peer may send or receive before an acknowledgement.
    pub ack_window: u32,
    /// How long the handshake may take.
    pub handshake_timeout: Duration,
    /// How long a peer may do without asking for a stream, after the handshake or after a stream ended.
    pub request_timeout: Duration,
    /// How long a peer may be silent before it is pinged.
    pub ping_after: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            chunk_size: 65_536,
            chunk_size_floor: CHUNK_SIZE_INITIAL,
            ack_window: 2_500_000,
            handshake_timeout: Duration::from_secs(5),
            request_timeout: Duration::from_secs(10),
            ping_after: Duration::from_secs(15),
        }
    }
}

/// The server's end of one connection.
///
/// What it holds is bounded: before a publisher was accepted below 256 KiB in all, after that by
/// [`Limits::PUBLISHER`].
#[derive(Debug)]
pub struct Session {
    config: Config,
    phase: Phase,
    reader: Reader,
    replies: Replies,
    connection: Option<Connection>,
    /// Message streams that `createStream` gave out.
    streams: Vec<u32>,
    publication: Publication,
    /// The last request to play, unanswered.
    play: Option<RequestId>,
    /// Requests so far.
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

/// What `connect` said that later requests need.
#[derive(Debug)]
struct Connection {
    app: String,
    tc_url: String,
}

/// Acknowledgements, both ways.
#[derive(Debug)]
struct Flow {
    /// Bytes of the chunk stream received, modulo 2^32.
    received: u32,
    acknowledged: u32,
    /// We acknowledge twice per so many bytes.
    window: u32,
    /// The window we announced to the peer.
    announced: u32,
}

/// What happens when nothing arrives.
#[derive(Debug)]
struct Clock {
    started: Instant,
    heard: Instant,
    pinged: Instant,
    /// When the handshake, or else a request, must be there.
    deadline: Option<Instant>,
}

impl Session {
    /// A session for a connection just accepted. `seed` is 32 random bytes, for the handshake.
    pub fn new(config: Config, seed: [u8; 32], now: Instant) -> Self {
        let window = config
            .ack_window
            .clamp(ACK_WINDOW_MIN, i32::MAX.cast_unsigned());
        Self {
            phase: Phase::Handshake(Handshake::new(seed)),
            reader: Reader::new(Limits::STRANGER, config.chunk_size_floor),
            replies: Replies::new(),
            connection: None,
            streams: Vec::new(),
            publication: Publication::default(),
            play: None,
            serial: 0,
            flow: Flow {
                received: 0,
                acknowledged: 0,
                window,
                announced: window,
            },
            clock: Clock {
                started: now,
                heard: now,
                pinged: now,
                deadline: Some(now + config.handshake_timeout),
            },
            config,
        }
    }

    /// Takes bytes from the front of `input` until there is an event. Gives `None` once `input` is
    /// used up. After [`accept_publish`](Self::accept_publish) an event may come with no input at all.
    ///
    /// A closed session takes all input and gives nothing.
    ///
    /// # Errors
    /// When the connection cannot go on. The session is closed then, and the output holds what the peer
    /// is told.
    pub fn read(&mut self, input: &mut &[u8], now: Instant) -> Result<Option<Event>, Error> {
        let result = self.advance(input, now);
        if let Err(error) = &result {
            self.fail(error);
        }
        result
    }

    /// What is to be sent; the driver takes it from the front.
    pub fn output(&mut self) -> &mut BytesMut {
        self.replies.output()
    }

    /// Whether the session has said its last word: send the output and close.
    pub fn is_closed(&self) -> bool {
        matches!(self.phase, Phase::Closed)
    }

    /// When [`handle_timeout`](Self::handle_timeout) wants to be called next.
    pub fn poll_timeout(&self) -> Option<Instant> {
        if self.is_closed() {
            return None;
        }
        let ping = self.connection.as_ref().map(|_| self.ping_due());
        [ping, self.clock.deadline].into_iter().flatten().min()
    }

    /// Does what is due at `now`: pings a silent peer, or ends a session that gets nowhere.
    ///
    /// # Errors
    /// [`Error::HandshakeTimeout`], [`Error::RequestTimeout`]; the session is closed then.
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
        if self.connection.is_some() && self.ping_due() <= now {
            // The truncation makes it the 32-bit clock of RTMP.
            let time = now
                .saturating_duration_since(self.clock.started)
                .as_millis() as u32;
            self.replies.user_control(control::PING_REQUEST, time);
            self.clock.pinged = now;
        }
        Ok(())
    }

    /// Lets a publisher begin. Codec configuration that came early is given by the next
    /// [`read`](Self::read)s.
    ///
    /// # Errors
    /// [`Withdrawn`] if the request is not there any more.
    pub fn accept_publish(&mut self, id: RequestId) -> Result<(), Withdrawn> {
        if self.is_closed() || !self.publication.accept(id) {
            return Err(Withdrawn);
        }
        self.reader.set_limits(Limits::PUBLISHER);
        self.replies.user_control(control::STREAM_BEGIN, id.stream);
        let code = "NetStream.Publish.Start";
        self.replies
            .status(id.stream, Level::Status, code, "Publishing.");
        Ok(())
    }

    /// Turns a request down and closes the session. `description` is shown to the broadcaster.
    ///
    /// # Errors
    /// [`Withdrawn`] if the request is not there any more; the session goes on then.
    pub fn reject(
        &mut self,
        id: RequestId,
        rejection: Rejection,
        description: &str,
    ) -> Result<(), Withdrawn> {
        let current = self.publication.id() == Some(id) || self.play == Some(id);
        if self.is_closed() || !current {
            return Err(Withdrawn);
        }
        self.replies
            .status(id.stream, Level::Error, rejection.code(), description);
        self.close();
        Ok(())
    }

    /// Ends the session whatever it is doing: [`Rejection::BadName`] when another publisher takes
    /// over, [`Rejection::Failed`] when the server stops.
    pub fn close_with(&mut self, rejection: Rejection, description: &str) {
        if self.is_closed() {
            return;
        }
        // Before `connect` the peer knows no status messages.
        if self.connection.is_some() {
            let stream = self
                .publication
                .id()
                .or(self.play)
                .map_or(0, |id| id.stream);
            self.replies
                .status(stream, Level::Error, rejection.code(), description);
        }
        self.close();
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
                    if !handshake.read(input, self.replies.output())? {
                        return Ok(None);
                    }
                    self.phase = Phase::Chunks;
                    self.clock.deadline = Some(now + self.config.request_timeout);
                }
                Phase::Chunks => {
                    let before = input.len();
                    let message = self.reader.read(input)?;
                    self.count(before - input.len(), now);
                    let Some(message) = message else {
                        return Ok(None);
                    };
                    let event = self.message(message, now)?;
                    if self.replies.pending_bytes() > OUTPUT_BYTES_MAX {
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
                let size = control_value(&message)?;
                self.flow.window = size.max(ACK_WINDOW_MIN);
                Ok(None)
            }
            Kind::SetPeerBandwidth => {
                let size = control_value(&message)?.clamp(1, i32::MAX.cast_unsigned());
                if self.connection.is_some() && size != self.flow.announced {
                    self.flow.announced = size;
                    self.replies.window_ack_size(size);
                }
                Ok(None)
            }
            // Players differ in whether they acknowledge, so nothing hangs on it. The reader obeys
            // SetChunkSize and Abort; shared objects are not our business.
            Kind::Acknowledgement | Kind::SetChunkSize | Kind::Abort | Kind::Other(_) => Ok(None),
        }
    }

    fn command(
        &mut self,
        command: &Command<'_>,
        stream: u32,
        now: Instant,
    ) -> Result<Option<Event>, Error> {
        if self.connection.is_none() {
            return match &*command.name {
                "connect" => Ok(Some(self.connect(command))),
                _ => Err(Error::CommandBeforeConnect),
            };
        }
        let event = match &*command.name {
            "createStream" => {
                self.create_stream(command.transaction);
                None
            }
            "publish" => self.publish(command, stream),
            "play" | "play2" => self.play(command, stream),
            "deleteStream" => {
                let deleted = command.stream_id(0).unwrap_or(stream);
                self.streams.retain(|&id| id != deleted);
                self.end_stream(deleted, now)
            }
            "closeStream" => self.end_stream(stream, now),
            "FCUnpublish" => self.fc_unpublish(command, now),
            "FCPublish" => {
                self.replies.command("_result", command.transaction, |e| {
                    e.null().undefined();
                });
                // FMLE and its like publish only after this.
                self.replies.command("onFCPublish", 0.0, |e| {
                    let code = "NetStream.Publish.Start";
                    command::information(e.null(), "status", code, "Ready to publish.");
                });
                None
            }
            "getStreamLength" => {
                self.replies.command("_result", command.transaction, |e| {
                    e.null().number(0.0);
                });
                None
            }
            "connect" => {
                let code = "NetConnection.Connect.Rejected";
                self.replies.command("_error", command.transaction, |e| {
                    command::information(e.null(), "error", code, "Already connected.");
                });
                None
            }
            // Answers to questions, of which we ask none; answering those could go on for ever.
            "_result" | "_error" | "onStatus" | "" => None,
            // releaseStream, _checkbw and whatever else clients wait for an answer to.
            _ => {
                if command.transaction > 0.0 {
                    self.replies.command("_result", command.transaction, |e| {
                        e.null().null();
                    });
                }
                None
            }
        };
        Ok(event)
    }

    fn connect(&mut self, command: &Command<'_>) -> Event {
        let text = |name| {
            let value = command
                .object
                .property(name)
                .and_then(Value::text)
                .unwrap_or_default();
            head(&value, ADDRESS_BYTES_MAX).to_owned()
        };
        let (app, tc_url) = (text("app"), text("tcUrl"));
        let four_ccs = match command.object.property("fourCcList") {
            Some(Value::StrictArray(items)) => items
                .iter()
                .take(FOUR_CCS_MAX)
                .filter_map(Value::text)
                .map(|name| head(&name, 16).to_owned())
                .collect(),
            _ => Vec::new(),
        };
        let capabilities = command.object.property("capsEx").and_then(Value::number);
        let is_enhanced = !four_ccs.is_empty() || capabilities.is_some();

        self.replies.window_ack_size(self.flow.announced);
        self.replies.peer_bandwidth(self.flow.announced);
        self.replies.set_chunk_size(
            self.config
                .chunk_size
                .clamp(CHUNK_SIZE_INITIAL, CHUNK_SIZE_MAX),
        );
        self.replies.command("_result", command.transaction, |e| {
            e.object();
            e.key("fmsVer").string("FMS/3,0,1,123");
            e.key("capabilities").number(31.0);
            if is_enhanced {
                reply::enhanced(e);
            }
            e.end();
            e.object();
            e.key("level").string("status");
            e.key("code").string("NetConnection.Connect.Success");
            e.key("description").string("Connection succeeded.");
            e.key("objectEncoding").number(0.0);
            e.end();
        });

        let event = Connect {
            // Without a stream's name the path is the application.
            app: StreamPath::resolve(&tc_url, &app, "").name,
            flash_version: head(&text("flashVer"), 256).to_owned(),
            four_ccs,
            // Saturates, and NaN is 0.
            capabilities: capabilities.unwrap_or_default() as u32,
        };
        self.connection = Some(Connection { app, tc_url });
        Event::Connect(Box::new(event))
    }

    fn create_stream(&mut self, transaction: f64) {
        // Never 0, which GStreamer refuses, and 1 for the first, which the shared bytes of a player need.
        let free = (1..).find(|id| !self.streams.contains(id)).unwrap_or(1);
        if self.streams.len() < STREAMS_MAX {
            self.streams.push(free);
            self.replies.command("_result", transaction, |e| {
                e.null().number(f64::from(free));
            });
        } else {
            self.replies.command("_error", transaction, |e| {
                let code = "NetConnection.Call.Failed";
                command::information(e.null(), "error", code, "Too many streams.");
            });
        }
    }

    fn publish(&mut self, command: &Command<'_>, stream: u32) -> Option<Event> {
        if let Some(current) = self.publication.id() {
            // A repetition of what is under way needs no answer; another stream does.
            if current.stream != stream {
                let code = Rejection::BadName.code();
                let why = "One stream per connection.";
                self.replies.status(stream, Level::Error, code, why);
            }
            return None;
        }
        let request = self.request(command, stream);
        let mode = command.text(1);
        let mode = match () {
            () if mode.eq_ignore_ascii_case("record") => Mode::Record,
            () if mode.eq_ignore_ascii_case("append") => Mode::Append,
            () => Mode::Live,
        };
        self.publication.request(request.id);
        Some(Event::Publish(Box::new(Request { mode, ..request })))
    }

    fn play(&mut self, command: &Command<'_>, stream: u32) -> Option<Event> {
        if self.publication.id().is_some() {
            let code = "NetStream.Play.Failed";
            self.replies
                .status(stream, Level::Error, code, "This connection publishes.");
            return None;
        }
        let request = self.request(command, stream);
        self.play = Some(request.id);
        Some(Event::Play(Box::new(request)))
    }

    fn request(&mut self, command: &Command<'_>, stream: u32) -> Request {
        self.serial = self.serial.wrapping_add(1);
        self.clock.deadline = None;
        let name = command.text(0);
        let path = self
            .connection
            .as_ref()
            .map_or_else(StreamPath::default, |connection| {
                let name = head(&name, ADDRESS_BYTES_MAX);
                StreamPath::resolve(&connection.tc_url, &connection.app, name)
            });
        Request {
            id: RequestId {
                stream,
                serial: self.serial,
            },
            path,
            mode: Mode::Live,
        }
    }

    fn fc_unpublish(&mut self, command: &Command<'_>, now: Instant) -> Option<Event> {
        self.replies.command("_result", command.transaction, |e| {
            e.null().undefined();
        });
        self.replies.command("onFCUnpublish", 0.0, |e| {
            let code = "NetStream.Unpublish.Success";
            command::information(e.null(), "status", code, "Stopped publishing.");
        });
        let stream = self.publication.id()?.stream;
        let event = self.end_stream(stream, now);
        let code = "NetStream.Unpublish.Success";
        self.replies
            .status(stream, Level::Status, code, "Stopped publishing.");
        event
    }

    /// Ends what is done on a message stream.
    fn end_stream(&mut self, stream: u32, now: Instant) -> Option<Event> {
        // What was published on the connection itself ends with any stream.
        let on_stream = |id: &RequestId| id.stream == stream || id.stream == 0;
        let deadline = Some(now + self.config.request_timeout);
        if self.play.take_if(|id| on_stream(id)).is_some() {
            self.clock.deadline = deadline;
        }
        if !self.publication.id().as_ref().is_some_and(on_stream) {
            return None;
        }
        self.clock.deadline = deadline;
        self.publication.end().map(Event::Unpublish)
    }

    fn user_control(&mut self, body: &Bytes) {
        // Buffer lengths, pongs and unknown events need no answer.
        if let Some(&[event_high, event_low, a, b, c, d]) = body.first_chunk()
            && u16::from_be_bytes([event_high, event_low]) == control::PING_REQUEST
        {
            let time = u32::from_be_bytes([a, b, c, d]);
            self.replies.user_control(control::PING_RESPONSE, time);
        }
    }

    /// Counts bytes received and acknowledges them when it is time.
    fn count(&mut self, bytes: usize, now: Instant) {
        if bytes == 0 {
            return;
        }
        self.clock.heard = now;
        let flow = &mut self.flow;
        // Modulo 2^32, as the peer counts.
        flow.received = flow.received.wrapping_add(bytes as u32);
        let due = flow.received.wrapping_sub(flow.acknowledged) >= flow.window / 2;
        // Before `connect` was answered, clients are not ready for anything.
        if due && self.connection.is_some() {
            flow.acknowledged = flow.received;
            self.replies.acknowledgement(flow.received);
        }
    }

    fn ping_due(&self) -> Instant {
        self.clock.heard.max(self.clock.pinged) + self.config.ping_after
    }

    fn fail(&mut self, error: &Error) {
        let in_handshake = matches!(self.phase, Phase::Handshake(_));
        if let Some(reply) = error.reply().filter(|_| !in_handshake) {
            match self.connection {
                Some(_) => {
                    let stream = self
                        .publication
                        .id()
                        .or(self.play)
                        .map_or(0, |id| id.stream);
                    self.replies
                        .status(stream, Level::Error, reply.code, &reply.description);
                }
                // The only answer a client waits for is the one to `connect`, transaction 1.
                None => self.replies.command("_error", 1.0, |e| {
                    command::information(e.null(), "error", reply.code, &reply.description);
                }),
            }
        }
        self.close();
    }

    fn close(&mut self) {
        self.phase = Phase::Closed;
        self.clock.deadline = None;
        self.play = None;
        self.publication.end();
    }
}

/// The 4-byte value that a control message begins with.
fn control_value(message: &Message) -> Result<u32, Error> {
    let value = message
        .payload
        .first_chunk()
        .ok_or(Error::ShortControlMessage {
            kind: message.kind,
            length: message.payload.len(),
        })?;
    Ok(u32::from_be_bytes(*value))
}

/// At most `max` bytes from the front of `text`, whole characters.
fn head(text: &str, max: usize) -> &str {
    &text[..text.floor_char_boundary(max)]
}
