//! Audio and video, 1.1 Mb/s of real media.

use testkit::Clip;

use crate::audience::{ListenPlan, Report};
use crate::bench::Bench;
use crate::contest::{Contest, Peer, Turn, Way};
use crate::figure::{Target, Unit};

const LISTENERS: u64 = 1_500;
/// Joins per second.
const RAMP: u64 = 500;
/// Seconds of the clip, as long as a turn.
const CLIP_SECONDS: u32 = 60;
const MEMORY_MAX: f64 = 60.0 * (1 << 20) as f64;
/// Settings with the default of SRS.
const LONGER_WAIT: &[(&str, &str, &str)] = &[("fanout.video", "max_wait", "\"350ms\"")];

pub(crate) fn rtmp(bench: &mut Bench) {
    compete(bench, Way::Rtmp, &[], Some(Peer::Nginx));
}

pub(crate) fn flv(bench: &mut Bench) {
    compete(bench, Way::Flv, &[], None);
}

pub(crate) fn rtmp_350(bench: &mut Bench) {
    compete(bench, Way::Rtmp, LONGER_WAIT, None);
}

pub(crate) fn flv_350(bench: &mut Bench) {
    compete(bench, Way::Flv, LONGER_WAIT, None);
}

/// Measures listeners by WebSocket, compared with as many over HTTP. Their cost is reported without a promise: each listener is
/// a task of its own.
pub(crate) fn websocket(bench: &mut Bench) {
    let clip = Clip::FlvMegabit.seconds(CLIP_SECONDS);
    let contest = |way| Contest {
        way,
        media: vec!["--file".to_owned(), clip.display().to_string()],
        plans: vec![ListenPlan::new(LISTENERS, RAMP, bench.window())],
        settings: &[],
        with_floor: false,
        peer: None,
        tls: None,
    };
    let (messages, plain) = (contest(Way::FlvMessages), contest(Way::Flv));
    let [messages, plain] = messages.run_beside(&plain, bench);
    messages.judge_cpu_beside(bench, "over HTTP", &plain, None);
    messages.judge_losses(bench);
    let each = |turn: &Turn| turn.worst(Report::resident_each);
    messages.judge(bench, "memory per listener", Unit::Bytes, each, None);
    plain.judge(
        bench,
        "memory per listener over HTTP",
        Unit::Bytes,
        each,
        None,
    );
}

fn compete(
    bench: &mut Bench,
    way: Way,
    settings: &'static [(&str, &str, &str)],
    peer: Option<Peer>,
) {
    let clip = Clip::FlvMegabit.seconds(CLIP_SECONDS);
    let contest = Contest {
        way,
        media: vec!["--file".to_owned(), clip.display().to_string()],
        plans: vec![ListenPlan::new(LISTENERS, RAMP, bench.window())],
        settings,
        with_floor: true,
        peer: peer.map(|peer| (peer, 4)),
        tls: None,
    };
    let rounds = contest.run(bench);
    rounds.judge_cpu(bench, Some(1.3), Some(0.35));
    rounds.judge_losses(bench);
    let memory = |turn: &Turn| turn.worst(Report::resident);
    let target = Some(Target::AtMost(MEMORY_MAX));
    rounds.judge(bench, "resident memory", Unit::Bytes, memory, target);
}
