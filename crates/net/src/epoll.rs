//! Epoll back-end: plain non-blocking sends, edge-triggered readiness.
//!
//! A socket is registered once, for everything, edge-triggered. A healthy listener therefore causes
//! no epoll traffic at all: the kernel reports room only after a send found none, and a hang-up
//! once.

use std::io;
use std::mem::MaybeUninit;
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::event::{Timespec, epoll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendFlags};

use crate::backend::{
    Backend, EVENTS_PER_WAIT, Event, Inbound, Received, SendOp, SendOutcome, drain,
};
use crate::waker::Waker;
use crate::{Slot, slab};

/// `epoll_data` of the waker; no slab grows to this index.
pub(crate) const WAKER_DATA: u64 = u64::MAX;

/// Back-end over one epoll instance, with its sockets by slot index.
#[derive(Debug)]
pub struct Epoll {
    epoll: OwnedFd,
    waker: Waker,
    sockets: Vec<Option<Socket>>,
}

/// One watched socket.
#[derive(Debug)]
struct Socket {
    reuse: u32,
    stream: TcpStream,
    inbound: Inbound,
}

impl Epoll {
    /// Creates an empty back-end.
    ///
    /// # Errors
    /// The process has no descriptor left.
    pub fn new() -> io::Result<Self> {
        let waker = Waker::new()?;
        Ok(Self {
            epoll: watch_over(&waker)?,
            waker,
            sockets: Vec::new(),
        })
    }

    fn socket(&self, slot: Slot) -> Option<&Socket> {
        let socket = self.sockets.get(slot.index as usize)?.as_ref()?;
        (socket.reuse == slot.reuse).then_some(socket)
    }

    fn take(&mut self, slot: Slot) -> Option<TcpStream> {
        self.socket(slot)?;
        let socket = self.sockets.get_mut(slot.index as usize)?.take()?;
        Some(socket.stream)
    }

    fn send(&self, op: &SendOp<'_>) -> SendOutcome {
        debug_assert!(op.slices.len() <= SendOp::SLICES_MAX);
        let Some(Socket { stream, .. }) = self.socket(op.slot) else {
            return SendOutcome::Closed;
        };
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        let sent = match op.slices {
            [only] => rustix::net::send(stream, only, flags),
            many => rustix::net::sendmsg(stream, many, &mut SendAncillaryBuffer::default(), flags),
        };
        match sent {
            Ok(count) => SendOutcome::Sent(count),
            // A signal that interrupts a non-blocking send leaves the socket as it was.
            Err(Errno::AGAIN | Errno::INTR | Errno::NOBUFS) => SendOutcome::Blocked,
            Err(_) => SendOutcome::Closed,
        }
    }

    fn translate(&mut self, flags: epoll::EventFlags, slot: Slot, events: &mut Vec<Event>) {
        use epoll::EventFlags as F;
        let Some(socket) = self.socket(slot) else {
            return;
        };
        let has_input = flags.contains(F::IN);
        let is_stray = has_input && socket.inbound == Inbound::Dropped;
        let is_over = flags.intersects(F::HUP | F::ERR | F::RDHUP);
        if is_over || (is_stray && !drain(self, slot)) {
            events.push(Event::Closed(slot));
            return;
        }
        if has_input && !is_stray {
            events.push(Event::Readable(slot));
        }
        if flags.contains(F::OUT) {
            events.push(Event::Writable(slot));
        }
    }
}

/// Creates an epoll instance that watches a waker, under [`WAKER_DATA`].
pub(crate) fn watch_over(waker: &Waker) -> io::Result<OwnedFd> {
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let data = epoll::EventData::new_u64(WAKER_DATA);
    epoll::add(&epoll, waker, data, epoll::EventFlags::IN)?;
    Ok(epoll)
}

/// Sleeps until there are events, a signal arrives or `timeout` has passed, and returns the events.
pub(crate) fn sleep<'a>(
    epoll: &OwnedFd,
    room: &'a mut [MaybeUninit<epoll::Event>],
    timeout: Option<Duration>,
) -> io::Result<&'a mut [epoll::Event]> {
    // Times longer than the kernel can express become its longest.
    let timeout = timeout.map(|time| Timespec {
        tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(time.subsec_nanos()),
    });
    match epoll::wait(epoll, room, timeout.as_ref()) {
        Ok((ready, _)) => Ok(ready),
        Err(Errno::INTR) => Ok(&mut []),
        Err(error) => Err(error.into()),
    }
}

impl Backend for Epoll {
    fn name(&self) -> &'static str {
        "epoll"
    }

    fn attach(&mut self, slot: Slot, stream: TcpStream, inbound: Inbound) -> io::Result<()> {
        use epoll::EventFlags as F;
        stream.set_nonblocking(true)?;
        let data = epoll::EventData::new_u64(pack(slot));
        epoll::add(
            &self.epoll,
            &stream,
            data,
            F::IN | F::OUT | F::RDHUP | F::ET,
        )?;
        let socket = Socket {
            reuse: slot.reuse,
            stream,
            inbound,
        };
        slab::put(&mut self.sockets, slot, socket);
        Ok(())
    }

    fn detach(&mut self, slot: Slot) {
        // Closing the only descriptor of a socket also removes it from the epoll set.
        drop(self.take(slot));
    }

    fn release(&mut self, slot: Slot) -> Option<TcpStream> {
        let stream = self.take(slot)?;
        epoll::delete(&self.epoll, &stream).ok()?;
        Some(stream)
    }

    fn receive(&mut self, slot: Slot, buffer: &mut [u8]) -> Received {
        let Some(Socket { stream, .. }) = self.socket(slot) else {
            return Received::Closed;
        };
        match rustix::net::recv(stream, buffer, RecvFlags::DONTWAIT) {
            Ok((0, _)) => Received::Closed,
            Ok((count, _)) => Received::Bytes(count),
            Err(Errno::AGAIN | Errno::INTR) => Received::Nothing,
            Err(_) => Received::Closed,
        }
    }

    fn send_batch(&mut self, batch: &[SendOp<'_>], outcomes: &mut [SendOutcome]) {
        for (op, outcome) in batch.iter().zip(outcomes) {
            *outcome = self.send(op);
        }
    }

    fn wait(&mut self, timeout: Option<Duration>, events: &mut Vec<Event>) -> io::Result<()> {
        let mut room = [const { MaybeUninit::uninit() }; EVENTS_PER_WAIT];
        for event in sleep(&self.epoll, &mut room, timeout)? {
            // The kernel's struct is packed; copy before use.
            let (flags, data) = ({ event.flags }, { event.data }.u64());
            if data == WAKER_DATA {
                self.waker.drain();
            } else {
                self.translate(flags, unpack(data), events);
            }
        }
        Ok(())
    }

    fn waker(&self) -> Waker {
        self.waker.clone()
    }
}

pub(crate) fn pack(slot: Slot) -> u64 {
    u64::from(slot.reuse) << 32 | u64::from(slot.index)
}

pub(crate) fn unpack(data: u64) -> Slot {
    Slot {
        index: (data & u64::from(u32::MAX)) as u32,
        reuse: (data >> 32) as u32,
    }
}
