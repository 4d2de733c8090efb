//! `carillon` with its own authority, which takes five seconds to permit streams named `slow/…`, and permits everything else at
//! once.
//!
//! ```text
//! cargo run --release --example slow_authority -- serve --demo
//! ```
//!
//! It shows how a program embeds the server. `cargo xtask bench gate` uses it to measure that a slow authority delays only its
//! own publisher.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use carillon_server::{Authority, Grant, Verdict, cli};
use fanout::gate::{Action, Request};

/// Time that a reply takes; below the ten seconds that the gate waits for one.
const DELAY: Duration = Duration::from_secs(5);

/// Prefix of the streams whose replies are delayed.
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
