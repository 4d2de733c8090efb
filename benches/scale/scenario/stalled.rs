//! A tenth of the audience does not take what it is sent.

use crate::bench::Bench;
use crate::contest::{Way, serve};
use crate::crowd::{Crowd, Report};
use crate::figure::{Against, Target, Unit};
use crate::source;

const LISTENERS: u64 = 1_000;
const RAMP: u64 = 500;

pub(crate) fn stalled(bench: &mut Bench) {
    let all_well = Crowd::new(LISTENERS, RAMP, bench.window());
    let some_ill = all_well
        .clone()
        .option("--stalled=5%")
        .option("--slow=5%:12800");
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for round in 0..bench.rounds() {
        let report = listen(bench, round, "nobody held up", &all_well);
        without.push(report.window_gap("p99"));
        let report = listen(bench, round, "50 stalled, 50 slow", &some_ill);
        with.push(report.window_gap("p99"));
    }
    let without = Against::Itself("without them", without);
    let target = Some(Target::AtMost(1.05));
    bench.figure(
        "gap p99 of the others",
        Unit::Seconds,
        with,
        Some(without),
        target,
    );
}

fn listen(bench: &mut Bench, round: usize, how: &str, crowd: &Crowd) -> Report {
    let way = Way::Mount("radio.mp3");
    let server = serve(&[]);
    let _publisher = source::publish(&way.source_url(&server), &super::mp3_media());
    source::wait_for_publisher(&server);
    let report = crowd.start(&way.url(&server), &[server.pid()]).finish();
    bench.note(round, how, &[&report]);
    report
}
