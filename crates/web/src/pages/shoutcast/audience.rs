//! Number of listening addresses, and their listening times: SHOUTcast's figures of all listeners of a stream together.
//!
//! A census visits every listener. Anyone may request it at any rate, so one census is kept for [`FRESH_FOR`], and only one is
//! taken at a time.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fanout::{Fanout, ListenerRecord};
use media::StreamName;
use tokio::sync::Mutex;

use crate::listeners;

/// Maximum age of a census.
const FRESH_FOR: Duration = Duration::from_secs(1);

/// Last census.
#[derive(Debug, Default)]
pub(crate) struct Audience(Mutex<Option<(Instant, Arc<Census>)>>);

impl Audience {
    /// Returns the census of now, or of a moment ago; an empty one if the server ends.
    pub(super) async fn census(&self, fanout: &Arc<Fanout>) -> Arc<Census> {
        let mut kept = self.0.lock().await;
        let fresh = kept.as_ref();
        if let Some((_, census)) = fresh.filter(|(at, _)| at.elapsed() < FRESH_FOR) {
            return Arc::clone(census);
        }
        let records = listeners::list(fanout).await.unwrap_or_default();
        let census = Arc::new(Census::of(&records, Instant::now()));
        *kept = Some((Instant::now(), Arc::clone(&census)));
        census
    }
}

/// Listeners by stream.
#[derive(Debug, Default)]
pub(super) struct Census {
    streams: HashMap<StreamName, Crowd>,
    /// Listeners of all streams.
    pub(super) all: Crowd,
}

/// Group of listeners.
#[derive(Debug, Default)]
pub(super) struct Crowd {
    addresses: HashSet<IpAddr>,
    listeners: u64,
    /// Sum of their listening times.
    time: Duration,
}

impl Census {
    fn of(records: &[Arc<ListenerRecord>], now: Instant) -> Self {
        let mut census = Self::default();
        for record in records {
            let address = record.peer.ip().to_canonical();
            let time = now.saturating_duration_since(record.requested);
            let own = census.streams.entry(record.stream.clone()).or_default();
            own.add(address, time);
            census.all.add(address, time);
        }
        census
    }

    pub(super) fn stream(&self, name: &StreamName) -> Option<&Crowd> {
        self.streams.get(name)
    }
}

impl Crowd {
    fn add(&mut self, address: IpAddr, time: Duration) {
        self.addresses.insert(address);
        self.listeners += 1;
        self.time += time;
    }

    pub(super) fn unique(&self) -> usize {
        self.addresses.len()
    }

    /// Returns the average listening time in seconds.
    pub(super) fn average(&self) -> u64 {
        let seconds = self.time.as_secs().checked_div(self.listeners);
        seconds.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_count_once() {
        let mut crowd = Crowd::default();
        assert_eq!((crowd.unique(), crowd.average()), (0, 0));
        for (address, seconds) in [("192.0.2.1", 1), ("192.0.2.1", 3), ("192.0.2.2", 8)] {
            let address = address.parse().expect("an address");
            crowd.add(address, Duration::from_secs(seconds));
        }
        assert_eq!((crowd.unique(), crowd.average()), (2, 4));
    }
}
