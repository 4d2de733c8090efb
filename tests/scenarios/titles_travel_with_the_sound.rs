//! ICY: titles arrive at fixed positions in the stream, and between them is the source's sound, byte for
//! byte.

use std::net::SocketAddr;

use serde_json::Value;
use testkit::http::{self, Listener, deinterleave};
use testkit::{Clip, Icecast, PUBLISH_KEY, Server, Tool, wait_until};

use crate::support::{DEADLINE, publish_icecast, publish_rtmp, wait_for_stream};

/// Sets a title of `/radio.mp3` as an encoder does.
fn set_title(server: &Server, query: &str) -> u16 {
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

/// A mount's character set is that of what its encoder sends and of what players are sent, as on icecast2.
#[test]
fn a_mount_has_a_character_set() {
    const MOUNT: &str =
        "<mount><mount-name>/radio.mp3</mount-name><charset>CP1251</charset></mount>";
    let icecast = Icecast::with(32, MOUNT);
    let server = Server::builder()
        .toml("[[stream]]\nmatch = \"radio.mp3\"\ncharset = \"windows-1251\"\n")
        .start();
    let heard = [
        (icecast.addr(), Icecast::PASSWORD),
        (server.addr("http"), PUBLISH_KEY),
    ]
    .map(|(addr, password)| {
        let _source = Tool::ffmpeg()
            .args(["-re", "-i"])
            .arg(Clip::Mp3.seconds(60))
            .args(["-c", "copy", "-content_type", "audio/mpeg", "-f", "mp3"])
            .arg(format!("icecast://source:{password}@{addr}/radio.mp3"))
            .start();
        wait_until("a title to be taken", DEADLINE, || {
            update(addr, password, "song=%CF%F0%E8%E2%E5%F2") == 200
        });
        let mut listener = Listener::get_icy(addr, "/radio.mp3");
        let interval: usize = listener.header("icy-metaint").unwrap().parse().unwrap();
        // The block's own length stands before its text.
        let expected = b"StreamTitle='\xCF\xF0\xE8\xE2\xE5\xF2';";
        let has_come = listener.read_until(DEADLINE, |body| {
            body.len() > interval && body[interval + 1..].starts_with(expected)
        });
        assert!(has_come, "{addr}");
        let status = http::get(addr, "/status-json.xsl", DEADLINE);
        let status: Value = serde_json::from_slice(&status.body).unwrap();
        status["icestats"]["source"]["title"].clone()
    });
    assert_eq!(heard, ["Привет", "Привет"]);
}

#[test]
fn a_title_arrives_within_one_interval_and_the_sound_is_untouched() {
    let server = Server::start();
    let _publisher = publish_icecast(&server, Clip::Mp3, 30, "radio.mp3");
    wait_for_stream(&server, "radio.mp3");
    let mut plain = server.listen("/radio.mp3");
    let mut icy = Listener::get_icy(server.addr("http"), "/radio.mp3");
    assert_eq!(icy.status(), 200);
    let interval: usize = icy.header("icy-metaint").unwrap().parse().unwrap();
    assert_eq!(plain.header("icy-metaint"), None);

    icy.read_bytes(2 * interval, DEADLINE);
    assert_eq!(set_title(&server, "song=It%27s%20%E2%99%AB%20now"), 200);
    // A title set before this moment is in a block at most one interval from here.
    let at = icy.body().len();
    icy.read_bytes(at + 3 * interval, DEADLINE);
    let (audio, titles) = deinterleave(icy.body(), interval);
    let position = titles
        .iter()
        .find(|(_, text)| text.contains("StreamTitle='It's \u{266b} now';"));
    let (position, _) = position.unwrap_or_else(|| panic!("{titles:?}"));
    // What was on its way when the title changed is at most the messages of one window.
    assert!(*position <= at + 2 * interval, "{position} after {at}");

    plain.read_bytes(icy.body().len(), DEADLINE);
    assert_is_run("ICY sound in the plain listener's", &audio, plain.body());
    let file = std::fs::read(Clip::Mp3.seconds(30)).unwrap();
    assert_is_run(
        "ICY sound in the source's file",
        &audio[..4 * interval],
        &file,
    );
}

/// The sound of an RTMP stream has titles as a source's has, and is the same as its plain listeners'.
#[test]
fn a_title_of_an_rtmp_stream_arrives_within_one_interval() {
    let server = Server::start();
    let _publisher = publish_rtmp(&server, &Clip::Flv.seconds(60), "live/show");
    wait_for_stream(&server, "live/show");
    let mut plain = server.listen("/live/show.aac");
    let mut icy = Listener::get_icy(server.addr("http"), "/live/show.aac");
    assert_eq!(icy.status(), 200);
    let interval: usize = icy.header("icy-metaint").unwrap().parse().unwrap();
    assert_eq!(plain.header("icy-metaint"), None);
    icy.read_bytes(2 * interval, DEADLINE);
    let set = update_mount(
        server.addr("http"),
        PUBLISH_KEY,
        "/live/show",
        "song=On%20air",
    );
    assert_eq!(set, 200);
    let at = icy.body().len();
    icy.read_bytes(at + 3 * interval, DEADLINE);
    let (audio, titles) = deinterleave(icy.body(), interval);
    let told = titles
        .iter()
        .find(|(_, text)| text.contains("StreamTitle='On air';"));
    let (position, _) = told.unwrap_or_else(|| panic!("{titles:?}"));
    assert!(*position <= at + 2 * interval, "{position} after {at}");
    plain.read_bytes(icy.body().len(), DEADLINE);
    assert_is_run("ICY sound in the plain listener's", &audio, plain.body());
}

/// Demands that `part`, less the beginning up to where both have begun, lies in `whole` in one piece.
fn assert_is_run(what: &str, part: &[u8], whole: &[u8]) {
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

#[test]
fn titles_come_in_many_spellings() {
    let server = Server::start();
    let _publisher = publish_icecast(&server, Clip::Mp3, 30, "radio.mp3");
    wait_for_stream(&server, "radio.mp3");
    let mut icy = Listener::get_icy(server.addr("http"), "/radio.mp3");
    let interval: usize = icy.header("icy-metaint").unwrap().parse().unwrap();
    for (query, title) in [
        ("song=old&artist=A&title=B", "A - B"),
        ("song=caf%E9&charset=ISO-8859-1", "caf\u{e9}"),
        ("song=caf%C3%A9", "caf\u{e9}"),
        ("song=a';StreamUrl='evil", "a"),
    ] {
        assert_eq!(set_title(&server, query), 200, "{query}");
        let wanted = format!("StreamTitle='{title}");
        let deadline = DEADLINE;
        let found = icy.read_until(deadline, |body| {
            deinterleave(body, interval)
                .1
                .iter()
                .any(|(_, text)| text.starts_with(&wanted))
        });
        assert!(found, "{query}");
    }
    let (_, titles) = deinterleave(icy.body(), interval);
    assert!(
        !titles
            .iter()
            .any(|(_, text)| text.contains("';StreamUrl='evil")),
        "a title cannot end its own quotes: {titles:?}"
    );
}

#[test]
fn only_the_source_may_set_titles() {
    let server = Server::start();
    let _publisher = publish_icecast(&server, Clip::Mp3, 20, "radio.mp3");
    wait_for_stream(&server, "radio.mp3");
    let update = "GET /admin/metadata?mode=updinfo&mount=/radio.mp3&song=x HTTP/1.0\r\n";
    let anonymous = http::request(
        server.addr("http"),
        format!("{update}\r\n").as_bytes(),
        DEADLINE,
    );
    assert_eq!(anonymous.status, 401);
    let wrong = format!(
        "{update}Authorization: Basic {}\r\n\r\n",
        base64(b"source:wrong")
    );
    assert_eq!(
        http::request(server.addr("http"), wrong.as_bytes(), DEADLINE).status,
        401
    );
}
