//! Bounds on the memory and the replies of a session, whatever its peer sends: the known defects of other
//! servers, each as the bytes that trigger it, and noise.
//!
//! The bounds are `peak memory ≤ HELD_PER_BYTE × input + HELD_AT_ALL` and the like for replies; a peer that
//! was not accepted as a publisher is also held to [`STRANGER_BYTES_MAX`]. A connection is either refused or
//! continues to work, which a ping at the end shows.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use bytes::BytesMut;
use carillon_rtmp::{
    Error,
    amf0::Encoder,
    chunk::{self, Header, Limits, PARTIAL_MESSAGES_MAX},
    message::Kind,
    server::{Config, Event, OUTPUT_BYTES_MAX, Session},
};
use peak_alloc::PeakAlloc;
use proptest::prelude::*;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// A buffer that doubles exists twice while it moves: three bytes for each that arrived.
const HELD_PER_BYTE: usize = 3;
/// The session, its tables, a reply being written.
const HELD_AT_ALL: usize = 24 << 10;
/// Most bytes that a command of few bytes may decode to: the number of values is limited, not their ratio to
/// bytes.
const DECODED_BYTES_MAX: usize = 64 << 10;
/// The most memory that a peer may use before it is accepted.
const STRANGER_BYTES_MAX: usize = 256 << 10;
/// The longest answer, to the shortest request: a status to a `seek` without arguments.
const SAID_PER_BYTE: usize = 16;
/// The first replies, and the last ones.
const SAID_AT_ALL: usize = 4 << 10;

/// The allocator counts for all threads, so tests that measure take turns.
fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// State of a connection when it turns hostile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Handshaken,
    Connected,
    Publishing,
    Playing,
}

use Fate::{Any, Either, Refused, Works};
use Stage::{Connected, Handshaken, Playing, Publishing};

const STAGES: [Stage; 4] = [Handshaken, Connected, Publishing, Playing];

/// The expected result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Refused,
    Works,
    /// One of the two, depending on the stage.
    Either,
    /// It may wait for more besides.
    Any,
}

/// The result.
struct Outcome {
    peak: usize,
    said: usize,
    error: Option<Error>,
    answers: bool,
}

/// A message in chunks of `chunk_size` bytes.
fn framed(csid: u32, kind: Kind, stream_id: u32, body: &[u8], chunk_size: u32) -> Vec<u8> {
    let header = Header {
        csid,
        timestamp: 0,
        kind,
        stream_id,
    };
    let mut bytes = BytesMut::new();
    chunk::write(&header, body, chunk_size, &mut bytes);
    bytes.to_vec()
}

fn message(kind: Kind, body: &[u8]) -> Vec<u8> {
    framed(3, kind, 1, body, 128)
}

fn amf(build: impl for<'a, 'b> FnOnce(&'a mut Encoder<'b>) -> &'a mut Encoder<'b>) -> Vec<u8> {
    let mut bytes = BytesMut::new();
    build(&mut Encoder::new(&mut bytes));
    bytes.to_vec()
}

fn command(
    name: &str,
    arguments: impl for<'a, 'b> FnOnce(&'a mut Encoder<'b>) -> &'a mut Encoder<'b>,
) -> Vec<u8> {
    let body = amf(|e| arguments(e.string(name).number(2.0)));
    message(Kind::CommandAmf0, &body)
}

fn control(kind: Kind, value: u32) -> Vec<u8> {
    framed(2, kind, 0, &value.to_be_bytes(), 128)
}

/// A header of any format, without extended time.
fn head(format: u8, csid: u8, time: u32, length: u32, kind: u8) -> Vec<u8> {
    let mut bytes = vec![format << 6 | csid];
    bytes.extend_from_slice(&time.to_be_bytes()[1..]);
    if format < 2 {
        bytes.extend_from_slice(&length.to_be_bytes()[1..]);
        bytes.push(kind);
    }
    if format == 0 {
        bytes.extend_from_slice(&[1, 0, 0, 0]);
    }
    bytes
}

/// Returns the bytes that a client sends to reach a stage, after the handshake.
fn opening(stage: Stage) -> Vec<u8> {
    let mut bytes = Vec::new();
    if stage != Handshaken {
        bytes.extend(command("connect", |e| {
            e.object().key("app").string("live").end()
        }));
        bytes.extend(command("createStream", |e| e.null()));
    }
    let request = match stage {
        Publishing => "publish",
        Playing => "play",
        Handshaken | Connected => return bytes,
    };
    bytes.extend(command(request, |e| e.null().string("show")));
    bytes
}

