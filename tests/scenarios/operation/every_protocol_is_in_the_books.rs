//! A listener is counted the same over every protocol: one load over all of them, compared with metrics and API.

use std::collections::HashSet;
use std::path::PathBuf;

use serde_json::Value;
use tempfile::TempDir;
use testkit::{Certificate, Clip, Metrics, Player, Playing, Process, Server, Signal, Tool};

use crate::support::websocket::NODE_CLIENT;
use crate::support::{DEADLINE, play_url, publish_rtmp, wait_until};

const SHOW: &str = "live/show";

/// Seconds behind at which a listener is moved forward by `skip_after`.
const BEHIND_SECONDS: f64 = 2.5;

/// Number of viewers over WebRTC.
const VIEWERS: u64 = 2;

/// A listening program's received bytes, compared with the server's figures on it.
struct Client {
    what: &'static str,
    protocol: &'static str,
    /// The client's id in the API.
    id: u64,
    running: Running,
}

enum Running {
    /// A program that writes what it receives into the file.
    Saving(Process, PathBuf),
    Player(Playing),
}

impl Client {
    fn process(&mut self) -> &mut Process {
        match &mut self.running {
            Running::Saving(process, _) => process,
            Running::Player(playing) => playing.process(),
        }
    }

    fn received(&self) -> u64 {
        match &self.running {
            Running::Saving(_, file) => std::fs::metadata(file).map_or(0, |file| file.len()),
            Running::Player(playing) => playing.written(),
        }
    }
}

fn listeners(server: &Server) -> Vec<Value> {
    let all = server.api("listeners");
    all["listeners"].as_array().unwrap().clone()
}

fn ids(server: &Server) -> HashSet<u64> {
    let all = listeners(server);
    all.iter().map(|one| one["id"].as_u64().unwrap()).collect()
}

fn figure(server: &Server, id: u64, name: &str) -> f64 {
    let all = listeners(server);
    let own = all.iter().find(|one| one["id"] == id);
    own.and_then(|one| one[name].as_f64()).unwrap_or(0.0)
}

/// Starts a single listener, so that the new entry in the API is its own.
fn join(
    server: &Server,
    what: &'static str,
    protocol: &'static str,
    start: impl FnOnce() -> Running,
) -> Client {
    let before = ids(server);
    let running = start();
    let mut id = None;
    wait_until(&format!("{what} to be listed"), || {
        id = ids(server).difference(&before).next().copied();
        id.is_some()
    });
    Client {
        what,
        protocol,
        id: id.unwrap(),
        running,
    }
}

fn of_protocol(metrics: &Metrics, name: &str, protocol: &str) -> f64 {
    metrics.sum(name, &[&format!("protocol=\"{protocol}\"")])
}

/// Starts all listeners but the viewers over WebRTC.
fn join_all(server: &Server, certificate: &Certificate, folder: &TempDir) -> Vec<Client> {
    let curl = |what: &str, more: &[&str], url: String| {
        let file = folder.path().join(what);
        let process = Tool::new("curl")
            .args(["-sS", "--no-buffer", "--cacert", &certificate.path()])
            .args(more)
            .arg("-o")
            .arg(&file)
            .arg(url)
            .start();
        Running::Saving(process, file)
    };
    let plain = |path: &str| server.http_url(path);
    let secure = |path: &str| format!("https://{}{path}", server.addr("https"));
    let rtmps = format!("rtmps://localhost:{}/{SHOW}", server.addr("rtmps").port());
    let trust = certificate.path();
    let trust = [("SSL_CERT_FILE", trust.as_str())];
    let titles = ["-H", "Icy-MetaData: 1"];
    vec![
        join(server, "http", "flv", || {
            curl("http", &[], plain("/live/show.flv"))
        }),
        join(server, "sound", "http", || {
            curl("sound", &[], plain("/live/show.aac"))
        }),
        join(server, "titles", "icy", || {
            curl("titles", &titles, plain("/live/show.aac"))
        }),
        join(server, "https", "flv", || {
            curl("https", &["--http1.1"], secure("/live/show.flv"))
        }),
        join(server, "messages", "ws", || {
            let file = folder.path().join("messages");
            let url = format!("ws://{}/live/show.flv", server.addr("http"));
            let process = Tool::new("sh")
                .args(["-c", "file=$1; shift; exec node \"$@\" > \"$file\"", "sh"])
                .arg(&file)
                .args(NODE_CLIENT)
                .arg(url)
                .start();
            Running::Saving(process, file)
        }),
        join(server, "h2", "flv", || {
            curl("h2", &["--http2"], secure("/live/show.flv"))
        }),
        join(server, "rtmp", "rtmp", || {
            Running::Player(Player::Rtmpdump.start(&play_url(server, SHOW)))
        }),
        join(server, "rtmps", "rtmp", || {
            Running::Player(Player::Ffmpeg.start_with(&rtmps, &trust))
        }),
    ]
}

