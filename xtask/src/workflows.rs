//! actionlint on the workflows of `.github`.

use crate::go;
use crate::report::Report;
use crate::run::{self, Failure, Workspace};

const MODULE: &str = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.7";

/// Installs actionlint and runs it on all workflows.
pub(crate) fn check(workspace: &Workspace, report: &mut Report) -> Result<(), Failure> {
    let program = go::bin(workspace).join("actionlint");
    if !program.is_file() {
        println!("building actionlint");
        go::install(workspace, MODULE)?;
    }
    run::run(&mut workspace.command(program, &["-color"]))?;
    report.count(1, 0);
    Ok(())
}
