//! ICY: titles arrive at fixed positions in the stream, and between them is the source's sound, byte for
//! byte.

use serde_json::Value;
use testkit::http::{self, Listener, deinterleave};
use testkit::{Clip, Icecast, PUBLISH_KEY, Server, Tool, wait_until};

use crate::support::titles::{assert_is_run, set_title, update, update_mount};
use crate::support::{DEADLINE, publish_icecast, publish_rtmp, wait_for_stream};

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
