//! `cargo xtask instructions`: the number of instructions that the hot paths take, compared with a record.
//!
//! Callgrind counts exactly, even on a busy machine, so five percent are significant. It presents its own processor to
//! programs, the same on every host with AVX2. What still matters is the compiler, which the record names; on another
//! architecture nothing is compared.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use crate::report::Report;
use crate::run::{self, Failure, Workspace};
use crate::sanitize;

/// Tolerated change, in either direction: a record that is too high would hide the next increase.
const CHANGE_MAX: f64 = 0.05;

/// Pattern of the program's function that runs the counted code.
const COUNTED: &str = "*counted*";

/// Instructions per operation, by case.
type Counts = BTreeMap<String, f64>;

/// Committed counts, and their origin.
#[derive(Debug)]
struct Record {
    target: String,
    rustc: String,
    counts: Counts,
}

/// Counts, and fails if a count has changed.
pub(crate) fn check(workspace: &Workspace, report: &mut Report) -> Result<(), Failure> {
    let record = Record::read(workspace)?;
    let (counts, impossible) = count(workspace)?;
    let target = sanitize::host(workspace)?;
    if target != record.target {
        println!("NOT COMPARED: the record is of {}", record.target);
        return Ok(());
    }
    for (name, why) in &impossible {
        println!("NOT COUNTED: {name}: {why}");
    }
    let errors = changes(&record.counts, &counts, &impossible);
    if errors.is_empty() {
        report.count(counts.len() as u64, 0);
        return Ok(());
    }
    let rustc = rustc(workspace)?;
    let compiler = if rustc == record.rustc {
        String::new()
    } else {
        format!(
            "\nthe record was made with {}, this is {rustc}",
            record.rustc
        )
    };
    Err(Failure(format!(
        "instructions per operation have changed:\n  {}{compiler}\n\
         if that is meant: cargo xtask instructions --record, and commit {}",
        errors.join("\n  "),
        FILE
    )))
}

/// Counts, and replaces the record. Cases that are impossible here keep their previous counts.
pub(crate) fn record(workspace: &Workspace, report: &mut Report) -> Result<(), Failure> {
    let before = Record::read(workspace).ok();
    let (mut counts, impossible) = count(workspace)?;
    for name in impossible.keys() {
        let kept = before.as_ref().and_then(|before| before.counts.get(name));
        if let Some(kept) = kept {
            counts.insert(name.clone(), *kept);
        }
    }
    report.count(counts.len() as u64, 0);
    let record = json!({
        "target": sanitize::host(workspace)?,
        "rustc": rustc(workspace)?,
        "instructions": counts,
    });
    std::fs::write(path(workspace), format!("{record:#}\n"))?;
    println!("written: {FILE}");
    Ok(())
}

const FILE: &str = "benches/instructions/record.json";

fn path(workspace: &Workspace) -> PathBuf {
    workspace.root.join(FILE)
}

fn rustc(workspace: &Workspace) -> Result<String, Failure> {
    let version = run::capture(&mut workspace.command(sanitize::rustc(), &["--version"]))?;
    Ok(version.trim().to_owned())
}

impl Record {
    fn read(workspace: &Workspace) -> Result<Self, Failure> {
        let wrong = |why: String| Failure(format!("{FILE}: {why}"));
        let text = std::fs::read_to_string(path(workspace)).map_err(|e| wrong(e.to_string()))?;
        let value: Value = serde_json::from_str(&text).map_err(|e| wrong(e.to_string()))?;
        Self::parse(&value).ok_or_else(|| wrong("is not such a record".to_owned()))
    }

    fn parse(value: &Value) -> Option<Self> {
        let counts = value["instructions"].as_object()?.iter();
        let counts = counts.map(|(name, count)| Some((name.clone(), count.as_f64()?)));
        Some(Self {
            target: value["target"].as_str()?.to_owned(),
            rustc: value["rustc"].as_str()?.to_owned(),
            counts: counts.collect::<Option<_>>()?,
        })
    }
}

/// Builds the program of the cases.
pub(crate) fn build(workspace: &Workspace) -> Result<Command, Failure> {
    let build = ["build", "--release", "--locked", "--bin", "instructions"];
    let package = ["--package", "carillon-benches"];
    Ok(workspace.cargo(&[&build[..], &package].concat()))
}

