//! The chunk reader returns the same messages however its input is split, never more than came in, and holds no more than it
//! may. Its messages are equal after writing and reading them again.
#![no_main]

use bytes::BytesMut;
use libfuzzer_sys::fuzz_target;
use rtmp::{
    Error,
    chunk::{self, Header, Limits, Reader},
    message::Message,
};

fn read(input: &[u8], piece: usize, limits: Limits) -> (Vec<Message>, Option<Error>) {
    let mut reader = Reader::new(limits);
    let mut messages = Vec::new();
    for mut piece in input.chunks(piece.max(1)) {
        loop {
            let result = reader.read(&mut piece);
            match result {
                Ok(Some(message)) => messages.push(message),
                Ok(None) => break,
                Err(error) => return (messages, Some(error)),
            }
            assert!(reader.partial_bytes() <= limits.partial_bytes_max);
        }
        assert!(piece.is_empty());
        assert!(reader.partial_bytes() <= input.len());
    }
    (messages, None)
}

fuzz_target!(|data: &[u8]| {
    let Some((&piece, input)) = data.split_last() else {
        return;
    };
    for limits in [Limits::STRANGER, Limits::PUBLISHER] {
        let whole = read(input, usize::MAX, limits);
        assert_eq!(read(input, usize::from(piece), limits), whole);

        let (messages, _) = whole;
        let bytes: usize = messages.iter().map(|m| m.payload.len() + 1).sum();
        assert!(
            bytes <= input.len(),
            "a message has a header of a byte at least"
        );

        let mut written = BytesMut::new();
        for (n, message) in messages.iter().enumerate() {
            let header = Header {
                csid: 3 + n as u32 % 60,
                timestamp: message.timestamp,
                kind: message.kind,
                stream_id: message.stream_id,
            };
            chunk::write(&header, &message.payload, 128, &mut written);
        }
        assert_eq!(
            read(&written, usize::MAX, Limits::PUBLISHER),
            (messages, None)
        );
    }
});
