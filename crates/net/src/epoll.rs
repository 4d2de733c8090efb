//! The epoll back-end: plain non-blocking sends, edge-triggered readiness.
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

use crate::backend::{Backend, Event, Inbound, Received, SendOp, SendOutcome, Slot};
use crate::waker::Waker;

/// Events taken per sleep. More wait in the kernel; the bound keeps one storm of hang-ups from
/// delaying due visits.
const EVENTS_PER_WAIT: usize = 256;

/// The `epoll_data` of the waker; no slab grows to this index.
const WAKER_DATA: u64 = u64::MAX;

/// How many bytes a listener whose input is dropped may send us per readiness edge before it counts
/// as misbehaving. It has nothing to say after its request; this much tolerates pipelined requests.
const STRAY_BYTES_MAX: usize = 16 * 1024;

/// Sockets by slot index, watched by one epoll instance.
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
    /// When the process has no descriptor left.
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

    /// Reads and drops what a listener sent. `false` when the connection is over.
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
        let timeout = timeout.map(|timeout| Timespec {
            tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(timeout.subsec_nanos()),
        });
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

fn pack(slot: Slot) -> u64 {
    u64::from(slot.reuse) << 32 | u64::from(slot.index)
}

fn unpack(data: u64) -> Slot {
    Slot {
        index: (data & u64::from(u32::MAX)) as u32,
        reuse: (data >> 32) as u32,
    }
}

#[cfg(test)]
mod tests {
    use std::io::{IoSlice, Read, Write};
    use std::net::{Ipv4Addr, TcpListener};

    use super::*;

    const LONG: Duration = Duration::from_secs(5);

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (near, listener.accept().unwrap().0)
    }

    fn slot(index: u32) -> Slot {
        Slot { index, reuse: 7 }
    }

    fn send_one(backend: &mut Epoll, slot: Slot, slices: &[IoSlice<'_>]) -> SendOutcome {
        let mut outcomes = [SendOutcome::Blocked];
        backend.send_batch(&[SendOp { slot, slices }], &mut outcomes);
        outcomes[0]
    }

    /// Waits until an event of that slot other than the first "writable" edge of a new socket.
    fn wait_for(backend: &mut Epoll, wanted: Event) {
        let mut events = Vec::new();
        while !events.contains(&wanted) {
            let before = events.len();
            backend.wait(Some(LONG), &mut events).unwrap();
            assert!(
                events.len() > before,
                "no event within {LONG:?}, wanted {wanted:?}"
            );
        }
    }

    #[test]
    fn sends_scattered_bytes_in_order() {
        let mut backend = Epoll::new().unwrap();
        let (near, mut far) = pair();
        backend.attach(slot(3), near, Inbound::Dropped).unwrap();
        let slices = [IoSlice::new(b"one "), IoSlice::new(b"two")];
        assert_eq!(
            send_one(&mut backend, slot(3), &slices),
            SendOutcome::Sent(7)
        );
        let mut got = [0; 7];
        far.read_exact(&mut got).unwrap();
        assert_eq!(&got, b"one two");
    }

    #[test]
    fn a_full_socket_blocks_and_then_reports_room() {
        let mut backend = Epoll::new().unwrap();
        let (near, mut far) = pair();
        backend.attach(slot(0), near, Inbound::Dropped).unwrap();
        backend.wait(Some(Duration::ZERO), &mut Vec::new()).unwrap();
        let block = vec![1_u8; 1 << 20];
        let mut sent = 0;
        loop {
            match send_one(&mut backend, slot(0), &[IoSlice::new(&block)]) {
                SendOutcome::Sent(count) => sent += count,
                SendOutcome::Blocked => break,
                SendOutcome::Closed => panic!("closed"),
            }
        }
        let mut left = sent;
        let mut scratch = vec![0; 1 << 20];
        while left > 0 {
            left -= far.read(&mut scratch).unwrap();
        }
        wait_for(&mut backend, Event::Writable(slot(0)));
    }

    #[test]
    fn a_hang_up_is_reported_and_stale_slots_are_ignored() {
        let mut backend = Epoll::new().unwrap();
        let (near, far) = pair();
        backend.attach(slot(1), near, Inbound::Dropped).unwrap();
        drop(far);
        wait_for(&mut backend, Event::Closed(slot(1)));
        let stale = Slot { index: 1, reuse: 6 };
        backend.detach(stale);
        assert!(backend.socket(slot(1)).is_some());
        assert_eq!(
            send_one(&mut backend, stale, &[IoSlice::new(b"x")]),
            SendOutcome::Closed
        );
        backend.detach(slot(1));
        assert!(backend.socket(slot(1)).is_none());
    }

    #[test]
    fn stray_requests_are_dropped_but_a_flood_ends_the_connection() {
        let mut backend = Epoll::new().unwrap();
        let (near, mut far) = pair();
        backend.attach(slot(0), near, Inbound::Dropped).unwrap();
        far.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        let mut events = Vec::new();
        backend.wait(Some(LONG), &mut events).unwrap();
        assert!(!events.contains(&Event::Closed(slot(0))), "{events:?}");
        far.write_all(&vec![b'x'; 4 * STRAY_BYTES_MAX]).unwrap();
        wait_for(&mut backend, Event::Closed(slot(0)));
    }

    #[test]
    fn reported_input_is_received_and_the_socket_can_be_had_back() {
        let mut backend = Epoll::new().unwrap();
        let (near, mut far) = pair();
        // What arrived before is told as well.
        far.write_all(b"early").unwrap();
        backend.attach(slot(2), near, Inbound::Reported).unwrap();
        wait_for(&mut backend, Event::Readable(slot(2)));
        let mut buffer = [0; 3];
        assert_eq!(backend.receive(slot(2), &mut buffer), Received::Bytes(3));
        assert_eq!(backend.receive(slot(2), &mut buffer), Received::Bytes(2));
        assert_eq!(backend.receive(slot(2), &mut buffer), Received::Nothing);
        let mut near = backend.release(slot(2)).unwrap();
        assert_eq!(backend.receive(slot(2), &mut buffer), Received::Closed);
        near.write_all(b"mine again").unwrap();
        let mut got = [0; 10];
        far.read_exact(&mut got).unwrap();
        assert_eq!(&got, b"mine again");
        drop(far);
        let mut events = Vec::new();
        backend.wait(Some(Duration::ZERO), &mut events).unwrap();
        assert!(events.is_empty(), "it is not watched any more: {events:?}");
    }

    #[test]
    fn a_waker_ends_the_sleep_even_when_it_came_first() {
        let mut backend = Epoll::new().unwrap();
        backend.waker().wake();
        let mut events = Vec::new();
        backend.wait(None, &mut events).unwrap();
        assert!(events.is_empty());
    }
}
