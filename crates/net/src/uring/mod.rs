//! io_uring back-end: sends submitted in batches, sockets outside the process's descriptors.
//!
//! A listener whose input is dropped lives in a ring's own table of descriptors (a *direct* descriptor).
//! `attach` closes the process's, so a process that may open 20,000 descriptors holds 100,000 listeners. One
//! table is limited to `RLIMIT_NOFILE` places as well; when it is full, the worker opens another ring, and
//! where that is refused the listener keeps the process's descriptor. The worker sleeps on the first ring,
//! which watches the others.
//!
//! A listener whose input is reported keeps the process's descriptor. Such listeners are players, which send
//! commands and whose sockets are returned in the end: their input is read by a plain `recv` and not by a
//! round trip through the ring, and the return cannot fail. They receive video, so the link is full long
//! before the descriptors are used up.
//!
//! Watches are one-shot. A healthy listener has one, for input and hang-up, that stays in the kernel until
//! the end; a second, for room, exists only while the socket is full. So the number of pending completions is
//! bounded by the sockets, and none is lost when the completion queue overflows. Sends never become watches:
//! see [`ring`].

#[allow(unsafe_code, reason = "the kernel is given the addresses of memory")]
mod buffers;
mod multishot;
mod probe;
#[allow(unsafe_code, reason = "the kernel is given the addresses of memory")]
mod ring;
mod table;
#[cfg(test)]
#[allow(unsafe_code, reason = "a queue is looked at from outside")]
mod tests;
mod token;

use std::collections::VecDeque;
use std::io;
use std::net::TcpStream;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::RecvFlags;

pub(crate) use self::multishot::Multishot;
pub use self::probe::Unavailable;
use self::ring::{Completion, Mode, Ring, Sizes, Target};
use self::token::{Name, Token};
use crate::backend::{
    Backend, EVENTS_PER_WAIT, Event, Inbound, Received, SendOp, SendOutcome, drain,
};
use crate::waker::Waker;
use crate::{Slot, slab};

/// Completions that a ring's queue holds: a crowd that leaves at once, 128 KiB. The kernel also sizes by it
/// the hash table in which a watch is found again, and this number gives the table the most buckets.
const COMPLETIONS: u32 = 8_192;

/// Most places in a ring's table; 8 bytes of kernel memory each, allocated in advance.
const TABLE_MAX: u32 = 32_768;

/// Most rings of a worker: 134 million sockets if tables are full. Each is one of the process's open files.
const RINGS_MAX: usize = 4_096;

const INPUT: u32 = (libc::POLLIN | libc::POLLRDHUP) as u32;
const ROOM: u32 = (libc::POLLOUT | libc::POLLRDHUP) as u32;
const GONE: u32 = (libc::POLLRDHUP | libc::POLLHUP | libc::POLLERR | libc::POLLNVAL) as u32;

/// Back-end over one worker's rings, with its sockets by slot index.
pub struct Uring {
    /// The worker sleeps on the first.
    rings: Vec<Ring>,
    /// Sizes of further rings.
    sizes: Sizes,
    waker: Waker,
    is_waker_watched: bool,
    sockets: Vec<Option<Socket>>,
    /// Indices of sockets with events to report; indices of closed sockets may be among them.
    ready: VecDeque<u32>,
    /// Set once a listener could not be given a direct descriptor.
    is_short: bool,
}

/// One watched socket.
#[derive(Debug)]
struct Socket {
    slot: Slot,
    place: SocketSlot,
    inbound: Inbound,
    input_watched: bool,
    room_watched: bool,
    /// Events to report.
    noted: Noted,
}

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
struct Noted {
    input: bool,
    room: bool,
    gone: bool,
}

/// Location of a socket.
#[derive(Debug)]
enum SocketSlot {
    /// In the table of a ring.
    Direct { ring: u32, place: u32 },
    /// Among the process's descriptors; used through the first ring.
    Kept(TcpStream),
}

