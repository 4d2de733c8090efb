//! Demand for streams that have no publisher: from listeners that have requested them, and from guards whose fallback
//! they are.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use base::Lock;
use media::StreamName;
use tokio::sync::watch;

/// Time for which a listener's request counts: by then the listener has joined, and the stream counts it, or it has
/// given up.
const ASKED: Duration = Duration::from_secs(10);

/// Demand by stream name. Only names in the configuration's rules are entered, so there are at most as many.
#[derive(Debug, Default)]
pub struct Demand {
    wishes: Lock<BTreeMap<StreamName, Wish>>,
    /// Notification of each request.
    news: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct Wish {
    /// Number of guards that want the stream as their fallback.
    guards: usize,
    /// Time until which a listener's request counts.
    until: Option<Instant>,
}

/// Demand of a guard, which lasts until this is dropped.
#[derive(Debug)]
pub(crate) struct Claim {
    demand: Arc<Demand>,
    name: StreamName,
}

impl Demand {
    /// Records that a listener requests the stream.
    pub fn ask(&self, name: &StreamName, now: Instant) {
        let mut wishes = self.wishes.lock();
        wishes.entry(name.clone()).or_default().until = Some(now + ASKED);
        drop(wishes);
        self.news.send_replace(());
    }

    /// Records that a guard wants the stream.
    pub(crate) fn claim(self: &Arc<Self>, name: &StreamName) -> Claim {
        self.wishes.lock().entry(name.clone()).or_default().guards += 1;
        self.news.send_replace(());
        Claim {
            demand: Arc::clone(self),
            name: name.clone(),
        }
    }

    /// Returns whether anybody wants the stream.
    pub(crate) fn has(&self, name: &StreamName, now: Instant) -> bool {
        let mut wishes = self.wishes.lock();
        let Some(wish) = wishes.get_mut(name) else {
            return false;
        };
        wish.until = wish.until.filter(|until| *until > now);
        let is_wanted = wish.guards > 0 || wish.until.is_some();
        if !is_wanted {
            wishes.remove(name);
        }
        is_wanted
    }

    /// Returns a receiver that changes with each request.
    pub(crate) fn news(&self) -> watch::Receiver<()> {
        self.news.subscribe()
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let mut wishes = self.demand.wishes.lock();
        if let Some(wish) = wishes.get_mut(&self.name) {
            wish.guards = wish.guards.saturating_sub(1);
        }
    }
}
