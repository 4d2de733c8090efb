//! The `carillon` program. Everything it does is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    carillon_server::cli::run()
}
