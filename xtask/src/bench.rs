//! `cargo xtask bench players`: the measurement behind the README's figures, with all it needs.

use crate::report::Report;
use crate::run::{self, Failure, Workspace};
use crate::tools;

/// Installs what is missing and measures; nobody else should be using the machine.
pub(crate) fn players(workspace: &Workspace, report: &mut Report) -> Result<(), Failure> {
    tools::check(workspace, report)?;
    run::run(&mut workspace.cargo(&[
        "bench",
        "--locked",
        "--package",
        "carillon-benches",
        "--bench",
        "players",
    ]))
}
