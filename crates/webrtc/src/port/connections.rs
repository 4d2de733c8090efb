//! TCP connections that carry datagrams (RFC 4571, RFC 6544), for peers that UDP does not reach.
//!
//! A connection is *opening* until its first frame, which names its session, and *open* from then on. Outgoing data is queued,
//! framed, up to a bound: a peer that reads nothing is sent nothing more.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use base::shares::network;
use net::{Interest, Poller};

use super::wire::{LISTENER, Sent};
use crate::framing::{self, Deframer, HEADER_LEN};
use crate::ice::Path;

/// Largest number of connections of one worker. A thousand is more viewers over TCP than a worker has, even where UDP is
/// blocked, and their queues take 128 MiB.
const CONNECTIONS_MAX: usize = 1_024;

/// Largest number of connections that have not named a session yet. The oldest one of the address that has the most is closed
/// for a newer one.
const OPENING_MAX: usize = 128;

/// Longest time in which a connection may name its session. A browser does so at once.
const OPENING_TIMEOUT: Duration = Duration::from_secs(5);

/// Largest number of bytes queued for one connection: a large keyframe. Bytes that the kernel has not sent yet are not included
/// (`net::tcp::NOTSENT_LOWAT_BYTES`).
const QUEUE_BYTES_MAX: usize = 128 * 1024;

/// Capacity that a queue keeps when it is empty.
const QUEUE_BYTES_KEPT: usize = 16 * 1024;

#[derive(Debug, Default)]
pub(super) struct Connections {
    all: HashMap<u64, Connection>,
    by_path: HashMap<Path, u64>,
    /// Last number given out. Numbers are never reused, so none is mistaken.
    numbers: u64,
    /// Connections that a send found dead; the caller removes them.
    broken: Vec<u64>,
}

#[derive(Debug)]
struct Connection {
    stream: TcpStream,
    path: Path,
    since: Instant,
    state: State,
    queue: Queue,
    is_room_awaited: bool,
}

#[derive(Debug)]
enum State {
    /// Bytes that have arrived so far.
    Opening(Vec<u8>),
    Open(Deframer),
}

/// Result of a read.
#[derive(Debug, Eq, PartialEq)]
pub(super) enum Heard {
    Bytes(usize),
    Nothing,
    Over,
}

impl Connections {
    /// Adds a connection; returns its number, if it could be watched.
    pub(super) fn insert(
        &mut self,
        stream: TcpStream,
        path: Path,
        bytes: Vec<u8>,
        now: Instant,
        poller: &Poller,
    ) -> Option<u64> {
        if self.all.len() >= CONNECTIONS_MAX {
            return None;
        }
        stream.set_nonblocking(true).ok()?;
        net::tcp::prepare_listener(&stream).ok()?;
        self.numbers += 1;
        let number = LISTENER + self.numbers;
        poller.watch(&stream, number, Interest::Input).ok()?;
        let connection = Connection {
            stream,
            path,
            since: now,
            state: State::Opening(bytes),
            queue: Queue::default(),
            is_room_awaited: false,
        };
        self.all.insert(number, connection);
        if let Some(former) = self.by_path.insert(path, number) {
            // A live connection with this address would keep the peer from using the port again.
            self.all.remove(&former);
        }
        Some(number)
    }

    /// Removes a connection; also returns the bytes that have arrived if it was still opening.
    pub(super) fn remove(&mut self, number: u64) -> Option<(TcpStream, Path, Vec<u8>)> {
        let connection = self.all.remove(&number)?;
        let path = connection.path;
        if self.by_path.get(&path) == Some(&number) {
            self.by_path.remove(&path);
        }
        let said = match connection.state {
            State::Opening(said) => said,
            State::Open(_) => Vec::new(),
        };
        Some((connection.stream, path, said))
    }

