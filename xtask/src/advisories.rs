//! Check for known vulnerabilities in dependencies. Separate from `test`: its result depends on the day and the network, not on
//! the tree.

use crate::report::Report;
use crate::run::{self, Failure, Workspace};
use crate::tools;

pub(crate) fn check(workspace: &Workspace, report: &mut Report) -> Result<(), Failure> {
    let deny = tools::cargo_deny(workspace)?;
    run::run(&mut workspace.command(deny, &["--locked", "--workspace", "check", "advisories"]))?;
    report.count(1, 0);
    Ok(())
}
