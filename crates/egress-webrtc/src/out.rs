//! Outlet for viewers' packets.

use webrtc::ice::Path;
use webrtc::mux::Handle;
pub use webrtc::port::Sent;

/// Sending side of the port that a worker serves, as far as [`Viewers`](crate::Viewers) needs it.
pub trait ViewerOutbox {
    /// Returns the buffer for one send, in which packets lie one after another; it holds at least 17 packets.
    fn buffer(&mut self) -> &mut [u8];

    /// Sends the first `len` bytes of the buffer, cut into datagrams of `segment` bytes, the last of
    /// which may be shorter.
    fn send(&mut self, path: Path, len: usize, segment: usize) -> Sent;

    /// Seals and sends a compound packet.
    fn rtcp(&mut self, session: Handle, compound: &[u8]);

    /// Ends a session; no call of [`Viewers::closed`](crate::Viewers::closed) is needed.
    fn close(&mut self, session: Handle);
}
