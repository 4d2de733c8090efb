//! Cases for counting instructions; `cargo xtask instructions` runs them under callgrind.
//!
//! Without an argument, it prints the names of all cases. With the name of a case, it runs that case and prints the number of
//! operations in the counted part, or the reason why the case is impossible on this host.

mod cases;

use std::process::ExitCode;

use cases::{CASES, Run};

fn main() -> ExitCode {
    let Some(wanted) = std::env::args().nth(1) else {
        for (name, _) in CASES {
            println!("{name}");
        }
        return ExitCode::SUCCESS;
    };
    let Some((_, case)) = CASES.iter().find(|(name, _)| *name == wanted) else {
        eprintln!("no case `{wanted}`");
        return ExitCode::FAILURE;
    };
    let mut run = Run::default();
    match case(&mut run) {
        Ok(()) => println!("operations: {}", run.operations()),
        Err(why) => println!("impossible: {why}"),
    }
    ExitCode::SUCCESS
}