impl SocketSlot {
    /// Returns the ring that operations on the socket are sent through, and the socket's name there.
    fn target(&self) -> (usize, Target) {
        match self {
            Self::Direct { ring, place } => (*ring as usize, Target::Direct(*place)),
            Self::Kept(stream) => (0, Target::Open(stream.as_raw_fd())),
        }
    }
}

impl Uring {
    fn with(mode: Mode, sizes: Sizes) -> io::Result<Self> {
        Ok(Self {
            rings: vec![Ring::new(mode, sizes)?],
            sizes,
            waker: Waker::new()?,
            is_waker_watched: false,
            sockets: Vec::new(),
            ready: VecDeque::new(),
            is_short: false,
        })
    }

    fn take(&mut self, slot: Slot) -> Option<Socket> {
        find(&self.sockets, slot)?;
        self.sockets.get_mut(slot.index as usize)?.take()
    }

    /// Puts a socket into a table with room. Returns `None` when there is none and no further ring can be
    /// made: memory or descriptors are short, and the socket has a descriptor already.
    fn install(&mut self, stream: &TcpStream) -> Option<SocketSlot> {
        let error = match self.try_install(stream) {
            Ok(place) => return Some(place),
            Err(error) => error,
        };
        // Only once: later failures depend on which sockets leave.
        if !std::mem::replace(&mut self.is_short, true) {
            tracing::warn!(
                %error,
                "no room for more direct descriptors; listeners may keep the process's"
            );
        }
        None
    }

    fn try_install(&mut self, stream: &TcpStream) -> io::Result<SocketSlot> {
        // The newest ring is the likeliest to have room.
        for (number, ring) in self.rings.iter_mut().enumerate().rev() {
            if let Some(place) = ring.install(stream)? {
                return Ok(SocketSlot::Direct {
                    ring: number as u32,
                    place,
                });
            }
        }
        if self.rings.len() >= RINGS_MAX {
            return Err(Errno::MFILE.into());
        }
        let mut ring = Ring::new(Mode::Cooperative, self.sizes)?;
        let place = ring.install(stream)?.ok_or(Errno::MFILE)?;
        self.rings.push(ring);
        Ok(SocketSlot::Direct {
            ring: self.rings.len() as u32 - 1,
            place,
        })
    }

    fn watch_input(&mut self, slot: Slot) {
        let Some(socket) = find_mut(&mut self.sockets, slot) else {
            return;
        };
        if !std::mem::replace(&mut socket.input_watched, true) {
            let (ring, target) = socket.place.target();
            self.rings[ring].watch(target, INPUT, Token::Input(slot.into()));
        }
    }

    fn watch_room(&mut self, slot: Slot) {
        let Some(socket) = find_mut(&mut self.sockets, slot) else {
            return;
        };
        if !std::mem::replace(&mut socket.room_watched, true) {
            let (ring, target) = socket.place.target();
            self.rings[ring].watch(target, ROOM, Token::Room(slot.into()));
        }
    }

    /// Ends the watches of a socket that is no longer in the table of sockets.
    fn call_off(&mut self, socket: &Socket) {
        let (ring, _) = socket.place.target();
        if socket.input_watched {
            self.rings[ring].call_off(Token::Input(socket.slot.into()));
        }
        if socket.room_watched {
            self.rings[ring].call_off(Token::Room(socket.slot.into()));
        }
        if matches!(socket.place, SocketSlot::Kept(_)) {
            // Entries name the descriptor by its number, which is another's as soon as it is closed. The next
            // sleep detects a failure again.
            self.rings[ring].submit().ok();
        }
    }

