//! Sockets that are numbers: a back-end whose peers are modelled.
//!
//! A peer has a buffer, as `TCP_NOTSENT_LOWAT` and its window leave one, from which its player takes bytes at a rate,
//! or now and then not at all. Bytes that the buffer takes are read at once by the peer's [`Reader`], so that the
//! faulty send is the one that fails. Sends cost CPU time by a model, which is all the time that passes while a worker
//! is at work.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::net::TcpStream;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::{Arc, MutexGuard};
use std::time::Duration;

use base::Lock;
use net::{Backend, Event, Inbound, Received, SendOp, SendOutcome, Slot, Waker};

use super::peer::{Nanos, Peer};
use super::reader::{Reader, Run};
use super::rng::mix;

/// A send to a socket: 3 µs, as measured on loopback, whatever its size.
const SEND_COST: Nanos = 3_000;

/// Cost of a batch beside its sends.
const BATCH_COST: Nanos = 1_500;

/// All sockets of a world, and their events to report.
pub(crate) struct Sockets {
    /// Current time while a worker is at work, including the cost of its work so far.
    pub(crate) now: Nanos,
    /// CPU time that each worker has used.
    pub(crate) cpu: Vec<Nanos>,
    /// Extra cost of the next send.
    pub(crate) hiccup: Nanos,
    /// Whether sends cost nothing: so in worlds that must be unaffected by one more listener.
    pub(crate) is_free: bool,
    pub(crate) peers: Vec<Peer>,
    /// Peers by their descriptor, on their way to a worker.
    coming: HashMap<i32, usize>,
    /// Peers by worker and slot.
    slots: Vec<Vec<Option<(u32, usize)>>>,
    /// Times at which peers that were full will have room.
    pub(crate) rooms: Vec<(Nanos, usize)>,
    /// Events to report, by worker.
    pub(crate) news: Vec<(usize, Event)>,
    /// Number of events reported to workers.
    pub(crate) reported: u64,
    run: Option<Run>,
    /// Faults found so far.
    pub(crate) faults: Vec<String>,
    /// Checksum of everything that was sent.
    pub(crate) trace: u64,
    pub(crate) sends: u64,
    pub(crate) bytes: u64,
    nothing: File,
}

impl Sockets {
    pub(crate) fn new(workers: usize) -> io::Result<Arc<Lock<Self>>> {
        Ok(Arc::new(Lock::new(Self {
            now: 0,
            cpu: vec![0; workers],
            hiccup: 0,
            is_free: false,
            peers: Vec::new(),
            coming: HashMap::new(),
            slots: vec![Vec::new(); workers],
            rooms: Vec::new(),
            news: Vec::new(),
            reported: 0,
            run: None,
            faults: Vec::new(),
            trace: 0,
            sends: 0,
            bytes: 0,
            nothing: File::open("/dev/null")?,
        })))
    }

    /// Begins a worker's turn: the bytes to send may have been written anew.
    pub(crate) fn begin(&mut self, now: Nanos) {
        self.now = now;
        self.run = None;
    }

    /// Returns a socket with a new peer at its other end, for the server to own.
    pub(crate) fn connect(&mut self, peer: Peer) -> io::Result<TcpStream> {
        let socket = self.socket()?;
        self.coming.insert(socket.as_raw_fd(), self.peers.len());
        self.peers.push(peer);
        Ok(socket)
    }

    /// Returns a socket for the core to own; nothing is sent through it.
    fn socket(&self) -> io::Result<TcpStream> {
        Ok(TcpStream::from(OwnedFd::from(self.nothing.try_clone()?)))
    }

    /// Has the player take nothing until further notice, or continue.
    pub(crate) fn stall(&mut self, peer: usize, stalls: bool, now: Nanos) {
        let it = &mut self.peers[peer];
        it.settle(now);
        it.stalls = stalls;
        if it.is_awaited {
            let room = it.has_room_at(now);
            self.rooms.extend(room.map(|at| (at, peer)));
        }
    }

    /// Checks whether a peer has room by now; if so, reports it to its worker.
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

    /// Has the peer send something.
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
            self.faults
                .push(format!("a send to {:?}, which is closed", op.slot));
            return SendOutcome::Closed;
        };
        let peer = &mut self.peers[index];
        if peer.is_gone {
            return SendOutcome::Closed;
        }
        if peer.is_awaited {
            self.faults
                .push(format!("a send to {index}, which is full"));
        }
        peer.sends += 1;
        let offered: usize = op.slices.iter().map(|slice| slice.len()).sum();
        let count = peer.accept(offered as u64, now);
        peer.accepted += count;
        peer.trace = mix(peer.trace ^ now) ^ count;
        self.bytes += count;
        self.trace = mix(self.trace ^ now ^ (index as u64) << 40) ^ count;
        let is_whole = count == offered as u64;
        if !is_whole {
            peer.is_awaited = true;
            self.rooms
                .extend(peer.has_room_at(now).map(|at| (at, index)));
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
    sockets: Arc<Lock<Sockets>>,
    waker: Waker,
}

impl ModelBackend {
    pub(crate) fn new(worker: usize, sockets: &Arc<Lock<Sockets>>) -> io::Result<Self> {
        Ok(Self {
            worker,
            sockets: Arc::clone(sockets),
            waker: Waker::new()?,
        })
    }

    fn sockets(&self) -> MutexGuard<'_, Sockets> {
        self.sockets.lock()
    }

    /// Removes a socket, and returns its peer.
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
