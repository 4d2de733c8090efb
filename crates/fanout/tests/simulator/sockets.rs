//! Sockets that are numbers: a back-end whose peers are modelled.
//!
//! A peer has a buffer, as `TCP_NOTSENT_LOWAT` and its window leave one, from which its player takes
//! bytes at a rate, or now and then not at all. What the buffer takes is read at once by the peer's
//! [`Reader`], so that the send that was wrong is the one that fails. Sends cost CPU time by a model,
//! which is all the time that passes while a worker is at work.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::net::TcpStream;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use net::{Backend, Event, Inbound, Received, SendOp, SendOutcome, Slot, Waker};

use crate::rng::mix;
use crate::wire::{Reader, Run};

/// A moment: nanoseconds since the world began.
pub(crate) type Nanos = u64;

pub(crate) const SECOND: Nanos = 1_000_000_000;
pub(crate) const MILLI: Nanos = 1_000_000;

/// A send to a socket: 3 µs, as measured on loopback, whatever its size.
const SEND_COST: Nanos = 3_000;

/// What a batch costs beside its sends.
const BATCH_COST: Nanos = 1_500;

/// How fast a player takes bytes that takes all at once.
pub(crate) const AT_ONCE: u64 = u64::MAX;

/// The other end of a listener's socket.
pub(crate) struct Peer {
    pub(crate) reader: Reader,
    /// Bytes per second that its player takes; [`AT_ONCE`] for any number.
    rate: u64,
    capacity: u64,
    queued: u64,
    /// Up to when `queued` is known.
    updated: Nanos,
    stalls: bool,
    /// It was full, and its worker waits to be told of room.
    is_awaited: bool,
    /// Bytes that its socket took.
    pub(crate) accepted: u64,
    /// Bytes that its player took.
    pub(crate) taken: u64,
    pub(crate) sends: u64,
    /// It has hung up.
    pub(crate) is_gone: bool,
    pub(crate) attached: Option<(usize, Slot)>,
    /// The server has closed the socket, or given it back.
    pub(crate) is_closed: bool,
    said: Vec<u8>,
}

impl Peer {
    pub(crate) fn new(reader: Reader, rate: u64, capacity: u64) -> Self {
        Self {
            reader,
            rate,
            capacity,
            queued: 0,
            updated: 0,
            stalls: false,
            is_awaited: false,
            accepted: 0,
            taken: 0,
            sends: 0,
            is_gone: false,
            attached: None,
            is_closed: false,
            said: Vec::new(),
        }
    }

    /// Has the player take what it could since the last time.
    fn settle(&mut self, now: Nanos) {
        let elapsed = now.saturating_sub(self.updated);
        self.updated = self.updated.max(now);
        if self.stalls {
            return;
        }
        let could = u128::from(elapsed) * u128::from(self.rate) / u128::from(SECOND);
        let took = self.queued.min(could.try_into().unwrap_or(u64::MAX));
        self.queued -= took;
        self.taken += took;
    }

    /// Takes up to `offered` bytes.
    fn accept(&mut self, offered: u64, now: Nanos) -> u64 {
        if self.rate == AT_ONCE && !self.stalls {
            self.taken += offered + std::mem::take(&mut self.queued);
            return offered;
        }
        self.settle(now);
        let count = offered.min(self.capacity - self.queued);
        self.queued += count;
        count
    }

    /// When half of its buffer will be free.
    fn has_room_at(&self, now: Nanos) -> Option<Nanos> {
        if self.stalls || self.rate == 0 {
            return None;
        }
        let excess = self.queued.saturating_sub(self.capacity / 2);
        let wait = u128::from(excess) * u128::from(SECOND) / u128::from(self.rate) + 1;
        Some(now + Nanos::try_from(wait).unwrap_or(u64::MAX / 2))
    }
}

/// All sockets of a world, and what there is to be told of them.
pub(crate) struct Sockets {
    /// The moment, while a worker is at work: with what its work has cost so far.
    pub(crate) now: Nanos,
    /// CPU time that each worker has used.
    pub(crate) cpu: Vec<Nanos>,
    /// What the next send costs beside.
    pub(crate) hiccup: Nanos,
    /// What sends cost: none in worlds that are to be the same with one listener more.
    pub(crate) is_free: bool,
    pub(crate) peers: Vec<Peer>,
    /// Peers by their descriptor, on their way to a worker.
    coming: HashMap<i32, usize>,
    /// Peers by worker and slot.
    slots: Vec<Vec<Option<(u32, usize)>>>,
    /// When peers that were full will have room.
    pub(crate) rooms: Vec<(Nanos, usize)>,
    /// What workers are to be told, by worker.
    pub(crate) news: Vec<(usize, Event)>,
    run: Option<Run>,
    /// What was wrong.
    pub(crate) faults: Vec<String>,
    /// Sums up everything that was sent.
    pub(crate) trace: u64,
    pub(crate) sends: u64,
    pub(crate) bytes: u64,
    nothing: File,
}

