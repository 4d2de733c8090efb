//! `cargo xtask bench`: the measurements behind the README's figures, with everything they need.
//!
//! The server, the floor and the measuring program are built separately, so that the needs of the latter two cannot change the
//! server.

use crate::run::{self, Failure, Workspace};

/// Builds, and measures what `arguments` request. The machine should be otherwise idle.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<(), Failure> {
    for selection in [
        ["-p", "carillon-server", "--bin", "carillon"].as_slice(),
        ["-p", "carillon-server", "--example", "slow_authority"].as_slice(),
        ["-p", "carillon-benches", "--bin", "floor", "--bin", "scale"].as_slice(),
    ] {
        let build = [&["build", "--release", "--locked"], selection].concat();
        run::run(&mut workspace.cargo(&build))?;
    }
    let release = workspace.target.join("release");
    let mut command = workspace.command(release.join("scale"), arguments);
    command.env("CARILLON_BIN", release.join("carillon"));
    command.env("CARGO_TARGET_DIR", &workspace.target);
    if !arguments.iter().any(|argument| argument == "--json") {
        command
            .arg("--json")
            .arg(workspace.target.join("bench.json"));
    }
    run::run(&mut command)
}
