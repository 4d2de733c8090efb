//! The gain from a second worker.
//!
//! The audience shares the two processors with the server, so two busy workers do not have two processors to themselves. The
//! judged figure is therefore how much a worker sends per second of processor time, alone and alongside another: with a
//! processor for each of the two, the throughput would grow by twice that ratio. Measured sends per second are shown, too.

use serde_json::json;

use crate::audience::ListenPlan;
use crate::bench::Bench;
use crate::contest::{Way, attend, serve};
use crate::figure::{Against, Target, Unit};
use crate::source;

/// Number of listeners: at one send per frame, some 330,000 sends per second, more than one worker can do.
const LISTENERS: u64 = 8_000;
const RAMP: u64 = 2_000;

/// Settings that send each frame by itself, at any cost.
const EACH_FRAME: [(&str, &str, &str); 2] = [
    ("fanout.audio", "max_samples", "1"),
    ("fanout", "target_utilisation", "0.9"),
];

/// Results with one number of workers.
#[derive(Default)]
struct Work {
    sends_per_second: Vec<f64>,
    sends_per_cpu_second: Vec<f64>,
}

pub(crate) fn workers(bench: &mut Bench) {
    let [mut one, mut two] = [Work::default(), Work::default()];
    for round in 0..bench.rounds() {
        for (number, work) in [("1", &mut one), ("2", &mut two)] {
            let settings = [&EACH_FRAME[..], &[("fanout", "workers", number)]].concat();
            let way = Way::Mount("radio.mp3");
            let server = serve(bench, &settings);
            let _publisher = source::publish(&way.source_url(&server), &super::mp3_media());
            source::wait_for_publisher(&server);
            let plan = ListenPlan::new(LISTENERS, RAMP, bench.window());
            let (turn, flow) = attend(&server, &[plan], &way.url(&server));
            let who = format!("workers = {number}");
            bench.note(round, &who, &turn.0.iter().collect::<Vec<_>>());
            let sends = flow.sends_per_second();
            bench.note_value(round, &who, json!({ "sends_per_second": sends }));
            work.sends_per_second.push(sends);
            work.sends_per_cpu_second.push(sends / turn.cpu());
        }
    }
    // Two processors' worth of two workers, compared with one processor's worth of one.
    let of_two = two.sends_per_cpu_second.iter().map(|sends| 2.0 * sends);
    bench.figure(
        "sends/s of 2 workers with a core each",
        Unit::Count,
        of_two.collect(),
        Some(Against::Itself("1 worker", one.sends_per_cpu_second)),
        Some(Target::AtLeast(1.8)),
    );
    bench.figure(
        "sends/s of 2 workers that share 2 cores with their audience",
        Unit::Count,
        two.sends_per_second,
        Some(Against::Itself("1 worker", one.sends_per_second)),
        None,
    );
}
