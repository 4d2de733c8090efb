//! Acknowledgements, both ways.

/// The smallest window a peer may ask us to acknowledge by: smaller ones would make us send more than it does.
const ACK_WINDOW_MIN: u32 = 32 << 10;

/// See the module's description.
#[derive(Debug)]
pub(crate) struct Flow {
    /// Bytes of the chunk stream received, modulo 2^32.
    received: u32,
    acknowledged: u32,
    /// We acknowledge twice per so many bytes.
    window: u32,
    /// The window we announced to the peer.
    pub(crate) announced: u32,
}

impl Flow {
    /// With the window that is announced to the peer.
    pub(crate) fn new(ack_window: u32) -> Self {
        let window = ack_window.clamp(ACK_WINDOW_MIN, i32::MAX.cast_unsigned());
        Self {
            received: 0,
            acknowledged: 0,
            window,
            announced: window,
        }
    }

    /// Counts bytes received. Returns what is to be acknowledged, when it is time and the peer is ready for it.
    pub(crate) fn count(&mut self, bytes: usize, is_ready: bool) -> Option<u32> {
        // Modulo 2^32, as the peer counts.
        self.received = self.received.wrapping_add(bytes as u32);
        let is_due = self.received.wrapping_sub(self.acknowledged) >= self.window / 2;
        (is_due && is_ready).then(|| {
            self.acknowledged = self.received;
            self.received
        })
    }

    /// The peer wants to be sent an acknowledgement per so many bytes.
    pub(crate) fn set_window(&mut self, size: u32) {
        self.window = size.max(ACK_WINDOW_MIN);
    }

    /// The peer limits what we send. Returns the window that is to be announced, if it is another one.
    pub(crate) fn limit(&mut self, size: u32) -> Option<u32> {
        let size = size.clamp(1, i32::MAX.cast_unsigned());
        (std::mem::replace(&mut self.announced, size) != size).then_some(size)
    }
}
