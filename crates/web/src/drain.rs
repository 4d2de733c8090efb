//! Draining: no new connections, time for the present listeners to leave, then the end.

use std::sync::Arc;

use fanout::Fanout;
use net::Jitter;
use tokio::sync::watch;

/// Whether the server drains, and when a peer that is turned away may come again.
#[derive(Debug)]
pub struct Drain {
    /// Turns true once, for good.
    leaving: watch::Sender<bool>,
    /// Spreads the peers that come again.
    jitter: Arc<Jitter>,
}

impl Drain {
    /// Not begun. `jitter_seed` is random.
    pub fn new(jitter_seed: u64) -> Self {
        Self {
            leaving: watch::Sender::new(false),
            jitter: Arc::new(Jitter::new(jitter_seed)),
        }
    }

    /// From here on no publisher or listener is admitted, and peers whose protocol can say so are asked to
    /// connect again.
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
        // An error is impossible: the sender is borrowed meanwhile.
        leaving.wait_for(|leaving| *leaving).await.ok();
    }

    /// Turns true when draining begins.
    pub fn subscribe(&self) -> watch::Receiver<bool> {
        self.leaving.subscribe()
    }

    /// The sequence that all Retry-After headers are drawn from.
    pub fn jitter(&self) -> Arc<Jitter> {
        Arc::clone(&self.jitter)
    }

    /// Seconds after which a peer that is turned away may come again, drawn at random.
    pub fn retry_after(&self) -> u64 {
        http1::retry_after(self.jitter.random())
    }
}
