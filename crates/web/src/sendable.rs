//! A body that the kernel can send to a plain socket, for a listener.

use std::sync::Arc;

use fanout::Guest;
use vod::{Count, Transfer};

/// See the module's description.
#[derive(Clone, Debug)]
pub(crate) struct Sendable {
    /// The file, and where in it.
    pub(crate) transfer: Transfer,
    guest: Arc<Guest>,
}

impl Sendable {
    pub(crate) fn new(transfer: Transfer, guest: Arc<Guest>) -> Self {
        let counts = Arc::clone(&guest);
        let count = Count::new(move |bytes| counts.sent(bytes, 1));
        Self {
            transfer: transfer.counted(count),
            guest,
        }
    }

    /// Waits until its listener may hear no more.
    pub(crate) fn ended(&self) -> impl Future<Output = ()> + Send + use<> {
        ended(&self.guest)
    }
}

/// Waits until a listener may hear no more.
pub(crate) fn ended(guest: &Arc<Guest>) -> impl Future<Output = ()> + Send + use<> {
    let ended = guest.ended().clone();
    async move { ended.revoked().await }
}
