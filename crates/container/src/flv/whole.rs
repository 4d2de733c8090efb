//! The configuration of a track that is relayed unchanged: tag bodies, as they came.
//!
//! ```text
//! [length:24] sequence header  ( [length:24] facts )
//! ```
//!
//! Facts are what Enhanced RTMP calls `Metadata` of video and `MultichannelConfig` of audio. Either
//! body may be empty. Made by the depacketizer, kept in [`media::Track::flv`], read by
//! [`Tag::headers`](super::Tag::headers).

use bytes::{BufMut, Bytes, BytesMut};

/// A configuration in memory of its own, because it outlives the message buffers its bodies came in. Empty
/// when both bodies are, which must be shorter than 16 MiB.
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

/// Sequence header and facts; empty if missing.
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
