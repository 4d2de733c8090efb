//! Key of the opening handshake (RFC 6455 §4.2).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha1::{Digest, Sha1};

/// Version of the protocol (§4.1).
pub const VERSION: &str = "13";

/// Suffix of the text whose digest is the reply (§1.3).
const GUID: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// Length in bytes of a decoded key (§4.1).
const KEY_BYTES: usize = 16;

/// Returns the value of `Sec-WebSocket-Accept` for a client's `Sec-WebSocket-Key`; `None` for a key that is not 16 bytes in
/// base64.
pub fn accept(key: &str) -> Option<String> {
    let decoded = STANDARD.decode(key).ok()?;
    if decoded.len() != KEY_BYTES {
        return None;
    }
    let digest = Sha1::new().chain_update(key).chain_update(GUID).finalize();
    Some(STANDARD.encode(digest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_answered_as_in_the_standard() {
        let answer = accept("dGhlIHNhbXBsZSBub25jZQ==");
        assert_eq!(answer.as_deref(), Some("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
        for key in ["", "x", "dGhlIHNhbXBsZSBub25j", "dGhlIHNhbXBsZSBub25jZQ"] {
            assert_eq!(accept(key), None, "{key}");
        }
    }
}
