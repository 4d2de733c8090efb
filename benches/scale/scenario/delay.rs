//! How old a frame is when it arrives, for a few listeners.

use crate::audience::ListenPlan;
use crate::bench::Bench;
use crate::contest::{Way, serve};
use crate::figure::{Target, Unit};
use crate::source;

const LISTENERS: u64 = 10;
/// Seconds.
const DELAY_MAX: f64 = 0.005;

pub(crate) fn delay(bench: &mut Bench) {
    let show = ["--audio-rate", "96k", "--video-rate", "1000k"].map(str::to_owned);
    for (what, way, media) in [
        (
            "delay p99, MP3 over HTTP",
            Way::Mount("radio.mp3"),
            super::mp3_media(),
        ),
        ("delay p99, A/V over RTMP", Way::Rtmp, show.into()),
    ] {
        let mut delays = Vec::new();
        for round in 0..bench.rounds() {
            let server = serve(bench, &[]);
            let _publisher = source::publish(&way.source_url(&server), &media);
            source::wait_for_publisher(&server);
            let plan = ListenPlan::new(LISTENERS, LISTENERS, bench.window()).option("--check=10");
            let report = plan.start(&way.url(&server), &[server.pid()]).finish();
            bench.note(round, what, &[&report]);
            delays.push(report.number("/delay/p99") / 1e3);
        }
        let target = Some(Target::AtMost(DELAY_MAX));
        bench.figure(what, Unit::Seconds, delays, None, target);
    }
}
