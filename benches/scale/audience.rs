//! An audience: `carillon load listen` in processes of its own, and what it reports.

use std::fmt;
use std::time::Duration;

use serde_json::Value;
use testkit::{Process, Tool};

/// Added to a plan's length, for processes to start and to end on a busy machine.
const END_PATIENCE: Duration = Duration::from_secs(90);
/// From the start of a load to its first connection, at the most.
pub(crate) const START_TIME: Duration = Duration::from_millis(1_500);

/// A group of listeners, and how they listen.
#[derive(Clone, Debug)]
pub(crate) struct ListenPlan {
    pub(crate) listeners: u64,
    /// Joins per second.
    pub(crate) ramp: u64,
    /// Between the last join and the window.
    pub(crate) settle: Duration,
    pub(crate) window: Duration,
    /// More of the load's own options.
    pub(crate) options: Vec<String>,
}

impl ListenPlan {
    pub(crate) fn new(listeners: u64, ramp: u64, window: Duration) -> Self {
        Self {
            listeners,
            ramp,
            settle: Duration::from_secs(4),
            window,
            options: Vec::new(),
        }
    }

    pub(crate) fn settle(mut self, seconds: u64) -> Self {
        self.settle = Duration::from_secs(seconds);
        self
    }

    pub(crate) fn option(mut self, option: &str) -> Self {
        self.options.push(option.to_owned());
        self
    }

    /// From its start to its window.
    pub(crate) fn before_window(&self) -> Duration {
        let ramp = self.listeners as f64 / self.ramp as f64;
        START_TIME + Duration::from_secs_f64(ramp) + self.settle
    }

    /// Begins to listen to `url`, and to watch the processes `pids` and their children.
    pub(crate) fn start(&self, url: &str, pids: &[u32]) -> Listening {
        let millis = |time: Duration| format!("{}ms", time.as_millis());
        let mut tool = Tool::carillon()
            .args(["load", "listen", url, "--json"])
            .args(["--listeners", &self.listeners.to_string()])
            .args(["--ramp", &format!("{}/s", self.ramp)])
            .args(["--settle", &millis(self.settle)])
            .args(["--duration", &millis(self.window)]);
        // Frames are not checked unless that is asked for: it would cost this server's turn processor time
        // and not the other's.
        if !self
            .options
            .iter()
            .any(|option| option.starts_with("--check"))
        {
            tool = tool.arg("--check=0");
        }
        for pid in pids {
            tool = tool.args(["--pid", &pid.to_string()]);
        }
        Listening {
            process: tool.args(&self.options).start(),
            deadline: self.before_window() + self.window + END_PATIENCE,
        }
    }
}

/// A plan that is carried out.
#[derive(Debug)]
pub(crate) struct Listening {
    process: Process,
    deadline: Duration,
}

impl Listening {
    /// Waits for its end.
    pub(crate) fn finish(mut self) -> Report {
        self.process.wait(self.deadline);
        Report::of(&self.process)
    }
}

/// What a load reports, by the names of its JSON.
#[derive(Clone, Debug)]
pub(crate) struct Report(Value);

impl Report {
    pub(crate) fn of(process: &Process) -> Self {
        let report = serde_json::from_slice(&process.stdout());
        Self(report.unwrap_or_else(|_| panic!("a load ended early: {}", process.stderr())))
    }

    pub(crate) fn json(&self) -> &Value {
        &self.0
    }

    /// A number by its path, such as `/join/p99`.
    pub(crate) fn number(&self, path: &str) -> f64 {
        let number = self.0.pointer(path).and_then(Value::as_f64);
        number.unwrap_or_else(|| panic!("a load reports no {path}"))
    }

    /// The server's processor time, as a share of one core.
    pub(crate) fn cpu(&self) -> f64 {
        self.number("/server/cpu")
    }

    /// Resident memory at the end of the window, in bytes.
    pub(crate) fn resident(&self) -> f64 {
        self.number("/server/resident_bytes")
    }

    /// What each listener added to it, in bytes.
    pub(crate) fn resident_each(&self) -> f64 {
        let growth = self.resident() - self.number("/server/resident_bytes_before");
        growth / self.number("/requested")
    }

    /// In seconds.
    pub(crate) fn join_p99(&self) -> f64 {
        self.number("/join/p99") / 1e3
    }

    /// The longest wait of a listener in the window, in seconds.
    pub(crate) fn window_gap(&self, which: &str) -> f64 {
        self.number(&format!("/window_gap/{which}")) / 1e3
    }

    /// Of all waits that ended in the window, in seconds.
    pub(crate) fn waits(&self, which: &str) -> f64 {
        self.number(&format!("/waits/{which}")) / 1e3
    }

    /// Listeners that are not there at the end, for whatever reason.
    pub(crate) fn missing(&self) -> f64 {
        self.number("/requested") - self.number("/alive")
    }

    /// Bits per second of the middle listener.
    pub(crate) fn rate(&self) -> f64 {
        self.number("/rate/p50")
    }

    /// Why the figures may be the load's and not the server's.
    pub(crate) fn bottlenecks(&self) -> Vec<&str> {
        let list = self.0.pointer("/generator/bottlenecks");
        let list = list.and_then(Value::as_array).into_iter().flatten();
        list.filter_map(Value::as_str).collect()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} of {} alive, {:.1} kb/s each, CPU {:.1} %, {:.1} MiB; join p99 {:.0} ms; \
             longest gap p99 {:.0} ms, max {:.0} ms",
            self.number("/alive"),
            self.number("/requested"),
            self.rate() / 1e3,
            self.cpu() * 100.0,
            self.resident() / f64::from(1 << 20),
            self.join_p99() * 1e3,
            self.window_gap("p99") * 1e3,
            self.window_gap("max") * 1e3,
        )
    }
}
