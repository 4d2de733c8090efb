//! The steps that are one `cargo` command each.
//!
//! `clippy` and `doc` share the metadata of external crates; `unit` and `scenarios` share every
//! build of the dev profile, because they select packages and features alike.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::report::Report;
use crate::run::{self, Failure, Workspace};
use crate::tools;

/// Chooses the back-end, of the server and of the core's tests.
const BACKEND: &str = "CARILLON__FANOUT__BACKEND";

/// Tests of the core whose listeners have real sockets.
const CARRYING: [&str; 3] = ["carry", "converse", "follow"];

/// Scenarios in which workers send, receive, and lose or return sockets.
const ON_EVERY_BACKEND: [&str; 5] = [
    "all_listeners_hear_the_same",
    "icecast_sources_are_heard_unchanged",
    "players_outlive_publishers",
    "rtmp_players_join",
    "the_server_leaves_in_order",
];

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
    run::run_lines(&mut command, |line| report.test_line(line))?;
    let mut again = workspace.cargo(&["test", "--workspace", "--locked"]);
    again.args(CARRYING.iter().flat_map(|name| ["--test", name]));
    again.env(BACKEND, "io_uring");
    run::run_lines(&mut again, |line| report.test_line(line))
}

/// Scenarios at a time: twice as many as processors, for they wait for players and clocks for two thirds of their time.
fn scenario_threads() -> usize {
    2 * std::thread::available_parallelism().map_or(2, usize::from)
}

/// Runs the scenarios against the dev profile's server: its dependencies are built already, and
/// overflow checks and debug assertions are worth more here than speed. Then some of them again with
/// the other back-end.
pub(crate) fn scenarios(workspace: &Workspace, report: &mut Report) -> Result<(), Failure> {
    let server = server(workspace)?;
    let selection = ["--workspace", "--locked", "--test"];
    let threads = format!("--test-threads={}", scenario_threads());
    let scenarios = ["scenarios", "--", &threads];
    let mut command = workspace.cargo(&[&["test"][..], &selection, &scenarios].concat());
    command.env("CARILLON_BIN", &server);
    run::run_lines(&mut command, |line| report.test_line(line))?;
    // "auto" is io_uring where it works.
    let other = match starts_with_io_uring(workspace, &server) {
        Ok(()) => "epoll",
        Err(why) => {
            println!("NOT TESTED with io_uring: {why}");
            return Ok(());
        }
    };
    let mut command = workspace.cargo(&[&["test"][..], &selection, &scenarios].concat());
    command.args(ON_EVERY_BACKEND);
    command.env("CARILLON_BIN", &server).env(BACKEND, other);
    run::run_lines(&mut command, |line| report.test_line(line))
}

/// Runs those that look at delays and counts, one after another.
pub(crate) fn measured(workspace: &Workspace, report: &mut Report) -> Result<(), Failure> {
    let server = server(workspace)?;
    let test = ["test", "--workspace", "--locked", "--test", "measured"];
    let mut command = workspace.cargo(&[&test[..], &["--", "--test-threads=1"]].concat());
    command.env("CARILLON_BIN", &server);
    run::run_lines(&mut command, |line| report.test_line(line))
}

/// Builds the server, and all that drives it.
fn server(workspace: &Workspace) -> Result<PathBuf, Failure> {
    let tests = ["--workspace", "--locked", "--test", "*"];
    run::run(&mut workspace.cargo(&[&["build", "--bin", "carillon"][..], &tests].concat()))?;
    Ok(workspace.target.join("debug/carillon"))
}

/// Whether the server can use io_uring on this host, or why not.
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
    // It has ended already unless it is ready.
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