    /// Binds the rings to this thread, and makes the first one watch everything else that can end the sleep.
    fn prepare(&mut self) -> io::Result<()> {
        let Some((first, others)) = self.rings.split_first_mut() else {
            return Ok(());
        };
        first.enable()?;
        if !std::mem::replace(&mut self.is_waker_watched, true) {
            let waker = Target::Open(self.waker.as_fd().as_raw_fd());
            first.watch(waker, libc::POLLIN as u32, Token::Waker);
        }
        for (number, ring) in (1..).zip(others) {
            if ring.has_entries() {
                ring.submit()?;
            }
            if !std::mem::replace(&mut ring.is_watched, true) {
                let target = Target::Open(ring.inner().as_raw_fd());
                first.watch(target, libc::POLLIN as u32, Token::Ring(number));
            }
        }
        Ok(())
    }

    /// Processes the completions of all rings.
    fn collect(&mut self) -> io::Result<()> {
        for number in 0..self.rings.len() {
            self.rings[number].note()?;
            let seen = self.rings[number].take_seen();
            for &completion in &seen {
                self.note(number, completion);
            }
            self.rings[number].give_back(seen);
        }
        Ok(())
    }

    fn note(&mut self, ring: usize, completion: Completion) {
        // A watch that failed ends the connection as an error of the socket does.
        let flags = u32::try_from(completion.result).unwrap_or(GONE);
        match completion.token {
            Token::Input(name) => self.note_socket(name, flags, |socket| {
                socket.input_watched = false;
                socket.noted.input |= flags & INPUT != 0;
            }),
            Token::Room(name) => self.note_socket(name, flags, |socket| {
                socket.room_watched = false;
                socket.noted.room |= flags & ROOM != 0;
            }),
            Token::Vacated(place) if completion.result >= 0 => self.rings[ring].table.vacate(place),
            Token::Vacated(_) => {
                let error = io::Error::from_raw_os_error(-completion.result);
                tracing::warn!(%error, "a listener's socket could not be closed");
            }
            Token::Waker => {
                self.waker.drain();
                self.is_waker_watched = false;
            }
            Token::Ring(number) => self.rings[number as usize].is_watched = false,
            Token::CalledOff | Token::Job(_) | Token::Another => {}
        }
    }

    fn note_socket(&mut self, name: Name, flags: u32, note: impl FnOnce(&mut Socket)) {
        let socket = self.sockets.get_mut(name.index as usize);
        let Some(socket) = socket.and_then(Option::as_mut) else {
            return;
        };
        if !name.is(socket.slot) {
            return;
        }
        if socket.noted == Noted::default() {
            self.ready.push_back(name.index);
        }
        socket.noted.gone |= flags & GONE != 0;
        note(socket);
    }

    fn report(&mut self, events: &mut Vec<Event>) {
        for _ in 0..EVENTS_PER_WAIT {
            let Some(index) = self.ready.pop_front() else {
                return;
            };
            let Some(Some(socket)) = self.sockets.get_mut(index as usize) else {
                continue;
            };
            let (slot, inbound) = (socket.slot, socket.inbound);
            let noted = std::mem::take(&mut socket.noted);
            let is_stray = noted.input && inbound == Inbound::Dropped;
            if noted.gone || (is_stray && !drain(self, slot)) {
                events.push(Event::Closed(slot));
                continue;
            }
            if noted.input && !is_stray {
                events.push(Event::Readable(slot));
            }
            if noted.room {
                events.push(Event::Writable(slot));
            }
        }
    }
}

fn find(sockets: &[Option<Socket>], slot: Slot) -> Option<&Socket> {
    let socket = sockets.get(slot.index as usize)?.as_ref()?;
    (socket.slot.reuse == slot.reuse).then_some(socket)
}

fn find_mut(sockets: &mut [Option<Socket>], slot: Slot) -> Option<&mut Socket> {
    let socket = sockets.get_mut(slot.index as usize)?.as_mut()?;
    (socket.slot.reuse == slot.reuse).then_some(socket)
}

