//! A hostile server: every connection ends or works, in bounded memory.

use super::{
    servers::{Scripted, player},
    *,
};
use crate::chunk::Limits;

/// Most bytes that a session may hold beside the media of a player.
const SESSION_BYTES_MAX: usize = 64 << 10;

#[test]
fn replies_that_are_not_read_end_it() {
    let mut server = player(3);
    let ping = message(Kind::UserControl, 0, 0, &[0, 6, 0, 0, 0, 1]);
    let mut outcome = Ok(vec![]);
    for _ in 0..10_000 {
        outcome = server.feed(&ping);
        assert!(server.client.output().len() < SESSION_BYTES_MAX);
        if outcome.is_err() {
            break;
        }
    }
    assert_eq!(outcome, Err(crate::Error::RepliesUnread.into()));
}

#[test]
fn unusable_message_streams_are_refused() {
    for id in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e18] {
        let mut server = Scripted::new(Purpose::Publish);
        server.advance(1);
        let outcome = server.create_stream(id);
        assert!(matches!(outcome, Err(Error::StreamId(_))), "{outcome:?}");
        assert!(server.client.is_closed());
    }
}

#[test]
fn a_publisher_is_not_made_to_hold_media() {
    let mut server = Scripted::new(Purpose::Publish);
    let chunks = chunk::CHUNK_SIZE_SHARED.to_be_bytes();
    server.control(Kind::SetChunkSize, &chunks).unwrap();
    let big = message(Kind::Video, 1, 0, &vec![1; 1 << 20]);
    for piece in big.chunks(4096) {
        assert_eq!(server.feed(piece), Ok(vec![]));
        assert!(server.client.partial_bytes() <= Limits::STRANGER.partial_bytes_max);
    }
}

/// Noise at any stage, in any pieces, is an error or nothing, and the same whatever the pieces.
fn run(purpose: Purpose, stage: usize, noise: &[u8], piece: usize) -> (Vec<Event>, Option<Error>) {
    let mut server = Scripted::new(purpose);
    server.advance(match purpose {
        Purpose::Play => stage,
        Purpose::Publish => stage.min(2),
    });
    let mut events = Vec::new();
    for mut piece in noise.chunks(piece) {
        loop {
            match server.client.read(&mut piece, Instant::now()) {
                Ok(Some(event)) => events.push(event),
                Ok(None) => break,
                Err(error) => {
                    assert!(server.client.is_closed());
                    return (events, Some(error));
                }
            }
        }
    }
    (events, None)
}

proptest! {
    #[test]
    fn noise_is_survived(
        stage in 0..4_usize,
        plays: bool,
        noise in prop::collection::vec(any::<u8>(), 0..600),
        piece in 1..64_usize,
    ) {
        let purpose = if plays { Purpose::Play } else { Purpose::Publish };
        let whole = run(purpose, stage, &noise, usize::MAX);
        prop_assert_eq!(run(purpose, stage, &noise, piece), whole);
    }

    #[test]
    fn commands_with_broken_values_are_survived(
        stage in 0..4_usize,
        name in prop::sample::select(vec!["_result", "_error", "onStatus", "close", "_onbwcheck"]),
        transaction in 0..6_u8,
        tail in prop::collection::vec(any::<u8>(), 0..60),
    ) {
        let mut body = BytesMut::new();
        crate::command::encode(&mut body, name, transaction.into());
        body.extend_from_slice(&tail);
        let bytes = message(Kind::CommandAmf0, 1, 0, &body);
        let whole = run(Purpose::Play, stage, &bytes, usize::MAX);
        prop_assert_eq!(run(Purpose::Play, stage, &bytes, 1), whole);
    }
}
