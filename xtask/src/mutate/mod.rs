//! `cargo xtask mutate`: breaks one line of the product at a time, and runs the tests that should notice.
//!
//! It works in a checkout of the last commit below the target directory, with its own builds, so that no file of the work tree
//! is ever wrong. Verdicts for the same commit are not repeated. A witness must pass without the fault, or it would notice
//! nothing.

mod list;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use self::list::{Mutation, Witness};
use crate::report::spoken;
use crate::run::{self, Failure, Workspace};
use crate::suite::{self, Job};

/// Time limit for a fault: a build of what it changes and a run of its witness.
const TIME_MAX: Duration = Duration::from_secs(240);

/// Folders of the target directory that tests read.
const SHARED: [&str; 2] = ["tools", "testmedia"];

/// Checkout in which faults are tried.
struct Bench<'a> {
    workspace: &'a Workspace,
    tree: PathBuf,
    target: PathBuf,
}

/// Verdict on a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Found,
    Survived,
    /// The compiler refuses it, so it is not a fault that could happen.
    NotBuilt,
    /// The witness fails even without the fault.
    NoWitness,
}

/// Tries all faults, or those whose names contain one of `filters`; returns whether all were found.
pub(crate) fn run(workspace: &Workspace, filters: &[String]) -> Result<bool, Failure> {
    let all = list::read(workspace)?;
    let chosen: Vec<&Mutation> = all
        .iter()
        .filter(|m| filters.is_empty() || filters.iter().any(|f| m.name.contains(f.as_str())))
        .collect();
    if chosen.is_empty() {
        return Err(Failure("no fault has such a name".to_owned()));
    }
    let bench = Bench::set_up(workspace)?;
    let mut known = bench.known()?;
    let mut rows = Vec::new();
    for (index, mutation) in chosen.iter().enumerate() {
        let before = known.get(&mutation.name);
        let row = match before.filter(|row| row["fault"] == fault(mutation)) {
            Some(row) => row.clone(),
            None => {
                println!("\n==== [{}/{}] {}", index + 1, chosen.len(), mutation.name);
                let (verdict, took) = bench.judge(mutation)?;
                println!("---- {}: {}", mutation.name, verdict.name());
                let row = json!({
                    "verdict": verdict.name(),
                    "seconds": took.as_secs_f64(),
                    "fault": fault(mutation),
                });
                // The other verdicts may be due to a full disk or a busy machine.
                if matches!(verdict, Verdict::Found | Verdict::Survived) {
                    known.insert(mutation.name.clone(), row.clone());
                    bench.keep(&known)?;
                }
                row
            }
        };
        rows.push((mutation.name.as_str(), row));
    }
    Ok(print(&rows))
}

/// Returns the identity of the fault that a verdict belongs to.
fn fault(mutation: &Mutation) -> Value {
    let Mutation {
        file,
        old,
        new,
        noticed_by,
        ..
    } = mutation;
    json!([file, old, new, noticed_by])
}

/// Prints the table; returns whether all were found.
fn print(rows: &[(&str, Value)]) -> bool {
    println!("\n{:<10} {:>13}  fault", "", "time");
    for (name, row) in rows {
        let seconds = row["seconds"].as_f64().unwrap_or_default();
        let took = Duration::from_secs_f64(seconds);
        let late = if took > TIME_MAX { "  (too long)" } else { "" };
        let verdict = row["verdict"].as_str().unwrap_or_default();
        println!("{verdict:<10} {:>13}  {name}{late}", spoken(took));
    }
    let found = rows.iter().filter(|(_, row)| row["verdict"] == "found");
    let found = found.count();
    println!("\n{found} of {} found", rows.len());
    found == rows.len()
}

impl Verdict {
    const fn name(self) -> &'static str {
        match self {
            Self::Found => "found",
            Self::Survived => "SURVIVED",
            Self::NotBuilt => "NOT BUILT",
            Self::NoWitness => "NO WITNESS",
        }
    }
}

impl<'a> Bench<'a> {
    /// Checks out the last commit, anew or over the existing checkout.
    fn set_up(workspace: &'a Workspace) -> Result<Self, Failure> {
        let folder = workspace.target.join("mutate");
        let (tree, target) = (folder.join("tree"), folder.join("target"));
        fs::create_dir_all(&target)?;
        let git = |arguments: &[&str]| run::run(&mut workspace.command("git", arguments));
        let place = tree.to_string_lossy().into_owned();
        if tree.join(".git").exists() {
            git(&[
                "-C",
                &place,
                "checkout",
                "--quiet",
                "--force",
                "--detach",
                &head(workspace)?,
            ])?;
        } else {
            git(&["worktree", "prune"])?;
            git(&[
                "worktree", "add", "--quiet", "--force", "--detach", &place, "HEAD",
            ])?;
        }
        for name in SHARED {
            let (link, shared) = (target.join(name), workspace.target.join(name));
            fs::create_dir_all(&shared)?;
            if !link.exists() {
                symlink(shared, link)?;
            }
        }
        Ok(Self {
            workspace,
            tree,
            target,
        })
    }

