//! Client sessions against our own server's, against an independent one, and against hostile ones.

mod addresses;
mod hostile;
mod independent;
mod servers;

use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use proptest::prelude::*;

use super::*;
use crate::{
    auth,
    chunk::{self, Header},
    message::Kind,
    server::{self, Media, Rejection},
};

/// `rtmp://me:sesame@relay.example/live/show?key=K`.
fn address() -> Address {
    with_query("key=K")
}

/// Returns the address with another query.
fn with_query(query: &str) -> Address {
    let parts = Parts {
        scheme: "rtmp",
        host: "relay.example",
        port: None,
        path: "/live/show",
        query,
        user: Some(("me".to_owned(), "sesame".to_owned())),
    };
    Address::new(parts).unwrap()
}

fn client(purpose: Purpose, now: Instant) -> Session {
    Session::new(address(), purpose, [3; 32], now)
}

fn message(kind: Kind, stream_id: u32, timestamp: u32, body: &[u8]) -> BytesMut {
    let header = Header {
        csid: match kind {
            Kind::Audio => 4,
            Kind::Video => 6,
            _ => 7,
        },
        timestamp,
        kind,
        stream_id,
    };
    let mut bytes = BytesMut::new();
    chunk::write(&header, body, chunk::CHUNK_SIZE_SHARED, &mut bytes);
    bytes
}

fn media(timestamp: u32, payload: &[u8]) -> Media {
    Media {
        timestamp,
        payload: Bytes::copy_from_slice(payload),
    }
}

/// Our client and our server, and the events of each.
struct Pair {
    client: Session,
    server: server::Session,
    now: Instant,
    heard: Vec<Event>,
    served: Vec<server::Event>,
    /// Sizes of the pieces that bytes arrive in, in turn.
    cuts: Vec<usize>,
    turn: usize,
}

impl Pair {
    fn new(purpose: Purpose, cuts: Vec<usize>) -> Self {
        let now = Instant::now();
        Self {
            client: client(purpose, now),
            server: server::Session::new(server::Config::default(), [4; 32], now),
            now,
            heard: Vec::new(),
            served: Vec::new(),
            cuts,
            turn: 0,
        }
    }

    fn cut(&mut self, bytes: BytesMut) -> Vec<Bytes> {
        let mut rest = bytes.freeze();
        let mut pieces = Vec::new();
        while !rest.is_empty() {
            let cut = self.cuts[self.turn % self.cuts.len()];
            self.turn += 1;
            pieces.push(rest.split_to(cut.min(rest.len())));
        }
        pieces
    }

    fn serve(&mut self, bytes: BytesMut) {
        for piece in self.cut(bytes) {
            let mut input = &piece[..];
            while let Some(event) = self.server.read(&mut input, self.now).unwrap() {
                match &event {
                    server::Event::Publish(request) => {
                        self.server.accept_publish(request.id).unwrap();
                    }
                    server::Event::Play(request) => {
                        self.server.accept_play(request.id).unwrap();
                    }
                    _ => {}
                }
                self.served.push(event);
            }
        }
    }

    fn hear(&mut self, bytes: BytesMut) {
        for piece in self.cut(bytes) {
            let mut input = &piece[..];
            while let Some(event) = self.client.read(&mut input, self.now).unwrap() {
                self.heard.push(event);
            }
            assert!(input.is_empty());
        }
    }

    /// Carries output to and fro until both are quiet.
    fn settle(&mut self) {
        loop {
            let (out, back) = (self.client.output().split(), self.server.output().split());
            if out.is_empty() && back.is_empty() {
                return;
            }
            self.serve(out);
            self.hear(back);
        }
    }
}

/// Media of every size and kind that chunks make a difference to.
fn some_media() -> Vec<(Kind, u32, Vec<u8>)> {
    let metadata = b"\x02\x00\x0aonMetaData\x08\0\0\0\0\0\0\x09".to_vec();
    vec![
        (Kind::DataAmf0, 0, metadata),
        (Kind::Video, 0, vec![0x17, 0, 0, 0, 0]),
        (Kind::Audio, 0, vec![0xaf, 0]),
        (Kind::Video, 40, vec![1; 70_000]),
        (Kind::Audio, 41, vec![2; 128]),
        (Kind::DataAmf0, 60, b"\x02\x00\x0aonCuePoint\x05".to_vec()),
        (Kind::Video, 0x0100_0000, vec![3; 65_537]),
        (Kind::Audio, u32::MAX, vec![4]),
    ]
}

/// The events for them, made by the functions for audio, video, metadata and other data.
fn of_media<E>(of: [fn(Media) -> E; 4]) -> Vec<E> {
    let [audio, video, metadata, data] = of;
    let of_one = |(kind, time, body): (Kind, u32, Vec<u8>)| {
        let body = media(time, &body);
        match kind {
            Kind::Audio => audio(body),
            Kind::Video => video(body),
            _ if body.payload.starts_with(b"\x02\x00\x0aonMeta") => metadata(body),
            _ => data(body),
        }
    };
    some_media().into_iter().map(of_one).collect()
}

fn publish(cuts: Vec<usize>) -> (Vec<Event>, Vec<server::Event>) {
    let mut pair = Pair::new(Purpose::Publish, cuts);
    pair.settle();
    for (kind, time, body) in some_media() {
        pair.serve(message(kind, 1, time, &body));
        pair.settle();
    }
    pair.client.leave();
    assert!(pair.client.is_closed());
    pair.settle();
    (pair.heard, pair.served)
}

