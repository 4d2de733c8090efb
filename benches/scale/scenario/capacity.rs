//! The classic capacity table: players over RTMP, by rate and number.

use std::fmt::Write;
use std::time::Duration;

use crate::audience::ListenPlan;
use crate::bench::Bench;
use crate::contest::{Way, serve};
use crate::figure::{Target, Unit};
use crate::source;

const RATES_KBPS: [u64; 6] = [22, 100, 200, 500, 700, 1_000];
const LISTENERS: [u64; 4] = [500, 1_000, 2_000, 4_000];
const RAMP: u64 = 1_000;
const WINDOW: Duration = Duration::from_secs(8);
/// Bit rate of the audio in streams with video.
const AUDIO_KBPS: u64 = 32;
/// Maximum growth of the CPU cost for eight times the listeners: a tenth is left to measurement error.
const GROWTH_MAX: f64 = 8.8;

pub(crate) fn capacity(bench: &mut Bench) {
    let mut table = String::from("| RTMP players |");
    for listeners in LISTENERS {
        write!(table, " {listeners} |").ok();
    }
    table.push_str("\n|---|---|---|---|---|\n");
    for rate in RATES_KBPS {
        write!(table, "| {rate} kb/s |").ok();
        let mut cpus = Vec::new();
        for listeners in LISTENERS {
            let server = serve(bench, &[]);
            let _publisher = source::publish(&Way::Rtmp.source_url(&server), &media(rate));
            source::wait_for_publisher(&server);
            let window = WINDOW.min(bench.window());
            let plan = ListenPlan::new(listeners, RAMP, window).settle(2);
            let url = Way::Rtmp.url(&server);
            let report = plan.start(&url, &[server.pid()]).finish();
            bench.note(0, &format!("{rate} kb/s × {listeners}"), &[&report]);
            let memory = report.resident() / f64::from(1 << 20);
            write!(table, " {:.1} %, {memory:.0} MiB", report.cpu() * 100.0).ok();
            if report.missing() > 0.0 {
                write!(table, ", {} lost", report.missing()).ok();
            }
            table.push_str(" |");
            cpus.push(report.cpu());
        }
        table.push('\n');
        let growth = cpus[cpus.len() - 1] / cpus[0];
        bench.figure(
            &format!("CPU of 4,000 in terms of 500, {rate} kb/s"),
            Unit::Count,
            vec![growth],
            None,
            Some(Target::AtMost(GROWTH_MAX)),
        );
    }
    bench.add_table(
        "CPU, of one core, and resident memory; one round of each",
        table,
    );
}

/// Returns the options for a total bit rate. The lowest rate has only audio.
fn media(rate: u64) -> Vec<String> {
    let video = rate.saturating_sub(AUDIO_KBPS);
    let audio = rate - video;
    let mut media = vec!["--audio-rate".to_owned(), format!("{audio}k")];
    if video > 0 {
        media.extend(["--video-rate".to_owned(), format!("{video}k")]);
    }
    media
}