    fn file(&self) -> PathBuf {
        self.workspace.target.join("mutate/verdicts.json")
    }

    /// Returns the verdicts of earlier runs for this commit.
    fn known(&self) -> Result<BTreeMap<String, Value>, Failure> {
        let text = fs::read_to_string(self.file()).unwrap_or_default();
        let value: Value = serde_json::from_str(&text).unwrap_or_default();
        let mut known = BTreeMap::new();
        if value["commit"] == head(self.workspace)? {
            let rows = value["verdicts"].as_object().into_iter().flatten();
            known.extend(rows.map(|(name, row)| (name.clone(), row.clone())));
        }
        Ok(known)
    }

    fn keep(&self, known: &BTreeMap<String, Value>) -> Result<(), Failure> {
        let value = json!({"commit": head(self.workspace)?, "verdicts": known});
        fs::write(self.file(), format!("{value:#}\n"))?;
        Ok(())
    }

    /// Returns the verdict, and the time that the build and the witness took with the fault.
    fn judge(&self, mutation: &Mutation) -> Result<(Verdict, Duration), Failure> {
        let witness = mutation.witness()?;
        let path = self.tree.join(&mutation.file);
        let whole = fs::read_to_string(&path)?;
        println!("without the fault");
        self.prepare(&witness)?;
        if !self.passes(&witness)? {
            return Ok((Verdict::NoWitness, Duration::ZERO));
        }
        println!("with it");
        fs::write(&path, mutation.apply(&whole)?)?;
        let began = Instant::now();
        let verdict = if !self.build(&witness)? {
            Verdict::NotBuilt
        } else if self.passes(&witness)? {
            Verdict::Survived
        } else {
            Verdict::Found
        };
        let took = began.elapsed();
        fs::write(&path, whole)?;
        Ok((verdict, took))
    }

    /// Builds everything that the witness needs; from then on the scenarios stay the same, and only the server gets the fault.
    fn prepare(&self, witness: &Witness) -> Result<(), Failure> {
        if matches!(witness, Witness::Scenario { .. }) {
            run::run(&mut self.scenarios(&["--no-run"]))?;
        }
        if self.build(witness)? {
            Ok(())
        } else {
            Err(Failure("the last commit does not build".to_owned()))
        }
    }

    /// Builds what the fault changes; returns whether the compiler accepts it.
    fn build(&self, witness: &Witness) -> Result<bool, Failure> {
        let mut command = match witness {
            Witness::Unit { package, .. } => {
                self.cargo(&["test", "--locked", "--no-run", "--package", package])
            }
            Witness::Scenario { .. } => self.cargo(&["build", "--locked", "--bin", "carillon"]),
        };
        Ok(command.status()?.success())
    }

    /// Returns whether the witness passes in time: a fault may make it wait forever.
    fn passes(&self, witness: &Witness) -> Result<bool, Failure> {
        let command = match witness {
            Witness::Unit { package, filter } => self.cargo(&[
                "test",
                "--locked",
                "--package",
                package,
                "--no-fail-fast",
                "--",
                filter,
            ]),
            Witness::Scenario { filter } => self.scenarios(&["--", filter]),
        };
        let mut job = Job::new("the witness", command);
        job.time_max = TIME_MAX;
        let outcome = suite::run_one(self.workspace, job)?;
        println!("{}", outcome.output);
        Ok(outcome.is_passed)
    }

    fn scenarios(&self, arguments: &[&str]) -> Command {
        let test = ["test", "--locked", "--package", "carillon-tests"];
        let mut command = self.cargo(&[&test[..], arguments].concat());
        command.env("CARILLON_BIN", self.target.join("debug/carillon"));
        command
    }

    fn cargo(&self, arguments: &[&str]) -> Command {
        let mut command = self.workspace.cargo(arguments);
        command
            .current_dir(&self.tree)
            .env("CARGO_TARGET_DIR", &self.target);
        command
    }
}

fn head(workspace: &Workspace) -> Result<String, Failure> {
    let head = run::capture(&mut workspace.command("git", &["rev-parse", "HEAD"]))?;
    Ok(head.trim().to_owned())
}
