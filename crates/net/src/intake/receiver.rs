//! What a thread needs from the operating system.

use std::io;
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use crate::Slot;

/// Receives from many sockets. One thread uses it.
pub(crate) trait Receiver {
    /// Starts watching a non-blocking socket. The slot is not watched already.
    ///
    /// # Errors
    /// When it cannot be watched.
    fn watch(&mut self, slot: Slot, socket: &Arc<TcpStream>) -> io::Result<()>;

    /// Ends a watch. One of the next calls of [`wait`](Self::wait) reports the last of it: [`News::Unwatched`],
    /// unless the connection ends before. Until then there may be bytes.
    fn unwatch(&mut self, slot: Slot);

    /// Has sleeps end while this is readable as well.
    ///
    /// # Errors
    /// When it cannot be watched.
    fn wake_by(&mut self, readable: Arc<OwnedFd>) -> io::Result<()>;

    /// Sleeps for `pause`, and on until there is something to receive, the waker is called or
    /// `timeout` has passed, counted from the beginning of the call (`None`: for ever). Then receives
    /// what there is, some `most` pieces; says how many. A timeout of zero never sleeps. The waker need
    /// not end the pause.
    ///
    /// # Errors
    /// Only for failures that make the receiver unusable.
    fn wait(
        &mut self,
        pause: Duration,
        timeout: Option<Duration>,
        most: usize,
        tell: &mut dyn FnMut(Slot, News<'_>),
    ) -> io::Result<usize>;
}

/// What is reported of a socket. All but the first are the last report, and the receiver has let go of the
/// socket then.
#[derive(Debug)]
pub(crate) enum News<'a> {
    /// It has brought this.
    Bytes(&'a [u8]),
    /// The peer sends no more.
    HungUp,
    /// The connection has failed.
    Failed(io::Error),
    /// The watch has ended because that was asked for.
    Unwatched,
}
