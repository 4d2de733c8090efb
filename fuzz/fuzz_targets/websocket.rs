//! WebSocket frames: any segmentation gives the same events and the same violation, and nothing is read that was not sent.

#![no_main]

use http1::websocket::{CONTROL_BYTES_MAX, Event, FrameReader, Peer, Violation};
use libfuzzer_sys::fuzz_target;

/// Maximum length of a message; small, so that inputs reach it.
const MESSAGE_BYTES_MAX: u64 = 300;

fuzz_target!(|bytes: &[u8]| {
    for peer in [Peer::Client, Peer::Server] {
        let whole = heard(peer, bytes, bytes.len().max(1));
        for piece in [1, 7] {
            assert_eq!(whole, heard(peer, bytes, piece));
        }
        assert!(whole.data.len() + whole.controls.len() <= bytes.len());
    }
});

#[derive(Debug, Default, Eq, PartialEq)]
struct Heard {
    data: Vec<u8>,
    /// Payloads of pings, concatenated.
    controls: Vec<u8>,
    pongs: usize,
    closed: Option<Option<u16>>,
    violation: Option<Violation>,
}

fn heard(peer: Peer, bytes: &[u8], piece: usize) -> Heard {
    let mut reader = FrameReader::new(peer, MESSAGE_BYTES_MAX);
    let mut heard = Heard::default();
    for piece in bytes.chunks(piece) {
        let mut input = piece;
        loop {
            match reader.next(&mut input) {
                Ok(None) => break,
                Ok(Some(Event::Data(data))) => {
                    assert!(!data.is_empty());
                    heard.data.extend_from_slice(data);
                }
                Ok(Some(Event::Ping(payload))) => {
                    assert!(payload.as_bytes().len() <= CONTROL_BYTES_MAX);
                    heard.controls.extend_from_slice(payload.as_bytes());
                }
                Ok(Some(Event::Pong)) => heard.pongs += 1,
                Ok(Some(Event::Close(code))) => {
                    heard.closed = Some(code);
                    return heard;
                }
                Err(violation) => {
                    heard.violation = Some(violation);
                    return heard;
                }
            }
        }
        assert!(input.is_empty());
    }
    heard
}
