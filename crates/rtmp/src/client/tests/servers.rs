//! Scripted servers: what real ones were seen to send, in their orders.

use super::*;
use crate::{
    amf0::{Encoder, Value},
    chunk::{Limits, Reader},
    command::{self, Command},
};

/// A server that sends what the test passes to it.
pub(super) struct Scripted {
    pub(super) client: Session,
    reader: Reader,
    now: Instant,
    chunk_size: u32,
}

impl Scripted {
    pub(super) fn new(purpose: Purpose) -> Self {
        Self::with(address(), purpose)
    }

    /// A server that has shaken hands.
    pub(super) fn with(address: Address, purpose: Purpose) -> Self {
        let now = Instant::now();
        let mut server = Self {
            client: Session::new(address, purpose, [3; 32], now),
            reader: Reader::new(Limits::PUBLISHER),
            now,
            chunk_size: chunk::CHUNK_SIZE_INITIAL,
        };
        let hello = server.client.output().split();
        assert_eq!(hello.len(), 1 + 1536);
        assert_eq!(hello[5..9], [0; 4], "the simple form");
        let mut answer = vec![3];
        answer.extend_from_slice(&[7; 2 * 1536]);
        assert_eq!(server.feed(&answer), Ok(vec![]));
        assert_eq!(server.client.output().split_to(1536)[..], [7; 1536]);
        server
    }

    pub(super) fn feed(&mut self, mut bytes: &[u8]) -> Result<Vec<Event>, Error> {
        let mut events = Vec::new();
        while let Some(event) = self.client.read(&mut bytes, self.now)? {
            events.push(event);
        }
        assert!(bytes.is_empty());
        Ok(events)
    }

    /// The names of the commands received since the last call, with their message streams.
    fn commands(&mut self) -> Vec<(String, u32)> {
        let output = self.client.output().split();
        let mut input = &output[..];
        let mut names = Vec::new();
        while let Some(message) = self.reader.read(&mut input).unwrap() {
            if message.kind == Kind::CommandAmf0 {
                let command = Command::decode(&message.payload).unwrap();
                names.push((command.name.into_owned(), message.stream_id));
            }
        }
        names
    }

    /// Their names alone.
    fn names(&mut self) -> String {
        let names = self.commands().into_iter().map(|(name, _)| name);
        names.collect::<Vec<_>>().join(" ")
    }

    /// `app` of the `connect` just received.
    pub(super) fn heard_app(&mut self) -> String {
        let output = self.client.output().split();
        let message = self.reader.read(&mut &output[..]).unwrap().unwrap();
        let connect = Command::decode(&message.payload).unwrap();
        assert_eq!(connect.name, "connect");
        let text = |name| connect.object.property(name).and_then(Value::text).unwrap();
        let app = text("app").into_owned();
        assert_eq!(text("tcUrl"), format!("rtmp://relay.example/{app}"));
        app
    }

