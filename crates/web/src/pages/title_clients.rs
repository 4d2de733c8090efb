//! Places of the clients that are sent titles.

use std::net::IpAddr;
use std::sync::MutexGuard;

use base::Lock;
use base::shares::{Bounds, ShareTicket, Shares, Standing};
use tokio::sync::oneshot;

/// Limits on clients: each has a connection, which a listener may have besides its own; a quarter of them may be behind one
/// address.
const CLIENTS: Bounds = Bounds {
    max: 2_048,
    share: 512,
    reserve: 0,
};

/// Places of the clients. A client ends when the sender in its place is dropped.
#[derive(Debug)]
pub(super) struct TitleClients(Lock<Shares<oneshot::Sender<()>>>);

impl Default for TitleClients {
    fn default() -> Self {
        Self(Lock::new(Shares::new(CLIENTS)))
    }
}

impl TitleClients {
    /// Takes a place; the receiver reports when the place has to be given up.
    pub(super) fn take(&self, address: IpAddr) -> (ShareTicket, oneshot::Receiver<()>) {
        let (ends, ended) = oneshot::channel();
        let (ticket, _evicted) = self.shares().take(address, Standing::Stranger, ends);
        (ticket, ended)
    }

    pub(super) fn shares(&self) -> MutexGuard<'_, Shares<oneshot::Sender<()>>> {
        self.0.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_one_address_ends_its_own_clients() {
        let clients = TitleClients::default();
        let flood = IpAddr::from([192, 0, 2, 1]);
        let (_ticket, mut other) = clients.take(IpAddr::from([198, 51, 100, 1]));
        let mut all: Vec<_> = (0..2 * CLIENTS.max).map(|_| clients.take(flood)).collect();
        let mut has_place = |at: usize| {
            let (_, ended) = &mut all[at];
            ended.try_recv() == Err(oneshot::error::TryRecvError::Empty)
        };
        let newest = 2 * CLIENTS.max - 1;
        assert!(has_place(newest) && has_place(newest + 1 - CLIENTS.share));
        assert!(!has_place(newest - CLIENTS.share) && !has_place(0));
        assert_eq!(other.try_recv(), Err(oneshot::error::TryRecvError::Empty));
    }
}
