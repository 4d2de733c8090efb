//! Streams are pushed to other servers and pulled from them; a link's failure affects no other link.

use testkit::{Clip, Nginx, PUBLISH_KEY, Player, Publisher, Server};

use crate::support::links::{
    Receivers, assert_plays, assert_pushes, state, wait_for_state, without_name,
};
use crate::support::{
    DEADLINE, play_url, publish_rtmp, server_with_short_linger, wait_for_stream, wait_until,
};

#[test]
fn pushed_to_nginx_and_to_ourselves_in_clear_and_encrypted() {
    let nginx = Nginx::start();
    let receivers = Receivers::start();
    let to_nginx = format!("rtmp://{}", nginx.addr());
    let origin = receivers.origin(&[format!("{to_nginx}/{{stream}}")]);
    let clip = Clip::Flv.seconds(8);
    let _publisher = publish_rtmp(&origin, &clip, "live/show");
    wait_for_state(&origin, "push", &to_nginx, "running");
    receivers.wait(&origin);
    nginx.wait_for_stream("show");
    assert_pushes(&origin, 3.0);
    let of_nginx = ("nginx", Player::Rtmpdump.start(&nginx.rtmp_url("show")));
    let ours = receivers.play(Player::Rtmpdump);
    for (what, playing) in [of_nginx].into_iter().chain(ours) {
        assert_plays(what, &clip, playing);
    }
}

#[test]
fn a_target_that_dies_harms_no_other_and_is_taken_up_again() {
    let mut nginx = Nginx::start();
    let other = server_with_short_linger();
    let (to_nginx, to_other) = (
        format!("rtmp://{}", nginx.addr()),
        format!("rtmp://{}", other.addr("rtmp")),
    );
    let origin = Server::builder()
        .toml(&format!(
            "[[push]]\nmatch = \"live/*\"\nurl = \"{to_nginx}/{{stream}}\"\n\
             [[push]]\nmatch = \"live/*\"\nurl = \"{to_other}/{{stream}}?key={PUBLISH_KEY}\"\n"
        ))
        .set("ingest", "linger", "\"1s\"")
        .start();
    let clip = Clip::Flv.seconds(15);
    let mut publisher = publish_rtmp(&origin, &clip, "live/show");
    wait_for_state(&origin, "push", &to_nginx, "running");
    wait_for_state(&origin, "push", &to_other, "running");
    wait_for_stream(&other, "live/show");
    let playing = Player::Rtmpdump.start(&play_url(&other, "live/show"));
    wait_until("media", || playing.written() > 50_000);
    nginx.process().kill();
    wait_until("the loss to be noticed", || {
        state(&origin, "push", &to_nginx) != "running"
    });
    assert_eq!(state(&origin, "push", &to_other), "running");
    assert!(publisher.is_running());
    let again = nginx.again();
    wait_for_state(&origin, "push", &to_nginx, "running");
    again.wait_for_stream("show");
    assert_plays("the other", &clip, playing);
}

#[test]
fn pulled_from_nginx_and_from_ourselves() {
    let nginx = Nginx::start();
    let origin = server_with_short_linger();
    let clip = Clip::Flv.seconds(12);
    let _to_nginx = Publisher::Ffmpeg.start(&clip, &nginx.rtmp_url("show"));
    let _to_origin = publish_rtmp(&origin, &clip, "live/show");
    nginx.wait_for_stream("show");
    let mut config = String::new();
    for (stream, url) in [
        ("far/nginx", nginx.rtmp_url("show")),
        ("far/rtmp", play_url(&origin, "live/show")),
        ("far/flv", origin.http_url("/live/show.flv")),
    ] {
        config += &format!("[[pull]]\nstream = \"{stream}\"\nurl = \"{url}\"\n");
    }
    let edge = Server::builder()
        .set("ingest", "linger", "\"1s\"")
        .toml(&config)
        .start();
    let players = ["far/nginx", "far/rtmp", "far/flv"].map(|stream| {
        wait_for_stream(&edge, stream);
        (stream, Player::Rtmpdump.start(&play_url(&edge, stream)))
    });
    wait_until("the pulls", || {
        edge.metrics().sum("carillon_pulls", &["state=\"running\""]) == 3.0
    });
    let from_nginx = nginx.rtmp_url("show");
    wait_for_state(&edge, "pull", without_name(&from_nginx), "running");
    for (stream, playing) in players {
        assert_plays(stream, &clip, playing);
    }
}

#[test]
fn each_stream_of_a_pattern_is_pulled_on_demand() {
    let nginx = Nginx::start();
    let origin = server_with_short_linger();
    let clip = Clip::Flv.seconds(12);
    let _publishers = [
        Publisher::Ffmpeg.start(&clip, &nginx.rtmp_url("a")),
        publish_rtmp(&origin, &clip, "cam/a"),
        publish_rtmp(&origin, &clip, "cam/b"),
    ];
    nginx.wait_for_stream("a");
    let mut config = String::new();
    for (pattern, url) in [
        ("cam/*", play_url(&origin, "cam/{name}")),
        ("web/**", origin.http_url("/{rest}.flv")),
        ("nginx/*", nginx.rtmp_url("{name}")),
    ] {
        config += &format!("[[pull]]\nstream = \"{pattern}\"\nurl = \"{url}\"\non_demand = true\n");
    }
    let edge = Server::builder()
        .set("ingest", "linger", "\"1s\"")
        .toml(&config)
        .start();
    assert_eq!(edge.api("pull")["pull"].as_array().unwrap().len(), 0);
    let streams = ["cam/a", "cam/b", "nginx/a", "web/cam/b"];
    let players = streams.map(|stream| (stream, Player::Rtmpdump.start(&play_url(&edge, stream))));
    let mut listener = edge.listen("/cam/b.flv");
    assert_eq!(listener.status(), 200);
    listener.read_bytes(100_000, DEADLINE);
    drop(listener);
    for stream in streams {
        wait_for_stream(&edge, stream);
    }
    let links = edge.api("pull");
    let mut pulled: Vec<_> = links["pull"]
        .as_array()
        .unwrap()
        .iter()
        .map(|link| link["stream"].as_str().unwrap())
        .collect();
    pulled.sort_unstable();
    assert_eq!(pulled, streams);
    // One server refuses; the other sends nothing, for which the edge waits for ten seconds.
    for unknown in ["/web/none.flv", "/nginx/none.flv"] {
        assert_eq!(edge.get(unknown).status, 404, "{unknown}");
    }
    for (stream, playing) in players {
        assert_plays(stream, &clip, playing);
    }
}
