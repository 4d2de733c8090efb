//! The project's chores: `cargo xtask test` is the one test command of this repository.
//!
//! A step is a row of [`STEPS`]; `test` runs the rows in order and stops at the first that fails,
//! `cargo xtask <step>` runs one alone. No step asks a question: standard input is closed for all.

mod advisories;
mod ahead;
mod arrows;
mod axe;
mod bench;
mod build;
mod current_ffmpeg;
mod demo_clip;
mod fuzz;
mod icy_clients;
mod instructions;
mod npm;
mod python;
mod report;
mod run;
mod sanitize;
mod source;
mod tidy;
mod tools;
mod web;
mod webrtc_players;
mod wheel;

use std::process::{Command, ExitCode};

use ahead::Ahead;
use report::Report;
use run::{Failure, Workspace};

/// One chore: its name on the command line, what it does, and whether `test` includes it.
struct Step {
    name: &'static str,
    about: &'static str,
    in_test: bool,
    /// What it builds before anything else, if that may be made beside [`SCENARIOS`].
    build: Option<Build>,
    run: fn(&Workspace, &mut Report) -> Result<(), Failure>,
}

/// The command of a build.
type Build = fn(&Workspace) -> Result<Command, Failure>;

/// The step that leaves time for the builds of those behind it.
const SCENARIOS: &str = "scenarios";

/// In the order of `test`: quick steps that fail often come first, and what needs the machine to itself last.
const STEPS: &[Step] = &[
    Step {
        name: "tools",
        about: "check for the programs the tests need, install what is missing",
        in_test: true,
        build: None,
        run: tools::check,
    },
    Step {
        name: "fmt",
        about: "rustfmt, nothing rewritten",
        in_test: true,
        build: None,
        run: build::fmt,
    },
    Step {
        name: "tidy",
        about: "file length, unsafe, clocks and sockets where they may not be",
        in_test: true,
        build: None,
        run: tidy::check,
    },
    Step {
        name: "web",
        about: "the pages' scripts: types, tests, and that the committed ones are built from them",
        in_test: true,
        build: None,
        run: web::check,
    },
    Step {
        name: "arrows",
        about: "which crate may depend on which, over `cargo metadata`",
        in_test: true,
        build: None,
        run: arrows::check,
    },
    Step {
        name: "clippy",
        about: "clippy on all targets, warnings are errors",
        in_test: true,
        build: None,
        run: build::clippy,
    },
    Step {
        name: "deny",
        about: "cargo-deny: bans, licences, sources",
        in_test: true,
        build: None,
        run: build::deny,
    },
    Step {
        name: "doc",
        about: "rustdoc with private items, warnings are errors",
        in_test: true,
        build: None,
        run: build::doc,
    },
    Step {
        name: "unit",
        about: "unit and doc tests, benches in test mode",
        in_test: true,
        build: None,
        run: build::unit,
    },
    Step {
        name: SCENARIOS,
        about: "the server driven by real clients",
        in_test: true,
        build: None,
        run: build::scenarios,
    },
    Step {
        name: "loom",
        about: "the log's concurrency, every interleaving",
        in_test: true,
        build: Some(sanitize::loom_build),
        run: sanitize::loom,
    },
    Step {
        name: "asan",
        about: "the unit tests of unsafe code under the address sanitizer",
        in_test: true,
        build: Some(sanitize::asan_build),
        run: sanitize::asan,
    },
    Step {
        name: "instructions",
        about: "instructions per visit, join and sample, held against the record",
        in_test: true,
        build: Some(instructions::build),
        run: instructions::check,
    },
    Step {
        name: "fuzz",
        about: "every fuzz target for ten seconds",
        in_test: true,
        build: Some(fuzz::build),
        run: fuzz::smoke,
    },
    Step {
        name: "measured",
        about: "scenarios of delays and counts, one after another",
        in_test: true,
        build: None,
        run: build::measured,
    },
    Step {
        name: "advisories",
        about: "cargo-deny against the advisory database (needs the network)",
        in_test: false,
        build: None,
        run: advisories::check,
    },
    Step {
        name: "instructions --record",
        about: "make benches/instructions/record.json anew",
        in_test: false,
        build: None,
        run: instructions::record,
    },
    Step {
        name: "demo-clip",
        about: "make crates/server/assets/demo.flv anew",
        in_test: false,
        build: None,
        run: demo_clip::make,
    },
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Some(("bench", options)) = arguments
        .split_first()
        .map(|(command, options)| (command.as_str(), options))
    {
        return measure(options);
    }
    // `instructions --record` is one step's name.
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

/// Its table is the result, so it has no heading and no sum.
fn measure(options: &[String]) -> ExitCode {
    match bench::run(&Workspace::locate(), options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("xtask bench: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn run_steps(steps: &[&Step]) -> ExitCode {
    let workspace = Workspace::locate();
    let mut report = Report::new(steps.len());
    for (index, step) in steps.iter().enumerate() {
        report.open(step.name, step.about);
        let behind = steps[index..].iter().filter(|_| step.name == SCENARIOS);
        let builds = behind.filter_map(|later| later.build?(&workspace).ok());
        let ahead = Ahead::begin(builds.collect());
        if let Err(failure) = (step.run)(&workspace, &mut report) {
            report.failed(step.name, &failure);
            return ExitCode::FAILURE;
        }
        ahead.finish();
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
        println!("  {mark} {:<21} {}", step.name, step.about);
    }
    println!("\n  * not part of `test`\n");
    println!("cargo xtask bench [SCENARIO...] [--rounds 5] [--seconds 10] [--json FILE]");
    println!(
        "                      the server beside its peers and the kernel's own cost (an hour)"
    );
    println!("cargo xtask bench --list");
}
