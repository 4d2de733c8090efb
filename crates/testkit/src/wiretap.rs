//! A tap on the wire between clients and a server: it passes bytes on as they arrive, and keeps what both sides have sent.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use crate::process::locked;
use crate::relay::{self, Direction};

/// Maximum number of bytes kept per direction of a connection: some minutes of audio. The rest is passed on only.
const KEPT_BYTES_MAX: usize = 16 << 20;
/// Number of bytes taken from a socket at once.
const PIECE_BYTES: usize = 16 << 10;

/// Bytes sent on one connection so far.
#[derive(Clone, Debug, Default)]
pub struct Overheard {
    /// Bytes from the client.
    pub client: Vec<u8>,
    /// Bytes from the server.
    pub server: Vec<u8>,
}

type Shared = Arc<Mutex<Overheard>>;

/// A tap in threads of this process. It ends on drop, and its connections with it.
#[derive(Debug)]
pub struct Wiretap {
    addr: SocketAddr,
    /// Connections in the order in which they were opened.
    overheard: Arc<Mutex<Vec<Shared>>>,
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Wiretap {
    /// Passes bytes between clients of [`Wiretap::addr`] and `server`.
    ///
    /// # Panics
    /// Panics if no socket can be opened.
    #[must_use]
    pub fn start(server: SocketAddr) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .unwrap_or_else(|error| panic!("no TCP socket: {error}"));
        let addr = listener.local_addr();
        let (overheard, ends) = <(Arc<Mutex<Vec<Shared>>>, Arc<AtomicBool>)>::default();
        let thread = std::thread::spawn({
            let (overheard, ends) = (Arc::clone(&overheard), Arc::clone(&ends));
            move || run(&listener, server, &overheard, &ends)
        });
        Self {
            addr: addr.unwrap_or_else(|error| panic!("no address: {error}")),
            overheard,
            ends,
            thread: Some(thread),
        }
    }

    /// Returns the address to which clients connect.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Returns the bytes sent on each connection so far, the first connection first.
    pub fn overheard(&self) -> Vec<Overheard> {
        let all = locked(&self.overheard);
        all.iter().map(|one| locked(one).clone()).collect()
    }
}

impl Drop for Wiretap {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _a_panic_there_was_printed = thread.join();
        }
    }
}

fn run(listener: &TcpListener, server: SocketAddr, all: &Mutex<Vec<Shared>>, ends: &AtomicBool) {
    let ends = || ends.load(Ordering::Relaxed);
    relay::run(listener, server, ends, |directions| {
        let overheard = Shared::default();
        locked(all).push(Arc::clone(&overheard));
        for Direction { is_up, from, to } in directions {
            let overheard = Arc::clone(&overheard);
            std::thread::spawn(move || pass(from, to, is_up, &overheard));
        }
    });
}

fn pass(mut from: TcpStream, mut to: TcpStream, is_up: bool, overheard: &Mutex<Overheard>) {
    let mut piece = [0; PIECE_BYTES];
    while let Ok(length @ 1..) = from.read(&mut piece) {
        let mut kept = locked(overheard);
        let said = match is_up {
            true => &mut kept.client,
            false => &mut kept.server,
        };
        let room = KEPT_BYTES_MAX.saturating_sub(said.len());
        said.extend_from_slice(&piece[..length.min(room)]);
        drop(kept);
        if to.write_all(&piece[..length]).is_err() {
            break;
        }
    }
    // A peer that has left need not be notified.
    to.shutdown(Shutdown::Write).ok();
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "every function here is part of a test")]
mod tests {
    use super::*;
    use crate::{DEADLINE, wait_until};

    #[test]
    fn both_sides_are_heard_and_hear_each_other() {
        let server = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let tap = Wiretap::start(server.local_addr().unwrap());
        for word in ["first", "second"] {
            let mut client = TcpStream::connect(tap.addr()).unwrap();
            client.write_all(word.as_bytes()).unwrap();
            let (mut served, _) = server.accept().unwrap();
            let mut heard = vec![0; word.len()];
            served.read_exact(&mut heard).unwrap();
            assert_eq!(heard, word.as_bytes());
            served.write_all(b"yes").unwrap();
            drop(served);
            let mut answer = String::new();
            client.read_to_string(&mut answer).unwrap();
            assert_eq!(answer, "yes");
        }
        wait_until("all to be overheard", DEADLINE, || {
            let all = tap.overheard();
            let said: Vec<_> = all.iter().map(|one| (&*one.client, &*one.server)).collect();
            said == [(&b"first"[..], &b"yes"[..]), (b"second", b"yes")]
        });
    }
}
