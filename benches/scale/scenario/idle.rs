//! Ten thousand listeners wait while nothing is to be sent.

use std::time::Duration;

use testkit::Signal;

use crate::audience::ListenPlan;
use crate::bench::Bench;
use crate::contest::{Way, serve};
use crate::figure::{Target, Unit};
use crate::source;

const LISTENERS: u64 = 10_000;
const RAMP: u64 = 2_500;
/// Settings that let the publisher stay although it is silent for longer than the default allows.
const PATIENT: &[(&str, &str, &str)] = &[("ingest", "source_timeout", "\"10m\"")];

pub(crate) fn idle(bench: &mut Bench) {
    let way = Way::Mount("radio.mp3");
    let (mut cpu, mut lost) = (Vec::new(), Vec::new());
    for round in 0..bench.rounds() {
        let server = serve(bench, PATIENT);
        let publisher = source::publish(&way.source_url(&server), &super::mp3_media());
        source::wait_for_publisher(&server);
        let plan = ListenPlan::new(LISTENERS, RAMP, bench.window());
        let listening = plan.start(&way.url(&server), &[server.pid()]);
        // All listeners have joined, and media in flight at that time has arrived before the window.
        std::thread::sleep(plan.before_window() - Duration::from_secs(3));
        publisher.signal(Signal::STOP);
        let report = listening.finish();
        bench.note(round, "carillon", &[&report]);
        cpu.push(report.cpu());
        lost.push(report.missing());
    }
    bench.figure("CPU", Unit::Core, cpu, None, Some(Target::AtMost(0.01)));
    bench.losses(lost);
}
