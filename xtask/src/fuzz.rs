//! The fuzz smoke: every target of `fuzz/` for ten seconds, on a stable compiler.
//!
//! `cargo fuzz` is a wrapper that sets flags and calls `cargo build`; here the flags are written down instead, so that nothing
//! has to be installed. Seeds in `fuzz/seeds/<target>/` are only read; the fuzzer's findings go to a fresh folder, and only
//! failures are kept.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

use crate::report::Report;
use crate::run::{self, Failure, Workspace};
use crate::sanitize;

/// Seconds for which a target runs in the tests.
const SECONDS: u64 = 10;
/// Number of targets that run at the same time.
const LANES: usize = 2;
/// Number of final lines of a failing target's output that are shown.
const SHOWN_LINES: usize = 60;

/// Flags that `cargo fuzz build` passes to rustc: coverage counters, comparison tracing, and the address sanitizer.
const RUSTFLAGS: &str = "-Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares \
    --cfg fuzzing \
    -Zsanitizer=address";

/// Memory limits: a parser that exceeds them for a bounded input is itself unbounded.
const LIMITS: &[&str] = &["-rss_limit_mb=512", "-malloc_limit_mb=64", "-timeout=5"];

/// Runs every target for ten seconds.
pub(crate) fn smoke(workspace: &Workspace, report: &mut Report) -> Result<(), Failure> {
    run(workspace, report, SECONDS)
}

/// Runs every target for `seconds`.
pub(crate) fn run(workspace: &Workspace, report: &mut Report, seconds: u64) -> Result<(), Failure> {
    sanitize::require_runtime(workspace)?;
    let host = sanitize::host(workspace)?;
    let targets = targets(workspace)?;
    require_same_in_manifest(workspace, &targets)?;
    let mut cargo = build(workspace)?;
    run::run(&mut cargo).map_err(|failure| {
        Failure(format!(
            "{failure}\nif fuzz/Cargo.lock is stale: cargo update --workspace --manifest-path \
             fuzz/Cargo.toml"
        ))
    })?;
    let binaries = folder(workspace).join(&host).join("release");
    let failures = run_all(workspace, &binaries, &targets, seconds);
    report.count(
        (targets.len() - failures.len()) as u64,
        failures.len() as u64,
    );
    if failures.is_empty() {
        Ok(())
    } else {
        Err(Failure(failures.join("\n\n")))
    }
}

/// Builds the targets.
pub(crate) fn build(workspace: &Workspace) -> Result<Command, Failure> {
    let mut cargo = workspace.cargo(&[
        "build",
        "--manifest-path",
        "fuzz/Cargo.toml",
        "--release",
        "--bins",
        "--locked",
        "--target",
        &sanitize::host(workspace)?,
    ]);
    cargo
        .env("RUSTC_BOOTSTRAP", "1")
        .env("RUSTFLAGS", RUSTFLAGS)
        .env("CARGO_TARGET_DIR", folder(workspace));
    Ok(cargo)
}

fn folder(workspace: &Workspace) -> PathBuf {
    workspace.target.join("fuzz")
}

/// Returns the targets, by the files in `fuzz/fuzz_targets`, sorted.
fn targets(workspace: &Workspace) -> Result<Vec<String>, Failure> {
    let folder = workspace.root.join("fuzz/fuzz_targets");
    let mut names = Vec::new();
    for entry in fs::read_dir(&folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "rs") {
            names.extend(
                path.file_stem()
                    .map(|stem| stem.to_string_lossy().into_owned()),
            );
        }
    }
    names.sort();
    if names.is_empty() {
        return Err(Failure(format!(
            "{} holds no fuzz target",
            folder.display()
        )));
    }
    Ok(names)
}

/// Checks that the manifest has the same targets: a file that no `[[bin]]` names would be a target that never runs.
fn require_same_in_manifest(workspace: &Workspace, targets: &[String]) -> Result<(), Failure> {
    let manifest = fs::read_to_string(workspace.root.join("fuzz/Cargo.toml"))?;
    let named = manifest_bins(&manifest);
    let unnamed: Vec<_> = targets
        .iter()
        .filter(|name| !named.contains(name))
        .collect();
    let absent: Vec<_> = named
        .iter()
        .filter(|name| !targets.contains(name))
        .collect();
    if unnamed.is_empty() && absent.is_empty() {
        return Ok(());
    }
    Err(Failure(format!(
        "fuzz/Cargo.toml and fuzz/fuzz_targets disagree: without a [[bin]] {unnamed:?}, without \
         a file {absent:?}"
    )))
}

