//! Acknowledgements in both directions.

/// Smallest acknowledgement window that a peer may set, in bytes: with a smaller one this side would send
/// more than the peer does.
const ACK_WINDOW_MIN: u32 = 32 << 10;

/// Window that is announced to the peer at first, in bytes.
const ACK_WINDOW: u32 = 2_500_000;

/// Acknowledgement state of one connection; [`count`](Self::count) received bytes.
#[derive(Debug)]
pub(crate) struct Flow {
    /// Bytes of the chunk stream received, modulo 2^32.
    received: u32,
    acknowledged: u32,
    /// Window in bytes; this side acknowledges twice per window.
    window: u32,
    /// Window that this side announced to the peer, in bytes.
    pub(crate) announced: u32,
}

impl Flow {
    pub(crate) fn new() -> Self {
        Self {
            received: 0,
            acknowledged: 0,
            window: ACK_WINDOW,
            announced: ACK_WINDOW,
        }
    }

    /// Counts bytes received. Returns the number to acknowledge, when it is time and the peer is ready for
    /// it.
    pub(crate) fn count(&mut self, bytes: usize, is_ready: bool) -> Option<u32> {
        // Modulo 2^32, as the peer counts.
        self.received = self.received.wrapping_add(bytes as u32);
        let is_due = self.received.wrapping_sub(self.acknowledged) >= self.window / 2;
        (is_due && is_ready).then(|| {
            self.acknowledged = self.received;
            self.received
        })
    }

    /// Sets the window: the peer wants one acknowledgement per `size` bytes.
    pub(crate) fn set_window(&mut self, size: u32) {
        self.window = size.max(ACK_WINDOW_MIN);
    }

    /// Applies the peer's limit on unacknowledged bytes. Returns the window to be announced, if it has
    /// changed.
    pub(crate) fn limit(&mut self, size: u32) -> Option<u32> {
        let size = size.clamp(1, i32::MAX.cast_unsigned());
        (std::mem::replace(&mut self.announced, size) != size).then_some(size)
    }
}
