//! Configuration of a track that is relayed unchanged: tag bodies, as received.
//!
//! ```text
//! [length:24] sequence header  ( [length:24] facts )
//! ```
//!
//! Facts are Enhanced RTMP's `Metadata` for video and `MultichannelConfig` for audio. Either body may be empty. The
//! depacketizer writes the configuration, [`media::Track::flv`] keeps it, and [`Tag::headers`](super::Tag::headers)
//! reads it.

use bytes::{BufMut, Bytes, BytesMut};

/// Copies a configuration to memory of its own, because it outlives the message buffers of its bodies. Empty when both
/// bodies are; each must be shorter than 16 MiB.
pub(super) fn join(header: &[u8], facts: &[u8]) -> Bytes {
    if header.is_empty() && facts.is_empty() {
        return Bytes::new();
    }
    let mut config = BytesMut::with_capacity(6 + header.len() + facts.len());
    put(header, &mut config);
    if !facts.is_empty() {
        put(facts, &mut config);
    }
    config.freeze()
}

fn put(body: &[u8], config: &mut BytesMut) {
    config.put_uint(body.len() as u64, 3);
    config.put_slice(body);
}

/// Splits a configuration into sequence header and facts; empty if missing.
pub(super) fn split(config: &[u8]) -> (&[u8], &[u8]) {
    let (header, rest) = take(config);
    (header, take(rest).0)
}

fn take(config: &[u8]) -> (&[u8], &[u8]) {
    let Some(([high, middle, low], rest)) = config.split_first_chunk() else {
        return (&[], &[]);
    };
    let length = u32::from_be_bytes([0, *high, *middle, *low]) as usize;
    rest.split_at_checked(length).unwrap_or((&[], &[]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_joined_is_split_again() {
        let bodies: [&[u8]; 3] = [b"", b"body", &[7; 70_000]];
        for header in bodies {
            for facts in bodies {
                assert_eq!(split(&join(header, facts)), (header, facts));
            }
        }
        assert!(join(b"", b"").is_empty());
        assert_eq!(split(b"\0\0\x05cut"), (&b""[..], &b""[..]));
    }
}
