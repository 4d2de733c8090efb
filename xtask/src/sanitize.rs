//! Builds of crates with unsafe code for checkers: loom's model checker and the address sanitizer.
//!
//! Both need flags that nothing else uses, so each has its own target directory.

use std::path::PathBuf;
use std::process::Command;

use crate::report::Report;
use crate::run::{self, Failure, Workspace};

/// Explores the interleavings of the log's writer and readers. Optimised: loom runs every test
/// body tens of thousands of times.
pub(crate) fn loom(workspace: &Workspace, report: &mut Report) -> Result<(), Failure> {
    run_counted(&mut loom_tests(workspace), report)
}

fn loom_tests(workspace: &Workspace) -> Command {
    let mut command = workspace.cargo(&[
        "test",
        "--package",
        "carillon-log",
        "--release",
        "--locked",
        "--lib",
        "loom",
    ]);
    command
        .env("RUSTFLAGS", "--cfg loom")
        .env("CARGO_TARGET_DIR", workspace.target.join("loom"))
        // The whole-program pass costs minutes and finds nothing.
        .env("CARGO_PROFILE_RELEASE_LTO", "off")
        .env("CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS", "true");
    command
}

/// Runs the unit tests of the crates with unsafe code under the address and leak sanitizers.
pub(crate) fn asan(workspace: &Workspace, report: &mut Report) -> Result<(), Failure> {
    require_runtime(workspace)?;
    run_counted(&mut asan_tests(workspace)?, report)
}

/// Returns the build command that [`asan`] needs first.
pub(crate) fn asan_build(workspace: &Workspace) -> Result<Command, Failure> {
    Ok(without_running(asan_tests(workspace)?))
}

fn asan_tests(workspace: &Workspace) -> Result<Command, Failure> {
    let host = host(workspace)?;
    let mut command = workspace.cargo(&[
        "test",
        "--package",
        "carillon-log",
        "--package",
        "carillon-net",
        "--locked",
        "--lib",
        "--target",
        &host,
    ]);
    command
        .env("RUSTC_BOOTSTRAP", "1")
        .env("RUSTFLAGS", "-Zsanitizer=address")
        .env(
            "ASAN_OPTIONS",
            "detect_leaks=1:detect_stack_use_after_return=1",
        )
        .env("CARGO_TARGET_DIR", workspace.target.join("asan"));
    Ok(command)
}

fn without_running(mut tests: Command) -> Command {
    tests.arg("--no-run");
    tests
}

/// Runs tests and requires that at least one ran: a filter that matches nothing also exits with 0.
fn run_counted(command: &mut Command, report: &mut Report) -> Result<(), Failure> {
    let mut ran = false;
    run::run_lines(command, |line| {
        ran |= line.starts_with("test ") && line.ends_with("... ok");
        report.test_line(line);
    })?;
    if ran {
        Ok(())
    } else {
        Err(Failure(format!("`{}` ran no test", run::shown(command))))
    }
}

/// Returns the machine's target triple. Naming it keeps sanitizer flags away from build scripts.
pub(crate) fn host(workspace: &Workspace) -> Result<String, Failure> {
    let version = run::capture(&mut workspace.command(rustc(), &["-vV"]))?;
    version
        .lines()
        .find_map(|line| line.strip_prefix("host: "))
        .map(str::to_owned)
        .ok_or_else(|| Failure("`rustc -vV` names no host".to_owned()))
}

/// Fails with advice if the toolchain lacks the sanitizer's runtime.
pub(crate) fn require_runtime(workspace: &Workspace) -> Result<(), Failure> {
    let sysroot = run::capture(&mut workspace.command(rustc(), &["--print", "sysroot"]))?;
    let host = host(workspace)?;
    let library: PathBuf = [sysroot.trim(), "lib/rustlib", &host, "lib"]
        .iter()
        .collect();
    let found = std::fs::read_dir(&library)?
        .flatten()
        .any(|entry| entry.file_name().to_string_lossy().ends_with("_rt.asan.a"));
    if found {
        return Ok(());
    }
    Err(Failure(format!(
        "{} has no address sanitizer runtime; install Rust with rustup (https://rustup.rs)",
        library.display()
    )))
}

pub(crate) fn rustc() -> std::ffi::OsString {
    std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into())
}
