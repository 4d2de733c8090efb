//! Programs that the tests drive ([`needs`]), and their installation: few for the core, some sixty for all.
//!
//! A tool that is missing after the attempt to install it fails the run: no test is skipped.

mod needs;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use self::needs::{NEEDS, Need};
use crate::axe;
use crate::current_ffmpeg;
use crate::icy_clients;
use crate::npm;
use crate::python;
use crate::report::Report;
use crate::run::{self, Failure, Workspace};
use crate::sanitize;
use crate::steps::Tier;
use crate::webrtc_players;

/// Version of cargo-deny that is known to read this repository's `deny.toml`.
const CARGO_DENY_VERSION: (u32, u32, u32) = (0, 20, 2);

/// Encoders that make the tests' media; a trimmed ffmpeg may lack some.
const ENCODERS: &[&str] = &[
    "libx264",
    "aac",
    "libmp3lame",
    "libvorbis",
    "libopus",
    "flac",
    "libvpx",
];

/// Installs the programs for the core's tests: ffmpeg twice, curl, one browser, one WebRTC peer, and compilers.
pub(crate) fn check_core(workspace: &Workspace, report: &mut Report) -> Result<(), Failure> {
    rust_components(workspace)?;
    let needs = NEEDS.iter().filter(|need| need.is_of_core);
    let names: Vec<_> = needs.map(|need| need.what).collect();
    require(workspace, &names)?;
    encoders(workspace)?;
    current_ffmpeg::install(workspace)?;
    python::install(workspace, Tier::Core)?;
    println!("{} programs are in place", names.len());
    report.count(1, 0);
    Ok(())
}

/// Installs the programs for all other tests.
pub(crate) fn check_all(workspace: &Workspace, report: &mut Report) -> Result<(), Failure> {
    sanitize::require_runtime(workspace)?;
    let names: Vec<_> = NEEDS.iter().map(|need| need.what).collect();
    require(workspace, &names)?;
    python::install(workspace, Tier::All)?;
    webrtc_players::install(workspace)?;
    npm::install(workspace, "hls")?;
    npm::install(workspace, "mp4")?;
    axe::install(workspace)?;
    icy_clients::install(workspace)?;
    cargo_deny(workspace)?;
    println!("{} programs and plugins are in place", NEEDS.len());
    report.count(1, 0);
    Ok(())
}

/// Installs the missing ones of the needs with these names.
pub(crate) fn require(workspace: &Workspace, names: &[&str]) -> Result<(), Failure> {
    let missing = missing_needs(names);
    if missing.is_empty() {
        return Ok(());
    }
    let packages = packages(&missing);
    let absent: Vec<_> = missing.iter().map(|need| need.what).collect();
    println!("missing: {}", absent.join(", "));
    install(workspace, &packages)?;
    require_present(names, &packages)
}

fn missing_needs(names: &[&str]) -> Vec<&'static Need> {
    let wanted = NEEDS.iter().filter(|need| names.contains(&need.what));
    wanted.filter(|need| !succeeds(need.probe)).collect()
}

fn packages(missing: &[&Need]) -> Vec<&'static str> {
    let mut packages: Vec<_> = missing.iter().map(|need| need.package).collect();
    packages.sort_unstable();
    packages.dedup();
    packages
}

fn require_present(names: &[&str], installed: &[&str]) -> Result<(), Failure> {
    let still = missing_needs(names);
    if still.is_empty() {
        return Ok(());
    }
    let names: Vec<_> = still
        .iter()
        .map(|need| format!("{} (package {})", need.what, need.package))
        .collect();
    Err(Failure(format!(
        "still missing after installing {}: {}",
        installed.join(" "),
        names.join(", ")
    )))
}

/// Installs packages through apt-get, as root or by a sudo without a password.
fn install(workspace: &Workspace, packages: &[&str]) -> Result<(), Failure> {
    let by_hand = format!(
        "apt-get install --no-install-recommends {}",
        packages.join(" ")
    );
    if !succeeds(&["apt-get", "--version"]) {
        return Err(Failure(format!(
            "this is not a Debian-like system; install what these Debian packages hold: {}",
            packages.join(" ")
        )));
    }
    let prefix: &[&str] = if is_root() {
        &[]
    } else if succeeds(&["sudo", "-n", "true"]) {
        &["sudo", "-n"]
    } else {
        return Err(Failure(format!(
            "not allowed to install packages; run as root: {by_hand}"
        )));
    };
    let apt = |arguments: &[&str]| {
        let line = [
            prefix,
            &[
                "env",
                "DEBIAN_FRONTEND=noninteractive",
                "apt-get",
                "-qq",
                "-y",
            ],
            &["-o", "DPkg::Lock::Timeout=300"],
            arguments,
        ]
        .concat();
        run::run(&mut workspace.command(line[0], &line[1..]))
    };
    let advice = |failure: Failure| Failure(format!("{failure}\ninstall by hand: {by_hand}"));
    println!("installing: {}", packages.join(" "));
    apt(&["update"]).map_err(advice)?;
    apt(&[&["install", "--no-install-recommends"], packages].concat()).map_err(advice)
}

