//! Detection of a connection's protocol by its first bytes.
//!
//! The door calls [`sniff`] on everything received so far, until the result is not [`Sniff::NeedMore`]. No more than
//! [`METHOD_BYTES_MAX`] bytes are ever needed, and no result depends on more bytes than that.

use std::fmt;

use crate::text::is_token_byte;

/// Maximum length in bytes of a word that may be a method: the longest registered one, `UPDATEREDIRECTREF`, has 17.
const METHOD_BYTES_MAX: usize = 32;

/// Start of the HTTP/2 connection preface (RFC 9113 §3.4), as far as it differs from HTTP/1.
const HTTP2_PREFACE: &[u8] = b"PRI * HTTP/2.0";

/// Start of a TLS record that carries a handshake (RFC 8446 §5.1): type 22, legacy version 3.x.
const TLS_HANDSHAKE: [u8; 2] = [0x16, 0x03];

/// Version byte C0 of an RTMP client.
const RTMP_VERSION: u8 = 0x03;

/// Protocol of a connection, as shown by its first bytes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Sniff {
    /// Not enough bytes have arrived to decide.
    NeedMore,
    /// HTTP/1 or ICE, with a request line.
    Http,
    /// HTTP/2 with prior knowledge.
    Http2Preface,
    /// A TLS handshake.
    Tls,
    /// An RTMP handshake.
    Rtmp,
    /// SHOUTcast v1: one word on a line of its own, the password with which a source begins.
    Shoutcast,
    /// None of these protocols.
    Unknown,
}

impl fmt::Display for Sniff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NeedMore => "too little to tell",
            Self::Http => "HTTP",
            Self::Http2Preface => "HTTP/2",
            Self::Tls => "TLS",
            Self::Rtmp => "RTMP",
            Self::Shoutcast => "SHOUTcast v1",
            Self::Unknown => "no known protocol",
        })
    }
}

/// Classifies a connection by everything received on it so far.
pub fn sniff(received: &[u8]) -> Sniff {
    match received {
        [] => return Sniff::NeedMore,
        [RTMP_VERSION, ..] => return Sniff::Rtmp,
        [first] if *first == TLS_HANDSHAKE[0] => return Sniff::NeedMore,
        [first, second, ..] if [*first, *second] == TLS_HANDSHAKE => return Sniff::Tls,
        _ => {}
    }
    let shared = received.len().min(HTTP2_PREFACE.len());
    if received[..shared] == HTTP2_PREFACE[..shared] {
        let whole = shared == HTTP2_PREFACE.len();
        return if whole {
            Sniff::Http2Preface
        } else {
            Sniff::NeedMore
        };
    }
    sniff_method(received)
}

/// Looks for a method and the space after it. A reader skips empty lines before it (RFC 9112 §2.2), so they are skipped here
/// too.
fn sniff_method(received: &[u8]) -> Sniff {
    let window = &received[..received.len().min(METHOD_BYTES_MAX)];
    let start = window
        .iter()
        .position(|byte| !matches!(byte, b'\r' | b'\n'));
    let line = &window[start.unwrap_or(window.len())..];
    match line.iter().position(|byte| !is_token_byte(*byte)) {
        Some(end) if end > 0 && line[end] == b' ' => return Sniff::Http,
        _ => {}
    }
    match line.iter().position(|byte| !byte.is_ascii_graphic()) {
        Some(end) if end > 0 && matches!(line[end], b'\r' | b'\n') => Sniff::Shoutcast,
        Some(_) => Sniff::Unknown,
        None if window.len() == METHOD_BYTES_MAX => Sniff::Unknown,
        None => Sniff::NeedMore,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn each_protocol_is_reported() {
        for (bytes, expected) in [
            (&b"GET / HTTP/1.1\r\n"[..], Sniff::Http),
            (b"SOURCE /radio.mp3 ICE/1.0\n", Sniff::Http),
            (b"\r\nPUT /x HTTP/1.1", Sniff::Http),
            (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", Sniff::Http2Preface),
            (b"PRINT / HTTP/1.1", Sniff::Http),
            (b"\x16\x03\x01\x02\x00", Sniff::Tls),
            (b"\x16\x02", Sniff::Unknown),
            (b"\x03\x00\x00\x00\x00", Sniff::Rtmp),
            (b"hackme\r\n", Sniff::Shoutcast),
            (b"h@ck:me\n", Sniff::Shoutcast),
            (b"two words@\r\n", Sniff::Http),
            (b"two@ words\r\n", Sniff::Unknown),
            (b" GET / HTTP/1.1", Sniff::Unknown),
            (b"\x00\x00", Sniff::Unknown),
            (&[b'A'; 40], Sniff::Unknown),
            (&[b'\n'; 40], Sniff::Unknown),
            (b"", Sniff::NeedMore),
            (b"\x16", Sniff::NeedMore),
            (b"PRI * HT", Sniff::NeedMore),
            (b"SOUR", Sniff::NeedMore),
            (b"h@ck", Sniff::NeedMore),
        ] {
            assert_eq!(sniff(bytes), expected, "{bytes:?}");
        }
    }

    proptest! {
        #[test]
        fn an_answer_never_changes_with_more_bytes(bytes in prop::collection::vec(any::<u8>(), 0..48)) {
            let mut answer = Sniff::NeedMore;
            for end in 0..=bytes.len() {
                let next = sniff(&bytes[..end]);
                prop_assert!(answer == Sniff::NeedMore || answer == next);
                answer = next;
            }
            prop_assert!(bytes.len() < METHOD_BYTES_MAX || answer != Sniff::NeedMore);
        }
    }
}
