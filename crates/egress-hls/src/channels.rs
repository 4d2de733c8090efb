//! Registry of all channels: at most one for each stream and packaging.
//!
//! A task per channel removes viewers that have left. It closes the channel when there have been no viewers for a
//! while, or when its lane has ended.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use base::Lock;
use base::holdings::Holdings;
use fanout::{LaneRefused, Registry, Segmentation, Subscription};
use media::StreamName;

use crate::channel::Channel;
use crate::keys::Keys;
use crate::packaging::Packaging;

/// Time for which the lane stays open without viewers, so that the next viewer finds segments and does not have to
/// wait.
const LINGER: Duration = Duration::from_secs(60);

/// Interval of the channel's task, and so the delay until it releases a lane that has ended.
const TICK: Duration = Duration::from_millis(250);

/// Time for which the playlist of an ended lane stays available, so that players see that the stream has ended.
const ENDED_FOR: Duration = Duration::from_secs(30);

/// Registry of the open channels; [`get`](Self::get) finds a channel and [`open`](Self::open) makes one.
#[derive(Debug)]
pub(crate) struct Channels {
    segmentation: Segmentation,
    keys: Arc<Keys>,
    holdings: Arc<Holdings>,
    all: Lock<HashMap<Key, Arc<Channel>>>,
}

type Key = (StreamName, Packaging);

impl Channels {
    /// Makes an empty registry. All channels will have the same segment bounds, and keys derived from the same secret.
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

    /// Returns the channel of a stream, unless the channel no longer shows the stream of that name.
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

    /// Returns the channel of a stream that a viewer has joined, and opens it if necessary.
    ///
    /// # Errors
    /// If the channel's lane cannot be opened.
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

    /// Removes a channel, unless another has taken its place.
    fn close(&self, channel: &Arc<Channel>) {
        let promise = &channel.promise;
        let key = (promise.stream.name().clone(), promise.packaging);
        if let Entry::Occupied(entry) = self.all.lock().entry(key)
            && Arc::ptr_eq(entry.get(), channel)
        {
            entry.remove();
        }
    }
}

/// Removes viewers that have left, and closes the channel when it has had none for a while.
async fn keep(channels: Weak<Channels>, channel: Arc<Channel>) {
    let mut ended = None;
    loop {
        tokio::time::sleep(TICK).await;
        let now = Instant::now();
        if channel.reader.is_ended() {
            channel.viewers.end();
            ended = ended.or(Some(now));
        } else {
            channel.viewers.expire(now);
        }
        let is_over = ended.is_some_and(|ended| now.saturating_duration_since(ended) > ENDED_FOR);
        let Some(channels) = channels.upgrade() else {
            return;
        };
        if is_over || channel.viewers.is_idle(now, LINGER) {
            return channels.close(&channel);
        }
    }
}
