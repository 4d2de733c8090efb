//! All channels: at most one for each stream and packaging.
//!
//! A task of each channel lets viewers go that have left, and closes the channel when it has had none for a while, or
//! when its lane has ended.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use base::Lock;
use fanout::{LaneRefused, Registry, Segmentation, Subscription};
use media::StreamName;
use net::holdings::Holdings;

use crate::channel::Channel;
use crate::keys::Keys;
use crate::packaging::Packaging;

/// How long the lane stays open without viewers: the next one finds segments, and need not wait for one.
const LINGER: Duration = Duration::from_secs(60);

/// How often the channel's task looks: a lane that has ended is let go of this much later.
const TICK: Duration = Duration::from_millis(250);

/// How long the playlist of a lane that has ended can still be had, so that players see that it has.
const ENDED_FOR: Duration = Duration::from_secs(30);

/// See the module's description.
#[derive(Debug)]
pub(crate) struct Channels {
    segmentation: Segmentation,
    keys: Arc<Keys>,
    holdings: Arc<Holdings>,
    all: Lock<HashMap<Key, Arc<Channel>>>,
}

type Key = (StreamName, Packaging);

impl Channels {
    /// None yet. All will have the same bounds of segments, and keys of the same secret.
    pub(crate) fn new(
        segmentation: Segmentation,
        keys: Arc<Keys>,
        holdings: Arc<Holdings>,
    ) -> Self {
        Self {
            segmentation,
            keys,
            holdings,
            all: Lock::default(),
        }
    }

    /// The channel of a stream, unless what it shows is no longer the stream of that name.
    pub(crate) fn get(
        &self,
        registry: &Registry,
        name: &StreamName,
        packaging: Packaging,
    ) -> Option<Arc<Channel>> {
        let channel = self.all.lock().get(&(name.clone(), packaging)).cloned()?;
        let present = registry.stream(name);
        channel.is_current(present.as_ref()).then_some(channel)
    }

    /// The channel of a stream that a viewer has joined.
    ///
    /// # Errors
    /// When its lane cannot be opened.
    pub(crate) fn open(
        self: &Arc<Self>,
        subscription: &Subscription,
        packaging: Packaging,
        discontinuity_base: u64,
        now: Instant,
    ) -> Result<Arc<Channel>, LaneRefused> {
        let stream = subscription.stream();
        match self.all.lock().entry((stream.name().clone(), packaging)) {
            Entry::Occupied(entry) if entry.get().is_current(Some(stream)) => {
                Ok(Arc::clone(entry.get()))
            }
            entry => {
                let bounds = self.segmentation;
                let keys = (&self.keys, &self.holdings);
                let base = discontinuity_base;
                let channel = Channel::new(subscription, packaging, bounds, base, keys, now)?;
                let channel = Arc::new(channel);
                tokio::spawn(keep(Arc::downgrade(self), Arc::clone(&channel)));
                entry.insert_entry(Arc::clone(&channel));
                Ok(channel)
            }
        }
    }

    /// Forgets a channel, unless another has its place.
    fn close(&self, channel: &Arc<Channel>) {
        let key = (channel.stream().name().clone(), channel.packaging());
        if let Entry::Occupied(entry) = self.all.lock().entry(key)
            && Arc::ptr_eq(entry.get(), channel)
        {
            entry.remove();
        }
    }
}

/// Lets go of viewers, and of the channel when it has had none for a while.
async fn keep(channels: Weak<Channels>, channel: Arc<Channel>) {
    let mut ended = None;
    loop {
        tokio::time::sleep(TICK).await;
        let now = Instant::now();
        if channel.reader().is_ended() {
            channel.viewers().end();
            ended = ended.or(Some(now));
        } else {
            channel.viewers().expire(now);
        }
        let is_over = ended.is_some_and(|ended| now.saturating_duration_since(ended) > ENDED_FOR);
        let Some(channels) = channels.upgrade() else {
            return;
        };
        if is_over || channel.viewers().is_idle(now, LINGER) {
            return channels.close(&channel);
        }
    }
}
