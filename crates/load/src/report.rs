//! The result of a load, for people and for programs.

use std::fmt::Write;

use serde::Serialize;

use crate::histogram::Histogram;
use crate::hls::record::Record;
use crate::hls::report::Hls;
use crate::ledger::FrameCounts;
use crate::rtc::packets::Packets;
use crate::tally::{Members, Reasons, Tally};
use crate::watch::Usage;

/// Share of a core above which a process of ours is late, and its observations are not caused by the server alone.
const CPU_FULL: f64 = 0.85;
/// Loop lateness in nanoseconds above which every figure below a second is inaccurate.
const LAG_LONG: u64 = 50_000_000;
/// Share of idle time below which all processes on the machine wait for a processor.
const IDLE_LOW: f64 = 0.03;

/// A load, in numbers. Times are in milliseconds, rates in bits per second, shares from 0 to 1.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    #[serde(flatten)]
    pub(crate) frame: Frame,
    #[serde(flatten)]
    pub(crate) members: Members,
    /// Members that never joined, by reason.
    pub(crate) failed: Reasons,
    /// Members that joined and were lost, by reason.
    pub(crate) lost: Reasons,
    /// Bytes of media, received or sent.
    pub(crate) bytes: u64,
    /// The measured part of the load.
    pub(crate) window: Window,
    /// Rates per listener, over the window.
    pub(crate) rate: Rates,
    /// Time from the connect to the first media, or to the permission to publish.
    pub(crate) join: Times,
    /// Longest wait of each listener that reads, from its first media on.
    pub(crate) gap: Times,
    /// Longest waits that overlapped the measuring window, in the same unit.
    pub(crate) window_gap: Times,
    /// Over WebRTC: the longest wait of each viewer for the next video packet, among the waits that overlapped the window.
    #[serde(skip_serializing_if = "Times::is_empty")]
    pub(crate) picture_gap: Times,
    /// Every wait between two receipts that ended in the window, of all listeners together.
    pub(crate) waits: Times,
    /// Time from the request, over WebRTC from the end of the handshake, to the first video frame, for the listeners whose
    /// frames are checked.
    #[serde(skip_serializing_if = "Times::is_empty")]
    pub(crate) first_picture: Times,
    /// Time from the stamp in a synthetic frame to its receipt.
    pub(crate) delay: Times,
    /// Delay with which publishers sent their frames: their own lateness, not the server's.
    pub(crate) lateness: Times,
    /// Frames that publishers sent.
    pub(crate) frames_sent: u64,
    /// The findings on the listeners whose frames are checked.
    pub(crate) integrity: Integrity,
    /// Packet counts, over WebRTC only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) packets: Option<Packets>,
    /// HLS figures, over HLS only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hls: Option<Hls>,
    /// Measurements of this program itself.
    pub(crate) generator: Generator,
    /// Resource usage of the server, if its processes were named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) server: Option<Usage>,
}

/// Conditions on which every figure depends.
#[derive(Debug, Serialize)]
pub(crate) struct Machine {
    /// Kernel release.
    pub(crate) kernel: String,
    /// Default congestion control of TCP.
    pub(crate) congestion_control: String,
    /// Number of processors.
    pub(crate) cpus: usize,
    /// Share of all processors' time that was idle during the window; `None` without a window, because all members failed.
    pub(crate) idle: Option<f64>,
    /// Number of datagrams dropped in the window because a receive buffer was full.
    pub(crate) overflows: u64,
}

/// The measured part of a load.
#[derive(Debug, Serialize)]
pub(crate) struct Window {
    /// Length of the window in seconds.
    pub(crate) seconds: f64,
    /// Bytes of media in the window.
    pub(crate) bytes: u64,
}

/// Rates of listeners.
#[derive(Debug, Serialize)]
pub(crate) struct Rates {
    /// Number of listeners counted.
    pub(crate) count: u64,
    /// Rate of the slowest percent.
    pub(crate) p1: u64,
    /// Median rate.
    pub(crate) p50: u64,
    /// Rate of the fastest percent.
    pub(crate) p99: u64,
}

/// A distribution of times.
#[derive(Debug, Serialize)]
pub(crate) struct Times {
    /// Number of values.
    pub(crate) count: u64,
    /// Median.
    pub(crate) p50: f64,
    /// Time of the longest percent.
    pub(crate) p99: f64,
    /// Maximum.
    pub(crate) max: f64,
}

/// Findings of the frame-by-frame checks.
#[derive(Debug, Serialize)]
pub(crate) struct Integrity {
    /// Number of listeners whose frames were checked.
    pub(crate) checked: u64,
    #[serde(flatten)]
    pub(crate) counts: FrameCounts,
}

