//! Interface of a fan-out worker to the operating system.

use std::io::{self, IoSlice};
use std::net::TcpStream;
use std::time::Duration;

use crate::{Slot, Waker};

#[cfg(test)]
pub(crate) mod tests;

/// Most events taken per sleep. More wait in the kernel; the bound keeps one storm of hang-ups from delaying
/// due visits.
pub(crate) const EVENTS_PER_WAIT: usize = 256;

/// Most bytes that a listener whose input is dropped may send between two reads before it counts as
/// misbehaving. It has nothing to send after its request; this much tolerates pipelined requests.
pub(crate) const STRAY_BYTES_MAX: usize = 16 * 1024;

/// One send to one socket.
#[derive(Clone, Copy, Debug)]
pub struct SendOp<'a> {
    /// Destination of the send.
    pub slot: Slot,
    /// Bytes to send, in order; at most [`SendOp::SLICES_MAX`] slices, none of them empty.
    pub slices: &'a [IoSlice<'a>],
}

impl SendOp<'_> {
    /// Most slices per send: a fraction of `IOV_MAX`, enough for a head, a preamble and the pages of one
    /// message.
    pub const SLICES_MAX: usize = 8;
}

/// Outcome of a send.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SendOutcome {
    /// Number of bytes taken; fewer than offered means that the socket is full and [`Event::Writable`] will
    /// follow.
    Sent(usize),
    /// The socket takes nothing at present; [`Event::Writable`] will follow.
    Blocked,
    /// The connection is closed or broken.
    Closed,
}

/// Treatment of the bytes that a peer sends.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Inbound {
    /// The bytes are read and dropped. A flood of them ends the connection.
    Dropped,
    /// [`Event::Readable`] reports the bytes; the caller receives all there are.
    Reported,
}

/// Outcome of a receive.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Received {
    /// Number of bytes received; there may be more.
    Bytes(usize),
    /// Nothing; [`Event::Readable`] will report new bytes.
    Nothing,
    /// The connection is closed or broken.
    Closed,
}

/// An event of a socket, noticed by a back-end.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Event {
    /// A full socket has room again.
    Writable(Slot),
    /// A socket whose input is [reported](Inbound::Reported) has some. Reported once, until a receive has
    /// returned [`Received::Nothing`].
    Readable(Slot),
    /// The peer closed or reset the connection, or it timed out.
    Closed(Slot),
}

/// Reads and drops the bytes that a listener sent. Returns `false` when the connection is over.
pub(crate) fn drain(backend: &mut impl Backend, slot: Slot) -> bool {
    let mut scratch = [0_u8; 4096];
    let mut total = 0;
    while total < STRAY_BYTES_MAX {
        match backend.receive(slot, &mut scratch) {
            Received::Bytes(count) => total += count,
            Received::Nothing => return true,
            Received::Closed => return false,
        }
    }
    false
}

/// Owner of the sockets of one worker. One thread uses it; only its [`Waker`] is shared.
pub trait Backend: Send {
    /// Returns the name that operators see: `epoll` or `io_uring`.
    fn name(&self) -> &'static str;

    /// Takes ownership of a connected socket and starts watching it.
    ///
    /// # Errors
    /// The socket cannot be made non-blocking or watched; it is closed then.
    fn attach(&mut self, slot: Slot, socket: TcpStream, inbound: Inbound) -> io::Result<()>;

    /// Closes the socket, by the next [`wait`](Self::wait) at the latest. A slot that is not attached
    /// is ignored.
    fn detach(&mut self, slot: Slot);

    /// Stops watching a socket and returns it, still open and non-blocking. Returns `None` for a slot that is
    /// not attached, or when the system refuses, in which case the socket is closed.
    fn release(&mut self, slot: Slot) -> Option<TcpStream>;

    /// Receives into `buffer`, which is not empty, without waiting.
    fn receive(&mut self, slot: Slot, buffer: &mut [u8]) -> Received;

    /// Performs every send of the batch and writes its outcome at the same index of `outcomes`,
    /// which must be at least as long.
    fn send_batch(&mut self, batch: &[SendOp<'_>], outcomes: &mut [SendOutcome]);

    /// Sleeps until something happens, the waker is called or `timeout` has passed, and appends the events.
    /// `None` sets no time limit.
    ///
    /// # Errors
    /// Only failures that make the back-end unusable.
    fn wait(&mut self, timeout: Option<Duration>, events: &mut Vec<Event>) -> io::Result<()>;

    /// Returns a handle by which other threads end a [`wait`](Self::wait).
    fn waker(&self) -> Waker;
}