/// Returns the names of the `[[bin]]` tables, sorted.
fn manifest_bins(manifest: &str) -> Vec<String> {
    let mut names: Vec<String> = manifest
        .split("[[bin]]")
        .skip(1)
        .filter_map(|table| {
            let line = table
                .lines()
                .find(|line| line.trim_start().starts_with("name"))?;
            line.split('"').nth(1).map(str::to_owned)
        })
        .collect();
    names.sort();
    names
}

/// Runs the targets on [`LANES`] threads; returns the failures, one text per failed target.
fn run_all(
    workspace: &Workspace,
    binaries: &Path,
    targets: &[String],
    seconds: u64,
) -> Vec<String> {
    let waiting = Mutex::new(targets.iter());
    let failures = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..LANES {
            scope.spawn(|| {
                while let Some(target) = waiting.lock().ok().and_then(|mut left| left.next()) {
                    match run_one(workspace, binaries, target, seconds) {
                        Ok(summary) => println!("{target}: {summary}"),
                        Err(failure) => {
                            println!("{target}: FAILED");
                            if let Ok(mut failures) = failures.lock() {
                                failures.push(format!("{target}: {failure}"));
                            }
                        }
                    }
                }
            });
        }
    });
    failures.into_inner().unwrap_or_default()
}

fn run_one(
    workspace: &Workspace,
    binaries: &Path,
    target: &str,
    seconds: u64,
) -> Result<String, Failure> {
    let artifacts = workspace.root.join("fuzz/artifacts").join(target);
    let corpus = workspace.target.join("fuzz/corpus").join(target);
    let _absent_on_a_first_run = fs::remove_dir_all(&corpus);
    fs::create_dir_all(&corpus)?;
    fs::create_dir_all(&artifacts)?;
    let binary = binaries.join(target);
    let mut command = Command::new(&binary);
    command.arg(&corpus);
    let seeds = workspace.root.join("fuzz/seeds").join(target);
    if seeds.is_dir() {
        command.arg(&seeds);
    }
    command
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-artifact_prefix={}/", artifacts.display()))
        .arg("-print_final_stats=1")
        .args(LIMITS)
        // Freed memory that the sanitizer holds back counts against the limit above.
        .env("ASAN_OPTIONS", "quarantine_size_mb=16")
        .stdin(Stdio::null());
    let output = command.output()?;
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    fs::remove_dir_all(&corpus)?;
    if output.status.success() {
        return Ok(summary(&log));
    }
    Err(Failure(complaint(&log, &binary, output.status)))
}

/// Returns the end of the log, the input that failed, and the command line that repeats the failure.
fn complaint(log: &str, binary: &Path, status: std::process::ExitStatus) -> String {
    let lines: Vec<&str> = log.lines().collect();
    let tail = lines[lines.len().saturating_sub(SHOWN_LINES)..].join("\n");
    let artifact = log
        .lines()
        .find_map(|line| line.split_once("Test unit written to "));
    match artifact.map(|(_, path)| PathBuf::from(path.trim())) {
        Some(path) => format!(
            "{tail}\n{status}\nthe input: {}\nagain: {} {}",
            path.display(),
            binary.display(),
            path.display()
        ),
        None => format!("{tail}\n{status}"),
    }
}

fn summary(log: &str) -> String {
    let stat = |name: &str| {
        log.lines()
            .find_map(|line| line.strip_prefix(&format!("stat::{name}:")))
            .map_or("?", str::trim)
    };
    format!(
        "{} runs, peak {} MB",
        stat("number_of_executed_units"),
        stat("peak_rss_mb")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_are_read_from_the_manifest() {
        let manifest = "[package]\nname = \"fuzz\"\n\n[[bin]]\nname = \"ogg\"\npath = \"x\"\n\
                        [[bin]]\npath = \"y\"\nname = \"amf0\"\n";
        assert_eq!(manifest_bins(manifest), ["amf0", "ogg"]);
    }

    #[test]
    fn the_summary_reads_the_final_stats() {
        let log = "INFO: x\nstat::number_of_executed_units: 123\nstat::peak_rss_mb:   45\n";
        assert_eq!(summary(log), "123 runs, peak 45 MB");
        assert_eq!(summary(""), "? runs, peak ? MB");
    }
}
