//! File body for a listener, which the kernel can send to a plain socket.

use std::sync::Arc;

use fanout::Guest;
use vod::{Count, Transfer};

/// Part of a file to send to a listener.
#[derive(Clone, Debug)]
pub(crate) struct Sendable {
    /// File and range.
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

    /// Waits until the listener's permission ends.
    pub(crate) fn ended(&self) -> impl Future<Output = ()> + Send + use<> {
        ended(&self.guest)
    }
}

/// Waits until a listener's permission ends.
pub(crate) fn ended(guest: &Arc<Guest>) -> impl Future<Output = ()> + Send + use<> {
    let ended = guest.ended().clone();
    async move { ended.revoked().await }
}
