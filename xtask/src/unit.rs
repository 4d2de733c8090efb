//! Unit tests: each of their executables is a job.
//!
//! A test that uses a program outside the core's is in a module `foreign`, and runs with `--all`.

use crate::report::Report;
use crate::run::{Failure, Workspace};
use crate::suite::{self, Duration, Durations, Executable, Job, Sharing};

/// Package of the scenarios, which are jobs of their own.
pub(crate) const SCENARIOS: &str = "tests";

/// Module name of tests that need programs of other vendors.
const FOREIGN: &str = "::foreign::";

/// Tests of the fan-out core whose listeners have real sockets: they run again with io_uring.
const CARRYING: [&str; 3] = ["carry::", "converse::", "follow::"];

/// Name of the executable with those tests.
const CARRIED_BY: &str = "unit fanout fanout";

/// Back-end of their second run.
const IO_URING: &str = "io_uring";

/// Record of an unknown executable: most use all processors for a second or two.
const UNKNOWN: Duration = Duration {
    seconds: 2.0,
    processors: 1.0,
};

/// Runs the tests for which the core's programs suffice.
pub(crate) fn core(workspace: &Workspace, report: &mut Report) -> Result<(), Failure> {
    let durations = Durations::committed(workspace);
    let executables = of_units(workspace)?;
    let mut jobs: Vec<Job> = executables
        .iter()
        .map(|executable| Job {
            may_be_empty: true,
            ..job(workspace, executable, "", &["--skip", FOREIGN])
        })
        .collect();
    let carrying = executables.iter().find(|e| name(e) == CARRIED_BY);
    let carrying = carrying.ok_or_else(|| Failure(format!("cargo built no `{CARRIED_BY}`")))?;
    let tests = carrying.tests(workspace)?;
    suite::each_names_one(&CARRYING, &tests)?;
    jobs.push(job(workspace, carrying, "", &CARRYING).on_backend(IO_URING));
    let jobs = jobs.into_iter().map(|job| {
        let known = durations.seconds(&job.name).is_some();
        let duration = if known {
            durations.of(&job.name)
        } else {
            UNKNOWN
        };
        job.lasting(duration)
    });
    suite::run(workspace, report, jobs.collect(), Sharing::Together)
}

/// Runs the tests that need other programs.
pub(crate) fn foreign(workspace: &Workspace, report: &mut Report) -> Result<(), Failure> {
    let mut jobs = Vec::new();
    for executable in of_units(workspace)? {
        let tests = executable.tests(workspace)?;
        if tests.iter().any(|test| test.contains(FOREIGN)) {
            jobs.push(job(workspace, &executable, " foreign", &[FOREIGN]).lasting(UNKNOWN));
        }
    }
    if jobs.is_empty() {
        return Err(Failure(format!("no unit test is in a module `{FOREIGN}`")));
    }
    suite::run(workspace, report, jobs, Sharing::Together)
}

/// Returns the names of the jobs, as they are recorded.
pub(crate) fn names(executables: &[Executable]) -> Vec<String> {
    let mut names: Vec<_> = executables.iter().map(name).collect();
    names.push(suite::on_backend(CARRIED_BY, IO_URING));
    names
}

/// Returns the jobs of one test: one, or one for each back-end.
pub(crate) fn one(workspace: &Workspace, executable: &Executable, test: &str) -> Vec<Job> {
    let suffix = format!(" {test}");
    let job = || job(workspace, executable, &suffix, &["--exact", test]).lasting(UNKNOWN);
    let is_carrying = CARRYING.iter().any(|module| test.contains(module));
    if is_carrying && name(executable) == CARRIED_BY {
        vec![job(), job().on_backend(IO_URING)]
    } else {
        vec![job()]
    }
}

fn of_units(workspace: &Workspace) -> Result<Vec<Executable>, Failure> {
    let mut executables = suite::build(workspace)?;
    executables.retain(|executable| executable.short_package() != SCENARIOS);
    Ok(executables)
}

fn name(executable: &Executable) -> String {
    format!("unit {} {}", executable.short_package(), executable.target)
}

fn job(workspace: &Workspace, executable: &Executable, suffix: &str, filter: &[&str]) -> Job {
    let arguments = [&["-Zunstable-options", "--report-time"], filter].concat();
    let mut command = executable.command(workspace, &arguments);
    // Lets the harness of a stable compiler report times.
    command.env("RUSTC_BOOTSTRAP", "1");
    let target = match &*executable.target {
        "lib" => "--lib".to_owned(),
        "xtask" | "carillon" => "--bins".to_owned(),
        target => format!("--test {target}"),
    };
    Job {
        again: format!("cargo test -p {} {target}", executable.package),
        ..Job::new(&format!("{}{suffix}", name(executable)), command)
    }
}
