//! A large audience in one thread: listeners that take everything and keep nothing.

use std::io::Write;
use std::mem::MaybeUninit;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread::JoinHandle;

use rustix::event::{Timespec, epoll};
use rustix::net::{RecvFlags, recv};

/// Sockets looked at between two sleeps.
const EVENTS_PER_WAIT: usize = 512;
/// Bytes taken from a socket at once.
const TAKE_BYTES: usize = 256 << 10;
/// How soon the thread notices that it is to end.
const NAP: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};

/// Many listeners of one address. Dropping it hangs up.
#[derive(Debug)]
pub struct Audience {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    bytes: AtomicU64,
    alive: AtomicUsize,
    stop: AtomicBool,
}

impl Audience {
    /// Connects `count` listeners that ask for `path`, one after another.
    ///
    /// # Panics
    /// When a connection fails.
    #[must_use]
    pub fn join(addr: SocketAddr, path: &str, count: usize) -> Self {
        let request = format!("GET {path} HTTP/1.1\r\nHost: {addr}\r\n\r\n");
        let shared = Arc::new(Shared {
            bytes: AtomicU64::new(0),
            alive: AtomicUsize::new(count),
            stop: AtomicBool::new(false),
        });
        let sockets: Vec<TcpStream> = (0..count)
            .map(|index| {
                let connected = TcpStream::connect(addr).and_then(|mut socket| {
                    socket.write_all(request.as_bytes())?;
                    socket.set_nonblocking(true)?;
                    Ok(socket)
                });
                connected.unwrap_or_else(|error| panic!("listener {index}: {error}"))
            })
            .collect();
        let thread = {
            let shared = Arc::clone(&shared);
            std::thread::spawn(move || drain(sockets, &shared))
        };
        Self {
            shared,
            thread: Some(thread),
        }
    }

    /// Bytes received by all of them, heads included.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.shared.bytes.load(Ordering::Relaxed)
    }

    /// Listeners that the server has not hung up on.
    #[must_use]
    pub fn alive(&self) -> usize {
        self.shared.alive.load(Ordering::Relaxed)
    }
}

impl Drop for Audience {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            assert!(
                thread.join().is_ok() || std::thread::panicking(),
                "the audience panicked"
            );
        }
    }
}

fn drain(mut sockets: Vec<TcpStream>, shared: &Shared) {
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).expect("a descriptor for epoll");
    for (index, socket) in sockets.iter().enumerate() {
        let data = epoll::EventData::new_u64(index as u64);
        epoll::add(&epoll, socket, data, epoll::EventFlags::IN).expect("the socket can be watched");
    }
    let mut sink = vec![0; TAKE_BYTES];
    while !shared.stop.load(Ordering::Relaxed) {
        let mut ready = [const { MaybeUninit::uninit() }; EVENTS_PER_WAIT];
        let Ok((ready, _)) = epoll::wait(&epoll, &mut ready, Some(&NAP)) else {
            continue;
        };
        for event in ready {
            let index = { event.data }.u64() as usize;
            // With TRUNC the kernel throws TCP's bytes away instead of copying them (tcp(7)).
            match recv(
                &sockets[index],
                &mut sink,
                RecvFlags::TRUNC | RecvFlags::DONTWAIT,
            ) {
                Ok((_, length)) if length > 0 => {
                    shared.bytes.fetch_add(length as u64, Ordering::Relaxed);
                }
                Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => {}
                _ => {
                    epoll::delete(&epoll, &sockets[index]).ok();
                    shared.alive.fetch_sub(1, Ordering::Relaxed);
                }
            }
        }
    }
    sockets.clear();
}