/// Feeds everything, accepting every request, and discards the replies.
fn feed(session: &mut Session, bytes: &[u8], piece: usize, now: Instant) -> Result<usize, Error> {
    let mut said = 0;
    for mut piece in bytes.chunks(piece) {
        loop {
            let result = session.read(&mut piece, now);
            match &result {
                Ok(Some(Event::Publish(request))) => {
                    session.accept_publish(request.id).expect("just asked");
                }
                Ok(Some(Event::Play(request))) => {
                    session.accept_play(request.id).expect("just asked");
                }
                _ => {}
            }
            said += session.output().len();
            session.output().clear();
            if result?.is_none() {
                break;
            }
        }
    }
    Ok(said)
}

/// A connection at `stage` that then sends `bytes`, measured from its first moment.
fn run(stage: Stage, bytes: &[u8], piece: usize) -> Outcome {
    let handshake = [&[3; 1][..], &[0; 3072]].concat();
    let opening = opening(stage);
    let ping = framed(60, Kind::UserControl, 0, &[0, 6, 1, 2, 3, 4], 128);
    let pong = framed(2, Kind::UserControl, 0, &[0, 7, 1, 2, 3, 4], 128);
    let now = Instant::now();

    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    let mut session = Session::new(Config::default(), [7; 32], now);
    for lawful in [&handshake, &opening] {
        feed(&mut session, lawful, usize::MAX, now).expect("nothing is wrong with that");
    }
    let result = feed(&mut session, bytes, piece, now);
    let peak = MEMORY.peak_usage() - before;

    let (said, error) = match result {
        Ok(said) => (said, None),
        Err(error) => (0, Some(error)),
    };
    assert_eq!(session.is_closed(), error.is_some());
    let mut input = &ping[..];
    let answered = session.read(&mut input, now);
    Outcome {
        peak,
        said,
        error,
        answers: answered.is_ok() && *session.output() == pong[..],
    }
}

#[track_caller]
fn check(what: &str, stage: Stage, bytes: &[u8], fate: Fate, decoded: usize) {
    // A byte at a time is slow, and a few thousand show everything.
    let bytewise = if bytes.len() < 64 << 10 { 1 } else { 1_460 };
    for piece in [usize::MAX, 1_460, 7, bytewise] {
        let got = run(stage, bytes, piece);
        let shown = format!(
            "{what}, {stage:?}, {} bytes in pieces of {piece}: {:?}, {} bytes held, {} said",
            bytes.len(),
            got.error,
            got.peak,
            got.said
        );
        // The opening counts as input, the handshake does not.
        let mut held_max = HELD_PER_BYTE * bytes.len() + HELD_AT_ALL + decoded;
        if stage == Publishing {
            // Each message may reserve for bytes that wait to be read, even for other messages'.
            let waiting = bytes.len().min(piece).min(Limits::PUBLISHER.reserve_max);
            held_max += waiting * PARTIAL_MESSAGES_MAX;
        }
        assert!(got.peak <= held_max, "{shown}, at most {held_max}");
        if stage != Publishing {
            assert!(got.peak <= STRANGER_BYTES_MAX, "{shown}");
        }
        let is_so = got.said <= SAID_PER_BYTE * bytes.len() + SAID_AT_ALL;
        assert!(is_so, "{shown}");
        match fate {
            Refused => assert!(got.error.is_some(), "{shown}"),
            Works => assert!(got.error.is_none() && got.answers, "{shown}"),
            Either => assert!(got.error.is_some() || got.answers, "{shown}"),
            Any => {}
        }
    }
}

#[track_caller]
fn check_all(what: &str, bytes: &[u8], fate: Fate) {
    for stage in STAGES {
        check(what, stage, bytes, fate, 0);
    }
}