impl Sockets {
    pub(crate) fn new(workers: usize) -> io::Result<Arc<Mutex<Self>>> {
        Ok(Arc::new(Mutex::new(Self {
            now: 0,
            cpu: vec![0; workers],
            hiccup: 0,
            is_free: false,
            peers: Vec::new(),
            coming: HashMap::new(),
            slots: vec![Vec::new(); workers],
            rooms: Vec::new(),
            news: Vec::new(),
            run: None,
            faults: Vec::new(),
            trace: 0,
            sends: 0,
            bytes: 0,
            nothing: File::open("/dev/null")?,
        })))
    }

    /// A worker begins a turn: what it was sent from may have been written anew.
    pub(crate) fn begin(&mut self, now: Nanos) {
        self.now = now;
        self.run = None;
    }

    /// A socket with a new peer at its other end, for the server to have.
    pub(crate) fn connect(&mut self, peer: Peer) -> io::Result<TcpStream> {
        let socket = self.socket()?;
        self.coming.insert(socket.as_raw_fd(), self.peers.len());
        self.peers.push(peer);
        Ok(socket)
    }

    /// The core wants something to own; what is sent never gets there.
    fn socket(&self) -> io::Result<TcpStream> {
        Ok(TcpStream::from(OwnedFd::from(self.nothing.try_clone()?)))
    }

    /// The player takes nothing until further notice, or goes on.
    pub(crate) fn stall(&mut self, peer: usize, stalls: bool, now: Nanos) {
        let it = &mut self.peers[peer];
        it.settle(now);
        it.stalls = stalls;
        if it.is_awaited {
            let room = it.has_room_at(now);
            self.rooms.extend(room.map(|at| (at, peer)));
        }
    }

    /// A peer may have room by now; if so its worker is told.
    pub(crate) fn look(&mut self, peer: usize, now: Nanos) {
        let it = &mut self.peers[peer];
        let Some((worker, slot)) = it.attached.filter(|_| it.is_awaited) else {
            return;
        };
        it.settle(now);
        if it.queued <= it.capacity / 2 {
            it.is_awaited = false;
            self.news.push((worker, Event::Writable(slot)));
        } else {
            let room = it.has_room_at(now);
            self.rooms.extend(room.map(|at| (at, peer)));
        }
    }

    pub(crate) fn hang_up(&mut self, peer: usize) {
        let it = &mut self.peers[peer];
        it.is_gone = true;
        if let Some((worker, slot)) = it.attached {
            self.news.push((worker, Event::Closed(slot)));
        }
    }

    /// The peer says something.
    pub(crate) fn say(&mut self, peer: usize, words: &[u8]) {
        let it = &mut self.peers[peer];
        it.said.extend(words);
        if let Some((worker, slot)) = it.attached {
            self.news.push((worker, Event::Readable(slot)));
        }
    }

    fn peer_at(&self, worker: usize, slot: Slot) -> Option<usize> {
        match self.slots[worker].get(slot.index as usize)? {
            Some((reuse, peer)) if *reuse == slot.reuse => Some(*peer),
            _ => None,
        }
    }

    fn send(&mut self, worker: usize, op: &SendOp<'_>) -> SendOutcome {
        let cost = match self.is_free {
            true => 0,
            false => SEND_COST + std::mem::take(&mut self.hiccup),
        };
        self.now += cost;
        self.cpu[worker] += cost;
        self.sends += 1;
        let now = self.now;
        let Some(index) = self.peer_at(worker, op.slot) else {
            self.faults.push(format!("a send to {:?}, which is closed", op.slot));
            return SendOutcome::Closed;
        };
        let peer = &mut self.peers[index];
        if peer.is_gone {
            return SendOutcome::Closed;
        }
        if peer.is_awaited {
            self.faults.push(format!("a send to {index}, which is full"));
        }
        peer.sends += 1;
        let offered: usize = op.slices.iter().map(|slice| slice.len()).sum();
        let count = peer.accept(offered as u64, now);
        peer.accepted += count;
        self.bytes += count;
        self.trace = mix(self.trace ^ now ^ (index as u64) << 40) ^ count;
        let is_whole = count == offered as u64;
        if !is_whole {
            peer.is_awaited = true;
            self.rooms.extend(peer.has_room_at(now).map(|at| (at, index)));
        }
        if count == 0 {
            return SendOutcome::Blocked;
        }
        if let Err(what) = read(&mut self.run, &mut peer.reader, op, offered, count as usize) {
            self.faults.push(format!("listener {index}: {what}"));
        }
        SendOutcome::Sent(count as usize)
    }
}

