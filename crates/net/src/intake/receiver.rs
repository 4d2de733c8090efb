//! Interface of an intake thread to the operating system.

use std::io;
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use crate::Slot;

/// Receiver of bytes from many sockets. One thread uses it.
pub(crate) trait Receiver {
    /// Starts watching a non-blocking socket. The slot is not watched already.
    ///
    /// # Errors
    /// The socket cannot be watched.
    fn watch(&mut self, slot: Slot, socket: &Arc<TcpStream>) -> io::Result<()>;

    /// Ends a watch. One of the next calls of [`wait`](Self::wait) makes the last report on it:
    /// [`News::Unwatched`], unless the connection ends before. Until then there may be bytes.
    fn unwatch(&mut self, slot: Slot);

    /// Makes sleeps end while this descriptor is readable as well.
    ///
    /// # Errors
    /// The descriptor cannot be watched.
    fn wake_by(&mut self, readable: Arc<OwnedFd>) -> io::Result<()>;

    /// Sleeps for `pause`, then until there is something to receive, the waker is called or `timeout` has
    /// passed, counted from the beginning of the call (`None`: for ever). Then receives the available bytes,
    /// some `most` pieces, and returns the number of pieces. A timeout of zero never sleeps. The waker need
    /// not end the pause.
    ///
    /// # Errors
    /// Only failures that make the receiver unusable.
    fn wait(
        &mut self,
        pause: Duration,
        timeout: Option<Duration>,
        most: usize,
        tell: &mut dyn FnMut(Slot, News<'_>),
    ) -> io::Result<usize>;
}

/// Report on a socket. All but the first are the last report, after which the receiver no longer holds the
/// socket.
#[derive(Debug)]
pub(crate) enum News<'a> {
    /// Received bytes.
    Bytes(&'a [u8]),
    /// The peer sends no more.
    HungUp,
    /// The connection has failed.
    Failed(io::Error),
    /// The watch has ended as requested.
    Unwatched,
}
