//! Each kind of credential permits what it is for, over each protocol, and nothing else; sessions end when their permission
//! ends; and the server's logs contain no credential.

use std::time::{Duration, SystemTime};

use testkit::Clip;
use testkit::http::Listener;

use crate::support::guarded::{Guarded, OF_FILE, PLAIN, assert_secret, write_keys};
use crate::support::{DEADLINE, repeat_rtmp, repeat_to, take, wait_until};

#[test]
fn permissions_end_with_their_links() {
    const LASTS: Duration = Duration::from_secs(8);
    let guarded = Guarded::start();
    let _show = repeat_rtmp(&guarded.server, Clip::Flv, "live/show");
    let signed = SystemTime::now();
    let play = guarded.sign(&["play", "live/show", "--for", "8s"]);
    let publish = guarded.sign(&["publish", "live/new", "--for", "8s"]);
    let url = guarded.rtmp("live/new", &format!("link={publish}"));
    let mut publisher = repeat_to(&url, Clip::Flv);
    assert!(guarded.is_there("live/new", &mut publisher));
    let path = |path: &str| format!("/live/show{path}?link={play}");
    let mut flv = Listener::get(guarded.server.addr("http"), &path(".flv"));
    assert_eq!(flv.status(), 200);
    let rtmp = guarded.rtmp("live/show", &format!("link={play}"));
    let mut player = take(&rtmp, &[]);
    assert_eq!(guarded.first_bytes(&path("/index.m3u8"), &[]), 200);

    flv.read_to_end(DEADLINE);
    assert!(flv.ended());
    player.wait(DEADLINE);
    assert!(!publisher.wait(DEADLINE).success(), "the publisher is told");
    // The signer cuts the time to whole seconds.
    let lasted = signed.elapsed().unwrap();
    assert!(
        lasted + Duration::from_secs(1) >= LASTS,
        "they ended after {lasted:?}"
    );
    wait_until("HLS refuses as well", || {
        guarded.first_bytes(&path("/index.m3u8"), &[]) == 403
    });
    let again = Listener::get(guarded.server.addr("http"), &path(".flv"));
    assert_eq!(again.status(), 403);
    assert_secret(&guarded, &[play, publish]);
}

#[test]
fn what_a_key_of_the_file_has_permitted_ends_when_it_is_removed() {
    let guarded = Guarded::start();
    let server = &guarded.server;
    let publish = |clip: Clip, url: &str, stream: &str| {
        let mut publisher = repeat_to(url, clip);
        assert!(guarded.is_there(stream, &mut publisher), "{stream}");
        publisher
    };
    let by = |key: &str| format!("key={key}");
    let mut show = publish(
        Clip::Flv,
        &guarded.rtmp("live/show", &by(OF_FILE)),
        "live/show",
    );
    let radio = server.icecast_url("radio.mp3", OF_FILE);
    let mut radio = publish(Clip::Mp3, &radio, "radio.mp3");
    let mut other = publish(
        Clip::Flv,
        &guarded.rtmp("live/other", &by(PLAIN)),
        "live/other",
    );
    let addr = server.addr("http");
    let listen = |key: &str| Listener::get(addr, &format!("/live/other.flv?key={key}"));
    let (mut removed, mut kept) = (listen(OF_FILE), listen(PLAIN));
    let mut player = take(&guarded.rtmp("live/other", &by(OF_FILE)), &[]);
    let listeners = || server.metrics().sum("carillon_listeners", &[]);
    wait_until("three listeners", || listeners() == 3.0);

    write_keys(
        &guarded.folder.path().join("keys.toml"),
        "the-next-key-8830-bob",
    );
    removed.read_to_end(DEADLINE);
    assert!(removed.ended());
    player.wait(DEADLINE);
    assert!(!show.wait(DEADLINE).success(), "the publisher is told");
    assert!(!radio.wait(DEADLINE).success(), "the source is told");
    kept.read_bytes(kept.body().len() + 100_000, DEADLINE);
    assert!(other.is_running() && listeners() == 1.0);
    let streams = server.api("streams").to_string();
    assert!(
        streams.contains("live/other") && !streams.contains("live/show"),
        "{streams}"
    );
}
