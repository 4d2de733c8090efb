//! A scripted client against the session, in virtual time.

mod challenge;
mod conversations;
mod hostile;
mod independent;
mod playing;
mod timing;

use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};

use super::*;
use crate::{
    Error,
    amf0::{Decoder, Encoder, Value},
    chunk::{self, Header, Limits, Reader},
    command,
    message::{Kind, Message},
};

/// A client that sends what the test passes to it and records the replies.
struct Client {
    session: Session,
    now: Instant,
    heard: Reader,
    chunk_size: u32,
}

impl Client {
    /// A client that has shaken hands.
    fn new() -> Self {
        Self::with(Config::default())
    }

    fn with(config: Config) -> Self {
        let now = Instant::now();
        let mut client = Self {
            session: Session::new(config, [9; 32], now),
            now,
            heard: Reader::new(Limits::PUBLISHER),
            chunk_size: 128,
        };
        assert_eq!(client.feed(&[3; 1]), Ok(vec![]));
        assert_eq!(client.feed(&[0; 2 * 1536]), Ok(vec![]));
        assert_eq!(client.session.output().split().len(), 1 + 2 * 1536);
        client
    }

    /// A client that has connected to `live`.
    fn connected() -> Self {
        let mut client = Self::new();
        client.connect("live", "rtmp://h/live");
        client.replies();
        client
    }

    /// A client that has connected, and created message stream 1.
    fn created() -> Self {
        let mut client = Self::connected();
        client.quietly(0, "createStream 2 _");
        client.replies();
        client
    }

    /// A client that publishes `live/show` on stream 1.
    fn publishing() -> Self {
        let mut client = Self::created();
        client.published("show");
        client.replies();
        client
    }

    /// A client that asked on stream 1 to play `live/show`, and was accepted.
    fn playing() -> (Self, RequestId) {
        let mut client = Self::created();
        let id = client.played(1, "show");
        client.replies();
        (client, id)
    }

    fn feed(&mut self, mut bytes: &[u8]) -> Result<Vec<Event>, Error> {
        let mut events = Vec::new();
        while let Some(event) = self.session.read(&mut bytes, self.now)? {
            events.push(event);
        }
        assert!(bytes.is_empty());
        Ok(events)
    }

    fn encode(&self, kind: Kind, stream_id: u32, timestamp: u32, body: &[u8]) -> BytesMut {
        let csid = match kind {
            Kind::Audio => 4,
            Kind::Video => 6,
            Kind::CommandAmf0 | Kind::CommandAmf3 => 3,
            Kind::DataAmf0 | Kind::DataAmf3 => 5,
            _ => 2,
        };
        let header = Header {
            csid,
            timestamp,
            kind,
            stream_id,
        };
        let mut bytes = BytesMut::new();
        chunk::write(&header, body, self.chunk_size, &mut bytes);
        bytes
    }

    fn try_send(
        &mut self,
        kind: Kind,
        stream: u32,
        time: u32,
        body: &[u8],
    ) -> Result<Vec<Event>, Error> {
        let bytes = self.encode(kind, stream, time, body);
        self.feed(&bytes)
    }

    #[track_caller]
    fn send(&mut self, kind: Kind, stream: u32, time: u32, body: &[u8]) -> Vec<Event> {
        self.try_send(kind, stream, time, body).unwrap()
    }

    /// A message on stream 1 is reported as it is.
    #[track_caller]
    fn brings(&mut self, kind: Kind, time: u32, body: &[u8], event: fn(Media) -> Event) {
        assert_eq!(self.send(kind, 1, time, body), [event(media(time, body))]);
    }

    /// Sends a number on the connection.
    #[track_caller]
    fn control(&mut self, kind: Kind, value: u32) {
        assert_eq!(self.send(kind, 0, 0, &value.to_be_bytes()), []);
    }

    /// Sends in chunks of that size from now on.
    #[track_caller]
    fn chunks_of(&mut self, size: u32) {
        self.control(Kind::SetChunkSize, size);
        self.chunk_size = size;
    }

    #[track_caller]
    fn command(
        &mut self,
        stream: u32,
        name: &str,
        transaction: f64,
        arguments: impl for<'a, 'b> FnOnce(&'a mut Encoder<'b>) -> &'a mut Encoder<'b>,
    ) -> Vec<Event> {
        let mut body = BytesMut::new();
        arguments(&mut command::encode(&mut body, name, transaction));
        self.send(Kind::CommandAmf0, stream, 0, &body)
    }

    /// Sends a command: its name, its transaction and its arguments, which are numbers, truth values, `_` for
    /// null, or else text.
    #[track_caller]
    fn say(&mut self, stream: u32, words: &str) -> Vec<Event> {
        let mut body = BytesMut::new();
        write_command(&mut body, words);
        self.send(Kind::CommandAmf0, stream, 0, &body)
    }

    /// Sends commands of which nothing is reported.
    #[track_caller]
    fn quietly(&mut self, stream: u32, commands: &str) {
        for words in commands.split(" | ") {
            assert_eq!(self.say(stream, words), [], "{words}");
        }
    }

