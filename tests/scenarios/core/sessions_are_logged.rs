//! Each listener that has left is one line of the session log, with what it received, and so is each title; this also holds
//! when the server was killed.

use testkit::{Clip, Server};

use crate::support::session_log::{lines, set_title, titles};
use crate::support::{DEADLINE, repeat_icecast, repeat_rtmp, take, wait_until};

#[test]
fn with_its_times_its_bytes_and_the_titles_that_it_heard() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("sessions.jsonl");
    let mut server = Server::builder()
        .set("log", "sessions", &format!("{log:?}"))
        .start();
    let _radio = repeat_icecast(&server, Clip::Mp3, "radio.mp3");
    set_title(&server, "Before");
    set_title(&server, "First");
    wait_until("the titles", || lines(&log, "title").len() == 2);
    let mut listener = server.listen("/radio.mp3");
    listener.read_bytes(20_000, DEADLINE);
    set_title(&server, "Second");
    wait_until("the title", || lines(&log, "title").len() == 3);
    drop(listener);
    wait_until("its line", || lines(&log, "session").len() == 1);
    set_title(&server, "After");
    let one = &lines(&log, "session")[0];
    assert_eq!(titles(one), ["First", "Second"]);
    assert_eq!(
        (
            &one["stream"],
            &one["protocol"],
            &one["address"],
            &one["reason"]
        ),
        (
            &"radio.mp3".into(),
            &"http".into(),
            &"127.0.0.1".into(),
            &"left".into()
        )
    );
    assert!(one["bytes"].as_u64().unwrap() >= 20_000, "{one}");
    assert!(
        one["started"].as_str().unwrap() < one["ended"].as_str().unwrap(),
        "{one}"
    );
    let reported = lines(&log, "title");
    let said: Vec<_> = reported
        .iter()
        .map(|line| line["title"].as_str().unwrap())
        .collect();
    assert_eq!(said[..3], ["Before", "First", "Second"]);

    // Listeners that are present when the server ends are logged too, whatever their protocol.
    let _show = repeat_rtmp(&server, Clip::Flv, "live/show");
    let urls = [
        server.http_url("/radio.mp3"),
        server.http_url("/live/show/index.m3u8"),
        format!("rtmp://{}/live/show", server.addr("rtmp")),
    ];
    let _players = urls.each_ref().map(|url| take(url, &[]));
    wait_until("the listeners", || {
        server.metrics().sum("carillon_listeners", &[]) >= 3.0
    });
    server.terminate(DEADLINE);
    let mut protocols: Vec<_> = lines(&log, "session")[1..]
        .iter()
        .map(|line| line["protocol"].as_str().unwrap().to_owned())
        .collect();
    protocols.sort_unstable();
    assert_eq!(protocols, ["hls", "icy", "rtmp"]);
    let of_radio = lines(&log, "session")[1..]
        .iter()
        .any(|line| titles(line) == ["After"]);
    assert!(of_radio, "the title that was on when it came");
}
