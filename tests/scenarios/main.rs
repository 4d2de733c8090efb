//! Scenarios: the server driven by the programs that people use, over the loopback.
//!
//! There is one file per behaviour, named after it. A scenario waits for conditions, never for time to pass; a program it needs
//! is demanded, never skipped (`testkit::require`).
//!
//! A folder is the part of the test command that runs a scenario, and the first word of the scenario's name: `core` is what
//! `cargo xtask test` runs, `cargo xtask test --all` runs all. A behaviour that is shown in the core, and elsewhere by programs
//! that the core does without, has a file of one name in both folders. Code that they share is in `support`: no folder uses a
//! file with tests of another one.
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "every function here is part of a test"
)]

mod support;

mod browsers;
mod core;
mod hls;
mod interop;
mod measured;
mod operation;
mod permission;
mod radio;
mod recording;
mod webrtc;
