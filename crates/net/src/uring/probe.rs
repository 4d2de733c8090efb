//! Test of whether this host permits io_uring, by using it.

use std::io::{self, IoSlice, Read, Write};
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use io_uring::{Probe, opcode};
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};

use super::ring::{Mode, Ring, Sizes};
use super::{COMPLETIONS, Multishot, TABLE_MAX, Uring};
use crate::Slot;
use crate::backend::{Backend, Event, Inbound, SendOp, SendOutcome};
use crate::intake::receiver::{News, Receiver};
use crate::waker::Waker;

/// Time that the trial waits for an event that should have happened already.
const TRIAL_PATIENCE: Duration = Duration::from_secs(2);

/// Number of the trial's checks whether a closed socket is closed, and the pause between them. Where it works
/// at all, the first check succeeds.
const CLOSING_LOOKS: u32 = 10;
const CLOSING_PAUSE: Duration = Duration::from_millis(10);

/// Reason why io_uring cannot be used here.
#[derive(Debug, thiserror::Error)]
pub enum Unavailable {
    /// The kernel, its settings or the sandbox around this process refuse to make a ring.
    #[error(
        "the system refuses a ring: {0} (see kernel.io_uring_disabled, and the container's seccomp profile)"
    )]
    Refused(io::Error),
    /// Something that the back-end is built on is missing: the kernel is older than Linux 6.13, or
    /// only resembles one.
    #[error("the kernel's io_uring lacks {0}")]
    Lacks(&'static str),
    /// A trial on a pair of sockets went wrong.
    #[error("a trial of io_uring failed: {0}")]
    Failed(&'static str),
}

/// Operations that the back-end submits to the kernel.
const OPERATIONS: [(u8, &str); 7] = [
    (opcode::Send::CODE, "send"),
    (opcode::SendMsg::CODE, "sendmsg"),
    (opcode::Recv::CODE, "recv"),
    (opcode::PollAdd::CODE, "poll"),
    (opcode::PollRemove::CODE, "the end of a poll"),
    (opcode::Close::CODE, "close"),
    (opcode::AsyncCancel::CODE, "the end of a receive"),
];

impl Uring {
    /// Creates an empty back-end. One thread must use it: the one that first does.
    ///
    /// # Errors
    /// See [`Unavailable`].
    pub fn new() -> Result<Self, Unavailable> {
        let limit = getrlimit(Resource::Nofile).current;
        let sizes = Sizes {
            completions: COMPLETIONS,
            table: limit.map_or(TABLE_MAX, |limit| limit.min(TABLE_MAX.into()) as u32),
        };
        let uring = match Self::with(Mode::Deferred, sizes) {
            Err(error) if Errno::from_io_error(&error) == Some(Errno::INVAL) => {
                Self::with(Mode::Cooperative, sizes)
            }
            made => made,
        };
        let uring = uring.map_err(|error| match Errno::from_io_error(&error) {
            Some(Errno::INVAL) => Unavailable::Lacks("sparse tables of descriptors"),
            _ => Unavailable::Refused(error),
        })?;
        uring.rings.first().map_or(Ok(()), check)?;
        Ok(uring)
    }

    /// Tests whether io_uring works here, by sending two bytes, closing one of two sockets and noticing a
    /// hang-up of the other.
    ///
    /// # Errors
    /// See [`Unavailable`].
    pub fn probe() -> Result<(), Unavailable> {
        let mut uring = Self::new()?;
        let (first, second) = (trial_slot(0), trial_slot(1));
        let mut peer = try_attach(&mut uring, first)?;
        try_send(&mut uring, first, &mut peer)?;
        let closed = try_attach(&mut uring, second)?;
        try_close(&mut uring, second, closed)?;
        drop(peer);
        let mut events = Vec::new();
        let waited = uring.wait(Some(TRIAL_PATIENCE), &mut events);
        if waited.is_err() || events != [Event::Closed(first)] {
            return Err(Unavailable::Failed("a hang-up is not noticed"));
        }
        Ok(())
    }
}

const fn trial_slot(index: u32) -> Slot {
    Slot { index, reuse: 0 }
}

fn try_attach(uring: &mut Uring, slot: Slot) -> Result<UnixStream, Unavailable> {
    let (near, far) = UnixStream::pair().map_err(Unavailable::Refused)?;
    far.set_nonblocking(true).map_err(Unavailable::Refused)?;
    let near = TcpStream::from(OwnedFd::from(near));
    let attached = uring.attach(slot, near, Inbound::Dropped);
    attached.map_err(|_| Unavailable::Failed("a socket cannot be made a direct descriptor"))?;
    Ok(far)
}

fn try_send(uring: &mut Uring, slot: Slot, peer: &mut UnixStream) -> Result<(), Unavailable> {
    let slices = [IoSlice::new(b"?"), IoSlice::new(b"!")];
    let op = SendOp {
        slot,
        slices: &slices,
    };
    let mut outcomes = [SendOutcome::Blocked];
    uring.send_batch(&[op], &mut outcomes);
    let mut got = [0; 2];
    if outcomes == [SendOutcome::Sent(2)] && matches!(peer.read(&mut got), Ok(2)) {
        return Ok(());
    }
    Err(Unavailable::Failed("what is sent does not arrive"))
}

/// Tests that a closed socket is really closed. Before Linux 6.13 the kernel releases an entry removed from a
/// table only after every operation begun before it has ended, and the watch on an older listener ends when
/// that listener leaves: closed sockets would pile up, and their peers would never see the close.
fn try_close(uring: &mut Uring, slot: Slot, mut peer: UnixStream) -> Result<(), Unavailable> {
    uring.detach(slot);
    for _ in 0..CLOSING_LOOKS {
        // Other events are of no interest here.
        let waited = uring.wait(Some(CLOSING_PAUSE), &mut Vec::new());
        waited.map_err(Unavailable::Refused)?;
        if matches!(peer.read(&mut [0]), Ok(0)) {
            return Ok(());
        }
    }
    Err(Unavailable::Lacks(
        "closing a direct descriptor while an older one is watched (Linux 6.13 has it)",
    ))
}

impl Multishot {
    /// Tests whether multishot receives work here, by receiving.
    ///
    /// # Errors
    /// See [`Unavailable`].
    pub(crate) fn probe() -> Result<(), Unavailable> {
        let waker = Waker::new().map_err(Unavailable::Refused)?;
        let mut receiver = Self::new(waker)?;
        let slot = Slot { index: 0, reuse: 0 };
        let (near, mut far) = UnixStream::pair().map_err(Unavailable::Refused)?;
        far.write_all(b"?").map_err(Unavailable::Refused)?;
        let near = Arc::new(TcpStream::from(OwnedFd::from(near)));
        let watched = receiver.watch(slot, &near);
        watched.map_err(|_| Unavailable::Failed("a socket cannot be watched"))?;
        let mut heard = Vec::new();
        let mut tell = |_, news: News<'_>| match news {
            News::Bytes(bytes) => heard.extend_from_slice(bytes),
            // An error, most likely because the kernel has no multishot receive.
            _ => heard.push(b'!'),
        };
        let waited = receiver.wait(Duration::ZERO, Some(TRIAL_PATIENCE), 1, &mut tell);
        if waited.is_err() || heard != *b"?" {
            return Err(Unavailable::Lacks("receives that continue"));
        }
        Ok(())
    }
}

pub(super) fn check(ring: &Ring) -> Result<(), Unavailable> {
    let parameters = ring.inner().params();
    if !parameters.is_feature_ext_arg() || !parameters.is_feature_nodrop() {
        return Err(Unavailable::Lacks("waiting with a timeout"));
    }
    let mut known = Probe::new();
    let asked = ring.inner().submitter().register_probe(&mut known);
    asked.map_err(Unavailable::Refused)?;
    let missing = OPERATIONS
        .iter()
        .find(|(code, _)| !known.is_supported(*code));
    missing.map_or(Ok(()), |(_, name)| Err(Unavailable::Lacks(name)))
}
