//! Titles, set as encoders set them, and the audio between them.

use std::net::SocketAddr;

use serde_json::Value;
use testkit::http::{self, Listener, deinterleave};
use testkit::{PUBLISH_KEY, Server};

use crate::support::DEADLINE;

/// Sets a title of `/radio.mp3` as an encoder does; returns the status.
pub(crate) fn set_title(server: &Server, query: &str) -> u16 {
    update(server.addr("http"), PUBLISH_KEY, query)
}

/// Sets a title of `/radio.mp3` on any server like Icecast, whose source password is `password`.
pub(crate) fn update(server: SocketAddr, password: &str, query: &str) -> u16 {
    update_mount(server, password, "/radio.mp3", query)
}

/// Sets a title of any mount on any server like Icecast.
pub(crate) fn update_mount(server: SocketAddr, password: &str, mount: &str, query: &str) -> u16 {
    let credential = basic("source", password);
    let request = format!(
        "GET /admin/metadata?mode=updinfo&mount={mount}&{query} HTTP/1.0\r\n\
         {credential}User-Agent: Mozilla/4.0\r\n\r\n"
    );
    http::request(server, request.as_bytes(), DEADLINE).status
}

/// Returns the facts of a mount as monitors of any server like Icecast read them.
pub(crate) fn facts(server: SocketAddr, stream: &str) -> Value {
    let answer = http::get(
        server,
        &format!("/status-json.xsl?mount=/{stream}"),
        DEADLINE,
    );
    let status: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    status["icestats"]["source"].clone()
}

/// Sets a title, and asserts that a listener has it within one interval, and the same audio as a listener without titles.
/// Returns that audio, of more than four intervals, and the interval.
pub(crate) fn arrives_within_one_interval(
    server: &Server,
    path: &str,
    title: &str,
    set: impl FnOnce() -> u16,
) -> (Vec<u8>, usize) {
    let mut plain = server.listen(path);
    let mut icy = Listener::get_icy(server.addr("http"), path);
    assert_eq!(icy.status(), 200);
    let interval: usize = icy.header("icy-metaint").unwrap().parse().unwrap();
    assert_eq!(plain.header("icy-metaint"), None);
    icy.read_bytes(2 * interval, DEADLINE);
    assert_eq!(set(), 200);
    // A title set before this moment is in a block at most one interval from here.
    let at = icy.body().len();
    icy.read_bytes(at + 3 * interval, DEADLINE);
    let (audio, titles) = deinterleave(icy.body(), interval);
    let wanted = format!("StreamTitle='{title}';");
    let position = titles.iter().find(|(_, text)| text.contains(&wanted));
    let (position, _) = position.unwrap_or_else(|| panic!("{titles:?}"));
    // When the title changed, at most the messages of one window were on their way.
    assert!(*position <= at + 2 * interval, "{position} after {at}");
    plain.read_bytes(icy.body().len(), DEADLINE);
    assert_is_run("ICY sound in the plain listener's", &audio, plain.body());
    (audio, interval)
}

/// Returns a header with a Basic credential.
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

/// Asserts that `part`, less the beginning up to where both have begun, lies in `whole` in one piece.
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
