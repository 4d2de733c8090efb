//! The server at scale, compared with the kernel's own cost and with its peers: `cargo xtask bench`.
//!
//! A scenario is a list of figures that the project promises. Servers take turns within a round, so that other work on the
//! machine affects all alike, and a ratio is always within one round; the table shows medians over the rounds. The audience is
//! `carillon load`, in separate processes.
//!
//! Processor time is user and system time of all processes of a server over the window. Over the loopback, this includes the
//! kernel's delivery of the bytes to the receiver, for all servers alike.
#![allow(
    clippy::panic,
    reason = "a scenario that cannot be measured says why and ends; the others go on"
)]

mod audience;
mod bench;
mod calls;
mod contest;
mod figure;
mod machine;
mod options;
mod scenario;
mod source;
mod table;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use bench::Bench;
use machine::Machine;
use options::Options;
use scenario::Scenario;

fn main() -> ExitCode {
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(error) => {
            eprintln!("bench: {error}");
            return ExitCode::from(2);
        }
    };
    if options.list {
        for scenario in scenario::ALL {
            println!("{:<15} {}", scenario.name, scenario.about);
        }
        return ExitCode::SUCCESS;
    }
    // Without it, the load may be a dev build, whose own processor time becomes the figure.
    if std::env::var_os("CARILLON_BIN").is_none() {
        eprintln!(
            "bench: CARILLON_BIN does not name the server's release build; `cargo xtask bench` does"
        );
        return ExitCode::from(2);
    }
    let chosen: Vec<&Scenario> = scenario::ALL
        .iter()
        .filter(|scenario| options.wants(scenario.name))
        .collect();
    let machine = Machine::look();
    println!("{machine}\n");
    let mut bench = Bench::new(options, machine);
    for scenario in chosen {
        eprintln!("==== {}: {}", scenario.name, scenario.about);
        bench.open(scenario.name);
        let outcome = catch_unwind(AssertUnwindSafe(|| (scenario.run)(&mut bench)));
        if let Err(why) = outcome {
            bench.fail(why.as_ref());
        }
        // Measured figures are kept even if a later scenario fails.
        if let Err(error) = bench.save() {
            eprintln!("bench: {error}");
            return ExitCode::FAILURE;
        }
    }
    print!("{}", bench.text());
    if bench.failed() {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}
