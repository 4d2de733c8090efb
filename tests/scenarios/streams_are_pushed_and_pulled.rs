//! A stream goes on to other servers and comes from them; a link's failure affects no other.

use std::path::Path;

use testkit::{Certificate, framemd5};
use testkit::{Clip, Nginx, PUBLISH_KEY, Player, Playing, Publisher, Server, wait_until};

use crate::support::{
    DEADLINE, assert_joins, file, play_url, publish_rtmp, server_with_short_linger, wait_for_stream,
};

/// The state of the link whose address begins with `url`, once there are links at all.
fn state_if_any(server: &Server, kind: &str, url: &str) -> Option<String> {
    let all = server.api(kind);
    let links = all[kind].as_array().unwrap();
    let link = links
        .iter()
        .find(|link| link["url"].as_str().unwrap().starts_with(url));
    assert!(links.is_empty() || link.is_some(), "no {url} in {all}");
    link.map(|link| link["state"].as_str().unwrap().to_owned())
}

fn state(server: &Server, kind: &str, url: &str) -> String {
    state_if_any(server, kind, url).unwrap_or_else(|| panic!("no {kind} at all"))
}

fn wait_for_state(server: &Server, kind: &str, url: &str, wanted: &str) {
    wait_until(&format!("{kind} {url}: {wanted}"), DEADLINE, || {
        state_if_any(server, kind, url).as_deref() == Some(wanted)
    });
}

/// The address of a pull as shown: without the last segment, which may be a key.
fn without_name(url: &str) -> &str {
    url.rsplit_once('/').unwrap().0
}

/// Demands that the player's pictures are those of `clip` up to its end.
fn assert_plays(what: &str, clip: &Path, mut playing: Playing) {
    playing.wait(DEADLINE);
    let sent = framemd5::video(&framemd5::decoded(clip));
    let join = assert_joins(what, &sent, &playing.pictures());
    assert_eq!(join.missing, 0, "{what}: {join:?}");
    assert!(join.matched > 50, "{what}: {join:?}");
}

#[test]
fn pushed_to_nginx_and_to_ourselves_in_clear_and_encrypted() {
    let certificate = Certificate::make();
    let nginx = Nginx::start();
    let plain = server_with_short_linger();
    let secure = certificate
        .serve_at(&["rtmp"], Server::builder())
        .set("ingest", "linger", "\"1s\"")
        .start();
    let targets = [
        format!("rtmp://{}", nginx.addr()),
        format!("rtmp://{}", plain.addr("rtmp")),
        format!("rtmps://localhost:{}", secure.addr("rtmps").port()),
    ];
    let [to_nginx, to_plain, to_secure] = &targets;
    let mut config = String::new();
    for url in [
        format!("{to_nginx}/{{stream}}"),
        format!("{to_plain}/{{stream}}?key={PUBLISH_KEY}"),
        format!("{to_secure}/far/{{name}}?key={PUBLISH_KEY}"),
        // No server listens there: the other links are unaffected.
        "rtmp://127.0.0.1:1/{stream}".to_owned(),
    ] {
        config += &format!("[[push]]\nmatch = \"live/*\"\nurl = \"{url}\"\n");
    }
    let origin = Server::builder()
        .set("ingest", "linger", "\"1s\"")
        .env("SSL_CERT_FILE", &certificate.path())
        .toml(&config)
        .start();
    let clip = Clip::Flv.seconds(8);
    let _publisher = publish_rtmp(&origin, &clip, "live/show");
    wait_for_stream(&origin, "live/show");
    for target in &targets {
        wait_for_state(&origin, "push", target, "running");
    }
    wait_for_stream(&plain, "live/show");
    wait_for_stream(&secure, "far/show");
    nginx.wait_for_stream("show");
    let metrics = origin.metrics();
    assert_eq!(metrics.sum("carillon_pushes", &["state=\"running\""]), 3.0);
    assert!(metrics.sum("carillon_push_failures_total", &[]) >= 1.0);
    assert!(
        !origin.api("push").to_string().contains(PUBLISH_KEY),
        "keys are not shown"
    );
    let players = [
        ("nginx", nginx.rtmp_url("show")),
        ("plain", play_url(&plain, "live/show")),
        ("secure", play_url(&secure, "far/show")),
    ]
    .map(|(what, url)| (what, Player::Rtmpdump.start(&url)));
    for (what, playing) in players {
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
    wait_until("media", DEADLINE, || playing.written() > 50_000);
    nginx.process().kill();
    wait_until("the loss to be noticed", DEADLINE, || {
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
    wait_for_stream(&origin, "live/show");
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
    wait_until("the pulls", DEADLINE, || {
        edge.metrics().sum("carillon_pulls", &["state=\"running\""]) == 3.0
    });
    let from_nginx = nginx.rtmp_url("show");
    wait_for_state(&edge, "pull", without_name(&from_nginx), "running");
    for (stream, playing) in players {
        assert_plays(stream, &clip, playing);
    }
}

#[test]
fn pulled_on_demand_while_it_has_listeners() {
    let origin = server_with_short_linger();
    let _publisher = publish_rtmp(&origin, &Clip::Flv.seconds(60), "live/show");
    wait_for_stream(&origin, "live/show");
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
    let mut player = Player::Rtmpdump.start(&play_url(&edge, "far/show"));
    let mut listener = edge.listen("/far/show.flv");
    assert_eq!(listener.status(), 200);
    listener.read_bytes(100_000, DEADLINE);
    assert_eq!(state(&edge, "pull", shown), "running");
    assert_eq!(origin.metrics().sum("carillon_listeners", &[]), 1.0);
    wait_until("media", DEADLINE, || player.written() > 100_000);
    player.process().kill();
    let body = file(listener.body());
    drop(listener);
    wait_for_state(&edge, "pull", shown, "idle");
    wait_until("the origin to be left alone", DEADLINE, || {
        origin.metrics().sum("carillon_listeners", &[]) == 0.0
    });
    assert!(!crate::flv::times(&std::fs::read(body.path()).unwrap(), 9).is_empty());
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
    wait_for_stream(&origin, "cam/a");
    wait_for_stream(&origin, "cam/b");
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
    // One server refuses; the other sends nothing, which is waited for for ten seconds.
    for unknown in ["/web/none.flv", "/nginx/none.flv"] {
        assert_eq!(edge.get(unknown).status, 404, "{unknown}");
    }
    for (stream, playing) in players {
        assert_plays(stream, &clip, playing);
    }
}
