//! Who wants a stream that no publisher may have: listeners that have asked for it, and guards whose fallback it is.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use base::Lock;
use media::StreamName;
use tokio::sync::watch;

/// How long a listener's wish holds: it has joined by then, and is counted by the stream, or has given up.
const ASKED: Duration = Duration::from_secs(10);

/// Wishes by name. Only names of the configuration's rules are entered, so there are as many at most.
#[derive(Debug, Default)]
pub struct Demand {
    wishes: Lock<BTreeMap<StreamName, Wish>>,
    /// Is told of each wish.
    news: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct Wish {
    /// Guards that want it as their fallback.
    guards: usize,
    /// A listener's wish holds until then.
    until: Option<Instant>,
}

/// A guard's wish, until it is dropped.
#[derive(Debug)]
pub(crate) struct Claim {
    demand: Arc<Demand>,
    name: StreamName,
}

impl Demand {
    /// A listener wants the stream.
    pub fn ask(&self, name: &StreamName, now: Instant) {
        let mut wishes = self.wishes.lock();
        wishes.entry(name.clone()).or_default().until = Some(now + ASKED);
        drop(wishes);
        self.news.send_replace(());
    }

    /// A guard wants the stream.
    pub(crate) fn claim(self: &Arc<Self>, name: &StreamName) -> Claim {
        self.wishes.lock().entry(name.clone()).or_default().guards += 1;
        self.news.send_replace(());
        Claim {
            demand: Arc::clone(self),
            name: name.clone(),
        }
    }

    /// Whether somebody wants the stream.
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

    /// Changes with each wish.
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