/// Has a reader take the first `count` of the `offered` bytes of a send.
fn read(
    run: &mut Option<Run>,
    reader: &mut Reader,
    op: &SendOp<'_>,
    offered: usize,
    count: usize,
) -> Result<(), String> {
    if count == offered && reader.is_whole() {
        let is_known = |run: &Run| run.is_of(op.slices, offered);
        if !run.as_ref().is_some_and(is_known) {
            let new = Run::of(op.slices, offered);
            *run = new.or_else(|| run.take());
        }
        if let Some(run) = run
            && run.is_of(op.slices, offered)
            && run.give(reader)
        {
            return Ok(());
        }
    }
    let mut left = count;
    for slice in op.slices {
        let part = &slice[..left.min(slice.len())];
        reader.read(part)?;
        left -= part.len();
    }
    Ok(())
}

/// One worker's share of the sockets.
pub(crate) struct ModelBackend {
    worker: usize,
    sockets: Arc<Mutex<Sockets>>,
    waker: Waker,
}

impl ModelBackend {
    pub(crate) fn new(worker: usize, sockets: &Arc<Mutex<Sockets>>) -> io::Result<Self> {
        Ok(Self {
            worker,
            sockets: Arc::clone(sockets),
            waker: Waker::new()?,
        })
    }

    fn sockets(&self) -> MutexGuard<'_, Sockets> {
        self.sockets.lock().expect("one thread, which has not panicked")
    }

    /// Forgets a socket, and gives its peer.
    fn take(&self, slot: Slot) -> Option<usize> {
        let mut sockets = self.sockets();
        let peer = sockets.peer_at(self.worker, slot)?;
        sockets.slots[self.worker][slot.index as usize] = None;
        sockets.peers[peer].attached = None;
        sockets.peers[peer].is_closed = true;
        Some(peer)
    }
}

impl Backend for ModelBackend {
    fn name(&self) -> &'static str {
        "model"
    }

    fn attach(&mut self, slot: Slot, socket: TcpStream, _: Inbound) -> io::Result<()> {
        let mut sockets = self.sockets();
        let peer = sockets.coming.remove(&socket.as_raw_fd());
        let peer = peer.expect("it was connected");
        let slots = &mut sockets.slots[self.worker];
        let index = slot.index as usize;
        slots.resize(slots.len().max(index + 1), None);
        let before = slots[index].replace((slot.reuse, peer));
        if before.is_some() {
            sockets.faults.push(format!("{slot:?} was given twice"));
        }
        sockets.peers[peer].attached = Some((self.worker, slot));
        sockets.peers[peer].updated = sockets.now;
        if sockets.peers[peer].is_gone {
            sockets.news.push((self.worker, Event::Closed(slot)));
        }
        Ok(())
    }

    fn detach(&mut self, slot: Slot) {
        self.take(slot);
    }

    fn release(&mut self, slot: Slot) -> Option<TcpStream> {
        self.take(slot)?;
        self.sockets().socket().ok()
    }

    fn receive(&mut self, slot: Slot, buffer: &mut [u8]) -> Received {
        let mut sockets = self.sockets();
        let Some(peer) = sockets.peer_at(self.worker, slot) else {
            return Received::Closed;
        };
        let said = &mut sockets.peers[peer].said;
        let count = said.len().min(buffer.len());
        buffer[..count].copy_from_slice(&said[..count]);
        said.drain(..count);
        match count {
            0 => Received::Nothing,
            count => Received::Bytes(count),
        }
    }

    fn send_batch(&mut self, batch: &[SendOp<'_>], outcomes: &mut [SendOutcome]) {
        let mut sockets = self.sockets();
        if !sockets.is_free {
            sockets.now += BATCH_COST;
            sockets.cpu[self.worker] += BATCH_COST;
        }
        for (op, outcome) in batch.iter().zip(outcomes) {
            *outcome = sockets.send(self.worker, op);
        }
    }

    fn wait(&mut self, _: Option<Duration>, _: &mut Vec<Event>) -> io::Result<()> {
        Err(io::Error::other("a stepped worker does not wait"))
    }

    fn waker(&self) -> Waker {
        self.waker.clone()
    }
}
