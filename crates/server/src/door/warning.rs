//! What is said when a port cannot accept.

use std::time::{Duration, Instant};

use net::accept::classify;

/// Between two warnings that `accept` fails for lack of descriptors or memory.
const WARNING_INTERVAL: Duration = Duration::from_secs(10);

/// Warns at intervals that a port cannot accept.
#[derive(Debug, Default)]
pub(crate) struct AcceptWarning(Option<Instant>);

impl AcceptWarning {
    pub(crate) fn tell(&mut self, error: &std::io::Error, now: Instant) {
        let is_told = |at: Instant| now.saturating_duration_since(at) < WARNING_INTERVAL;
        if self.0.is_some_and(is_told) {
            return;
        }
        self.0 = Some(now);
        tracing::warn!(
            %error,
            class = classify(error).label(),
            "connections cannot be accepted; present ones go on. `ulimit -n` tells how many \
             descriptors this process may have"
        );
    }
}