/// Runs every case; also returns the reasons why some cases cannot be run here.
fn count(workspace: &Workspace) -> Result<(Counts, BTreeMap<String, String>), Failure> {
    run::run(&mut build(workspace)?)?;
    let program = workspace.target.join("release/instructions");
    let names = run::capture(&mut workspace.command(&program, &[] as &[&str]))?;
    let (mut counts, mut impossible) = (Counts::new(), BTreeMap::new());
    for name in names.lines() {
        let mut command = workspace.command("valgrind", &["--tool=callgrind"]);
        command
            .arg(format!("--toggle-collect={COUNTED}"))
            .arg("--callgrind-out-file=/dev/null")
            .arg(&program)
            .arg(name)
            // The contents of the stack below `main` shift everything above it.
            .env_clear();
        let output = command.output()?;
        let said = String::from_utf8_lossy(&output.stdout);
        let valgrind = String::from_utf8_lossy(&output.stderr);
        if let Some(why) = said.trim().strip_prefix("impossible: ") {
            impossible.insert(name.to_owned(), why.to_owned());
            continue;
        }
        let Some(per_operation) = per_operation(&said, &valgrind) else {
            return Err(Failure(format!(
                "`{name}`: {}\n{said}{valgrind}",
                output.status
            )));
        };
        println!("{per_operation:>10.1}  {name}");
        counts.insert(name.to_owned(), per_operation);
    }
    Ok((counts, impossible))
}

/// Computes instructions per operation from the output of the program and of callgrind, to a tenth: more digits would be noise
/// in a diff.
fn per_operation(said: &str, valgrind: &str) -> Option<f64> {
    let operations: f64 = said.trim().strip_prefix("operations: ")?.parse().ok()?;
    let collected = valgrind
        .lines()
        .find_map(|line| line.split_once("Collected :"))?;
    let instructions: f64 = collected.1.trim().parse().ok()?;
    let is_audio = operations > 0.0 && instructions > 0.0;
    is_audio.then(|| (instructions / operations * 10.0).round() / 10.0)
}

fn changes(record: &Counts, now: &Counts, impossible: &BTreeMap<String, String>) -> Vec<String> {
    let mut errors = Vec::new();
    for (name, count) in now {
        let Some(before) = record.get(name) else {
            errors.push(format!("{name}: {count}, and the record has none"));
            continue;
        };
        let change = count / before - 1.0;
        if change.abs() > CHANGE_MAX {
            let percent = change * 100.0;
            errors.push(format!("{name}: {before} → {count} ({percent:+.1} %)"));
        }
    }
    let gone = record
        .keys()
        .filter(|name| !now.contains_key(*name) && !impossible.contains_key(*name));
    errors.extend(gone.map(|name| format!("{name}: is in the record only")));
    errors
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(list: &[(&str, f64)]) -> Counts {
        list.iter()
            .map(|(name, count)| ((*name).to_owned(), *count))
            .collect()
    }

    #[test]
    fn a_count_is_per_operation() {
        let valgrind = "==1== Events    : Ir\n==1== Collected : 1234\n==1==\n";
        assert_eq!(per_operation("operations: 100\n", valgrind), Some(12.3));
        assert_eq!(per_operation("operations: 0\n", valgrind), None);
        assert_eq!(per_operation("operations: 1", "Collected : 0"), None);
        assert_eq!(per_operation("", valgrind), None);
    }

    #[test]
    fn growth_and_shrinkage_are_noticed_beyond_the_tolerance() {
        let record = counts(&[("a", 100.0)]);
        let errors = |count| changes(&record, &counts(&[("a", count)]), &BTreeMap::new());
        assert!(errors(104.9).is_empty() && errors(95.1).is_empty());
        assert_eq!(errors(105.1).len(), 1);
        assert_eq!(errors(94.9).len(), 1);
    }

    #[test]
    fn record_and_cases_are_the_same_set() {
        let some = counts(&[("a", 1.0)]);
        let none = Counts::new();
        assert_eq!(changes(&none, &some, &BTreeMap::new()).len(), 1);
        assert_eq!(changes(&some, &none, &BTreeMap::new()).len(), 1);
        let impossible = BTreeMap::from([("a".to_owned(), "no io_uring".to_owned())]);
        assert!(changes(&some, &none, &impossible).is_empty());
    }
}