fn is_root() -> bool {
    run::capture(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0")
}

fn encoders(workspace: &Workspace) -> Result<(), Failure> {
    let list = run::capture(&mut workspace.command("ffmpeg", &["-hide_banner", "-encoders"]))?;
    let missing = absent(&list, ENCODERS);
    if missing.is_empty() {
        return Ok(());
    }
    Err(Failure(format!(
        "this ffmpeg was built without the encoders {}",
        missing.join(", ")
    )))
}

/// Returns the names among `wanted` that `ffmpeg -encoders` did not list.
pub(crate) fn absent(list: &str, wanted: &[&'static str]) -> Vec<&'static str> {
    let has = |name: &str| {
        list.lines()
            .any(|line| line.split_whitespace().nth(1) == Some(name))
    };
    wanted.iter().copied().filter(|name| !has(name)).collect()
}

/// Installs rustfmt and clippy if missing: rustup's minimal profile and some distributions leave them out.
fn rust_components(workspace: &Workspace) -> Result<(), Failure> {
    for (subcommand, component) in [("fmt", "rustfmt"), ("clippy", "clippy")] {
        let probe = || run::capture(&mut workspace.cargo(&[subcommand, "--version"]));
        if probe().is_ok() {
            continue;
        }
        if succeeds(&["rustup", "--version"]) {
            run::run(&mut workspace.command("rustup", &["component", "add", component]))?;
        }
        probe().map_err(|_| {
            Failure(format!(
                "`cargo {subcommand}` is missing: rustup component add {component}"
            ))
        })?;
    }
    Ok(())
}

/// Returns a cargo-deny that is recent enough: the user's, or one built below the target directory.
pub(crate) fn cargo_deny(workspace: &Workspace) -> Result<PathBuf, Failure> {
    let tools = workspace.target.join("tools");
    let own = tools.join("bin/cargo-deny");
    for candidate in [PathBuf::from("cargo-deny"), own.clone()] {
        let version = run::capture(&mut workspace.command(&candidate, &["--version"]));
        if version.is_ok_and(|text| parse_version(&text) >= Some(CARGO_DENY_VERSION)) {
            return Ok(candidate);
        }
    }
    let (major, minor, patch) = CARGO_DENY_VERSION;
    let version = format!("{major}.{minor}.{patch}");
    println!("building cargo-deny {version} into {}", tools.display());
    let build = tools.join("build");
    let mut command = workspace.cargo(&[
        "install",
        "--quiet",
        "--locked",
        "cargo-deny",
        "--version",
        &version,
    ]);
    command
        .arg("--root")
        .arg(&tools)
        .env("CARGO_TARGET_DIR", &build);
    run::run(&mut command)?;
    // Half a gigabyte of objects that nothing reads again.
    std::fs::remove_dir_all(&build)?;
    Ok(own)
}

fn parse_version(text: &str) -> Option<(u32, u32, u32)> {
    let mut numbers = text
        .split_whitespace()
        .nth(1)?
        .split('.')
        .map(|part| part.parse().ok());
    Some((numbers.next()??, numbers.next()??, numbers.next()??))
}

fn succeeds(line: &[&str]) -> bool {
    let arguments: Vec<OsString> = line[1..].iter().map(OsString::from).collect();
    Command::new(line[0])
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_as_numbers() {
        assert_eq!(parse_version("cargo-deny 0.20.2"), Some((0, 20, 2)));
        assert!(parse_version("cargo-deny 0.9.12") < Some(CARGO_DENY_VERSION));
        assert_eq!(parse_version("nonsense"), None);
    }

    #[test]
    fn packages_are_named_once() {
        let all: Vec<&Need> = NEEDS.iter().collect();
        let packages = packages(&all);
        assert!(
            packages.windows(2).all(|pair| pair[0] < pair[1]),
            "{packages:?}"
        );
    }
}
