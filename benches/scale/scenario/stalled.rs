//! A tenth of the audience stops reading.

use crate::audience::{ListenPlan, Report};
use crate::bench::Bench;
use crate::contest::{Way, serve};
use crate::figure::{Against, Target, Unit};
use crate::source;

const LISTENERS: u64 = 1_000;
const RAMP: u64 = 500;

/// Seconds until the sockets of stalled listeners are full. Over the loopback, the sender does the receiver's work, including
/// that of compacting a full queue, and by default the time between two messages follows the cost of a turn.
const FULL_AFTER: u64 = 14;
/// Settings that fix that time, so that the effect of stalled listeners on the others shows from the beginning.
const FIXED: &[(&str, &str, &str)] = &[
    ("fanout.audio", "min_wait", "\"200ms\""),
    ("fanout.audio", "max_wait", "\"200ms\""),
];

pub(crate) fn stalled(bench: &mut Bench) {
    let plan = ListenPlan::new(LISTENERS, RAMP, bench.window());
    let late = plan.clone().settle(FULL_AFTER);
    compare(bench, "gap p99 of the others", &late, &[]);
    let what = "gap p99 of the others, window fixed at 200 ms";
    compare(bench, what, &plan, FIXED);
}

fn compare(bench: &mut Bench, what: &str, all_well: &ListenPlan, settings: &[(&str, &str, &str)]) {
    let some_ill = all_well
        .clone()
        .option("--stalled=5%")
        .option("--slow=5%:12800");
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for round in 0..bench.rounds() {
        for (who, plan, gaps) in [
            ("none held up", all_well, &mut without),
            ("50 stalled, 50 slow", &some_ill, &mut with),
        ] {
            let report = listen(bench, plan, settings);
            bench.note(round, who, &[&report]);
            gaps.push(report.waits("p99"));
        }
    }
    let without = Against::Itself("without them", without);
    let target = Some(Target::AtMost(1.05));
    bench.figure(what, Unit::Seconds, with, Some(without), target);
}

fn listen(bench: &mut Bench, plan: &ListenPlan, settings: &[(&str, &str, &str)]) -> Report {
    let way = Way::Mount("radio.mp3");
    let server = serve(bench, settings);
    let _publisher = source::publish(&way.source_url(&server), &super::mp3_media());
    source::wait_for_publisher(&server);
    plan.start(&way.url(&server), &[server.pid()]).finish()
}
