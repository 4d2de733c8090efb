//! Radio streams of Icecast are relayed by this server with their titles, and a real Icecast relays ours.

use std::net::SocketAddr;

use testkit::http::Listener;
use testkit::{ADMIN_PASSWORD, Clip, Icecast, PUBLISH_KEY, Server, framemd5};

use crate::support::titles::update;
use crate::support::{
    DEADLINE, assert_joins, entry, file, publish_radio, wait_for_stream, wait_until,
};

/// Bytes that a listener receives: some seconds of audio at 64 kb/s and more.
const HEARD_BYTES: usize = 80_000;

/// Asserts that the frames that a listener receives at this address are those of the clip.
fn is_heard(addr: SocketAddr, mount: &str, clip: Clip) {
    let mut listener = Listener::get(addr, &format!("/{mount}"));
    assert_eq!(listener.status(), 200, "{mount}");
    assert_eq!(
        listener.header("content-type"),
        Some(clip.content_type()),
        "{mount}"
    );
    assert_eq!(listener.header("icy-name"), Some("Radio Test"), "{mount}");
    let heard = file(listener.read_bytes(HEARD_BYTES, DEADLINE));
    let sent = framemd5::packets(clip.seconds(120));
    let got = framemd5::packets(heard.path());
    let (sent, got) = (framemd5::audio(&sent), framemd5::audio(&got));
    // The last frame is cut where the listener stopped.
    assert_joins(mount, &sent, &got[..got.len() - 1]);
}

/// Waits until a listener has received the title.
fn is_titled(addr: SocketAddr, mount: &str, title: &str) {
    let said = format!("StreamTitle='{title}';");
    let mut listener = Listener::get_icy(addr, &format!("/{mount}"));
    assert_eq!(listener.status(), 200, "{mount}");
    let has_come = |body: &[u8]| body.windows(said.len()).any(|part| part == said.as_bytes());
    assert!(listener.read_until(DEADLINE, has_come), "{mount}");
}

#[test]
fn a_mount_of_icecast_is_relayed_and_another_master_takes_its_place() {
    let mut masters = [Icecast::start(32), Icecast::start(32)];
    let _sources = masters.each_ref().map(|master| {
        let mp3 = publish_radio(Clip::Mp3, &master.source_url("radio.mp3"));
        let ogg = publish_radio(Clip::OggVorbis, &master.source_url("radio.ogg"));
        let aac = publish_radio(Clip::Adts, &master.source_url("radio.aac"));
        wait_until("a title to be taken", || {
            update(master.addr(), Icecast::PASSWORD, "song=Artist+-+Song") == 200
        });
        [mp3, ogg, aac]
    });
    let pulls = ["mp3", "ogg", "aac"].map(|kind| {
        let [first, second] = masters.each_ref().map(|master| master.http_url(&format!("radio.{kind}")));
        format!(
            "[[pull]]\nstream = \"far.{kind}\"\nurl = \"{first}\"\nalternates = [\"{second}\"]\non_demand = {}\n",
            kind == "aac"
        )
    });
    let server = Server::builder().toml(&pulls.concat()).start();
    // The third mount is fetched when a listener comes.
    for mount in ["far.mp3", "far.ogg"] {
        wait_for_stream(&server, mount);
    }
    for (mount, clip) in [
        ("far.mp3", Clip::Mp3),
        ("far.ogg", Clip::OggVorbis),
        ("far.aac", Clip::Adts),
    ] {
        is_heard(server.addr("http"), mount, clip);
    }
    is_titled(server.addr("http"), "far.mp3", "Artist - Song");

    let mut listener = Listener::get(server.addr("http"), "/far.mp3");
    listener.read_bytes(HEARD_BYTES, DEADLINE);
    let peer = || entry(&server, "far.mp3")["peer"].to_string();
    let [first, second] = masters.each_ref().map(|master| master.addr().to_string());
    assert!(peer().contains(&first), "{}", peer());
    masters[0].kill();
    wait_until("the other master", || peer().contains(&second));
    // The listener has stayed, and still receives the stream.
    let heard = listener.body().len();
    listener.read_bytes(heard + HEARD_BYTES, DEADLINE);
    assert!(!listener.ended());
}

#[test]
fn any_mount_of_a_master_is_fetched_by_its_own_name() {
    let master = Icecast::start(8);
    let mounts = [
        ("radio.mp3", Clip::Mp3),
        ("radio.ogg", Clip::OggVorbis),
        ("radio.aac", Clip::Adts),
    ];
    let _sources = mounts.map(|(mount, clip)| publish_radio(clip, &master.source_url(mount)));
    let pull = format!(
        "[[pull]]\nstream = \"far/**\"\nurl = \"http://{}/{{rest}}\"\non_demand = true\n",
        master.addr()
    );
    let server = Server::builder().toml(&pull).start();
    for (mount, clip) in mounts {
        wait_until(mount, || {
            Listener::get(master.addr(), &format!("/{mount}")).status() == 200
        });
        is_heard(server.addr("http"), &format!("far/{mount}"), clip);
    }
    let none = Listener::get(server.addr("http"), "/far/none.mp3");
    assert_eq!(none.status(), 404);
}

#[test]
fn an_icecast_relays_all_mounts_of_this_server() {
    let server = Server::builder().with_admin_password().start();
    let _mp3 = publish_radio(Clip::Mp3, &server.icecast_url("radio.mp3", PUBLISH_KEY));
    let _ogg = publish_radio(
        Clip::OggVorbis,
        &server.icecast_url("talk/radio.ogg", PUBLISH_KEY),
    );
    for stream in ["radio.mp3", "talk/radio.ogg"] {
        wait_for_stream(&server, stream);
    }
    let slave = Icecast::slave_of(server.addr("http"), ADMIN_PASSWORD);
    let is_there = |mount: &str| Listener::get(slave.addr(), &format!("/{mount}")).status() == 200;
    for (mount, clip) in [
        ("radio.mp3", Clip::Mp3),
        ("talk/radio.ogg", Clip::OggVorbis),
    ] {
        wait_until(mount, || is_there(mount));
        is_heard(slave.addr(), mount, clip);
    }
    assert_eq!(
        update(server.addr("http"), PUBLISH_KEY, "song=Artist+-+Song"),
        200
    );
    is_titled(slave.addr(), "radio.mp3", "Artist - Song");
}