impl Backend for Uring {
    fn name(&self) -> &'static str {
        "io_uring"
    }

    fn attach(&mut self, slot: Slot, stream: TcpStream, inbound: Inbound) -> io::Result<()> {
        self.prepare()?;
        let direct = match inbound {
            Inbound::Dropped => self.install(&stream),
            Inbound::Reported => None,
        };
        let place = match direct {
            Some(place) => place,
            None => {
                stream.set_nonblocking(true)?;
                SocketSlot::Kept(stream)
            }
        };
        let socket = Socket {
            slot,
            place,
            inbound,
            input_watched: false,
            room_watched: false,
            noted: Noted::default(),
        };
        slab::put(&mut self.sockets, slot, socket);
        self.watch_input(slot);
        Ok(())
    }

    fn detach(&mut self, slot: Slot) {
        let Some(socket) = self.take(slot) else {
            return;
        };
        self.call_off(&socket);
        if let SocketSlot::Direct { ring, place } = socket.place {
            self.rings[ring as usize].close(place);
        }
    }

    fn release(&mut self, slot: Slot) -> Option<TcpStream> {
        let socket = self.take(slot)?;
        self.call_off(&socket);
        match socket.place {
            SocketSlot::Kept(stream) => Some(stream),
            SocketSlot::Direct { ring, place } => {
                let ring = &mut self.rings[ring as usize];
                let exported = ring.export(place);
                ring.close(place);
                let stream = TcpStream::from(exported.ok()?);
                stream.set_nonblocking(true).ok()?;
                Some(stream)
            }
        }
    }

    fn receive(&mut self, slot: Slot, buffer: &mut [u8]) -> Received {
        let Some(socket) = find(&self.sockets, slot) else {
            return Received::Closed;
        };
        let received = match &socket.place {
            SocketSlot::Kept(stream) => {
                rustix::net::recv(stream, buffer, RecvFlags::DONTWAIT).map(|(count, _)| count)
            }
            SocketSlot::Direct { ring, place } => {
                let result = self.rings[*ring as usize].receive(*place, buffer);
                usize::try_from(result).map_err(|_| Errno::from_raw_os_error(-result))
            }
        };
        match received {
            Ok(0) => Received::Closed,
            Ok(count) => Received::Bytes(count),
            Err(Errno::AGAIN | Errno::INTR) => {
                self.watch_input(slot);
                Received::Nothing
            }
            Err(_) => Received::Closed,
        }
    }

    fn send_batch(&mut self, batch: &[SendOp<'_>], outcomes: &mut [SendOutcome]) {
        outcomes[..batch.len()].fill(SendOutcome::Closed);
        debug_assert!(batch.iter().all(|op| op.slices.len() <= SendOp::SLICES_MAX));
        let Self { rings, sockets, .. } = self;
        for (number, ring) in rings.iter_mut().enumerate() {
            let sends = batch.iter().enumerate().filter_map(|(position, op)| {
                let (ring, target) = find(sockets, op.slot)?.place.target();
                (ring == number).then_some((position, target, op.slices))
            });
            ring.send(sends, outcomes);
        }
        for (op, outcome) in batch.iter().zip(outcomes) {
            let is_full = match *outcome {
                SendOutcome::Sent(count) => {
                    count < op.slices.iter().map(|slice| slice.len()).sum::<usize>()
                }
                SendOutcome::Blocked => true,
                SendOutcome::Closed => false,
            };
            if is_full {
                self.watch_room(op.slot);
            }
        }
    }

    fn wait(&mut self, timeout: Option<Duration>, events: &mut Vec<Event>) -> io::Result<()> {
        self.prepare()?;
        let has_news = !self.ready.is_empty() || self.rings.iter().any(Ring::has_seen);
        let timeout = if has_news {
            Some(Duration::ZERO)
        } else {
            timeout
        };
        self.rings[0].wait(timeout)?;
        self.collect()?;
        self.report(events);
        Ok(())
    }

    fn waker(&self) -> Waker {
        self.waker.clone()
    }
}

impl Drop for Uring {
    /// Makes the peers of the sockets detached last see it at once. The kernel closes the rest in its own time.
    fn drop(&mut self) {
        for ring in &mut self.rings {
            if ring.has_entries() {
                ring.wait(Some(Duration::ZERO)).ok();
            }
        }
    }
}
