//! The steps that are one `cargo` command each.
//!
//! `clippy` and `doc` share the metadata of external crates; `unit` and `scenarios` share every
//! build of the dev profile, because they select packages and features alike.

use crate::report::Report;
use crate::run::{self, Failure, Workspace};
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
    Ok(())
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

/// Benches carry `test = true`, so that the one command also runs each of them once.
pub(crate) fn unit(workspace: &Workspace, report: &mut Report) -> Result<(), Failure> {
    let mut command = workspace.cargo(&[
        "test",
        "--workspace",
        "--exclude",
        "carillon-tests",
        "--locked",
        "--no-fail-fast",
    ]);
    run::run_lines(&mut command, |line| report.test_line(line))
}

/// Runs the scenarios against the dev profile's server: its dependencies are built already, and
/// overflow checks and debug assertions are worth more here than speed. Those that look at delays
/// and counts come last, one after another.
pub(crate) fn scenarios(workspace: &Workspace, report: &mut Report) -> Result<(), Failure> {
    let selection = ["--workspace", "--locked", "--test"];
    let build = [&["build", "--bin", "carillon"][..], &selection, &["*"]].concat();
    run::run(&mut workspace.cargo(&build))?;
    for (name, arguments) in [
        ("scenarios", &[][..]),
        ("measured", &["--", "--test-threads=1"]),
    ] {
        let test = [&["test"][..], &selection, &[name], arguments].concat();
        let mut command = workspace.cargo(&test);
        command.env("CARILLON_BIN", workspace.target.join("debug/carillon"));
        run::run_lines(&mut command, |line| report.test_line(line))?;
    }
    Ok(())
}