#[test]
fn commands_that_decode_to_much() {
    let _alone = alone();
    let of = |head: &[u8], member: &[u8]| {
        let mut body = amf(|e| e.string("connect").number(1.0));
        body.extend_from_slice(head);
        body.extend(member.repeat(60_000 / member.len()));
        message(Kind::CommandAmf0, &body)
    };
    for stage in STAGES {
        for (what, head, member) in [
            ("nested objects", &[][..], &[3, 0, 1, b'k'][..]),
            ("nested arrays", &[], &[8, 0, 0, 0, 1, 0, 1, b'k']),
            ("nested lists", &[], &[10, 0, 0, 0, 1]),
            ("nested classes", &[], &[16, 0, 1, b'c', 0, 1, b'k']),
            ("a wide object", &[3], &[0, 1, b'k', 5]),
            ("a wide list", &[10, 0, 0, 0xea, 0], &[5]),
            ("a list of lists", &[10, 0, 0, 0x10, 0], &[10, 0, 0, 0, 0]),
            ("an endless list", &[10, 0xff, 0xff, 0xff, 0xff], &[5]),
            (
                "an endless array",
                &[8, 0xff, 0xff, 0xff, 0xff],
                &[0, 1, b'k', 5],
            ),
        ] {
            let bytes = of(head, member);
            check(what, stage, &bytes, Refused, DECODED_BYTES_MAX);
        }
        // As much as is accepted, again and again.
        let list = of(&[10, 0, 0, 1, 0], &[5]);
        let object = amf(|e| {
            e.string("x").number(0.0).object();
            for _ in 0..1_000 {
                e.key("").null();
            }
            e.end()
        });
        let object = message(Kind::CommandAmf0, &object).repeat(3);
        let fate = if stage == Handshaken { Either } else { Works };
        check("many members", stage, &object, fate, DECODED_BYTES_MAX);
        check("a list", stage, &list, Either, DECODED_BYTES_MAX);
    }
}

#[test]
fn commands_that_lack_or_overdo_something() {
    let _alone = alone();
    let names = "createStream publish play play2 pause pauseRaw seek receiveAudio receiveVideo \
        closeStream deleteStream FCPublish FCUnpublish FCSubscribe releaseStream getStreamLength \
        _checkbw _result onStatus nonsense ";
    for stage in [Connected, Publishing, Playing] {
        for name in names.split(' ') {
            let bare = amf(|e| e.string(name));
            let bytes = message(Kind::CommandAmf0, &bare).repeat(50);
            check(name, stage, &bytes, Works, 0);
            for argument in [false, true] {
                let bytes = command(name, |e| e.null().boolean(argument));
                check(name, stage, &bytes.repeat(30), Works, 0);
            }
            // As it arrives from clients that wrap it for AMF3.
            let marked = message(Kind::CommandAmf3, &[&[0], &bare[..]].concat());
            check(name, stage, &marked, Works, 0);
        }
    }
    for stage in STAGES {
        let fate = if stage == Handshaken { Refused } else { Works };
        let nothing = message(Kind::CommandAmf0, &[]);
        check("an empty command", stage, &nothing, fate, 0);
        let name = "n".repeat(60_000);
        let bytes = command("publish", |e| e.null().string(&name));
        // A worker would have to hold a player's, beside those of thousands of others.
        let fate = match stage {
            Handshaken | Playing => Refused,
            _ => Works,
        };
        check("a long name", stage, &bytes, fate, STRANGER_BYTES_MAX);
    }
}

#[test]
fn data_that_is_no_such_thing() {
    let _alone = alone();
    let empty = amf(|e| e.string("@setDataFrame"));
    let exotic = [
        &[0x0c, 0, 0, 0, 1, b'x'][..],
        &[7, 0, 1],
        &[0x0b; 11],
        &[0x0f, 0, 0, 0, 0],
        &[0x11, 1],
    ]
    .concat();
    let mut nested = amf(|e| e.string("onMetaData"));
    nested.extend([3, 0, 1, b'k'].repeat(10_000));
    for kind in [Kind::DataAmf0, Kind::DataAmf3] {
        for body in [&[][..], &[0], &empty, &exotic, &[0xee; 100], &nested] {
            check_all("data", &message(kind, body).repeat(3), Works);
        }
    }
}

