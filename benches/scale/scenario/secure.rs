//! Listeners behind TLS, compared with as many in clear text, and those of HTTP/2 compared with those of HTTP/1.1.

use std::time::Duration;

use testkit::{Certificate, Clip, Process, Server, Tool, wait_until};

use crate::audience::{ListenPlan, Report};
use crate::bench::Bench;
use crate::contest::{Contest, OURS, Peer, Turn, Way};
use crate::figure::{Against, Target, Unit};
use crate::source;

const HTTPS_LISTENERS: u64 = 4_000;
const RTMPS_PLAYERS: u64 = 1_500;
const HTTP2_LISTENERS: u64 = 1_000;
/// Time limit for all listeners to be there.
const HTTP2_DEADLINE: Duration = Duration::from_secs(60);
/// Joins per second, each with a handshake of its own.
const RAMP: u64 = 300;
/// Seconds in which nginx and icecast2 accept as many.
const PEER_SETTLE: u64 = 8;
/// Seconds of the clip, longer than a turn.
const CLIP_SECONDS: u32 = 60;

/// Maximum CPU cost compared with as many listeners in clear text, with the floor that also seals, and with the peer.
const PLAIN_MAX: f64 = 1.5;
const FLOOR_MAX: f64 = 1.1;
const PEER_MAX: f64 = 0.4;
const JOIN_P99_MAX: f64 = 0.03;
const EACH_BYTES_MAX: f64 = 10.0 * 1_024.0;

const PLAIN: &str = "in the clear";
const HTTP1: &str = "over HTTP/1.1";

pub(crate) fn https(bench: &mut Bench) {
    let peer = Some((Peer::NginxBeforeIcecast, PEER_SETTLE));
    let mount = Way::Mount("radio.mp3");
    compete(bench, mount, super::mp3_media(), HTTPS_LISTENERS, peer);
}

pub(crate) fn rtmps(bench: &mut Bench) {
    let clip = Clip::FlvMegabit.seconds(CLIP_SECONDS);
    let media = vec!["--file".to_owned(), clip.display().to_string()];
    compete(bench, Way::Rtmp, media, RTMPS_PLAYERS, None);
}

/// Measures the cost of listeners over HTTP/2, whose bodies are written by tasks: their connection is not the worker's alone.
/// Both audiences are h2load's.
pub(crate) fn http2(bench: &mut Bench) {
    let [mut http2, mut http1] = [const { Vec::new() }; 2];
    for round in 0..bench.rounds() {
        http2.push(heard_by_h2load(bench, round, OURS, &[]));
        http1.push(heard_by_h2load(bench, round, HTTP1, &["--h1"]));
    }
    let each = |turns: &[Report], of: fn(&Report) -> f64| turns.iter().map(of).collect();
    for (what, unit, of) in [
        ("CPU", Unit::Core, Report::cpu as fn(&Report) -> f64),
        ("resident memory", Unit::Bytes, Report::resident),
    ] {
        let against = Some(Against::Itself(HTTP1, each(&http1, of)));
        bench.figure(what, unit, each(&http2, of), against, None);
    }
}

/// Returns the server's cost while h2load listens; the report is that of one additional listener.
fn heard_by_h2load(bench: &mut Bench, round: usize, who: &str, options: &[&str]) -> Report {
    let server = Certificate::make()
        .serve_at(&["http"], Server::builder().release())
        .start();
    bench.learn_backend(&server);
    let mount = Way::Mount("radio.mp3");
    let _publisher = source::publish(&mount.source_url(&server), &super::mp3_media());
    source::wait_for_publisher(&server);
    let url = format!("https://{}/radio.mp3", server.addr("https"));
    let count = HTTP2_LISTENERS.to_string();
    let _crowd: Process = Tool::new("h2load")
        .args(["-c", &count, "-n", &count, "-m", "1"])
        .args(options)
        .arg(&url)
        .start();
    wait_until("h2load's listeners", HTTP2_DEADLINE, || {
        server.metrics().sum("carillon_listeners", &[]) >= HTTP2_LISTENERS as f64
    });
    let plan = ListenPlan::new(1, 1, bench.window());
    let report = plan.start(&url, &[server.pid()]).finish();
    bench.note(round, who, &[&report]);
    let left = server.metrics().sum("carillon_listeners", &[]);
    assert!(
        left >= HTTP2_LISTENERS as f64,
        "{left} are left of h2load's listeners"
    );
    report
}

fn compete(
    bench: &mut Bench,
    way: Way,
    media: Vec<String>,
    listeners: u64,
    peer: Option<(Peer, u64)>,
) {
    let contest = |tls: Option<Certificate>| Contest {
        way,
        media: media.clone(),
        plans: vec![ListenPlan::new(listeners, RAMP, bench.window())],
        settings: &[],
        with_floor: tls.is_some(),
        peer: peer.filter(|_| tls.is_some()),
        tls,
    };
    let (secure, plain) = (contest(Some(Certificate::make())), contest(None));
    let [secure, plain] = secure.run_beside(&plain, bench);
    secure.judge_cpu_beside(bench, PLAIN, &plain, Some(PLAIN_MAX));
    secure.judge_cpu(bench, Some(FLOOR_MAX), peer.map(|_| PEER_MAX));
    secure.judge_losses(bench);
    let join = |turn: &Turn| turn.worst(Report::join_p99);
    let target = Some(Target::AtMost(JOIN_P99_MAX));
    secure.judge(bench, "join p99 at 300/s", Unit::Seconds, join, target);
    let each = |turn: &Turn| turn.worst(Report::resident_each);
    let target = Some(Target::AtMost(EACH_BYTES_MAX));
    secure.judge(bench, "memory per listener", Unit::Bytes, each, target);
    plain.judge(
        bench,
        "memory per listener in the clear",
        Unit::Bytes,
        each,
        None,
    );
}
