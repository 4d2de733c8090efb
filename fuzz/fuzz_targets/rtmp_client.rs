//! A client session sends and reports the same however its server's bytes are split, reports no more media than came in, holds
//! no more output than it may, and is closed after an error.
#![no_main]

#[path = "../shared/rtmp.rs"]
mod shared;

use std::time::{Duration, Instant};

use bytes::BytesMut;
use libfuzzer_sys::fuzz_target;
use rtmp::{
    client::{Address, Error, Event, Parts, Purpose, Session},
    server::OUTPUT_BYTES_MAX,
};

/// Upper bound of the bytes sent at once, by which the output may exceed its limit.
const WORDS_BYTES_MAX: usize = 4096;

const SECRET: &str = "hunter2";

type Outcome = (Vec<Event>, Vec<u8>, Option<Error>);

fn run(input: &[u8], piece: usize, purpose: Purpose, drains: bool, now: Instant) -> Outcome {
    let address = Address::new(Parts {
        scheme: "rtmp",
        host: "h",
        port: None,
        path: "/live/show",
        query: "key=hunter2",
        user: Some(("me".to_owned(), SECRET.to_owned())),
    });
    let address = address.expect("an address");
    let mut session = Session::new(address, purpose, [7; 32], now);
    let mut events = Vec::new();
    let mut output = Vec::new();
    let mut failure = None;
    for mut piece in input.chunks(piece.max(1)) {
        loop {
            let result = session.read(&mut piece, now);
            assert!(session.output().len() <= OUTPUT_BYTES_MAX + WORDS_BYTES_MAX);
            if drains {
                output.extend_from_slice(&session.output().split());
            }
            match result {
                Ok(Some(event)) => events.push(event),
                Ok(None) => break,
                Err(error) => {
                    assert!(session.is_closed());
                    assert_eq!(session.read(&mut &input[..], now), Ok(None));
                    assert!(!error.to_string().contains(SECRET));
                    failure = Some(error);
                    piece = &[];
                    break;
                }
            }
        }
        assert!(piece.is_empty());
        if failure.is_some() {
            break;
        }
    }
    let late = session.handle_timeout(now + Duration::from_secs(3600));
    assert!(late.is_ok() || session.is_closed());
    assert!(!session.is_closed() || session.poll_timeout().is_none());
    session.leave();
    output.extend_from_slice(&session.output().split());
    (events, output, failure)
}

/// Returns a conversation up to `stage`, so that noise does not have to guess it.
fn opening(stage: u8) -> BytesMut {
    let mut bytes = BytesMut::new();
    if stage >= 1 {
        shared::handshake(&mut bytes);
    }
    if stage >= 2 {
        shared::command(&mut bytes, 0, |e| {
            e.string("_result").number(1.0).null().null();
        });
    }
    if stage >= 3 {
        shared::command(&mut bytes, 0, |e| {
            e.string("_result").number(4.0).null().number(1.0);
        });
    }
    if stage >= 4 {
        for code in ["NetStream.Publish.Start", "NetStream.Play.Start"] {
            shared::command(&mut bytes, 1, |e| {
                e.string("onStatus").number(0.0).null().object();
                e.key("level").string("status");
                e.key("code").string(code).end();
            });
        }
    }
    bytes
}

fuzz_target!(|data: &[u8]| {
    let [noise @ .., piece, stage, flags] = data else {
        return;
    };
    let mut input = opening(stage % 5);
    // Below half the smallest acknowledgement window: when an acknowledgement is due, the amount of input received by then
    // legitimately depends on the splitting.
    input.extend_from_slice(&noise[..noise.len().min(8 << 10)]);
    let purpose = if flags & 1 != 0 {
        Purpose::Publish
    } else {
        Purpose::Play
    };
    let drains = flags & 2 != 0;
    let now = Instant::now();

    let whole = run(&input, usize::MAX, purpose, drains, now);
    assert_eq!(
        run(&input, usize::from(*piece), purpose, drains, now),
        whole
    );
    let media = whole.0.iter().map(media_bytes).sum::<usize>();
    assert!(media <= input.len());
});

fn media_bytes(event: &Event) -> usize {
    match event {
        Event::Audio(m) | Event::Video(m) | Event::Metadata(m) | Event::Data(m) => m.payload.len(),
        _ => 0,
    }
}