/// Lets two viewers watch for a while; returns their report.
fn watch_over_webrtc(server: &Server) -> Value {
    let url = format!("whep+http://{}/{SHOW}/whep", server.addr("http"));
    let mut watching = Tool::carillon()
        .args(["load", "listen", &url, "--json", "--ramp", "100/s"])
        .args(["--listeners", &VIEWERS.to_string()])
        .args(["--settle", "1s", "--duration", "4s"])
        .start();
    wait_until("viewers over WebRTC", || {
        of_protocol(&server.metrics(), "carillon_listeners", "webrtc") == VIEWERS as f64
    });
    watching.wait(DEADLINE);
    let report = serde_json::from_slice(&watching.stdout());
    report.unwrap_or_else(|error| panic!("{error}: {}", watching.stderr()))
}

/// Freezes the clients that watch video, one after another, until each is far enough behind to be moved forward. Over HTTP/2
/// the buffers of library and kernel hold minutes of this stream.
fn stall(server: &Server, clients: &mut [Client]) {
    let is_stalled = |client: &&mut Client| {
        matches!(client.protocol, "flv" | "ws" | "rtmp") && client.what != "h2"
    };
    for client in clients.iter_mut().filter(is_stalled) {
        let (what, id) = (client.what, client.id);
        client.process().signal(Signal::STOP);
        wait_until(&format!("{what} to fall behind"), || {
            figure(server, id, "lag_seconds") > BEHIND_SECONDS
        });
        client.process().signal(Signal::CONT);
        wait_until(&format!("{what} to be moved forward"), || {
            figure(server, id, "skips") > 0.0
        });
        wait_until("it to count as degraded", || {
            server.metrics().sum("carillon_degraded_listeners", &[]) > 0.0
        });
    }
    let all = listeners(server);
    let skips = all.iter().map(|one| one["skips"].as_f64().unwrap());
    let counted = server.metrics().sum("carillon_skips_total", &[]);
    assert!(counted >= skips.sum(), "{counted} skips: {all:?}");
}

#[test]
fn every_metric_of_listeners_counts_each_of_them() {
    let certificate = Certificate::make();
    let server = certificate
        .serve_at(&["http", "rtmp"], Server::builder())
        .set("ingest", "linger", "\"1s\"")
        .set("fanout", "workers", "2")
        // Frozen clients are not dropped even if this test is delayed.
        .set("fanout.video", "drop_after", "\"120s\"")
        .start();
    let mut publisher = publish_rtmp(&server, &Clip::Flv.seconds(90), SHOW);
    let folder = tempfile::tempdir().unwrap();
    let mut clients = join_all(&server, &certificate, &folder);
    let report = watch_over_webrtc(&server);

    let metrics = server.metrics();
    let expected = [("flv", 3), ("http", 1), ("icy", 1), ("ws", 1), ("rtmp", 2)];
    for (protocol, count) in expected {
        let now = of_protocol(&metrics, "carillon_listeners", protocol);
        assert_eq!(now, f64::from(count), "{protocol}");
    }
    for (protocol, count) in expected.into_iter().chain([("webrtc", VIEWERS as u32)]) {
        let joins = of_protocol(&metrics, "carillon_join_seconds_count", protocol);
        assert_eq!(joins, f64::from(count), "{protocol}");
    }
    stall(&server, &mut clients);

    // Once the stream is over, all listeners have received the bytes that were counted.
    publisher.kill();
    for client in &mut clients {
        client.process().wait(DEADLINE);
    }
    wait_until("all clients to have left", || {
        server.metrics().sum("carillon_listeners", &[]) == 0.0
    });
    let metrics = server.metrics();
    for (protocol, _) in expected {
        let own = clients.iter().filter(|client| client.protocol == protocol);
        let received: u64 = own.map(Client::received).sum();
        let sent = of_protocol(&metrics, "carillon_egress_bytes_total", protocol);
        // RTMP and FLV have other headers, and replies have heads.
        let ratio = sent / received as f64;
        assert!(
            (0.95..1.1).contains(&ratio),
            "{protocol}: {sent} of {received}"
        );
    }
    let received = report["bytes"].as_f64().unwrap();
    let sent = of_protocol(&metrics, "carillon_egress_bytes_total", "webrtc");
    assert!(
        (0.95..1.1).contains(&(sent / received)),
        "{sent} of {received}"
    );

    let sum = |name: &str| metrics.sum(name, &[]);
    let gone = clients.len() as f64 + VIEWERS as f64;
    assert_eq!(sum("carillon_departures_total"), gone);
    assert_eq!(sum("carillon_drops_total"), 0.0);
    assert!(sum("carillon_forward_delay_seconds_count") > 0.0);
    assert!(sum("carillon_listener_lag_seconds_count") > 0.0);
    for plane in [["0", "1"].as_slice(), &["webrtc-0", "webrtc-1"], &["tasks"]] {
        let labels = plane.iter().map(|worker| format!("worker=\"{worker}\""));
        let turns: f64 = labels
            .map(|label| metrics.sum("carillon_turn_seconds_count", &[&label]))
            .sum();
        assert!(turns > 0.0, "{plane:?}");
    }
}
