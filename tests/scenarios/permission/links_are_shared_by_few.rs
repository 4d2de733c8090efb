//! A link, or a token, for one player at a time: the newest stays, over whatever protocol, and its connections count once.

use serde_json::json;
use testkit::{Clip, Process, Server, Tool};

use crate::support::guarded::{self, LINKS};
use crate::support::token_issuer::{Issuer, SECRET, later};
use crate::support::{DEADLINE, curl_status, publish_icecast, publish_rtmp, take, wait_until};

fn start() -> (Server, [Process; 2]) {
    let server = Server::builder()
        .set("auth", "play", "\"key\"")
        .toml(&format!("{LINKS}[auth.jwt]\nsecret = \"{SECRET}\"\n"))
        .start();
    let publishers = [
        publish_rtmp(&server, &Clip::Flv.seconds(180), "live/show"),
        publish_icecast(&server, Clip::Mp3, 180, "radio.mp3"),
    ];
    (server, publishers)
}

/// Signs a link for all streams and a number of players.
fn sign(players: u32, more: &[&str]) -> String {
    let sessions = ["--for", "1h", "--sessions", &players.to_string()];
    let play = ["play", "live/show", "--match", "**"];
    guarded::sign(&[&play, &sessions[..], more].concat())
}

/// Returns the protocols of the listeners, with their programs.
fn listeners(server: &Server) -> Vec<(String, String)> {
    let listeners = server.api("listeners");
    let all = listeners["listeners"].as_array().unwrap().iter();
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let mut all: Vec<_> = all
        .map(|one| (text(&one["protocol"]), text(&one["agent"])))
        .collect();
    all.sort();
    all
}

/// Waits until these listen and no others: protocols, and prefixes of their programs' names.
fn wait_for(server: &Server, expected: &[(&str, &str)]) {
    wait_until(&format!("{expected:?} alone"), || {
        let now = listeners(server);
        let fits = |(one, expected): (&(String, String), &(&str, &str))| {
            one.0 == expected.0 && one.1.starts_with(expected.1)
        };
        now.len() == expected.len() && now.iter().zip(expected).all(fits)
    });
}

fn curl(server: &Server, agent: &str, path: &str, more: &[&str]) -> Process {
    Tool::new("curl")
        .args(["-s", "-A", agent, "-o", "/dev/null"])
        .args(more)
        .arg(server.http_url(path))
        .start()
}

/// Returns the status for a program that leaves at once.
fn status(server: &Server, agent: &str, path: &str) -> u16 {
    curl_status(&server.http_url(path), &["-A", agent, "-r", "0-1"])
}

#[test]
fn the_newest_player_stays_whatever_it_speaks() {
    let (server, _publishers) = start();
    let link = sign(1, &[]);
    let with_link = |path: &str| format!("{path}?link={link}");
    let flv = with_link("/live/show.flv");

    let url = format!("rtmp://{}/live/show?link={link}", server.addr("rtmp"));
    let mut rtmp = take(&url, &[]);
    wait_for(&server, &[("rtmp", "")]);
    let mut over_flv = curl(&server, "first", &flv, &[]);
    wait_for(&server, &[("flv", "first")]);
    rtmp.wait(DEADLINE);

    let mut icy = curl(
        &server,
        "second",
        &with_link("/radio.mp3"),
        &["-H", "Icy-MetaData: 1"],
    );
    wait_for(&server, &[("icy", "second")]);
    over_flv.wait(DEADLINE);
    // The displaced player may not come back as long as the other listens.
    assert_eq!(status(&server, "first", &flv), 403);

    let hls = server.http_url(&with_link("/live/show/index.m3u8"));
    let mut over_hls = take(&hls, &["-user_agent", "third"]);
    wait_for(&server, &[("hls", "third")]);
    icy.wait(DEADLINE);
    // Further connections of the same player are no further players.
    let mut beside = curl(&server, "third", &flv, &[]);
    wait_for(&server, &[("flv", "third"), ("hls", "third")]);

    let whep = format!(
        "whep+http://{}/live/show/whep?link={link}",
        server.addr("http")
    );
    let over_webrtc = Tool::carillon()
        .args(["load", "listen", &whep, "--json"])
        .args(["--listeners", "1", "--duration", "120s"])
        .start();
    wait_for(&server, &[("webrtc", "")]);
    beside.wait(DEADLINE);
    over_hls.kill();

    let _last = curl(&server, "last", &flv, &[]);
    wait_for(&server, &[("flv", "last")]);
    drop(over_webrtc);
    // A link that is not shared is not counted with the others.
    let other = format!("/live/show.flv?link={}", sign(1, &[]));
    let _other = curl(&server, "other", &other, &[]);
    wait_for(&server, &[("flv", "last"), ("flv", "other")]);
}

#[test]
fn links_of_one_name_and_tokens_of_one_subject_are_counted_together() {
    let (server, _publishers) = start();
    let path = |link: &str| format!("/live/show.flv?link={link}");
    let one = path(&sign(1, &["--name", "ann"]));
    let other = path(&sign(1, &["--name", "ann", "--address", "127.0.0.1"]));
    let mut first = curl(&server, "first", &one, &[]);
    wait_for(&server, &[("flv", "first")]);
    let mut second = curl(&server, "second", &other, &[]);
    wait_for(&server, &[("flv", "second")]);
    first.wait(DEADLINE);
    second.kill();
    wait_for(&server, &[]);

    let permissions = json!([{"do": "play", "on": "**", "max_sessions": 2}]);
    let claims =
        |id: &str| json!({"sub": "bob", "jti": id, "exp": later(3_600), "carillon": permissions});
    let issuer = Issuer::start();
    let mut players = Vec::new();
    for agent in ["one", "two", "three"] {
        let token = issuer.sign("secret", "HS256", &claims(agent), &json!({}));
        let bearer = format!("Authorization: Bearer {token}");
        players.push(curl(&server, agent, "/live/show.flv", &["-H", &bearer]));
        wait_until(agent, || {
            listeners(&server).iter().any(|(_, it)| it == agent)
        });
    }
    wait_for(&server, &[("flv", "three"), ("flv", "two")]);
    players[0].wait(DEADLINE);
}