/// The program's measurements of itself.
#[derive(Debug, Serialize)]
pub(crate) struct Generator {
    /// Processor use of each process, as a share of one core over the window.
    pub(crate) cpu: Vec<f64>,
    /// Duration of a round of a process's loop.
    pub(crate) loop_lag: Times,
    /// Number of descriptors that a process may have.
    pub(crate) descriptor_limit: u64,
    /// Reasons why the figures may be this program's and not the server's; empty if there are none.
    pub(crate) bottlenecks: Vec<String>,
}

/// Identification of the load and its machine.
#[derive(Debug, Serialize)]
pub(crate) struct Frame {
    /// `listen` or `publish`.
    pub(crate) command: &'static str,
    /// Address, without secrets.
    pub(crate) url: String,
    /// Machine on which the load ran.
    pub(crate) machine: Machine,
    /// Number of listeners or publishers requested.
    pub(crate) requested: u64,
}

impl Report {
    /// Creates the report of a window that lasted `seconds`.
    pub(crate) fn new(frame: Frame, seconds: f64, server: Option<Usage>, tally: &Tally) -> Self {
        let findings = &tally.findings;
        Self {
            generator: Generator::new(&frame.machine, tally),
            frame,
            members: tally.members,
            failed: tally.failed.clone(),
            lost: tally.lost.clone(),
            bytes: tally.bytes,
            window: Window {
                seconds,
                bytes: tally.window_bytes,
            },
            rate: Rates {
                count: tally.rate.count(),
                p1: tally.rate.percentile(1.0),
                p50: tally.rate.percentile(50.0),
                p99: tally.rate.percentile(99.0),
            },
            join: Times::of(&tally.join),
            gap: Times::of(&tally.gap),
            window_gap: Times::of(&tally.window_gap),
            picture_gap: Times::of(&tally.picture_gap),
            waits: Times::of(&tally.waits),
            first_picture: Times::of(&findings.first_picture),
            delay: Times::of(&findings.delay),
            lateness: Times::of(&tally.lateness),
            frames_sent: tally.frames_sent,
            integrity: Integrity {
                checked: tally.checked,
                counts: findings.counts,
            },
            packets: (tally.packets != Packets::default()).then(|| tally.packets.clone()),
            hls: (tally.hls != Record::default()).then(|| Hls::of(&tally.hls)),
            server,
        }
    }

    /// Renders the report for people.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a String does not fail.
        self.write(&mut text).ok();
        text
    }

    fn write(&self, out: &mut String) -> std::fmt::Result {
        let frame = &self.frame;
        let Machine {
            kernel,
            congestion_control,
            cpus,
            idle,
            overflows: _,
        } = &frame.machine;
        writeln!(out, "{} {}", frame.command, frame.url)?;
        write!(out, "machine    {cpus} processors")?;
        if let Some(idle) = idle {
            write!(out, ", {:.0} % idle", idle * 100.0)?;
        }
        writeln!(out, "; Linux {kernel}, {congestion_control}")?;
        write!(
            out,
            "members    {} requested, {} joined, {} alive",
            frame.requested, self.members.joined, self.members.alive
        )?;
        write_counts(
            out,
            &[
                (self.members.stalled, "stalled"),
                (self.members.slow, "slow"),
                (self.members.churned, "churned"),
            ],
        )?;
        writeln!(out)?;
        write_reasons(out, "failed", &self.failed)?;
        write_reasons(out, "lost", &self.lost)?;
        let Window { seconds, bytes } = self.window;
        let rate = bytes as f64 * 8.0 / seconds / 1e6;
        writeln!(
            out,
            "window     {seconds:.1} s, {:.1} MB, {rate:.2} Mb/s",
            bytes as f64 / 1e6
        )?;
        if self.rate.count > 0 {
            let Rates { p1, p50, p99, .. } = self.rate;
            let [p1, p50, p99] = [p1, p50, p99].map(|bits| bits as f64 / 1e3);
            writeln!(
                out,
                "rate       p1 {p1:.1}  p50 {p50:.1}  p99 {p99:.1} kb/s per listener"
            )?;
        }
        write_times(
            out,
            &[
                ("join", &self.join),
                ("gap", &self.gap),
                ("in window", &self.window_gap),
                ("pictures", &self.picture_gap),
                ("waits", &self.waits),
                ("picture", &self.first_picture),
                ("delay", &self.delay),
                ("lateness", &self.lateness),
            ],
        )?;
        if self.integrity.checked > 0 {
            self.integrity.write(out)?;
        }
        if let Some(packets) = &self.packets {
            write_packets(packets, out)?;
        }
        if let Some(hls) = &self.hls {
            hls.write(out)?;
        }
        if let Some(server) = &self.server {
            write_usage(server, out)?;
        }
        let cpu: Vec<String> = self
            .generator
            .cpu
            .iter()
            .map(|cpu| format!("{:.1} %", cpu * 100.0))
            .collect();
        writeln!(
            out,
            "generator  CPU {}; loop {}",
            cpu.join(", "),
            self.generator.loop_lag.text()
        )?;
        for reason in &self.generator.bottlenecks {
            writeln!(out, "BOTTLENECK {reason}")?;
        }
        Ok(())
    }
}

