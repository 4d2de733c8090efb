//! An audience: `carillon load listen` in separate processes, and its report.

use std::fmt;
use std::time::Duration;

use serde_json::Value;
use testkit::{Process, Tool};

/// Time added to a plan's length, for processes to start and end on a busy machine.
const END_PATIENCE: Duration = Duration::from_secs(90);
/// Maximum time from the start of a load to its first connection.
pub(crate) const START_TIME: Duration = Duration::from_millis(1_500);

/// A group of listeners, and their behaviour.
#[derive(Clone, Debug)]
pub(crate) struct ListenPlan {
    pub(crate) listeners: u64,
    /// Joins per second.
    pub(crate) ramp: u64,
    /// Time between the last join and the window.
    pub(crate) settle: Duration,
    pub(crate) window: Duration,
    /// Further options for the load.
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

    /// Returns the time from the plan's start to its window.
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
        // Frames are not checked unless requested: checking would cost this server's turn processor time and not the other's.
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

/// A plan in progress.
#[derive(Debug)]
pub(crate) struct Listening {
    process: Process,
    deadline: Duration,
}

impl Listening {
    /// Waits for the end.
    pub(crate) fn finish(mut self) -> Report {
        self.process.wait(self.deadline);
        Report::of(&self.process)
    }
}

/// Report of a load, accessed by the names of its JSON.
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

    /// Returns a number by its path, such as `/join/p99`.
    pub(crate) fn number(&self, path: &str) -> f64 {
        let number = self.0.pointer(path).and_then(Value::as_f64);
        number.unwrap_or_else(|| panic!("a load reports no {path}"))
    }

    /// Returns the server's processor time, as a share of one core.
    pub(crate) fn cpu(&self) -> f64 {
        self.number("/server/cpu")
    }

    /// Returns the resident memory at the end of the window, in bytes.
    pub(crate) fn resident(&self) -> f64 {
        self.number("/server/resident_bytes")
    }

    /// Returns the memory that each listener added, in bytes.
    pub(crate) fn resident_each(&self) -> f64 {
        let growth = self.resident() - self.number("/server/resident_bytes_before");
        growth / self.number("/requested")
    }

    /// Returns the 99th percentile of join times, in seconds.
    pub(crate) fn join_p99(&self) -> f64 {
        self.number("/join/p99") / 1e3
    }

    /// Returns a percentile of the listeners' longest waits in the window, in seconds.
    pub(crate) fn window_gap(&self, which: &str) -> f64 {
        self.number(&format!("/window_gap/{which}")) / 1e3
    }

    /// Returns a percentile of all waits that ended in the window, in seconds.
    pub(crate) fn waits(&self, which: &str) -> f64 {
        self.number(&format!("/waits/{which}")) / 1e3
    }

    /// Returns the number of listeners that are not there at the end, for whatever reason.
    pub(crate) fn missing(&self) -> f64 {
        self.number("/requested") - self.number("/alive")
    }

    /// Returns the bit rate of the median listener, in bits per second.
    pub(crate) fn rate(&self) -> f64 {
        self.number("/rate/p50")
    }

    /// Returns the reasons why the figures may be the load's and not the server's.
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
