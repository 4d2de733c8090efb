//! Draining of the server: no new connections, time for the present listeners to leave, then the end.

use std::sync::Arc;

use base::Jitter;
use fanout::Fanout;
use tokio::sync::watch;

/// Draining state, and the random delays after which refused peers may retry.
#[derive(Debug)]
pub struct Drain {
    /// Draining flag; turns true once, for good.
    leaving: watch::Sender<bool>,
    /// Random spread of the peers that retry.
    jitter: Arc<Jitter>,
}

impl Drain {
    /// Creates a state in which draining has not begun. `jitter_seed` is random.
    pub fn new(jitter_seed: u64) -> Self {
        Self {
            leaving: watch::Sender::new(false),
            jitter: Arc::new(Jitter::new(jitter_seed)),
        }
    }

    /// Begins draining: no publisher or listener is admitted any more, and peers whose protocol has a message for it are
    /// requested to reconnect.
    pub fn begin(&self, fanout: &Fanout) {
        self.leaving.send_replace(true);
        fanout.announce_leave();
    }

    /// Whether draining has begun.
    pub fn has_begun(&self) -> bool {
        *self.leaving.borrow()
    }

    /// Resolves when draining begins, or at once if it has begun.
    pub async fn begun(&self) {
        let mut leaving = self.leaving.subscribe();
        // Cannot fail: the sender is borrowed meanwhile.
        leaving.wait_for(|leaving| *leaving).await.ok();
    }

    /// Returns a receiver that turns true when draining begins.
    pub fn subscribe(&self) -> watch::Receiver<bool> {
        self.leaving.subscribe()
    }

    /// Returns the random sequence that all Retry-After headers are drawn from.
    pub fn jitter(&self) -> Arc<Jitter> {
        Arc::clone(&self.jitter)
    }

    /// Draws the random number of seconds after which a refused peer may retry.
    pub fn retry_after(&self) -> u64 {
        http1::retry_after(self.jitter.random())
    }
}