#[test]
fn chunk_streams_of_every_kind() {
    let _alone = alone();
    let mut interleaved = Vec::new();
    for csid in [4, 5, 6] {
        interleaved.extend(head(0, csid, 0, 300, 9));
        interleaved.extend([0x17; 128]);
    }
    for size in [128, 44] {
        for csid in [6, 4, 5] {
            interleaved.push(3 << 6 | csid);
            interleaved.extend(vec![0x17; size]);
        }
    }
    check_all("interleaved", &interleaved.repeat(50), Works);

    let fresh = [head(1, 9, 5, 2, 9), vec![1, 2]].concat();
    check_all("format 1 first", &fresh, Works);
    check_all("format 2 first", &head(2, 9, 5, 0, 0), Refused);
    check_all("format 3 first", &[3 << 6 | 9], Refused);

    let continued = [head(0, 9, 0, 200, 9), vec![0; 128], head(0, 9, 0, 200, 9)].concat();
    check_all("a full header inside", &continued, Refused);

    let many: Vec<u8> = (2..65_002)
        .flat_map(|csid| framed(csid, Kind::Audio, 1, b"x", 128))
        .collect();
    check_all("65,000 chunk streams", &many, Refused);
    let unfinished: Vec<u8> = (2..63)
        .flat_map(|csid| [head(0, csid, 0, 16_000, 9), vec![1; 128]].concat())
        .collect();
    check_all("unfinished messages", &unfinished, Refused);
    let empty = [head(0, 9, 0, 0, 9), vec![3 << 6 | 9; 50_000]].concat();
    check_all("empty messages", &empty, Works);

    // Backward, past all the limits of the clock, and with the extension that is none.
    let mut clock = Vec::new();
    for time in [0xff_fffe_u32, 5, 0xff_ffff, 0] {
        clock.extend(head(0, 9, time, 200, 9));
        if time == 0xff_ffff {
            clock.extend([0, 0, 0, 1]);
        }
        clock.extend([9; 128]);
        clock.push(3 << 6 | 9);
        clock.extend([9; 72]);
    }
    check_all("odd times", &clock.repeat(20), Works);

    let abort = [
        head(0, 9, 0, 16_000, 9),
        vec![1; 128],
        control(Kind::Abort, 9),
    ]
    .concat();
    check_all("aborted messages", &abort.repeat(200), Works);
    let nothing = control(Kind::Abort, 77).repeat(200);
    check_all("aborts of nothing", &nothing, Works);
}

#[test]
fn sizes_announced() {
    let _alone = alone();
    for (size, fate) in [
        (0, Refused),
        // What follows is in chunks of 128.
        (1, Any),
        (128, Works),
        // The top bit is ignored, so this is zero, and the next one is the largest size.
        (0x8000_0000, Refused),
        (0xffff_ffff, Works),
    ] {
        check_all("SetChunkSize", &control(Kind::SetChunkSize, size), fate);
    }
    for window in [0, 1, 1_000, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff] {
        let bytes = [
            control(Kind::WindowAckSize, window),
            message(Kind::Audio, &[0xaf; 3_000]).repeat(100),
        ]
        .concat();
        check_all("WindowAckSize", &bytes, Works);
        let mut body = window.to_be_bytes().to_vec();
        body.push(2);
        let bandwidth = framed(2, Kind::SetPeerBandwidth, 0, &body, 128);
        check_all("SetPeerBandwidth", &bandwidth, Works);
    }
    for kind in [1, 2, 5, 6] {
        let short = framed(2, Kind::from_wire(kind), 0, &[0; 3], 128);
        check_all("a short control message", &short, Refused);
    }
    for kind in 0..=255 {
        let announced = [head(0, 9, 0, 0xff_ffff, kind), vec![1; 1_000]].concat();
        check_all("16 MiB announced", &announced, Refused);
    }
    // As long as it may be, and a beginning of it.
    let begun = [
        control(Kind::SetChunkSize, 0xff_ffff),
        head(0, 9, 0, chunk::MEDIA_MESSAGE_MAX, 9),
        vec![0x17; 300_000],
    ]
    .concat();
    for stage in STAGES {
        check("8 MiB announced", stage, &begun, Any, 0);
    }
}

/// The smallest accepted chunks: a header to every 128 bytes.
#[test]
fn messages_as_large_as_may_be() {
    let _alone = alone();
    let whole = framed(9, Kind::Video, 1, &vec![0x17; 2 << 20], 128);
    for stage in STAGES {
        check("a large message", stage, &whole, Works, 0);
    }
    let commands: Vec<u8> = (3..9)
        .flat_map(|csid| {
            let mut bytes = head(0, csid, 0, 60_000, 20);
            bytes.extend([0; 128]);
            for _ in 0..200 {
                bytes.push(3 << 6 | csid);
                bytes.extend([0; 128]);
            }
            bytes
        })
        .collect();
    for stage in [Handshaken, Connected, Playing] {
        check("large commands at once", stage, &commands, Refused, 0);
    }
}

