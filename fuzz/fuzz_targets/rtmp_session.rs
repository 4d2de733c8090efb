//! A session replies and reports the same however its input is split, reports no more media than came in and every change of a
//! player's wishes, holds no more output than it may, and is closed after an error.
#![no_main]

#[path = "../shared/rtmp.rs"]
mod shared;

use std::time::{Duration, Instant};

use bytes::BytesMut;
use libfuzzer_sys::fuzz_target;
use rtmp::{
    Error,
    server::{Config, Event, OUTPUT_BYTES_MAX, Playback, Rejection, Session},
};

/// Upper bound of a reply's length, by which the output may exceed its limit.
const REPLY_BYTES_MAX: usize = 2048;

type Outcome = (Vec<Event>, Vec<u8>, Option<Error>);

fn run(input: &[u8], piece: usize, accepts: bool, drains: bool, now: Instant) -> Outcome {
    let mut session = Session::new(Config::default(), [7; 32], now);
    let mut events = Vec::new();
    let mut output = Vec::new();
    let mut failure = None;
    let mut playing = None;
    for mut piece in input.chunks(piece.max(1)) {
        loop {
            let result = session.read(&mut piece, now);
            if let Ok(Some(event)) = &result {
                answer(&mut session, event, accepts);
                playing = follow(playing, event, session.playback());
            }
            if !session.is_closed() {
                assert_eq!(session.playback(), playing, "events tell all that changes");
            }
            assert!(session.output().len() <= OUTPUT_BYTES_MAX + REPLY_BYTES_MAX);
            if drains {
                output.extend_from_slice(&session.output().split());
            }
            match result {
                Ok(Some(event)) => events.push(event),
                Ok(None) => break,
                Err(error) => {
                    assert!(session.is_closed());
                    assert_eq!(session.read(&mut &input[..], now), Ok(None));
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
    output.extend_from_slice(&session.output().split());
    (events, output, failure)
}

/// Accepts or refuses a request.
fn answer(session: &mut Session, event: &Event, accepts: bool) {
    if let Event::Seek { id, to } = event {
        assert!(session.sought(*id, accepts).is_ok(), "it is played");
        assert!(session.complete(*id, *to).is_ok(), "it is played");
    }
    let (Event::Publish(request) | Event::Play(request)) = event else {
        return;
    };
    let answer = match event {
        _ if !accepts => session.reject(request.id, Rejection::Denied, "no"),
        // A request whose path names a file kind is for a recording.
        Event::Play(_) if request.path.file_kind.is_some() => {
            session.accept_recorded(request.id).map(drop)
        }
        Event::Play(_) => session.accept_play(request.id).map(drop),
        _ => session.accept_publish(request.id),
    };
    assert!(answer.is_ok(), "a request just made is there");
}

/// Returns the player's state according to the events alone.
fn follow(known: Option<Playback>, event: &Event, now: Option<Playback>) -> Option<Playback> {
    match (event, known) {
        (Event::Play(_), _) => now,
        (Event::Stop(_), _) => None,
        (Event::Pause(id), Some(before)) if *id == before.id => Some(Playback {
            is_paused: true,
            ..before
        }),
        (Event::Resume(id), Some(before)) if *id == before.id => Some(Playback {
            is_paused: false,
            ..before
        }),
        (Event::Select { id, audio, video }, Some(before)) if *id == before.id => Some(Playback {
            audio: *audio,
            video: *video,
            ..before
        }),
        (Event::Pause(_) | Event::Resume(_) | Event::Select { .. }, _) => {
            panic!("{event:?} while {known:?}")
        }
        _ => known,
    }
}

/// Returns a conversation up to `stage`, so that noise does not have to guess it.
fn opening(stage: u8) -> BytesMut {
    let mut bytes = BytesMut::new();
    if stage >= 1 {
        shared::handshake(&mut bytes);
    }
    if stage >= 2 {
        shared::command(&mut bytes, 0, |e| {
            e.string("connect").number(1.0).object();
            e.key("app").string("live").end();
        });
    }
    if stage >= 3 {
        shared::command(&mut bytes, 1, |e| {
            let name = if stage == 3 { "publish" } else { "play" };
            e.string(name).number(0.0).null().string("show?key=K");
        });
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
    let (accepts, drains) = (flags & 1 != 0, flags & 2 != 0);
    let now = Instant::now();

    let whole = run(&input, usize::MAX, accepts, drains, now);
    assert_eq!(
        run(&input, usize::from(*piece), accepts, drains, now),
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
