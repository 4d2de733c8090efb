//! Steps that consist of one `cargo` command each.
//!
//! `clippy` and `doc` share the metadata of external crates; [`suite::build`] is the only build of the dev profile.

use crate::report::Report;
use crate::run::{self, Failure, Workspace};
use crate::suite;
use crate::tools;

pub(crate) fn fmt(workspace: &Workspace, report: &mut Report) -> Result<(), Failure> {
    run::run(&mut workspace.cargo(&["fmt", "--all", "--check"]))?;
    run::run(&mut workspace.cargo(&["fmt", "--manifest-path", "fuzz/Cargo.toml", "--check"]))?;
    report.count(1, 0);
    Ok(())
}

pub(crate) fn clippy(workspace: &Workspace, report: &mut Report) -> Result<(), Failure> {
    run::run(&mut workspace.cargo(&[
        "clippy",
        "--workspace",
        "--all-targets",
        "--locked",
        "--",
        "-D",
        "warnings",
    ]))?;
    report.count(1, 0);
    Ok(())
}

pub(crate) fn doc(workspace: &Workspace, report: &mut Report) -> Result<(), Failure> {
    run::run(
        workspace
            .cargo(&[
                "doc",
                "--workspace",
                "--no-deps",
                "--document-private-items",
                "--locked",
            ])
            .env("RUSTDOCFLAGS", "-Dwarnings"),
    )?;
    report.count(1, 0);
    let mut examples = workspace.cargo(&["test", "--workspace", "--locked", "--doc"]);
    run::run_lines(&mut examples, |line| report.test_line(line))
}

pub(crate) fn deny(workspace: &Workspace, report: &mut Report) -> Result<(), Failure> {
    let deny = tools::cargo_deny(workspace)?;
    run::run(&mut workspace.command(
        deny,
        &[
            "--locked",
            "--workspace",
            "check",
            "bans",
            "licenses",
            "sources",
        ],
    ))?;
    report.count(1, 0);
    Ok(())
}

/// Builds the server and all tests, so that later steps find them built.
pub(crate) fn everything(workspace: &Workspace, report: &mut Report) -> Result<(), Failure> {
    suite::build(workspace)?;
    report.count(1, 0);
    Ok(())
}

/// Benches that measure a server and need a quiet machine: no step runs them.
pub(crate) const BENCHES_OF_SERVERS: [&str; 2] = ["backends", "combine"];

/// Benches that measure code, by criterion.
pub(crate) const BENCHES: [&str; 6] = ["container", "fanout", "http1", "rtmp", "srtp", "transcode"];

/// Runs each bench once, and the unit tests of the measuring programs.
pub(crate) fn benches(workspace: &Workspace, report: &mut Report) -> Result<(), Failure> {
    let mut command = workspace.cargo(&[
        "test",
        "--package",
        "carillon-benches",
        "--locked",
        "--bins",
    ]);
    command.args(BENCHES.iter().flat_map(|name| ["--bench", name]));
    run::run_lines(&mut command, |line| report.test_line(line))
}
