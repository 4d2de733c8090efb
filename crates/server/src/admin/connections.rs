//! The connections to the operator's port: how many, and who gives way.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use net::shares::{Bounds, Shares, Standing, Ticket};
use tokio::sync::oneshot;

/// Connections to this port at a time: a few scrapers, a few people, and no more than half of them from
/// one address.
const CONNECTIONS: Bounds = Bounds {
    max: 128,
    share: 64,
    reserve: 0,
};

type Places = Mutex<Shares<oneshot::Sender<()>>>;

/// See the module's description.
#[derive(Clone, Debug)]
pub(super) struct Connections(Arc<Places>);

impl Default for Connections {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Shares::new(CONNECTIONS))))
    }
}

impl Connections {
    /// A place for a connection from this address, and what tells that it has to give way.
    pub(super) fn enter(&self, address: IpAddr) -> (Place, oneshot::Receiver<()>) {
        let (tell, told) = oneshot::channel();
        let (ticket, evicted) = shares(&self.0).take(address, Standing::Stranger, tell);
        if let Some((evicted, _)) = evicted {
            // Unless it has just ended by itself.
            evicted.send(()).ok();
        }
        let places = Arc::clone(&self.0);
        (Place { places, ticket }, told)
    }
}

/// A connection's place. Dropping it gives it back.
#[derive(Debug)]
pub(super) struct Place {
    places: Arc<Places>,
    ticket: Ticket,
}

impl Drop for Place {
    fn drop(&mut self) {
        shares(&self.places).give_back(self.ticket);
    }
}

fn shares(places: &Places) -> MutexGuard<'_, Shares<oneshot::Sender<()>>> {
    places.lock().unwrap_or_else(PoisonError::into_inner)
}
