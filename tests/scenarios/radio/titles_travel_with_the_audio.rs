//! ICY titles arrive at fixed positions in the stream, and between them is the source's audio, byte for byte.

use testkit::http::{Listener, deinterleave};
use testkit::{Clip, Icecast, PUBLISH_KEY, Server, Tool};

use crate::support::titles::{arrives_within_one_interval, facts, set_title, update, update_mount};
use crate::support::{DEADLINE, publish_icecast, publish_rtmp, wait_until};

/// A mount's character set applies to the titles of its encoder and to those sent to players, as on icecast2.
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
        wait_until("a title to be taken", || {
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
        facts(addr, "radio.mp3")["title"].clone()
    });
    assert_eq!(heard, ["Привет", "Привет"]);
}

/// The audio of an RTMP stream has titles as a source's does, and equals that of its plain listeners.
#[test]
fn a_title_of_an_rtmp_stream_arrives_within_one_interval() {
    let server = Server::start();
    let _publisher = publish_rtmp(&server, &Clip::Flv.seconds(60), "live/show");
    let addr = server.addr("http");
    let set = || update_mount(addr, PUBLISH_KEY, "/live/show", "song=On%20air");
    let _ = arrives_within_one_interval(&server, "/live/show.aac", "On air", set);
}

#[test]
fn titles_come_in_many_spellings() {
    let server = Server::start();
    let _publisher = publish_icecast(&server, Clip::Mp3, 30, "radio.mp3");
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
        let found = icy.read_until(DEADLINE, |body| {
            let (_, titles) = deinterleave(body, interval);
            titles.iter().any(|(_, text)| text.starts_with(&wanted))
        });
        assert!(found, "{query}");
    }
    let (_, titles) = deinterleave(icy.body(), interval);
    let is_evil = |(_, text): &(usize, String)| text.contains("';StreamUrl='evil");
    let ends = titles.iter().any(is_evil);
    assert!(!ends, "a title cannot end its own quotes: {titles:?}");
}
