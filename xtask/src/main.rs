//! The project's tasks: `cargo xtask test` is the only test command of this repository.
//!
//! A step is a row of [`steps::STEPS`], and a run is a list of steps ([`session`]). Tests are jobs ([`suite`]). No step
//! prompts: standard input is closed for all.

mod advisories;
mod ahead;
mod arrows;
mod axe;
mod bench;
mod build;
mod count;
mod current_ffmpeg;
mod demo_clip;
mod document;
mod flaky;
mod fuzz;
mod go;
mod icy_clients;
mod instructions;
mod journal;
mod long;
mod mutate;
mod npm;
mod python;
mod report;
mod run;
mod sanitize;
mod scenarios;
mod session;
mod source;
mod steps;
mod suite;
mod tidy;
mod tools;
mod unit;
mod web;
mod webrtc_players;
mod wheel;
mod workflows;

use std::process::ExitCode;

use run::{Failure, Workspace};
use steps::{STEPS, Step, Tier};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (command, options) = match arguments.split_first() {
        Some((command, options)) => (command.as_str(), options),
        None => ("help", &[][..]),
    };
    let workspace = Workspace::locate();
    let done = match command {
        "help" | "--help" | "-h" => {
            print_help();
            Ok(true)
        }
        "test" => test(&workspace, options),
        "scenarios" => session::scenarios(&workspace, options),
        "flaky" => flaky::run(&workspace, options),
        "long" => long::run(&workspace, options),
        "mutate" => mutate::run(&workspace, options),
        "bench" => bench::run(&workspace, options).map(|()| true),
        _ => one_step(&workspace, &arguments),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(failure) => {
            eprintln!("xtask {command}: {failure}");
            ExitCode::from(2)
        }
    }
}

/// Runs `test`, `test --all` or `test --all PART…`, each also with `--resume`.
fn test(workspace: &Workspace, options: &[String]) -> Result<bool, Failure> {
    let (flags, parts): (Vec<&String>, Vec<&String>) =
        options.iter().partition(|option| option.starts_with("--"));
    let parts: Vec<String> = parts.into_iter().cloned().collect();
    let unknown = flags
        .iter()
        .find(|flag| !["--all", "--resume"].contains(&flag.as_str()));
    if let Some(flag) = unknown {
        return Err(Failure(format!("`test` knows no option {flag}")));
    }
    let known = steps::parts();
    if let Some(part) = parts.iter().find(|part| !known.contains(&part.as_str())) {
        let known = known.join(", ");
        return Err(Failure(format!(
            "no part is named `{part}`; there are {known}"
        )));
    }
    let has = |name: &str| flags.iter().any(|flag| *flag == name);
    let is_all = has("--all");
    if !is_all && !parts.is_empty() {
        return Err(Failure("parts are those of `test --all PART…`".to_owned()));
    }
    let (chosen, keeps_going) = if is_all {
        (steps::of_parts(&parts), true)
    } else {
        (steps::of_core(), false)
    };
    session::run(workspace, &chosen, keeps_going, has("--resume"))
}

/// Runs one step by its name; `instructions --record` is the name of one.
fn one_step(workspace: &Workspace, arguments: &[String]) -> Result<bool, Failure> {
    let name = arguments.join(" ");
    let step: Vec<&Step> = STEPS.iter().filter(|step| step.name == name).collect();
    if step.is_empty() {
        print_help();
        return Err(Failure(format!("no step is named `{name}`")));
    }
    session::run(workspace, &step, false, false)
}

fn print_help() {
    println!(
        "cargo xtask test                     the core: what CI runs, up to the first failure"
    );
    println!(
        "cargo xtask test --all [PART...]     everything, whatever fails; --resume leaves out"
    );
    println!("                                     what was green for the same files");
    println!("cargo xtask scenarios [NAME...]      scenarios whose names contain one of these");
    println!("cargo xtask <step>                   one step alone");
    println!("cargo xtask flaky N [--since COMMIT] changed tests, N times beside busy loops");
    println!("cargo xtask mutate [NAME...]         faults that tests must notice (resumable)");
    println!("cargo xtask long NAME                what takes longer than five minutes, see below");
    println!("cargo xtask bench [--list]           the server beside its peers (an hour)\n");
    println!("parts of --all: {}\n", steps::parts().join(", "));
    for step in STEPS {
        let tier = match step.tier {
            Tier::Core => "core",
            Tier::All => "all",
            Tier::Alone => "-",
        };
        println!("  {:<5} {:<21} {}", tier, step.name, step.about);
    }
    println!();
    long::print_help();
}
