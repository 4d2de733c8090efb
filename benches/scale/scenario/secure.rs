//! Listeners behind TLS, beside as many in the clear.

use testkit::{Certificate, Clip};

use crate::audience::{ListenPlan, Report};
use crate::bench::Bench;
use crate::contest::{Contest, Peer, Turn, Way};
use crate::figure::{Target, Unit};

const HTTPS_LISTENERS: u64 = 4_000;
const RTMPS_PLAYERS: u64 = 1_500;
/// Joins in a second, each with a handshake of its own.
const RAMP: u64 = 300;
/// Seconds in which nginx and icecast2 accept as many.
const PEER_SETTLE: u64 = 8;
/// Longer than a turn.
const CLIP_SECONDS: u32 = 60;

/// CPU beside as many listeners in the clear, beside the floor that seals likewise, and beside the peer.
const PLAIN_MAX: f64 = 1.5;
const FLOOR_MAX: f64 = 1.1;
const PEER_MAX: f64 = 0.4;
const JOIN_P99_MAX: f64 = 0.03;
const EACH_BYTES_MAX: f64 = 10.0 * 1_024.0;

const PLAIN: &str = "in the clear";

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
