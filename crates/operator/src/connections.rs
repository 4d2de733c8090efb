//! Connections to the operator's port: their number, which one gives way, and how long each may last.
//!
//! A connection that has become an event stream lasts as long as its client reads. It has returned its
//! permit, so it neither gives way to new connections nor takes capacity from them; event streams have their
//! own bound.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use base::Lock;
use base::shares::{Bounds, ShareTicket, Shares, Standing};
use tokio::sync::{oneshot, watch};
use tokio::time::{sleep, timeout};

/// Bounds of connections to this port at a time: a few scrapers, a few people, and at most half of them from one address.
const CONNECTIONS: Bounds = Bounds {
    max: 128,
    share: 64,
    reserve: 0,
};

/// Maximum lifetime of a connection, from its first byte to its last. A connection carries one request, so this bounds how long
/// a client may take to read a response; the longest, the list of all listeners, has tens of megabytes.
const LIFETIME: Duration = Duration::from_secs(60);

/// Maximum time of an event stream from one piece that its client takes to the next. There is a piece at least every fifteen
/// seconds.
const STALLED_AFTER: Duration = Duration::from_secs(60);

type Permits = Lock<Shares<oneshot::Sender<()>>>;

/// Connections that are open; call [`enter`](Self::enter) for each new one.
#[derive(Clone, Debug)]
pub(super) struct Connections(Arc<Permits>);

impl Default for Connections {
    fn default() -> Self {
        Self(Arc::new(Lock::new(Shares::new(CONNECTIONS))))
    }
}

impl Connections {
    /// Admits a connection from this address, and returns its lease and the signal that it must end.
    pub(super) fn enter(&self, address: IpAddr) -> (Lease, Expiry) {
        let (tell, evicted) = oneshot::channel();
        let (ticket, to_evict) = self.0.lock().take(address, Standing::Stranger, tell);
        if let Some((to_evict, _)) = to_evict {
            // Fails if that connection has just ended by itself.
            to_evict.send(()).ok();
        }
        let permits = Arc::clone(&self.0);
        let permit = Lock::new(Some(AdminPermit { permits, ticket }));
        let (lasts, progress) = watch::channel(false);
        let lease = Lease(Arc::new(Terms { permit, lasts }));
        (lease, Expiry { evicted, progress })
    }
}

/// A connection's permission to exist, shared with the response to its request. The permit is returned when the last clone is
/// dropped, or earlier if the connection outlasts the others.
#[derive(Clone, Debug)]
pub(super) struct Lease(Arc<Terms>);

#[derive(Debug)]
struct Terms {
    permit: Lock<Option<AdminPermit>>,
    /// Becomes true when the connection outlasts others; then notified of each piece that was taken.
    lasts: watch::Sender<bool>,
}

impl Lease {
    /// Lets the connection last as long as it [makes progress](Self::went_on). The caller bounds the number of such
    /// connections.
    pub(super) fn outlast(&self) {
        self.went_on();
        self.0.permit.lock().take();
    }

    /// Records that the client is ready for more of the response.
    pub(super) fn went_on(&self) {
        self.0.lasts.send_replace(true);
    }
}

/// Signal that a connection must end.
#[derive(Debug)]
pub(super) struct Expiry {
    evicted: oneshot::Receiver<()>,
    progress: watch::Receiver<bool>,
}

impl Expiry {
    /// Waits until the connection must end, and returns the reason for the log.
    pub(super) async fn reached(mut self) -> &'static str {
        tokio::select! {
            biased;
            Ok(_) = self.progress.wait_for(|lasts| *lasts) => {}
            Ok(()) = self.evicted => return "it gave way to another",
            () = sleep(LIFETIME) => return "its answer was not read",
        }
        loop {
            match timeout(STALLED_AFTER, self.progress.changed()).await {
                Ok(Ok(())) => {}
                // The connection is ending by itself.
                Ok(Err(_)) => std::future::pending().await,
                Err(_) => return "it reads no more",
            }
        }
    }
}

/// A connection's permit, returned on drop.
#[derive(Debug)]
struct AdminPermit {
    permits: Arc<Permits>,
    ticket: ShareTicket,
}

impl Drop for AdminPermit {
    fn drop(&mut self) {
        self.permits.lock().give_back(self.ticket);
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    #[tokio::test(start_paused = true)]
    async fn a_connection_lasts_as_long_as_its_client_reads() {
        let connections = Connections::default();
        let began = tokio::time::Instant::now();
        let (_short, expiry) = connections.enter(HERE);
        assert_eq!(expiry.reached().await, "its answer was not read");
        assert_eq!(began.elapsed(), LIFETIME);

        let (lease, expiry) = connections.enter(HERE);
        let reading = async {
            lease.outlast();
            for _ in 0..100 {
                sleep(STALLED_AFTER / 2).await;
                lease.went_on();
            }
            tokio::time::Instant::now()
        };
        let (reason, last) = tokio::join!(expiry.reached(), reading);
        assert_eq!(reason, "it reads no more");
        assert_eq!(last.elapsed(), STALLED_AFTER);
    }

    #[tokio::test(start_paused = true)]
    async fn what_lasts_does_not_give_way_and_returns_its_permit() {
        let connections = Connections::default();
        let enter = |count: usize| Vec::from_iter((0..count).map(|_| connections.enter(HERE)));
        let (lasting, expiry) = connections.enter(HERE);
        lasting.outlast();
        let (first, to_evict) = connections.enter(HERE);
        let others = enter(CONNECTIONS.share - 1);
        let still = timeout(LIFETIME / 2, to_evict.reached()).await;
        assert!(still.is_err(), "the lasting one holds no permit");
        drop(first);
        drop(others);
        let (_second, evicted) = connections.enter(HERE);
        let _crowd = enter(CONNECTIONS.share);
        assert_eq!(evicted.reached().await, "it gave way to another");
        let still = timeout(STALLED_AFTER / 8, expiry.reached()).await;
        assert!(still.is_err(), "it is still there");
    }
}