    fn say(
        &mut self,
        stream: u32,
        name: &str,
        transaction: f64,
        arguments: impl FnOnce(&mut Encoder<'_>),
    ) -> Result<Vec<Event>, Error> {
        let mut body = BytesMut::new();
        arguments(&mut command::encode(&mut body, name, transaction));
        let header = Header {
            csid: 3,
            timestamp: 0,
            kind: Kind::CommandAmf0,
            stream_id: stream,
        };
        let mut bytes = BytesMut::new();
        chunk::write(&header, &body, self.chunk_size, &mut bytes);
        self.feed(&bytes)
    }

    pub(super) fn control(&mut self, kind: Kind, body: &[u8]) -> Result<Vec<Event>, Error> {
        let events = self.feed(&message(kind, 0, 0, body));
        if kind == Kind::SetChunkSize {
            self.chunk_size = chunk::CHUNK_SIZE_SHARED;
        }
        events
    }

    pub(super) fn refuse_connect(&mut self, description: &str) -> Result<Option<Event>, Error> {
        let events = self.say(0, "_error", 1.0, |e| {
            let code = "NetConnection.Connect.Rejected";
            command::information(e.null(), "error", code, description);
        })?;
        Ok(events.into_iter().next())
    }

    fn accept_connect(&mut self) {
        let said = self.say(0, "_result", 1.0, |e| {
            let code = "NetConnection.Connect.Success";
            e.object().key("fmsVer").string("FMS/3,5,7,7009").end();
            command::information(e, "status", code, "Connection succeeded.");
        });
        assert_eq!(said, Ok(vec![]));
    }

    pub(super) fn create_stream(&mut self, id: f64) -> Result<Vec<Event>, Error> {
        self.say(0, "_result", 4.0, |e| {
            e.null().number(id);
        })
    }

    fn status(&mut self, level: &str, code: &str) -> Result<Vec<Event>, Error> {
        self.say(1, "onStatus", 0.0, |e| {
            command::information(e.null(), level, code, "");
        })
    }

    /// Takes a player through so many answers.
    pub(super) fn advance(&mut self, stage: usize) {
        if stage >= 1 {
            self.accept_connect();
        }
        if stage >= 2 {
            assert_eq!(self.create_stream(1.0), Ok(vec![]));
        }
        if stage >= 3 {
            let ready = self.status("status", "NetStream.Play.Start");
            assert_eq!(ready, Ok(vec![Event::Ready { message_stream: 1 }]));
        }
        self.client.output().clear();
    }
}

/// A player that has had so many answers.
pub(super) fn player(stage: usize) -> Scripted {
    let mut server = Scripted::new(Purpose::Play);
    server.advance(stage);
    server
}

const NOTHING: Result<Vec<Event>, Error> = Ok(Vec::new());
const CHUNKS: [u8; 4] = chunk::CHUNK_SIZE_SHARED.to_be_bytes();

#[test]
fn a_publisher_says_what_encoders_say() {
    let mut server = Scripted::new(Purpose::Publish);
    assert_eq!(server.commands(), [("connect".into(), 0)]);
    server.accept_connect();
    assert_eq!(server.names(), "releaseStream FCPublish createStream");
    assert_eq!(server.create_stream(3.0), NOTHING);
    assert_eq!(server.commands(), [("publish".into(), 3)]);
    let ready = server.status("status", "NetStream.Publish.Start");
    assert_eq!(ready, Ok(vec![Event::Ready { message_stream: 3 }]));
    server.client.leave();
    assert_eq!(server.names(), "FCUnpublish deleteStream");
}

/// Errors for the optional commands, answers without a request, and unknown commands.
#[test]
fn what_servers_add_is_no_hindrance() {
    let mut server = Scripted::new(Purpose::Publish);
    for (kind, body) in [
        (Kind::WindowAckSize, &[0, 38, 37, 160][..]),
        (Kind::SetPeerBandwidth, &[0, 38, 37, 160, 2]),
        (Kind::SetChunkSize, &CHUNKS),
    ] {
        assert_eq!(server.control(kind, body), NOTHING);
    }
    server.accept_connect();
    for name in ["onBWDone", "onFCPublish", "setDataFrame", ""] {
        let said = server.say(0, name, 0.0, |e| {
            e.null().number(8_192.0);
        });
        assert_eq!(said, NOTHING);
    }
    for transaction in [2.0, 3.0] {
        let said = server.say(0, "_error", transaction, |e| {
            command::information(e.null(), "error", "NetConnection.Call.Failed", "");
        });
        assert_eq!(said, NOTHING);
    }
    assert_eq!(server.create_stream(1.0), NOTHING);
    // An answer to nothing asked.
    assert_eq!(server.create_stream(2.0), NOTHING);
    let reset = server.status("status", "NetStream.Publish.Reset");
    assert_eq!(reset, NOTHING);
    let ready = server.status("status", "NetStream.Publish.Start");
    assert_eq!(ready, Ok(vec![Event::Ready { message_stream: 1 }]));
    let gone = server.status("error", "NetStream.Publish.BadName");
    assert!(matches!(gone, Err(Error::Refused { .. })), "{gone:?}");
}

#[test]
fn media_may_overtake_the_status_that_announces_it() {
    let mut server = player(2);
    let sample = message(Kind::Audio, 1, 7, b"\xaf\x01x");
    let expected = [
        Event::Ready { message_stream: 1 },
        Event::Audio(media(7, b"\xaf\x01x")),
    ];
    assert_eq!(server.feed(&sample).unwrap(), expected);
    assert_eq!(server.status("status", "NetStream.Play.Start"), NOTHING);
}

#[test]
fn the_end_has_many_words() {
    for code in [
        "NetStream.Play.UnpublishNotify",
        "NetStream.Play.Stop",
        "NetStream.Play.Complete",
        "NetConnection.Connect.Closed",
    ] {
        let mut server = player(3);
        let events = server.status("status", code).unwrap();
        let is_so = matches!(&events[..], [Event::Ended { code: said, .. }] if said == code);
        assert!(is_so, "{events:?}");
        assert!(server.client.is_closed());
    }
    let mut server = player(3);
    // Another stream's end.
    let other = server.control(Kind::UserControl, &[0, 1, 0, 0, 0, 2]);
    assert_eq!(other, NOTHING);
    let own = server.control(Kind::UserControl, &[0, 1, 0, 0, 0, 1]);
    let events = own.unwrap();
    assert!(matches!(&events[..], [Event::Ended { .. }]), "{events:?}");
    for level in ["error", "Error"] {
        let absent = player(2).status(level, "NetStream.Play.StreamNotFound");
        assert!(matches!(absent, Err(Error::Refused { .. })), "{absent:?}");
    }
}

#[test]
fn pings_are_answered_and_received_bytes_acknowledged() {
    let mut server = player(3);
    let ping = server.control(Kind::UserControl, &[0, 6, 1, 2, 3, 4]);
    assert_eq!(ping, NOTHING);
    let output = server.client.output().split();
    assert!(output.ends_with(&[0, 7, 1, 2, 3, 4]));

    // A tiny window is raised, so that acknowledgements do not exceed the media.
    server.control(Kind::WindowAckSize, &[0, 0, 0, 1]).unwrap();
    server.control(Kind::SetChunkSize, &CHUNKS).unwrap();
    server.client.output().clear();
    let sample = message(Kind::Video, 1, 0, &[1; 1_000]);
    for _ in 0..100 {
        server.feed(&sample).unwrap();
    }
    let acknowledgements = server.client.output().len() / 16;
    assert!((4..=7).contains(&acknowledgements), "{acknowledgements}");
}

/// A server that was not asked for a stream cannot redirect us, however often it tries.
#[test]
fn a_move_is_heard_of_once_the_stream_was_asked_for() {
    let heard = vec![Event::Reconnect { tc_url: None }];
    for (stage, expected) in [(0, vec![]), (1, vec![]), (2, heard.clone()), (3, heard)] {
        let code = "NetConnection.Connect.ReconnectRequest";
        let mut server = player(stage);
        assert_eq!(server.status("status", code), Ok(expected), "{stage}");
        assert!(!server.client.is_closed(), "the stream goes on meanwhile");
    }
}

/// Codes are shown as descriptions are.
#[test]
fn a_code_that_repeats_a_secret_is_withheld() {
    for (code, is_shown) in [
        ("NetStream.Publish.show", false),
        ("key.K.is.wrong", false),
        ("no.a/b.here", false),
        ("NetStream.Publish.Denied", true),
        ("Of.Our.Own", true),
    ] {
        let address = with_query("key=K&x=Denied&y=a%2Fb");
        let mut server = Scripted::with(address, Purpose::Publish);
        server.advance(2);
        let Err(Error::Refused { code: shown, .. }) = server.status("error", code) else {
            panic!("{code} is no refusal");
        };
        assert_eq!(shown == code, is_shown, "{shown}");
        assert!(is_shown || !shown.contains("show"), "{shown}");
    }
}