impl Times {
    const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Converts a histogram of nanoseconds.
    pub(crate) fn of(histogram: &Histogram) -> Self {
        let millis = |nanoseconds: u64| nanoseconds as f64 / 1e6;
        Self {
            count: histogram.count(),
            p50: millis(histogram.percentile(50.0)),
            p99: millis(histogram.percentile(99.0)),
            max: millis(histogram.max()),
        }
    }

    pub(crate) fn text(&self) -> String {
        let Self { p50, p99, max, .. } = self;
        format!("p50 {p50:.1}  p99 {p99:.1}  max {max:.1} ms")
    }
}

impl Integrity {
    fn write(&self, out: &mut String) -> std::fmt::Result {
        let checked = self.checked;
        let FrameCounts {
            frames,
            holes,
            missing,
            missing_after_past,
            repeated,
            damaged,
            unstamped,
            restarts,
        } = self.counts;
        write!(
            out,
            "integrity  {checked} listeners checked: {frames} frames, {holes} holes ({missing} missing), \
             {repeated} repeated, {damaged} damaged"
        )?;
        write_counts(
            out,
            &[
                (missing_after_past, "missing after the past"),
                (restarts, "restarts"),
                (unstamped, "without a stamp"),
            ],
        )?;
        writeln!(out)
    }
}

impl Generator {
    fn new(machine: &Machine, tally: &Tally) -> Self {
        let mut lag = Histogram::default();
        tally.generators.iter().for_each(|one| lag.merge(&one.lag));
        let cpu: Vec<f64> = tally.generators.iter().map(|one| one.cpu).collect();
        let limits = tally.generators.iter().map(|one| one.descriptor_limit);
        let mut bottlenecks = Vec::new();
        let full = cpu.iter().filter(|cpu| **cpu > CPU_FULL).count();
        if full > 0 {
            bottlenecks.push(format!(
                "{full} of our processes have no processor time to spare: more --processes"
            ));
        }
        let late = lag.percentile(99.0);
        if late > LAG_LONG {
            let millis = late / 1_000_000;
            bottlenecks.push(format!(
                "our own loop is late by {millis} ms (p99): more --processes"
            ));
        }
        let late = tally.lateness.percentile(99.0);
        if late > LAG_LONG {
            let millis = late / 1_000_000;
            bottlenecks.push(format!(
                "our frames are sent {millis} ms late (p99): more --processes"
            ));
        }
        if machine.idle.is_some_and(|idle| idle < IDLE_LOW) {
            bottlenecks.push(
                "the machine's processors are never idle: all processes wait for them".to_owned(),
            );
        }
        if machine.overflows > 0 {
            let count = machine.overflows;
            bottlenecks.push(format!(
                "{count} datagrams found the buffer of their receiver full, ours or the server's: \
                 net.core.rmem_max"
            ));
        }
        for (sign, advice) in [
            (
                "os error 24",
                "descriptors ran out: more --processes, or a higher `ulimit -n`",
            ),
            (
                "os error 99",
                "ports ran out: fewer connections to an address that is not on the loopback",
            ),
            (
                "os error 12",
                "the kernel has no memory for sockets: net.ipv4.tcp_mem",
            ),
        ] {
            let mut reasons = tally.failed.iter().chain(tally.hls.refused.iter());
            if reasons.any(|(reason, _)| reason.contains(sign)) {
                bottlenecks.push(advice.to_owned());
            }
        }
        Self {
            cpu,
            loop_lag: Times::of(&lag),
            descriptor_limit: limits.min().unwrap_or(0),
            bottlenecks,
        }
    }
}

fn write_packets(packets: &Packets, out: &mut String) -> std::fmt::Result {
    let Packets {
        received,
        repeated,
        gaps,
        lost,
        late,
        refused,
        nacked,
        keyframes_asked,
        frames,
        frames_dropped,
        ..
    } = packets;
    write!(
        out,
        "packets    {received} received, {gaps} gaps ({lost} lost), {late} late"
    )?;
    write_counts(
        out,
        &[
            (*repeated, "repeated"),
            (*refused, "not authentic"),
            (*nacked, "asked for again"),
            (*keyframes_asked, "keyframes asked for"),
        ],
    )?;
    if frames + frames_dropped > 0 {
        write!(out, "; {frames} frames whole, {frames_dropped} dropped")?;
    }
    writeln!(out)
}