    #[track_caller]
    fn connect(&mut self, app: &str, tc_url: &str) -> Connect {
        let events = self.command(0, "connect", 1.0, |e| {
            e.object();
            e.key("app").string(app);
            e.key("type").string("nonprivate");
            e.key("flashVer").string("FMLE/3.0 (compatible; FMSc/1.0)");
            e.key("tcUrl").string(tc_url).end()
        });
        match &events[..] {
            [Event::Connect(connect)] => (**connect).clone(),
            other => panic!("{other:?}"),
        }
    }

    /// Asks to publish on stream 1.
    #[track_caller]
    fn publish(&mut self, name: &str) -> Request {
        to_publish(&self.say(1, &format!("publish 5 _ {name} live")))
    }

    /// Publishes on stream 1.
    #[track_caller]
    fn published(&mut self, name: &str) -> RequestId {
        let id = self.publish(name).id;
        self.session.accept_publish(id).unwrap();
        id
    }

    #[track_caller]
    fn play(&mut self, stream: u32, name: &str) -> Request {
        to_play(&self.say(stream, &format!("play 0 _ {name} -2000")))
    }

    #[track_caller]
    fn played(&mut self, stream: u32, name: &str) -> RequestId {
        let id = self.play(stream, name).id;
        self.session.accept_play(id).unwrap();
        id
    }

    /// The server's output since the last call is this.
    #[track_caller]
    fn hears(&mut self, expected: &str) {
        assert_eq!(self.replies().join(" | "), expected);
    }

    /// Returns the last message of the server's output since the last call.
    fn last_reply(&mut self) -> Message {
        let output = self.session.output().split();
        let mut input = &output[..];
        let replies = std::iter::from_fn(|| self.heard.read(&mut input).unwrap());
        replies.last().unwrap()
    }

    /// Returns the server's output since the last call, a line each.
    #[track_caller]
    fn replies(&mut self) -> Vec<String> {
        let output = self.session.output().split();
        let mut input = &output[..];
        let mut lines = Vec::new();
        while let Some(message) = self.heard.read(&mut input).unwrap() {
            lines.push(describe(&message));
        }
        lines
    }
}

/// `kind value`, or `name transaction @stream what`: a result's number or a status' level and code.
fn describe(message: &Message) -> String {
    if !matches!(message.kind, Kind::CommandAmf0 | Kind::DataAmf0) {
        assert_eq!(message.stream_id, 0);
        return format!("{:?} {}", message.kind, hex(&message.payload));
    }
    let mut decoder = Decoder::new(&message.payload);
    let mut values = Vec::new();
    while let Some(value) = decoder.value().unwrap() {
        values.push(value);
    }
    if message.kind == Kind::DataAmf0 {
        let name = values[0].text().unwrap();
        let rest = match &values[1..] {
            [Value::Boolean(a), Value::Boolean(b)] => format!("{a} {b}"),
            [info] => info.property("code").unwrap().text().unwrap().into_owned(),
            other => panic!("{other:?}"),
        };
        return format!("data @{} {name} {rest}", message.stream_id);
    }
    let last = values.last().unwrap();
    let level = last.property("level").and_then(Value::text);
    let what = match (last.property("code"), last) {
        (Some(code), _) => format!("{} {}", level.unwrap_or_default(), code.text().unwrap()),
        (None, Value::Number(number)) => number.to_string(),
        (None, other) => format!("{other:?}").to_lowercase(),
    };
    let (name, transaction) = (values[0].text().unwrap(), values[1].number().unwrap());
    format!("{name} {transaction} @{} {what}", message.stream_id)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Writes a command as in [`Client::say`].
fn write_command(body: &mut BytesMut, words: &str) {
    let mut words = words.split(' ');
    let name = words.next().unwrap();
    let transaction = words.next().unwrap().parse().unwrap();
    let mut e = command::encode(body, name, transaction);
    for word in words {
        match (word, word.parse::<f64>()) {
            ("_", _) => e.null(),
            ("true" | "false", _) => e.boolean(word == "true"),
            (_, Ok(number)) => e.number(number),
            (_, Err(_)) => e.string(word),
        };
    }
}

/// The request that is all that happened.
#[track_caller]
fn to_publish(events: &[Event]) -> Request {
    match events {
        [Event::Publish(request)] => (**request).clone(),
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn to_play(events: &[Event]) -> Request {
    match events {
        [Event::Play(request)] => (**request).clone(),
        other => panic!("{other:?}"),
    }
}

fn amf(build: impl for<'a, 'b> FnOnce(&'a mut Encoder<'b>) -> &'a mut Encoder<'b>) -> Bytes {
    let mut bytes = BytesMut::new();
    build(&mut Encoder::new(&mut bytes));
    bytes.freeze()
}

fn string(text: &str) -> Bytes {
    amf(|e| e.string(text))
}

/// The body of a stream's metadata.
fn metadata() -> Vec<u8> {
    let body = amf(|e| {
        e.string("onMetaData").ecma_array(2);
        e.key("width").number(1280.0);
        e.key("encoder").string("test").end()
    });
    body.to_vec()
}

fn media(timestamp: u32, payload: &[u8]) -> Media {
    Media {
        timestamp,
        payload: Bytes::copy_from_slice(payload),
    }
}

const AVC_HEADER: &[u8] = &[0x17, 0, 0, 0, 0, 1, 0x64, 0, 0x1f];
const AAC_HEADER: &[u8] = &[0xaf, 0, 0x12, 0x10];
const KEYFRAME: &[u8] = &[0x17, 1, 0, 0, 0, 9, 9, 9];
