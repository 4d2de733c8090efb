//! Keep-alive of bodies of Server-Sent Events (HTML Living Standard, section 9.2): a comment while nothing happens.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep};

/// Interval between two pieces while nothing happens: proxies close connections that are silent for a minute, and a failed
/// write shows that the client is gone.
pub const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Comment sent as keep-alive, which the client ignores.
pub const COMMENT: &str = ":\n\n";

/// Timer since the last piece.
#[derive(Debug)]
pub struct Silence(Pin<Box<Sleep>>);

impl Silence {
    /// Starts with the reply.
    pub fn begin() -> Self {
        Self(Box::pin(sleep(KEEP_ALIVE)))
    }

    /// Ready when a keep-alive has to be sent.
    pub fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.0.as_mut().poll(cx)
    }

    /// Restarts the timer after a piece was sent.
    pub fn end(&mut self) {
        self.0.as_mut().reset(Instant::now() + KEEP_ALIVE);
    }
}
