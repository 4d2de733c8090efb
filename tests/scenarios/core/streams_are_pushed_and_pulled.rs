//! Streams are pushed to other servers and pulled from them; a link's failure affects no other link.

use testkit::{Clip, Player, Server};

use crate::support::links::{
    Receivers, assert_plays, assert_pushes, state, wait_for_state, without_name,
};
use crate::support::{
    DEADLINE, file, flv, play_url, publish_rtmp, repeat_rtmp, server_with_short_linger, wait_until,
};

#[test]
fn pushed_to_ourselves_in_clear_and_encrypted() {
    let receivers = Receivers::start();
    let origin = receivers.origin(&[]);
    let clip = Clip::Flv.seconds(8);
    let _publisher = publish_rtmp(&origin, &clip, "live/show");
    receivers.wait(&origin);
    assert_pushes(&origin, 2.0);
    for (what, playing) in receivers.play(Player::Ffmpeg) {
        assert_plays(what, &clip, playing);
    }
}

#[test]
fn pulled_on_demand_while_it_has_listeners() {
    let origin = server_with_short_linger();
    let _publisher = repeat_rtmp(&origin, Clip::Flv, "live/show");
    let url = origin.http_url("/live/show.flv");
    let edge = Server::builder()
        .set("ingest", "linger", "\"1s\"")
        .toml(&format!(
            "[[pull]]\nstream = \"far/show\"\nurl = \"{url}\"\non_demand = true\n"
        ))
        .start();
    let shown = without_name(&url);
    assert_eq!(state(&edge, "pull", shown), "idle");
    assert_eq!(origin.metrics().sum("carillon_listeners", &[]), 0.0);
    let mut player = Player::Ffmpeg.start(&play_url(&edge, "far/show"));
    let mut listener = edge.listen("/far/show.flv");
    assert_eq!(listener.status(), 200);
    listener.read_bytes(100_000, DEADLINE);
    assert_eq!(state(&edge, "pull", shown), "running");
    assert_eq!(origin.metrics().sum("carillon_listeners", &[]), 1.0);
    wait_until("media", || player.written() > 100_000);
    player.process().kill();
    let body = file(listener.body());
    drop(listener);
    wait_for_state(&edge, "pull", shown, "idle");
    wait_until("the origin to be left alone", || {
        origin.metrics().sum("carillon_listeners", &[]) == 0.0
    });
    assert!(!flv::times(&std::fs::read(body.path()).unwrap(), 9).is_empty());
}
