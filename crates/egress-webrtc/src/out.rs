//! Where viewers' packets go.

use webrtc::ice::Path;
use webrtc::mux::Handle;

/// What became of a send.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Sent {
    /// It is on its way.
    Sent,
    /// The socket is full, and nothing was sent. The socket's owner says when it has space.
    Blocked,
    /// The path no longer leads anywhere.
    Gone,
}

/// The sending side of the port a worker serves, as far as [`Viewers`](crate::Viewers) need it.
pub trait ViewerOutbox {
    /// Space for one send, packets one after another: at least 17 packets.
    fn buffer(&mut self) -> &mut [u8];

    /// Sends the first `len` bytes of the buffer, cut into datagrams of `segment` bytes, the last of
    /// which may be shorter.
    fn send(&mut self, path: Path, len: usize, segment: usize) -> Sent;

    /// Seals and sends a compound packet.
    fn rtcp(&mut self, session: Handle, compound: &[u8]);

    /// Ends a session; [`Viewers::closed`](crate::Viewers::closed) need not be told.
    fn close(&mut self, session: Handle);
}
