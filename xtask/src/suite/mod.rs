//! Tests as jobs: built once by cargo, listed, and run as child processes beside each other.
//!
//! ```text
//! executables (cargo build) ─► jobs, with their recorded durations ─► schedule, gauge ─► pool ─► outcomes ─► report
//! ```
//!
//! A scenario is a job of its own, so that it can be measured, scheduled, and repeated alone; of unit tests each
//! executable is one.

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

/// Jobs at a time for each processor: most wait for players and clocks.
const JOBS_PER_PROCESSOR: usize = 4;

/// Where the output of jobs under way is, below the target directory.
const OUTPUT: &str = "xtask/output";

/// A test that takes longer hangs: the longest take five minutes, and a busy machine doubles that.
const TIME_MAX: std::time::Duration = std::time::Duration::from_secs(15 * 60);

/// Chooses the back-end, of the server and of the core's tests.
pub(crate) const BACKEND: &str = "CARILLON__FANOUT__BACKEND";

/// A child process that passes or fails.
#[derive(Debug)]
pub(crate) struct Job {
    /// As it is reported and recorded.
    pub(crate) name: String,
    pub(crate) command: Command,
    /// The line that repeats it alone.
    pub(crate) again: String,
    /// Whether it may pass without a test: an executable may have none, a filter that matches none is a mistake.
    pub(crate) may_be_empty: bool,
    /// After which it is killed.
    pub(crate) time_max: std::time::Duration,
    /// How long it takes by its record.
    pub(crate) seconds: f64,
    /// How many processors it keeps busy by its record.
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

    /// Makes it one with this back-end, by which it is named, too.
    pub(crate) fn on_backend(mut self, backend: &str) -> Self {
        self.command.env(BACKEND, backend);
        self.name = on_backend(&self.name, backend);
        self.again = format!("{BACKEND}={backend} {}", self.again);
        self
    }

    /// Gives it the duration by which it is scheduled.
    pub(crate) fn lasting(self, duration: Duration) -> Self {
        Self {
            seconds: duration.seconds,
            processors: duration.processors,
            ..self
        }
    }
}

/// The name of a job with this back-end.
pub(crate) fn on_backend(name: &str, backend: &str) -> String {
    format!("{name} on {backend}")
}

/// What came of a job.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    pub(crate) name: String,
    pub(crate) again: String,
    pub(crate) is_passed: bool,
    pub(crate) seconds: f64,
    pub(crate) processors: f64,
    /// Both outputs in the order in which they were written.
    pub(crate) output: String,
}

/// How jobs share the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sharing {
    /// As many at a time as fill the processors.
    Together,
    /// One at a time: they measure.
    Alone,
}

/// Runs those of `jobs` that are not green from an earlier run, and reports each; fails when one of them has failed.
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

/// Fails where one of `parts` is in no name: a list of names that has gone stale would leave tests out without a word.
pub(crate) fn each_names_one<S: AsRef<str>>(parts: &[S], names: &[String]) -> Result<(), Failure> {
    let is_in_none = |part: &&S| !names.iter().any(|name| name.contains(part.as_ref()));
    match parts.iter().find(is_in_none) {
        None => Ok(()),
        Some(part) => Err(Failure(format!("no test is named like {}", part.as_ref()))),
    }
}

/// Runs one that no report counts.
pub(crate) fn run_one(workspace: &Workspace, job: Job) -> Result<Outcome, Failure> {
    let schedule = Schedule::new(vec![job], processors() as f64, 1);
    let mut outcome = None;
    pool::run(schedule, &workspace.target.join(OUTPUT), |one, _| {
        outcome = Some(one.clone());
    })?;
    outcome.ok_or_else(|| Failure("the job did not run".to_owned()))
}

/// Processors of this machine that this process may use.
pub(crate) fn processors() -> usize {
    std::thread::available_parallelism().map_or(2, usize::from)
}
