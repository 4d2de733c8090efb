//! Scenarios: the server driven by the programs that people use, over the loopback.
//!
//! One file per behaviour, named after it. A scenario waits for conditions, never for time to
//! pass; a program it needs is demanded, never skipped (`testkit::require`).
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "every function here is part of a test"
)]

mod demo_clip_loops_in_step;
