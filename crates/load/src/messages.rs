//! A listener's side of WebSocket: the request, and the stream extracted from its messages.

use http1::websocket::{Event, FrameHead, FrameReader, Opcode, Peer, Violation, mask};

/// Handshake key; any will do: it distinguishes the server's response from one that a cache has kept, and there is no cache.
const KEY: &str = "Y2FyaWxsb24tbG9hZC1rZQ==";

/// A mask that changes nothing (RFC 6455 §5.3): there is no proxy to protect.
const MASK: [u8; 4] = [0; 4];

/// Returns the headers that request a WebSocket, in addition to a request's other headers.
pub(crate) fn headers() -> String {
    format!(
        "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: {}\r\nSec-WebSocket-Key: {KEY}\r\n",
        http1::websocket::VERSION
    )
}

/// Returns the media type of this path's messages, which a handshake does not contain.
pub(crate) fn media_type(path: &str) -> &'static str {
    let path = path.split('?').next().unwrap_or_default();
    match path.ends_with(".mp4") {
        true => "video/mp4",
        false => "video/x-flv",
    }
}

/// Returns a pong as a sign of life, by which servers distinguish listeners from those that are gone.
pub(crate) fn pong(payload: &[u8]) -> Vec<u8> {
    let mut masked = payload.to_vec();
    mask(&mut masked, MASK, 0);
    let head = FrameHead::client(Opcode::Pong, payload.len(), MASK);
    [head.as_bytes(), &masked].concat()
}

/// Reasons why there is nothing more to read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MessageError {
    #[error("closed with {0}")]
    Closed(u16),
    #[error("closed without a reason")]
    ClosedSilently,
    #[error("its WebSocket makes no sense: {0}")]
    Broken(#[from] Violation),
}

/// Reader that extracts the stream from its messages.
#[derive(Debug)]
pub(crate) struct Messages(FrameReader);

impl Messages {
    pub(crate) fn new() -> Self {
        Self(FrameReader::new(Peer::Server, u64::MAX))
    }

    /// Takes bytes that the server sent, and passes on the stream's bytes. Replies are appended to `reply`.
    pub(crate) fn push(
        &mut self,
        mut bytes: &[u8],
        reply: &mut Vec<u8>,
        mut pass_on: impl FnMut(&[u8]),
    ) -> Result<(), MessageError> {
        while let Some(event) = self.0.next(&mut bytes)? {
            match event {
                Event::Data(data) => pass_on(data),
                Event::Ping(payload) => reply.extend(pong(payload.as_bytes())),
                Event::Pong => {}
                Event::Close(Some(code)) => return Err(MessageError::Closed(code)),
                Event::Close(None) => return Err(MessageError::ClosedSilently),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_comes_out_of_its_messages() {
        let frame = |opcode, payload: &[u8]| {
            let head = FrameHead::server(opcode, payload.len());
            [head.as_bytes(), payload].concat()
        };
        let bytes = [
            frame(Opcode::Binary, b"one "),
            frame(Opcode::Ping, b"?"),
            frame(Opcode::Binary, b"two"),
            frame(Opcode::Close, &1001_u16.to_be_bytes()),
        ]
        .concat();
        let (mut messages, mut reply, mut stream) = (Messages::new(), Vec::new(), Vec::new());
        let mut outcome = Ok(());
        for piece in bytes.chunks(3) {
            outcome = messages.push(piece, &mut reply, |data| stream.extend_from_slice(data));
        }
        let closed = outcome.map_err(|error| error.to_string());
        assert_eq!(closed, Err("closed with 1001".to_owned()));
        assert_eq!((stream, reply), (b"one two".to_vec(), pong(b"?")));
    }

    #[test]
    fn a_path_tells_the_media_type() {
        for (path, expected) in [
            ("live/show.flv?key=a.mp4", "video/x-flv"),
            ("live/show.mp4?key=b", "video/mp4"),
            ("live/show", "video/x-flv"),
        ] {
            assert_eq!(media_type(path), expected, "{path}");
        }
    }
}
