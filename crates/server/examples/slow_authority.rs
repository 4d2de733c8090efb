//! `carillon` with an authority of its own: one that takes five seconds to permit streams named `slow/…`, and
//! permits everything else at once.
//!
//! ```text
//! cargo run --release --example slow_authority -- serve --demo
//! ```
//!
//! It shows how a program embeds the server, and `cargo xtask bench gate` measures by it that a slow
//! authority delays its own publisher alone.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use carillon_server::{Authority, Grant, Verdict, cli};
use fanout::gate::{Action, Request};

/// How long an answer takes; below the ten seconds that the gate waits for one.
const DELAY: Duration = Duration::from_secs(5);

/// The streams whose answers take that long.
const SLOW: &str = "slow/";

#[derive(Debug)]
struct SlowAuthority;

impl Authority for SlowAuthority {
    fn decide<'a>(&'a self, _: Action, request: &'a Request<'a>) -> Verdict<'a> {
        Box::pin(async move {
            if request.stream.as_str().starts_with(SLOW) {
                tokio::time::sleep(DELAY).await;
            }
            Ok(Grant::to_all())
        })
    }
}

fn main() -> ExitCode {
    cli::run_with(Arc::new(SlowAuthority))
}
