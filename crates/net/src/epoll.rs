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

use crate::Slot;
use crate::backend::{
    Backend, EVENTS_PER_WAIT, Event, Inbound, Received, STRAY_BYTES_MAX, SendOp, SendOutcome,
};
use crate::waker::Waker;

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
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let waker = Waker::new()?;
        epoll::add(
            &epoll,
            &waker,
            epoll::EventData::new_u64(WAKER_DATA),
            epoll::EventFlags::IN,
        )?;
        Ok(Self {
            epoll,
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

    /// Reads and drops the bytes that a listener sent. Returns `false` when the connection is over.
    fn drain(socket: &TcpStream) -> bool {
        let mut scratch = [0_u8; 4096];
        let mut total = 0;
        while total < STRAY_BYTES_MAX {
            match rustix::net::recv(socket, &mut scratch, RecvFlags::DONTWAIT) {
                Ok((0, _)) => return false,
                Ok((count, _)) => total += count,
                Err(Errno::AGAIN | Errno::INTR) => return true,
                Err(_) => return false,
            }
        }
        false
    }

    fn translate(&self, flags: epoll::EventFlags, slot: Slot, events: &mut Vec<Event>) {
        use epoll::EventFlags as F;
        let Some(socket) = self.socket(slot) else {
            return;
        };
        let has_input = flags.contains(F::IN);
        let is_dropped = socket.inbound == Inbound::Dropped;
        if flags.intersects(F::HUP | F::ERR | F::RDHUP)
            || (has_input && is_dropped && !Self::drain(&socket.stream))
        {
            events.push(Event::Closed(slot));
            return;
        }
        if has_input && !is_dropped {
            events.push(Event::Readable(slot));
        }
        if flags.contains(F::OUT) {
            events.push(Event::Writable(slot));
        }
    }
}

/// Converts a time for the kernel; longer times than it can express become its longest.
pub(crate) fn timespec(time: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(time.subsec_nanos()),
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
        let index = slot.index as usize;
        if self.sockets.len() <= index {
            self.sockets.resize_with(index + 1, || None);
        }
        self.sockets[index] = Some(Socket {
            reuse: slot.reuse,
            stream,
            inbound,
        });
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
        let timeout = timeout.map(timespec);
        let mut ready = [const { MaybeUninit::uninit() }; EVENTS_PER_WAIT];
        let ready = match epoll::wait(&self.epoll, &mut ready, timeout.as_ref()) {
            Ok((ready, _)) => ready,
            Err(Errno::INTR) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        for event in ready {
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
