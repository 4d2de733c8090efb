//! Audio over HTTP.

use std::time::Duration;

use crate::audience::{ListenPlan, Report};
use crate::bench::Bench;
use crate::contest::{Contest, Peer, Rounds, Turn, Way};
use crate::figure::{Target, Unit};
use crate::source;

const OGG_LISTENERS: u64 = 14_000;
const MP3_LISTENERS: u64 = 5_000;
/// Joins per second.
const OGG_RAMP: u64 = 3_000;
const MP3_RAMP: u64 = 1_000;
const MANY_RAMP: u64 = 4_000;
/// Seconds after which icecast2 has accepted nearly as many listeners as our server has by the end of the ramp.
const ICECAST_SETTLE: u64 = 25;
/// Window and rounds for many listeners: they are measured for longer, and therefore at most this often.
const MANY_WINDOW: Duration = Duration::from_secs(60);
const MANY_ROUNDS: usize = 3;
/// Seconds that a listener may wait in addition.
const MANY_GAP_SPARE: f64 = 0.5;
/// Seconds between two pages of the recording, and the default of `fanout.audio.max_wait`: the time between two messages to a
/// listener is at least the former, and at most both together.
const PAGE_SECONDS: f64 = 1.0;
const WINDOW_SECONDS: f64 = 0.4;

pub(crate) fn ogg(bench: &mut Bench) {
    let rounds = ogg_contest(bench, true).run(bench);
    rounds.judge_cpu(bench, Some(1.25), Some(0.5));
    rounds.judge_losses(bench);
    let join = Some(Target::AtMost(0.2));
    rounds.judge(bench, "join p99 at 3,000/s", Unit::Seconds, join_p99, join);
    judge_memory(bench, &rounds);
}

pub(crate) fn memory(bench: &mut Bench) {
    let rounds = ogg_contest(bench, false).run(bench);
    judge_memory(bench, &rounds);
}

fn ogg_contest(bench: &Bench, with_others: bool) -> Contest {
    Contest {
        way: Way::Mount("radio.ogg"),
        media: ogg_media(),
        plans: vec![ListenPlan::new(OGG_LISTENERS, OGG_RAMP, bench.window())],
        settings: &[],
        with_floor: with_others,
        peer: with_others.then_some((Peer::Icecast, ICECAST_SETTLE)),
        tls: None,
    }
}

fn ogg_media() -> Vec<String> {
    vec!["--file".to_owned(), source::ogg_12k().display().to_string()]
}

fn join_p99(turn: &Turn) -> f64 {
    turn.worst(Report::join_p99)
}

fn judge_memory(bench: &mut Bench, rounds: &Rounds) {
    let each = |turn: &Turn| turn.worst(Report::resident_each);
    let target = Some(Target::AtMost(1_024.0));
    rounds.judge(bench, "memory per listener", Unit::Bytes, each, target);
}

pub(crate) fn mp3(bench: &mut Bench) {
    let half = ListenPlan::new(MP3_LISTENERS / 2, MP3_RAMP / 2, bench.window());
    let contest = Contest {
        way: Way::Mount("radio.mp3"),
        media: super::mp3_media(),
        plans: vec![half.clone(), half.option("--icy")],
        settings: &[],
        with_floor: true,
        peer: Some((Peer::Icecast, 12)),
        tls: None,
    };
    let rounds = contest.run(bench);
    rounds.judge_cpu(bench, Some(1.25), Some(0.33));
    rounds.judge_losses(bench);
}

pub(crate) fn many_56k(bench: &mut Bench) {
    many(bench, 56_000);
}

pub(crate) fn many_100k(bench: &mut Bench) {
    many(bench, 100_000);
}

fn many(bench: &mut Bench, listeners: u64) {
    let window = if bench.is_short() {
        bench.window()
    } else {
        MANY_WINDOW
    };
    let contest = Contest {
        way: Way::Mount("radio.ogg"),
        media: ogg_media(),
        plans: vec![ListenPlan::new(listeners, MANY_RAMP, window)],
        settings: &[],
        with_floor: false,
        peer: None,
        tls: None,
    };
    let rounds = contest.run_rounds(bench, bench.rounds().min(MANY_ROUNDS));
    rounds.judge_losses(bench);
    let gap = |turn: &Turn| turn.worst(|report| report.window_gap("max"));
    let target = Some(Target::NeverAbove(
        PAGE_SECONDS + WINDOW_SECONDS + MANY_GAP_SPARE,
    ));
    rounds.judge(bench, "longest gap", Unit::Seconds, gap, target);
    let join = Some(Target::AtMost(1.0));
    rounds.judge(bench, "join p99 at 4,000/s", Unit::Seconds, join_p99, join);
    rounds.judge(bench, "CPU", Unit::Core, Turn::cpu, None);
    let memory = |turn: &Turn| turn.worst(Report::resident);
    rounds.judge(bench, "resident memory", Unit::Bytes, memory, None);
    let each = |turn: &Turn| turn.worst(Report::resident_each);
    rounds.judge(bench, "memory per listener", Unit::Bytes, each, None);
}