#[test]
fn aggregates() {
    let _alone = alone();
    let sub = |kind: u8, body: &[u8]| {
        let head = [kind, 0, 0, body.len() as u8, 0, 0, 0, 0, 0, 0, 0];
        [&head[..], body, &[0; 4]].concat()
    };
    for body in [
        sub(8, &[]).repeat(10_000),
        sub(9, &[0x17]).repeat(10_000),
        // A message inside that goes beyond the end, and one of a type not allowed there.
        sub(9, &[0x17]).repeat(9)[..100].to_vec(),
        [&[9, 0xff, 0xff, 0xff][..], &[0; 60]].concat(),
        sub(22, &sub(8, &[1])).repeat(100),
        vec![0xff; 10],
        Vec::new(),
    ] {
        check_all("aggregate", &message(Kind::Aggregate, &body), Works);
    }
}

#[test]
fn unread_replies() {
    let _alone = alone();
    let now = Instant::now();
    for question in [
        framed(2, Kind::UserControl, 0, &[0, 6, 1, 2, 3, 4], 128),
        command("receiveVideo", |e| e.null().boolean(true)),
        command("seek", |e| e.null()),
        command("FCSubscribe", |e| e.null()),
    ] {
        let opening = [&[3; 1][..], &[0; 3072], &opening(Playing)].concat();
        let questions = question.repeat(20_000);
        let before = MEMORY.current_usage();
        MEMORY.reset_peak_usage();
        let mut session = Session::new(Config::default(), [7; 32], now);
        feed(&mut session, &opening, usize::MAX, now).unwrap();
        let mut input = &questions[..];
        let error = loop {
            match session.read(&mut input, now) {
                Ok(Some(_)) => {}
                Ok(None) => panic!("{} bytes unread", session.output().len()),
                Err(error) => break error,
            }
        };
        assert_eq!(error, Error::RepliesUnread);
        assert!(session.output().len() <= OUTPUT_BYTES_MAX + 1_024);
        // The buffer doubles.
        let peak = MEMORY.peak_usage() - before;
        assert!(peak <= 3 * OUTPUT_BYTES_MAX + HELD_AT_ALL, "{peak}");
    }
}

/// A server holds one session for each player, for hours.
#[test]
fn thousands_of_players() {
    const PLAYERS: usize = 1_000;
    const PLAYER_BYTES_MAX: usize = 1 << 10;
    let _alone = alone();
    let now = Instant::now();
    let opening = [&[3; 1][..], &[0; 3072], &opening(Playing)].concat();
    let before = MEMORY.current_usage();
    let mut sessions = Vec::with_capacity(PLAYERS);
    for _ in 0..PLAYERS {
        let mut session = Session::new(Config::default(), [7; 32], now);
        feed(&mut session, &opening, 1_460, now).unwrap();
        session.shrink();
        sessions.push(Box::new(session));
    }
    let each = (MEMORY.current_usage() - before) / PLAYERS;
    assert!(each <= PLAYER_BYTES_MAX, "{each} bytes");
    assert!(sessions.iter().all(|session| session.playback().is_some()));
}

fn any_stage() -> impl Strategy<Value = Stage> {
    prop::sample::select(&STAGES[..])
}

/// Chunks that hold together, mostly.
fn any_chunk() -> impl Strategy<Value = Vec<u8>> {
    let kinds = vec![1, 2, 3, 4, 5, 6, 8, 9, 15, 17, 18, 20, 22, 99];
    let whole = (
        2..9_u32,
        prop::sample::select(kinds.clone()),
        prop::collection::vec(any::<u8>(), 0..300),
    )
        .prop_map(|(csid, kind, body)| framed(csid, Kind::from_wire(kind), 1, &body, 128));
    let loose = (
        0..4_u8,
        2..9_u8,
        any::<u32>(),
        0..70_000_u32,
        prop::sample::select(kinds),
        0..200_usize,
    )
        .prop_map(|(format, csid, time, length, kind, body)| {
            [head(format, csid, time, length, kind), vec![0; body]].concat()
        });
    prop_oneof![whole, loose]
}

// The lock is held around the whole run, because making up the input takes memory too.

#[test]
fn noise() {
    let _alone = alone();
    proptest!(|(stage in any_stage(), bytes in prop::collection::vec(any::<u8>(), 0..4_000))| {
        check("noise", stage, &bytes, Any, DECODED_BYTES_MAX);
    });
}

#[test]
fn loose_chunks() {
    let _alone = alone();
    proptest!(|(stage in any_stage(), chunks in prop::collection::vec(any_chunk(), 0..40))| {
        check("chunks", stage, &chunks.concat(), Any, DECODED_BYTES_MAX);
    });
}