fn play(cuts: Vec<usize>) -> (Vec<Event>, Vec<server::Event>) {
    let mut pair = Pair::new(Purpose::Play, cuts);
    pair.settle();
    for (kind, time, body) in some_media() {
        pair.hear(message(kind, 1, time, &body));
        pair.settle();
    }
    let [_, server::Event::Play(request), ..] = &pair.served[..] else {
        panic!("{:?}", pair.served);
    };
    pair.server.end_play(request.id, "Over.", pair.now).unwrap();
    pair.settle();
    assert!(pair.client.is_closed());
    (pair.heard, pair.served)
}

#[test]
fn publishes_to_our_own_server() {
    use server::Event as E;
    let (heard, served) = publish(vec![usize::MAX]);
    assert_eq!(heard, [Event::Ready { message_stream: 1 }]);
    let [E::Connect(connect), E::Publish(request), rest @ ..] = &served[..] else {
        panic!("{served:?}");
    };
    assert_eq!(connect.app, "live");
    assert_eq!(connect.four_ccs, ["*"]);
    assert_eq!(connect.capabilities & 1, 1, "it takes reconnect requests");
    assert_eq!(request.path.name, "live/show");
    assert_eq!(request.path.parameter("key").as_deref(), Some("K"));
    assert_eq!(request.path.user, None, "a password is not sent unasked");
    let mut expected = of_media([E::Audio, E::Video, E::Metadata, E::Data]);
    expected.push(E::Unpublish(request.id));
    assert_eq!(rest, expected);
}

#[test]
fn plays_from_our_own_server() {
    use Event as E;
    let (heard, served) = play(vec![usize::MAX]);
    let Some(server::Event::Play(request)) = served.get(1) else {
        panic!("{served:?}");
    };
    assert_eq!(request.path.name, "live/show");
    let [E::Ready { message_stream: 1 }, media @ .., E::Ended { .. }] = &heard[..] else {
        panic!("after the end nothing is reported: {heard:?}");
    };
    let expected = of_media([E::Audio, E::Video, E::Metadata, E::Data]);
    assert_eq!(media, expected);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn segmentation_changes_nothing(cuts in prop::collection::vec(1..2_000_usize, 1..6)) {
        prop_assert_eq!(publish(cuts.clone()), publish(vec![usize::MAX]));
        prop_assert_eq!(play(cuts), play(vec![usize::MAX]));
    }
}

#[test]
fn a_refusal_is_passed_on_in_the_servers_words() {
    let withheld = "(withheld, for it repeats a part of the address)";
    for (said, shown) in [
        ("No.", "No."),
        ("wrong key K\u{7}", withheld),
        ("Go\naway", "Goaway"),
    ] {
        let mut pair = Pair::new(Purpose::Publish, vec![usize::MAX]);
        let now = pair.now;
        let outcome = loop {
            let out = pair.client.output().split();
            let mut input = &out[..];
            while let Some(event) = pair.server.read(&mut input, now).unwrap() {
                if let server::Event::Publish(request) = event {
                    let rejected = pair.server.reject(request.id, Rejection::Denied, said);
                    rejected.unwrap();
                }
            }
            let back = pair.server.output().split();
            match pair.client.read(&mut &back[..], now) {
                Ok(None) => assert!(!back.is_empty(), "the client waits for ever"),
                other => break other,
            }
        };
        let expected = Error::Refused {
            code: "NetStream.Publish.Denied".into(),
            description: shown.into(),
        };
        assert_eq!(outcome, Err(expected));
        assert!(pair.client.is_closed());
    }
}

#[test]
fn every_wait_ends() {
    let now = Instant::now();
    let mut silent = client(Purpose::Publish, now);
    let due = silent.poll_timeout().unwrap();
    assert_eq!(due, now + Duration::from_secs(10));
    let moment = Duration::from_millis(1);
    assert_eq!(silent.handle_timeout(due - moment), Ok(()));
    assert_eq!(silent.handle_timeout(due), Err(Error::HandshakeTimeout));
    assert!(silent.is_closed() && silent.poll_timeout().is_none());

    for (stage, question) in ["connect", "createStream", "play"].into_iter().enumerate() {
        let mut client = servers::player(stage).client;
        let due = client.poll_timeout().unwrap();
        let waited = client.handle_timeout(due);
        assert_eq!(waited, Err(Error::NoAnswer(question)));
    }
    assert_eq!(servers::player(3).client.poll_timeout(), None);
}

/// The three connections that authentication takes.
#[test]
fn a_challenge_is_answered() {
    let challenger = auth::Challenger::new([8; 32]);
    let mut address = address();
    let mut proof = None;
    for round in 0..3 {
        let mut server = servers::Scripted::with(address.clone(), Purpose::Publish);
        let app = server.heard_app();
        let (app, query) = app.split_once('?').unwrap_or((&app, ""));
        assert_eq!(app, "live");
        proof = challenger.read(query, 100);
        if proof.is_some() {
            assert_eq!(round, 2);
            break;
        }
        let description = match auth::user(query) {
            None => auth::NEED_AUTH.to_owned(),
            Some(user) => auth::reject(&challenger.ask(user, 99, [1; 8])),
        };
        let Ok(Some(Event::Challenged(next))) = server.refuse_connect(&description) else {
            panic!("the client has a password");
        };
        assert!(server.client.is_closed());
        address = next;
    }
    assert!(proof.unwrap().verifies("sesame"));

    // The server asks for what it was given: the password is wrong, and retrying would not end.
    for description in [auth::NEED_AUTH, auth::AUTH_FAILED] {
        let mut server = servers::Scripted::with(address.clone(), Purpose::Publish);
        let refused = server.refuse_connect(description);
        assert!(matches!(refused, Err(Error::Refused { .. })), "{refused:?}");
    }
}