    /// Returns the connection that must be closed to make room for another, if any.
    pub(super) fn oldest_of_too_many(&self) -> Option<u64> {
        let is_opening = |connection: &Connection| matches!(connection.state, State::Opening(_));
        let opening = || self.all.iter().filter(|(_, c)| is_opening(c));
        if self.all.len() < OPENING_MAX || opening().count() < OPENING_MAX {
            return None;
        }
        let mut by_address: HashMap<_, (usize, Reverse<u64>)> = HashMap::new();
        for (number, connection) in opening() {
            let address = network(connection.path.remote.ip());
            let (count, oldest) = by_address.entry(address).or_insert((0, Reverse(*number)));
            *count += 1;
            *oldest = (*oldest).max(Reverse(*number));
        }
        let (_, Reverse(oldest)) = by_address.into_values().max()?;
        Some(oldest)
    }

    /// Returns connections that are useless: they named no session in time, or their session is over.
    pub(super) fn useless(&self, is_known: impl Fn(Path) -> bool, now: Instant) -> Vec<u64> {
        let is_useless = |connection: &Connection| match connection.state {
            State::Opening(_) => now.duration_since(connection.since) > OPENING_TIMEOUT,
            State::Open(_) => !is_known(connection.path),
        };
        let useless = self.all.iter().filter(|(_, c)| is_useless(c));
        useless.map(|(number, _)| *number).collect()
    }

    /// Returns the next connection that a send found dead.
    pub(super) fn take_broken(&mut self) -> Option<u64> {
        self.broken.pop()
    }

    pub(super) fn read(&mut self, number: u64, room: &mut [u8]) -> Heard {
        let Some(connection) = self.all.get_mut(&number) else {
            return Heard::Nothing;
        };
        match connection.stream.read(room) {
            Ok(0) => Heard::Over,
            Ok(len) => Heard::Bytes(len),
            Err(error) if is_transient(&error) => Heard::Nothing,
            Err(_) => Heard::Over,
        }
    }

    /// Appends to the bytes received on an opening connection, and returns all of them. `None` for an open connection.
    pub(super) fn said(&mut self, number: u64, bytes: &[u8]) -> Option<&[u8]> {
        match &mut self.all.get_mut(&number)?.state {
            State::Opening(said) => {
                said.extend_from_slice(bytes);
                Some(said)
            }
            State::Open(_) => None,
        }
    }

    /// Opens a connection that has named its session, and returns the bytes received so far.
    pub(super) fn open(&mut self, number: u64) -> Option<Vec<u8>> {
        let state = &mut self.all.get_mut(&number)?.state;
        let State::Opening(said) = state else {
            return None;
        };
        let said = std::mem::take(said);
        *state = State::Open(Deframer::default());
        Some(said)
    }

    /// Lends out an open connection's deframer, since its datagrams may lead to sends on the same connection.
    pub(super) fn lend_deframer(&mut self, number: u64) -> Option<(Path, Deframer)> {
        let connection = self.all.get_mut(&number)?;
        match &mut connection.state {
            State::Open(deframer) => Some((connection.path, std::mem::take(deframer))),
            State::Opening(_) => None,
        }
    }

    pub(super) fn return_deframer(&mut self, number: u64, deframer: Deframer) {
        if let Some(connection) = self.all.get_mut(&number) {
            connection.state = State::Open(deframer);
        }
    }

    /// Frames datagrams and sends as much as the socket accepts. The rest is queued.
    pub(super) fn send(
        &mut self,
        path: Path,
        bytes: &[u8],
        segment: usize,
        poller: &Poller,
    ) -> Sent {
        let Some(&number) = self.by_path.get(&path) else {
            return Sent::Gone;
        };
        let Some(connection) = self.all.get_mut(&number) else {
            return Sent::Gone;
        };
        if !connection.queue.push(bytes, segment) {
            return Sent::Blocked;
        }
        if connection.is_room_awaited || connection.flush(number, poller) {
            return Sent::Sent;
        }
        self.broken.push(number);
        Sent::Gone
    }

    /// Continues sending after the socket has room again.
    pub(super) fn flush(&mut self, number: u64, poller: &Poller) {
        if let Some(connection) = self.all.get_mut(&number)
            && !connection.flush(number, poller)
        {
            self.broken.push(number);
        }
    }
}

