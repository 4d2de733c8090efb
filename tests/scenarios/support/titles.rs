//! Titles, set as encoders set them, and the sound between them.

use std::net::SocketAddr;

use testkit::{PUBLISH_KEY, Server, http};

use crate::support::DEADLINE;

/// Sets a title of `/radio.mp3` as an encoder does.
pub(crate) fn set_title(server: &Server, query: &str) -> u16 {
    update(server.addr("http"), PUBLISH_KEY, query)
}

/// The same on any server like Icecast, whose source password is `password`.
pub(crate) fn update(server: SocketAddr, password: &str, query: &str) -> u16 {
    update_mount(server, password, "/radio.mp3", query)
}

/// The same of any mount.
pub(crate) fn update_mount(server: SocketAddr, password: &str, mount: &str, query: &str) -> u16 {
    let credential = base64(format!("source:{password}").as_bytes());
    let request = format!(
        "GET /admin/metadata?mode=updinfo&mount={mount}&{query} HTTP/1.0\r\n\
         Authorization: Basic {credential}\r\nUser-Agent: Mozilla/4.0\r\n\r\n"
    );
    http::request(server, request.as_bytes(), DEADLINE).status
}

/// A header with a Basic credential.
pub(crate) fn basic(user: &str, password: &str) -> String {
    let credential = base64(format!("{user}:{password}").as_bytes());
    format!("Authorization: Basic {credential}\r\n")
}

pub(crate) fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let word = chunk
            .iter()
            .fold(0_u32, |word, byte| word << 8 | u32::from(*byte))
            << (8 * (3 - chunk.len()));
        for digit in 0..4 {
            let symbol = ALPHABET[(word >> (18 - 6 * digit) & 63) as usize] as char;
            text.push(if digit <= chunk.len() { symbol } else { '=' });
        }
    }
    text
}

/// Demands that `part`, less the beginning up to where both have begun, lies in `whole` in one piece.
pub(crate) fn assert_is_run(what: &str, part: &[u8], whole: &[u8]) {
    const PROBE: usize = 2_000;
    for skip in (0..part.len().saturating_sub(PROBE)).step_by(417) {
        let probe = &part[skip..skip + PROBE];
        if let Some(at) = whole.windows(PROBE).position(|window| window == probe) {
            let length = (part.len() - skip).min(whole.len() - at);
            assert!(
                part[skip..skip + length] == whole[at..at + length],
                "{what}: differs"
            );
            assert!(length > PROBE);
            return;
        }
        assert!(skip < 64 * 1024, "{what}: not found");
    }
    panic!("{what}: too short");
}