fn write_usage(usage: &Usage, out: &mut String) -> std::fmt::Result {
    let Usage {
        cpu,
        cpu_user,
        cpu_system,
        threads,
        resident_bytes_before,
        resident_bytes,
        wakeups_per_second,
    } = usage;
    let percent = |share: &f64| share * 100.0;
    let mebibytes = |bytes: &u64| *bytes as f64 / f64::from(1 << 20);
    writeln!(
        out,
        "server     CPU {:.1} % (user {:.1}, system {:.1}), {threads} threads, {:.1} MiB (before: {:.1}), \
         {wakeups_per_second:.0} wake-ups/s",
        percent(cpu),
        percent(cpu_user),
        percent(cpu_system),
        mebibytes(resident_bytes),
        mebibytes(resident_bytes_before)
    )
}

/// Appends the counts that are not zero.
pub(crate) fn write_counts(out: &mut String, counts: &[(u64, &str)]) -> std::fmt::Result {
    let mut counts = counts.iter().filter(|(count, _)| *count > 0);
    counts.try_for_each(|(count, words)| write!(out, ", {count} {words}"))
}

/// Writes a line for each reason.
pub(crate) fn write_reasons(out: &mut String, word: &str, reasons: &Reasons) -> std::fmt::Result {
    let mut reasons = reasons.iter();
    reasons.try_for_each(|(reason, count)| writeln!(out, "{word:<10} {count}: {reason}"))
}

/// Writes a line for each distribution that has values.
pub(crate) fn write_times(out: &mut String, rows: &[(&str, &Times)]) -> std::fmt::Result {
    let mut rows = rows.iter().filter(|(_, times)| !times.is_empty());
    rows.try_for_each(|(word, times)| writeln!(out, "{word:<10} {}", times.text()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(tally: &Tally, idle: f64) -> Report {
        let machine = Machine {
            kernel: "6.1".to_owned(),
            congestion_control: "cubic".to_owned(),
            cpus: 2,
            idle: Some(idle),
            overflows: 0,
        };
        let frame = Frame {
            command: "listen",
            url: "http://127.0.0.1/x".to_owned(),
            machine,
            requested: 3,
        };
        Report::new(frame, 10.0, Some(Usage::default()), tally)
    }

    #[test]
    fn a_bottleneck_of_our_own_is_reported() {
        let mut tally = Tally::default();
        assert!(report(&tally, 0.5).generator.bottlenecks.is_empty());
        tally.generators.push(crate::tally::Generator {
            cpu: 0.99,
            ..Default::default()
        });
        tally.generators[0].lag.record(LAG_LONG * 2);
        tally
            .failed
            .count(&"no connection: Too many open files (os error 24)");
        let report = report(&tally, 0.0);
        let bottlenecks = &report.generator.bottlenecks;
        assert_eq!(bottlenecks.len(), 4, "{bottlenecks:?}");
        assert_eq!(report.text().matches("BOTTLENECK").count(), 4);
    }

    #[test]
    fn the_text_has_every_part_that_happened() {
        let mut tally = Tally {
            checked: 1,
            ..Tally::default()
        };
        tally.members.joined = 3;
        tally.join.record(5_000_000);
        tally.rate.record(128_000);
        tally.lost.count(&"reset by the server");
        let text = report(&tally, 0.5).text();
        for part in [
            "3 requested",
            "1: reset by the server",
            "p50 128.0",
            "join       p50 5.0",
            "integrity",
            "server",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn programs_find_every_field_where_it_was() {
        let mut tally = Tally::default();
        tally.hls.counts.parts = 1;
        tally.packets.received = 1;
        tally.picture_gap.record(1);
        tally.findings.first_picture.record(1);
        let report = serde_json::to_value(report(&tally, 0.5)).expect("JSON");
        let keys = |place: &str| {
            let place = report.pointer(place).and_then(serde_json::Value::as_object);
            let mut keys: Vec<_> = place.expect("an object").keys().cloned().collect();
            keys.sort_unstable();
            keys.join(" ")
        };
        assert_eq!(
            keys(""),
            "alive begun bytes churned command delay failed first_picture frames_sent gap generator hls integrity \
             join joined lateness lost machine packets picture_gap rate requested server slow stalled url waits \
             window window_gap"
        );
        assert_eq!(
            keys("/integrity"),
            "checked damaged frames holes missing missing_after_past repeated restarts unstamped"
        );
        assert_eq!(
            keys("/hls"),
            "deltas discontinuities ended gaps hinted jumps maps part_age part_delay part_fetch part_served parts \
             playlist_bytes playlists reconnects refused requests segments skipped stall violations"
        );
        assert_eq!(
            keys("/packets"),
            "frames frames_dropped gaps keyframes_asked late lost nacked received refused repeated window_audio \
             window_video"
        );
    }
}
