//! The scenarios: the server of the dev profile, driven by real clients.
//!
//! The server's dependencies are built already, and overflow checks and debug assertions are worth more here than speed. The
//! folder in `tests/scenarios` is the part to which a scenario belongs, and the first word of its name.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::report::Report;
use crate::run::{Failure, Workspace};
use crate::steps::{STEPS, Tier};
use crate::suite::{self, BACKEND, Durations, Executable, Job, Sharing};
use crate::unit;

/// Scenarios in which workers send, receive, and lose or return sockets: they run again with the back-end that is not the
/// default here.
const ON_EVERY_BACKEND: [&str; 5] = [
    "::all_listeners_hear_the_same::",
    "::icecast_sources_are_heard_unchanged::",
    "::players_outlive_publishers::",
    "::rtmp_players_join::",
    "::the_server_leaves_in_order::",
];

/// Paths of the server and of the executable with the scenarios.
struct Stage {
    server: PathBuf,
    executable: Executable,
}

/// Runs the scenarios of a part.
pub(crate) fn part(
    workspace: &Workspace,
    report: &mut Report,
    part: &str,
    sharing: Sharing,
) -> Result<(), Failure> {
    let stage = Stage::set(workspace)?;
    let prefix = format!("{part}::");
    let jobs = stage.jobs(workspace, |name| name.starts_with(&prefix))?;
    if jobs.is_empty() {
        return Err(Failure(format!("tests/scenarios/{part} has no scenario")));
    }
    suite::run(workspace, report, jobs, sharing)
}

/// Returns the jobs of the scenarios whose names contain one of `filters`, or of all.
pub(crate) fn named<S: AsRef<str>>(
    workspace: &Workspace,
    filters: &[S],
) -> Result<Vec<Job>, Failure> {
    let is_named =
        |name: &str| filters.is_empty() || filters.iter().any(|f| name.contains(f.as_ref()));
    let stage = Stage::set(workspace)?;
    suite::each_names_one(filters, &stage.executable.tests(workspace)?)?;
    stage.jobs(workspace, is_named)
}

/// Runs jobs concurrently, except for those that measure.
pub(crate) fn run(
    workspace: &Workspace,
    report: &mut Report,
    jobs: Vec<Job>,
) -> Result<(), Failure> {
    let (alone, together): (Vec<_>, _) = jobs
        .into_iter()
        .partition(|job| job.name.starts_with("measured::"));
    let first = suite::run(workspace, report, together, Sharing::Together);
    let then = suite::run(workspace, report, alone, Sharing::Alone);
    first.and(then)
}

/// Takes over the durations that were measured in runs on this machine.
pub(crate) fn record_durations(workspace: &Workspace, _: &mut Report) -> Result<(), Failure> {
    let executables = suite::build(workspace)?;
    let stage = Stage::of(workspace, &executables)?;
    let mut present: Vec<String> = stage
        .jobs(workspace, |_| true)?
        .into_iter()
        .map(|job| job.name)
        .collect();
    present.extend(unit::names(&executables));
    let steps = STEPS.iter().filter(|step| step.tier != Tier::Alone);
    present.extend(steps.map(|step| format!("step {}", step.name)));
    suite::record(workspace, &present)
}

impl Stage {
    fn set(workspace: &Workspace) -> Result<Self, Failure> {
        Self::of(workspace, &suite::build(workspace)?)
    }

    fn of(workspace: &Workspace, executables: &[Executable]) -> Result<Self, Failure> {
        let executable = executables
            .iter()
            .find(|executable| executable.target == "scenarios")
            .cloned()
            .ok_or_else(|| Failure("cargo built no scenarios".to_owned()))?;
        Ok(Self {
            server: workspace.target.join("debug/carillon"),
            executable,
        })
    }

    /// Returns a job for each scenario that `is_wanted`, and one more for those that run with both back-ends.
    fn jobs(
        &self,
        workspace: &Workspace,
        is_wanted: impl Fn(&str) -> bool,
    ) -> Result<Vec<Job>, Failure> {
        let names = self.executable.tests(workspace)?;
        suite::each_names_one(&ON_EVERY_BACKEND, &names)?;
        let durations = Durations::committed(workspace);
        let mut jobs = Vec::new();
        let mut twice = Vec::new();
        for name in names.iter().filter(|name| is_wanted(name)) {
            jobs.push(self.job(workspace, name, &durations, None));
            if ON_EVERY_BACKEND.iter().any(|module| name.contains(module)) {
                twice.push(name);
            }
        }
        if twice.is_empty() {
            return Ok(jobs);
        }
        // "auto" means io_uring if it works.
        match starts_with_io_uring(workspace, &self.server) {
            Ok(()) => jobs.extend(
                twice
                    .into_iter()
                    .map(|name| self.job(workspace, name, &durations, Some("epoll"))),
            ),
            Err(why) => println!("NOT TESTED with io_uring: {why}"),
        }
        Ok(jobs)
    }

    fn job(
        &self,
        workspace: &Workspace,
        name: &str,
        durations: &Durations,
        backend: Option<&str>,
    ) -> Job {
        let mut command = self
            .executable
            .command(workspace, &["--exact", name, "--test-threads=1"]);
        command.env("CARILLON_BIN", &self.server);
        let job = Job {
            again: format!("cargo xtask scenarios {name}"),
            ..Job::new(name, command)
        };
        let job = match backend {
            Some(backend) => job.on_backend(backend),
            None => job,
        };
        let duration = durations.of(&job.name);
        job.lasting(duration)
    }
}

/// Checks that the server can use io_uring on this host; returns the reason if it cannot.
fn starts_with_io_uring(workspace: &Workspace, server: &Path) -> Result<(), String> {
    let mut command = workspace.command(server, &["serve"]);
    for port in ["RTMP", "HTTP", "WEBRTC", "ADMIN"] {
        command.env(format!("CARILLON__{port}__LISTEN"), "127.0.0.1:0");
    }
    command.env(BACKEND, "io_uring");
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| error.to_string())?;
    let lines = child.stdout.take().map(BufReader::new);
    let ready = lines
        .into_iter()
        .flat_map(BufRead::lines)
        .map_while(Result::ok)
        .any(|line| line == "ready");
    // Unless it is ready, it has ended already.
    child.kill().ok();
    let output = child
        .wait_with_output()
        .map_err(|error| error.to_string())?;
    if ready {
        return Ok(());
    }
    Err(String::from_utf8_lossy(&output.stderr)
        .trim_end()
        .to_owned())
}
