//! A run of steps: which are skipped, what is built ahead, and when it ends.

use crate::ahead::Ahead;
use crate::journal::Journal;
use crate::report::Report;
use crate::run::{Failure, Workspace};
use crate::scenarios;
use crate::steps::{Step, TOOLS};
use crate::suite::Durations;

/// Runs `steps` in order; returns whether all passed. Ends with the first that fails unless it `keeps_going`, which no run does
/// without the programs that the core needs.
pub(crate) fn run(
    workspace: &Workspace,
    steps: &[&Step],
    keeps_going: bool,
    is_resumed: bool,
) -> Result<bool, Failure> {
    let journal = Journal::open(workspace, is_resumed)?;
    let names = steps.iter().map(|step| step.name).collect();
    let mut report = Report::new(journal, Durations::committed(workspace), names);
    let mut ahead = None;
    for (index, step) in steps.iter().enumerate() {
        if report.is_done(step.name) {
            continue;
        }
        if step.leaves_time() && ahead.is_none() {
            ahead = Some(build_ahead(workspace, &steps[index..], &report));
        }
        // A step that is neither a scenario nor a build of its own may need the machine to itself.
        if !step.leaves_time()
            && let Some(builds) = ahead.take()
        {
            builds.finish();
        }
        report.open(step.name, step.about);
        let result = step.run(workspace, &mut report);
        let is_over = result.is_err() && (!keeps_going || step.name == TOOLS);
        report.check_journal(workspace);
        report.close(&result);
        if is_over {
            break;
        }
    }
    drop(ahead);
    Ok(finish(workspace, report))
}

/// Records the durations, and prints the table.
fn finish(workspace: &Workspace, report: Report) -> bool {
    if let Err(failure) = Durations::note(workspace, report.seen()) {
        eprintln!("xtask: how long the tests took cannot be kept: {failure}");
    }
    report.finish()
}

/// Builds what later steps need while scenarios run, which wait for players and clocks for much of their time.
fn build_ahead(workspace: &Workspace, behind: &[&Step], report: &Report) -> Ahead {
    let builds = behind
        .iter()
        .filter(|step| !report.is_step_green(step.name))
        .filter_map(|step| step.build?(workspace).ok());
    Ahead::begin(builds.collect())
}

/// Runs `cargo xtask scenarios [NAME…]`.
pub(crate) fn scenarios(workspace: &Workspace, filters: &[String]) -> Result<bool, Failure> {
    let again = format!("cargo xtask scenarios {}", filters.join(" "));
    let report = reported(workspace, "scenarios", again, |report| {
        let jobs = scenarios::named(workspace, filters)?;
        scenarios::run(workspace, report, jobs)
    });
    Ok(finish(workspace, report))
}

/// Runs something that is not a step and that `again` repeats. Its durations are not recorded: its tests ran longer, or
/// alongside busy loops.
pub(crate) fn alone(
    workspace: &Workspace,
    name: &'static str,
    again: String,
    run: impl FnOnce(&mut Report) -> Result<(), Failure>,
) -> bool {
    reported(workspace, name, again, run).finish()
}

fn reported(
    workspace: &Workspace,
    name: &'static str,
    again: String,
    run: impl FnOnce(&mut Report) -> Result<(), Failure>,
) -> Report {
    let durations = Durations::committed(workspace);
    let mut report = Report::new(Journal::default(), durations, vec![name]);
    report.open(name, "");
    report.repeated_by(again);
    let result = run(&mut report);
    report.close(&result);
    report
}
