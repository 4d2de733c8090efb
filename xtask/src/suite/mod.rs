//! Tests as jobs: built once by cargo, listed, and run as concurrent child processes.
//!
//! ```text
//! executables (cargo build) ─► jobs, with their recorded durations ─► schedule, gauge ─► pool ─► outcomes ─► report
//! ```
//!
//! A scenario is a job of its own, so that it can be measured, scheduled, and repeated alone; each executable of unit tests is
//! one job.

mod descendants;
mod durations;
mod executables;
mod gauge;
mod pool;
mod process;
mod schedule;

use std::process::Command;

pub(crate) use self::durations::{Duration, Durations, record};
pub(crate) use self::executables::{Executable, build};
use self::schedule::Schedule;
use crate::report::Report;
use crate::run::{Failure, Workspace};

/// Number of jobs at a time for each processor: most wait for players and clocks.
const JOBS_PER_PROCESSOR: usize = 4;

/// Folder of the output of running jobs, below the target directory.
const OUTPUT: &str = "xtask/output";

/// Time after which a test counts as hanging: the longest take five minutes, and a busy machine doubles that.
const TIME_MAX: std::time::Duration = std::time::Duration::from_secs(15 * 60);

/// Variable that chooses the back-end, of the server and of the core's tests.
pub(crate) const BACKEND: &str = "CARILLON__FANOUT__BACKEND";

/// A child process that passes or fails.
#[derive(Debug)]
pub(crate) struct Job {
    /// Name in reports and records.
    pub(crate) name: String,
    pub(crate) command: Command,
    /// Command line that repeats it alone.
    pub(crate) again: String,
    /// Whether it may pass without running a test: an executable may have none, but a filter that matches none is a mistake.
    pub(crate) may_be_empty: bool,
    /// Time after which it is killed.
    pub(crate) time_max: std::time::Duration,
    /// Recorded duration in seconds.
    pub(crate) seconds: f64,
    /// Recorded number of processors that it keeps busy.
    pub(crate) processors: f64,
}

impl Job {
    pub(crate) fn new(name: &str, command: Command) -> Self {
        Self {
            name: name.to_owned(),
            command,
            again: String::new(),
            may_be_empty: false,
            time_max: TIME_MAX,
            seconds: 0.0,
            processors: 0.0,
        }
    }

    /// Makes it run with this back-end, which is added to its name.
    pub(crate) fn on_backend(mut self, backend: &str) -> Self {
        self.command.env(BACKEND, backend);
        self.name = on_backend(&self.name, backend);
        self.again = format!("{BACKEND}={backend} {}", self.again);
        self
    }

    /// Sets the duration by which it is scheduled.
    pub(crate) fn lasting(self, duration: Duration) -> Self {
        Self {
            seconds: duration.seconds,
            processors: duration.processors,
            ..self
        }
    }
}

/// Returns the name of a job with this back-end.
pub(crate) fn on_backend(name: &str, backend: &str) -> String {
    format!("{name} on {backend}")
}

/// Outcome of a job.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    pub(crate) name: String,
    pub(crate) again: String,
    pub(crate) is_passed: bool,
    pub(crate) seconds: f64,
    pub(crate) processors: f64,
    /// Both outputs, interleaved in the order in which they were written.
    pub(crate) output: String,
}

/// Sharing of the machine among jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sharing {
    /// As many at a time as the processors can take.
    Together,
    /// One at a time: they measure.
    Alone,
}

/// Runs those of `jobs` that did not pass in an earlier run, and reports each; fails if one of them fails.
pub(crate) fn run(
    workspace: &Workspace,
    report: &mut Report,
    mut jobs: Vec<Job>,
    sharing: Sharing,
) -> Result<(), Failure> {
    jobs.retain(|job| !report.is_green(&job.name));
    let processors = processors();
    let running_max = match sharing {
        Sharing::Together => JOBS_PER_PROCESSOR * processors,
        Sharing::Alone => 1,
    };
    report.expect(jobs.len());
    let schedule = Schedule::new(jobs, processors as f64, running_max);
    let folder = workspace.target.join(OUTPUT);
    let mut failed = Vec::new();
    pool::run(schedule, &folder, |outcome, seconds_left| {
        report.ended(outcome, seconds_left);
        if !outcome.is_passed {
            failed.push(outcome.name.clone());
        }
    })?;
    match failed.len() {
        0 => Ok(()),
        count => Err(Failure(format!("{count} failed: {}", failed.join(", ")))),
    }
}

/// Fails if one of `parts` is in no name: a stale list of names would silently leave tests out.
pub(crate) fn each_names_one<S: AsRef<str>>(parts: &[S], names: &[String]) -> Result<(), Failure> {
    let is_in_none = |part: &&S| !names.iter().any(|name| name.contains(part.as_ref()));
    match parts.iter().find(is_in_none) {
        None => Ok(()),
        Some(part) => Err(Failure(format!("no test is named like {}", part.as_ref()))),
    }
}

/// Runs a job that no report counts.
pub(crate) fn run_one(workspace: &Workspace, job: Job) -> Result<Outcome, Failure> {
    let schedule = Schedule::new(vec![job], processors() as f64, 1);
    let mut outcome = None;
    pool::run(schedule, &workspace.target.join(OUTPUT), |one, _| {
        outcome = Some(one.clone());
    })?;
    outcome.ok_or_else(|| Failure("the job did not run".to_owned()))
}

/// Returns the number of processors of this machine that this process may use.
pub(crate) fn processors() -> usize {
    std::thread::available_parallelism().map_or(2, usize::from)
}