impl Connection {
    /// Writes as much as the socket accepts, and makes the poller report room for the rest. Returns false if the connection is
    /// dead.
    fn flush(&mut self, number: u64, poller: &Poller) -> bool {
        while !self.queue.is_empty() {
            match self.stream.write(self.queue.bytes()) {
                Ok(0) => return false,
                Ok(len) => self.queue.consume(len),
                Err(error) if is_transient(&error) => break,
                Err(_) => return false,
            }
        }
        let is_room_awaited = !self.queue.is_empty();
        if is_room_awaited == self.is_room_awaited {
            return true;
        }
        self.is_room_awaited = is_room_awaited;
        let interest = match is_room_awaited {
            true => Interest::InputAndRoom,
            false => Interest::Input,
        };
        poller.change(&self.stream, number, interest).is_ok()
    }
}

fn is_transient(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

/// Framed datagrams that wait to be written.
#[derive(Debug, Default)]
struct Queue {
    bytes: Vec<u8>,
    /// Bytes at the front that were already written.
    start: usize,
}

impl Queue {
    /// Adds datagrams; returns false if there is no room for all of them.
    fn push(&mut self, bytes: &[u8], segment: usize) -> bool {
        let framed = bytes.len() + bytes.len().div_ceil(segment) * HEADER_LEN;
        if self.bytes().len() + framed > QUEUE_BYTES_MAX {
            return false;
        }
        self.bytes.drain(..self.start);
        self.start = 0;
        for datagram in bytes.chunks(segment) {
            // The datagram is longer than any that a peer would accept.
            let Some(header) = framing::header(datagram.len()) else {
                continue;
            };
            self.bytes.extend_from_slice(&header);
            self.bytes.extend_from_slice(datagram);
        }
        true
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    fn is_empty(&self) -> bool {
        self.bytes().is_empty()
    }

    fn consume(&mut self, len: usize) {
        self.start += len;
        if self.is_empty() {
            self.bytes.clear();
            self.bytes.shrink_to(QUEUE_BYTES_KEPT);
            self.start = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn silent_connections_make_room_by_address() {
        let poller = Poller::new().expect("a poller");
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a listener");
        let address = listener.local_addr().expect("an address");
        let now = Instant::now();
        let mut connections = Connections::default();
        let mut insert = |from: [u8; 4], port: u16| {
            let stream = TcpStream::connect(address).expect("connected");
            let path = Path::tcp((from, port).into());
            let number = connections.insert(stream, path, Vec::new(), now, &poller);
            (number.expect("room"), connections.oldest_of_too_many())
        };
        let (honest, _) = insert([203, 0, 113, 1], 1);
        let (first, _) = insert([192, 0, 2, 1], 1);
        let mut evicted = None;
        for port in 2..OPENING_MAX as u16 {
            (_, evicted) = insert([192, 0, 2, 1], port);
        }
        assert_eq!(evicted, Some(first), "and not {honest}, which is older");
    }

    #[test]
    fn a_queue_is_bounded_and_keeps_the_order() {
        let mut queue = Queue::default();
        let mut pushed = 0_u8;
        while queue.push(&[pushed; 1_200], 500) {
            pushed += 1;
        }
        assert!(queue.bytes().len() <= QUEUE_BYTES_MAX);
        assert!(queue.bytes().len() + 1_200 + 6 > QUEUE_BYTES_MAX);
        let mut deframer = Deframer::default();
        let mut found = Vec::new();
        while !queue.is_empty() {
            let mut piece = queue.bytes()[..queue.bytes().len().min(777)].to_vec();
            queue.consume(piece.len());
            let framed = deframer.push(&mut piece, |datagram| {
                found.push((datagram[0], datagram.len()));
            });
            framed.expect("short frames");
        }
        let expected: Vec<_> = (0..pushed)
            .flat_map(|number| [(number, 500), (number, 500), (number, 200)])
            .collect();
        assert_eq!(found, expected);
        assert!(queue.bytes.capacity() <= QUEUE_BYTES_KEPT);
        assert!(queue.push(&[1], 1));
    }
}
