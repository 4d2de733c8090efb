//! What bodies of Server-Sent Events (HTML Living Standard, section 9.2) have in common: a comment while nothing happens.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep};

/// Between two pieces while nothing happens: proxies close what is silent for a minute, and a failed write shows that the
/// client is gone.
pub const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// What is sent then: it means nothing to the client.
pub const COMMENT: &str = ":\n\n";

/// The time since the last piece.
#[derive(Debug)]
pub struct Silence(Pin<Box<Sleep>>);

impl Silence {
    /// Begins with the answer.
    pub fn begin() -> Self {
        Self(Box::pin(sleep(KEEP_ALIVE)))
    }

    /// Ready when something has to be sent.
    pub fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.0.as_mut().poll(cx)
    }

    /// A piece is sent.
    pub fn end(&mut self) {
        self.0.as_mut().reset(Instant::now() + KEEP_ALIVE);
    }
}
