//! The project's chores: `cargo xtask test` is the one test command of this repository.
//!
//! A step is a row of [`STEPS`]; `test` runs the rows in order and stops at the first that fails,
//! `cargo xtask <step>` runs one alone. No step asks a question: standard input is closed for all.

mod advisories;
mod aiortc;
mod arrows;
mod bench;
mod build;
mod current_ffmpeg;
mod demo_clip;
mod fuzz;
mod report;
mod run;
mod sanitize;
mod source;
mod tidy;
mod tools;

use std::process::ExitCode;

use report::Report;
use run::{Failure, Workspace};

/// One chore: its name on the command line, what it does, and whether `test` includes it.
struct Step {
    name: &'static str,
    about: &'static str,
    in_test: bool,
    run: fn(&Workspace, &mut Report) -> Result<(), Failure>,
}

/// In the order of `test`: what is quick and fails often comes first.
const STEPS: &[Step] = &[
    Step {
        name: "tools",
        about: "check for the programs the tests need, install what is missing",
        in_test: true,
        run: tools::check,
    },
    Step {
        name: "fmt",
        about: "rustfmt, nothing rewritten",
        in_test: true,
        run: build::fmt,
    },
    Step {
        name: "tidy",
        about: "file length, unsafe, clocks and sockets where they may not be",
        in_test: true,
        run: tidy::check,
    },
    Step {
        name: "arrows",
        about: "which crate may depend on which, over `cargo metadata`",
        in_test: true,
        run: arrows::check,
    },
    Step {
        name: "clippy",
        about: "clippy on all targets, warnings are errors",
        in_test: true,
        run: build::clippy,
    },
    Step {
        name: "deny",
        about: "cargo-deny: bans, licences, sources",
        in_test: true,
        run: build::deny,
    },
    Step {
        name: "doc",
        about: "rustdoc with private items, warnings are errors",
        in_test: true,
        run: build::doc,
    },
    Step {
        name: "unit",
        about: "unit and doc tests, benches in test mode",
        in_test: true,
        run: build::unit,
    },
    Step {
        name: "loom",
        about: "the log's concurrency, every interleaving",
        in_test: true,
        run: sanitize::loom,
    },
    Step {
        name: "asan",
        about: "the unit tests of unsafe code under the address sanitizer",
        in_test: true,
        run: sanitize::asan,
    },
    Step {
        name: "fuzz",
        about: "every fuzz target for ten seconds",
        in_test: true,
        run: fuzz::smoke,
    },
    Step {
        name: "scenarios",
        about: "the server driven by real clients",
        in_test: true,
        run: build::scenarios,
    },
    Step {
        name: "advisories",
        about: "cargo-deny against the advisory database (needs the network)",
        in_test: false,
        run: advisories::check,
    },
    Step {
        name: "bench players",
        about: "CPU per 1,000 RTMP players, ours and nginx-rtmp's (five minutes)",
        in_test: false,
        run: bench::players,
    },
    Step {
        name: "demo-clip",
        about: "make crates/server/assets/demo.flv anew",
        in_test: false,
        run: demo_clip::make,
    },
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // `bench players` is one step's name.
    let command = arguments.join(" ");
    let steps: Vec<&Step> = match command.as_str() {
        "" | "help" | "--help" | "-h" => {
            print_help();
            return ExitCode::SUCCESS;
        }
        "test" => STEPS.iter().filter(|step| step.in_test).collect(),
        name => STEPS.iter().filter(|step| step.name == name).collect(),
    };
    if steps.is_empty() {
        eprintln!("xtask: no step named `{command}`\n");
        print_help();
        return ExitCode::from(2);
    }
    run_steps(&steps)
}

fn run_steps(steps: &[&Step]) -> ExitCode {
    let workspace = Workspace::locate();
    let mut report = Report::new(steps.len());
    for step in steps {
        report.open(step.name, step.about);
        if let Err(failure) = (step.run)(&workspace, &mut report) {
            report.failed(step.name, &failure);
            return ExitCode::FAILURE;
        }
        report.close();
    }
    report.passed();
    ExitCode::SUCCESS
}

fn print_help() {
    println!("cargo xtask test      all of the steps below, in order, up to the first failure");
    println!("cargo xtask <step>    one step alone\n");
    for step in STEPS {
        let mark = if step.in_test { " " } else { "*" };
        println!("  {mark} {:<13} {}", step.name, step.about);
    }
    println!("\n  * not part of `test`");
}
