//! A cache between server and viewers carries the audience: each address is requested once from the server, whatever the number
//! of viewers, and the viewers see playlists that keep every rule.
//!
//! The cache is nginx with `proxy_cache_lock`, which honours `Cache-Control` and has the query in its key. Two things cost
//! hits, and are as they should be: segments that were begun before the stream's first viewer came (`no-store`, because another
//! server may have all of them), and viewers with different `Accept-Encoding`, for which a cache keeps playlists apart
//! (`Vary`).
//!
//! nginx itself adds up to half a second for some viewers: a request that waits for the reply to another one polls at that
//! interval. And a reply that may not be stored, such as the 503 of a reload whose part does not come in time, is fetched by
//! one waiting viewer after the other.

use std::collections::BTreeMap;

use serde_json::Value;
use testkit::hls::Watch;
use testkit::{Cache, Cached, Clip, Server, Tool, http};

use crate::support::{DEADLINE, publish_rtmp, wait_until};

const VIEWERS: f64 = 60.0;
/// Largest share of the requests that may reach the server.
const ASKED_MAX: f64 = 0.05;
/// Codings that browsers of two makes and a simple player accept.
const ACCEPTED: [&str; 3] = ["gzip, deflate, br, zstd", "gzip, deflate, br", "identity"];

/// A server whose stream has been watched for some segments, and a cache in front of it.
struct Show {
    server: Server,
    _publisher: testkit::Process,
    cache: Cache,
    /// Path of the media playlist.
    playlist: String,
}

impl Show {
    fn start() -> Self {
        let server = Server::start();
        let publisher = publish_rtmp(&server, &Clip::Flv.seconds(120), "live/show");
        // Segments begun before the first viewer came are not cached, and not played once two segments have followed.
        let mut watch = Watch::start(server.addr("http"), "/live/show/index.m3u8");
        watch.follow(|history| history.segments_with_parts().len() >= 2);
        let playlist = watch.finish().playlist;
        let cache = Cache::start(server.addr("http"), "");
        Self {
            server,
            _publisher: publisher,
            cache,
            playlist,
        }
    }
}

fn number(report: &Value, path: &str) -> f64 {
    let value = report.pointer(path).and_then(Value::as_f64);
    value.unwrap_or_else(|| panic!("no {path} in {report:#}"))
}

/// Counts the requests that reached the server, by their state in the cache and the kind of address.
fn asked(requests: &[Cached]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for request in requests.iter().filter(|request| request.is_asked) {
        let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
        let kind = match (path.ends_with(".m3u8"), query.is_empty()) {
            (true, true) => "playlist",
            (true, false) => "reload",
            (false, _) => "media",
        };
        let key = format!("{} {} {kind}", request.state, request.status);
        *counts.entry(key).or_default() += 1;
    }
    counts
}

#[test]
fn a_cache_carries_the_audience() {
    let show = Show::start();
    let url = format!("hls+http://{}/live/show/index.m3u8", show.cache.addr());
    let finished = Tool::carillon()
        .args(["load", "listen", &url, "--json", "--check", "0"])
        .args(["--listeners", &VIEWERS.to_string(), "--ramp", "30/s"])
        .args(["--duration", "15s", "--settle", "2s"])
        .finish(DEADLINE);
    let report: Value = serde_json::from_slice(&finished.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", finished.stderr));
    assert_eq!(number(&report, "/alive"), VIEWERS, "{report:#}");
    for kind in ["violations", "refused"] {
        let found = report["hls"][kind].as_object();
        assert!(found.is_some_and(|found| found.is_empty()), "{report:#}");
    }
    assert_eq!(number(&report, "/hls/jumps"), 0.0, "{report:#}");
    assert!(number(&report, "/hls/parts") > 20.0 * VIEWERS, "{report:#}");

    let requests = show.cache.requests();
    let reached = requests.iter().filter(|request| request.is_asked).count();
    let share = reached as f64 / requests.len() as f64;
    let counts = asked(&requests);
    println!(
        "{reached} of {} requests reached the server: {counts:?}",
        requests.len()
    );
    assert!(share <= ASKED_MAX, "{share}: {counts:?}");
    // The cache is the only viewer that the server has seen.
    let metrics = show.server.metrics();
    let listeners = metrics.sum("carillon_listeners", &["protocol=\"hls\""]);
    assert!((1.0..=2.0).contains(&listeners), "{listeners} viewers");
}

/// A cache stores separate playlists for clients that accept different codings, and sends each client one that it can read.
#[test]
fn codings_share_nothing_but_the_address() {
    let show = Show::start();
    let ask = |accepted: &str| {
        let addr = show.cache.addr();
        let head = format!(
            "GET {} HTTP/1.1\r\nHost: {addr}\r\nAccept-Encoding: {accepted}\r\nConnection: close\r\n\r\n",
            show.playlist
        );
        http::request(addr, head.as_bytes(), DEADLINE)
    };
    let codings = ACCEPTED.map(|accepted| {
        let answer = ask(accepted);
        assert_eq!(answer.status, 200, "{accepted}");
        answer.header("content-encoding").map(str::to_owned)
    });
    assert_eq!(
        codings,
        [Some("br".to_owned()), Some("br".to_owned()), None]
    );
    let mut requests = Vec::new();
    // The cache logs a request after its reply.
    wait_until("all requests to be written down", || {
        requests = show.cache.requests();
        requests.len() == ACCEPTED.len()
    });
    let asked = requests.iter().filter(|request| request.is_asked).count();
    assert_eq!(asked, ACCEPTED.len(), "{requests:?}");
}
