//! Five thousand listeners that join within a second, on a server that already has five thousand.

use std::time::Duration;

use crate::audience::ListenPlan;
use crate::bench::Bench;
use crate::contest::{Way, serve};
use crate::figure::{Target, Unit};
use crate::source;

const PRESENT: u64 = 5_000;
const COMING: u64 = 5_000;
/// Joins per second of the listeners that are there before.
const PRESENT_RAMP: u64 = 1_000;
/// Default of `fanout.audio.max_wait`, in seconds: the longest that a listener waits for a message.
const WINDOW: f64 = 0.4;
/// Seconds that a listener may wait in addition.
const GAP_SPARE: f64 = 0.1;

pub(crate) fn storm(bench: &mut Bench) {
    let way = Way::Mount("radio.mp3");
    let (mut joins, mut gaps, mut lost) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..bench.rounds() {
        let server = serve(bench, &[]);
        let _publisher = source::publish(&way.source_url(&server), &super::mp3_media());
        source::wait_for_publisher(&server);
        let (url, pids) = (way.url(&server), [server.pid()]);
        let joiners = ListenPlan::new(COMING, COMING, Duration::from_secs(3)).settle(1);
        // The window of the present listeners includes the whole storm.
        let storm_time = joiners.before_window() + joiners.window;
        let present = ListenPlan::new(PRESENT, PRESENT_RAMP, storm_time + Duration::from_secs(2));
        let listening = present.start(&url, &pids);
        std::thread::sleep(present.before_window());
        let joiners = joiners.start(&url, &pids).finish();
        let present = listening.finish();
        bench.note(round, "present", &[&present]);
        bench.note(round, "coming", &[&joiners]);
        joins.push(joiners.join_p99());
        gaps.push(present.window_gap("max"));
        lost.push(present.missing() + joiners.missing());
    }
    let target = Some(Target::AtMost(0.5));
    bench.figure("join p99", Unit::Seconds, joins, None, target);
    let target = Some(Target::AtMost(WINDOW + GAP_SPARE));
    bench.figure(
        "longest gap of those present",
        Unit::Seconds,
        gaps,
        None,
        target,
    );
    bench.losses(lost);
}
