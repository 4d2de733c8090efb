//! A large audience in one thread: listeners that read everything and keep nothing.

use std::collections::HashMap;
use std::io::Write;
use std::mem::MaybeUninit;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::event::{Timespec, epoll};
use rustix::net::sockopt::set_socket_recv_buffer_size;
use rustix::net::{RecvFlags, recv};

use crate::{control, conversation};

/// Maximum number of socket events between two sleeps.
const EVENTS_PER_WAIT: usize = 512;
/// Number of bytes taken from a socket at once.
const TAKE_BYTES: usize = 256 << 10;
/// Longest sleep, after which the thread notices its orders.
const NAP: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 20_000_000,
};
/// Receive buffer of a stalled listener, in bytes.
const STALLED_BYTES: usize = 4 << 10;
/// Number of listeners that join at the same time: some servers answer only after 40 ms, because they wait for more to send. It
/// is lower than the number of pending connections that any server allows an address.
const JOINING_MAX: usize = 16;
/// Number of connections of a control. The longest gap of many is longer than that of one, as with listeners.
const CONTROLS: usize = 50;
/// Capacity of the queue of orders for the thread; joining is slower than noticing.
const ORDERS_MAX: usize = 64;

/// Many listeners of one address. Dropping the audience disconnects them.
#[derive(Debug)]
pub struct Audience {
    shared: Arc<Shared>,
    orders: SyncSender<Order>,
    thread: Option<JoinHandle<Gaps>>,
}

/// Longest waits of reading listeners for bytes.
#[derive(Debug, Default)]
pub struct Gaps {
    /// Longest wait of each listener of the server.
    pub listeners: Vec<Duration>,
    /// Longest wait of all connections of the [control](Audience::control) together.
    pub control: Duration,
}

#[derive(Debug, Default)]
struct Shared {
    bytes: AtomicU64,
    alive: AtomicUsize,
    stop: AtomicBool,
}

#[derive(Debug)]
enum Order {
    /// Adds a listener.
    Join(TcpStream),
    /// Adds a connection without a server.
    Control(TcpStream),
    /// Makes that many of the listeners, the oldest first, stop reading.
    Stall(usize),
    /// Counts gaps from this time.
    Watch(Instant),
}

impl Audience {
    /// Connects `count` listeners that request `path` over HTTP, a few at a time.
    ///
    /// # Panics
    /// Panics if a connection fails.
    #[must_use]
    pub fn join(addr: SocketAddr, path: &str, count: usize) -> Self {
        let request = format!("GET {path} HTTP/1.1\r\nHost: {addr}\r\n\r\n");
        Self::of(count, |index| {
            let connected = TcpStream::connect(addr).and_then(|mut socket| {
                socket.write_all(request.as_bytes())?;
                Ok(socket)
            });
            connected.unwrap_or_else(|error| panic!("listener {index}: {error}"))
        })
    }

    /// Connects `count` players that request `stream` (`app/name`) over RTMP, a few at a time; on return each has been allowed
    /// to play.
    ///
    /// # Panics
    /// Panics if one is refused.
    #[must_use]
    pub fn play(addr: SocketAddr, stream: &str, count: usize) -> Self {
        Self::of(count, |index| {
            let joined = conversation::play(addr, stream);
            joined.unwrap_or_else(|error| panic!("player {index}: {error}"))
        })
    }

    /// Connects `count` listeners. Those that have joined are read from while others are still joining.
    fn of(count: usize, connect: impl Fn(usize) -> TcpStream + Sync) -> Self {
        let shared = Arc::new(Shared::default());
        let (orders, heard) = sync_channel(ORDERS_MAX);
        let thread = {
            let shared = Arc::clone(&shared);
            std::thread::spawn(move || AudienceThread::new(shared).attend(&heard))
        };
        let audience = Self {
            shared,
            orders,
            thread: Some(thread),
        };
        let next = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..JOINING_MAX.min(count) {
                scope.spawn(|| {
                    loop {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        if index >= count {
                            return;
                        }
                        let socket = connect(index);
                        socket
                            .set_nonblocking(true)
                            .unwrap_or_else(|error| panic!("listener {index}: {error}"));
                        audience.shared.alive.fetch_add(1, Ordering::Relaxed);
                        audience.order(Order::Join(socket));
                    }
                });
            }
        });
        audience
    }

    /// Returns the number of bytes received by all listeners, heads included.
    pub fn bytes(&self) -> u64 {
        self.shared.bytes.load(Ordering::Relaxed)
    }

    /// Returns the number of listeners that the server has not disconnected. Stalled listeners' disconnections go unnoticed.
    pub fn alive(&self) -> usize {
        self.shared.alive.load(Ordering::Relaxed)
    }

    /// Makes the `count` oldest stop reading, as stuck players do; they stay connected.
    pub fn stall(&self, count: usize) {
        self.order(Order::Stall(count));
    }

    /// Adds a control: connections on which a thread of this process sends a little every `pace`, without a server. The same
    /// thread reads them as the listeners, at the same time, so their gaps show the delay that a busy machine adds to any
    /// connection.
    ///
    /// # Panics
    /// Panics if the connections cannot be made.
    pub fn control(&self, pace: Duration) {
        for socket in control::paced(CONTROLS, pace) {
            socket.set_nonblocking(true).expect("a socket of our own");
            self.order(Order::Control(socket));
        }
    }

    /// Discards all gaps so far; they count from now on.
    pub fn watch(&self) {
        self.order(Order::Watch(Instant::now()));
    }

    /// Disconnects all listeners. Returns the longest wait of each reading listener for bytes since [`watch`](Self::watch) or
    /// its joining, including an unfinished wait at the end.
    pub fn longest_gaps(mut self) -> Gaps {
        self.end()
    }

    fn order(&self, order: Order) {
        assert!(self.orders.send(order).is_ok(), "the audience panicked");
    }

    fn end(&mut self) -> Gaps {
        self.shared.stop.store(true, Ordering::Relaxed);
        let Some(thread) = self.thread.take() else {
            return Gaps::default();
        };
        let ended = thread.join();
        assert!(
            ended.is_ok() || std::thread::panicking(),
            "the audience panicked"
        );
        ended.unwrap_or_default()
    }
}

impl Drop for Audience {
    fn drop(&mut self) {
        self.end();
    }
}

/// State of the thread.
#[derive(Debug)]
struct AudienceThread {
    shared: Arc<Shared>,
    epoll: rustix::fd::OwnedFd,
    /// Reading listeners, in the order of joining.
    readers: HashMap<u64, Reader>,
    /// Stalled listeners, which stay connected.
    stalled: Vec<TcpStream>,
    joined: u64,
}

#[derive(Debug)]
struct Reader {
    socket: TcpStream,
    last: Instant,
    longest: Duration,
    is_control: bool,
}

impl AudienceThread {
    fn new(shared: Arc<Shared>) -> Self {
        Self {
            shared,
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC).expect("a descriptor for epoll"),
            readers: HashMap::new(),
            stalled: Vec::new(),
            joined: 0,
        }
    }

    fn attend(mut self, orders: &Receiver<Order>) -> Gaps {
        let mut sink = vec![0; TAKE_BYTES];
        while !self.shared.stop.load(Ordering::Relaxed) {
            while let Ok(order) = orders.try_recv() {
                self.obey(order);
            }
            let mut ready = [const { MaybeUninit::uninit() }; EVENTS_PER_WAIT];
            let Ok((ready, _)) = epoll::wait(&self.epoll, &mut ready, Some(&NAP)) else {
                continue;
            };
            let now = Instant::now();
            for event in ready {
                self.take({ event.data }.u64(), now, &mut sink);
            }
        }
        let now = Instant::now();
        let mut gaps = Gaps::default();
        for reader in self.readers.values() {
            let longest = reader
                .longest
                .max(now.saturating_duration_since(reader.last));
            match reader.is_control {
                true => gaps.control = gaps.control.max(longest),
                false => gaps.listeners.push(longest),
            }
        }
        gaps
    }

    fn obey(&mut self, order: Order) {
        match order {
            Order::Join(socket) => self.enter(socket, false),
            Order::Control(socket) => self.enter(socket, true),
            Order::Stall(count) => {
                let listeners = self.readers.iter().filter(|(_, reader)| !reader.is_control);
                let mut oldest: Vec<u64> = listeners.map(|(id, _)| *id).collect();
                oldest.sort_unstable();
                for id in oldest.into_iter().take(count) {
                    let socket = self.remove(id);
                    // Otherwise the kernel would take minutes of media on behalf of a stuck player.
                    if let Some(socket) = &socket {
                        set_socket_recv_buffer_size(socket, STALLED_BYTES)
                            .expect("the buffer can be made small");
                    }
                    self.stalled.extend(socket);
                }
            }
            Order::Watch(since) => {
                for reader in self.readers.values_mut() {
                    reader.last = since;
                    reader.longest = Duration::ZERO;
                }
            }
        }
    }

    fn enter(&mut self, socket: TcpStream, is_control: bool) {
        let data = epoll::EventData::new_u64(self.joined);
        epoll::add(&self.epoll, &socket, data, epoll::EventFlags::IN)
            .expect("the socket can be watched");
        let reader = Reader {
            socket,
            last: Instant::now(),
            longest: Duration::ZERO,
            is_control,
        };
        self.readers.insert(self.joined, reader);
        self.joined += 1;
    }

    fn take(&mut self, id: u64, now: Instant, sink: &mut [u8]) {
        let Some(reader) = self.readers.get_mut(&id) else {
            return;
        };
        // With TRUNC the kernel discards TCP's bytes instead of copying them (tcp(7)).
        let flags = RecvFlags::TRUNC | RecvFlags::DONTWAIT;
        match recv(&reader.socket, sink, flags) {
            Ok((_, length)) if length > 0 => {
                if !reader.is_control {
                    self.shared
                        .bytes
                        .fetch_add(length as u64, Ordering::Relaxed);
                }
                reader.longest = reader
                    .longest
                    .max(now.saturating_duration_since(reader.last));
                reader.last = now.max(reader.last);
            }
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => {}
            _ => {
                let is_control = reader.is_control;
                self.remove(id);
                if !is_control {
                    self.shared.alive.fetch_sub(1, Ordering::Relaxed);
                }
            }
        }
    }

    fn remove(&mut self, id: u64) -> Option<TcpStream> {
        let reader = self.readers.remove(&id)?;
        epoll::delete(&self.epoll, &reader.socket).ok();
        Some(reader.socket)
    }
}

#[cfg(test)]
mod foreign {
    use super::*;
    use crate::{Clip, Nginx, Publisher, wait_until};

    const DEADLINE: Duration = crate::DEADLINE;

    #[test]
    fn players_read_until_they_stall() {
        let nginx = Nginx::start();
        let _publisher = Publisher::Ffmpeg.start(&Clip::Flv.seconds(30), &nginx.rtmp_url("show"));
        nginx.wait_for_stream("show");
        let audience = Audience::play(nginx.addr(), "live/show", 20);
        wait_until("a second of media for each", DEADLINE, || {
            audience.bytes() > 20 * 60_000
        });
        assert_eq!(audience.alive(), 20);
        audience.stall(20);
        // The thread obeys the order a little later; then bytes stop.
        let (mut before, mut looks) = (0, 0);
        wait_until("silence", DEADLINE, || {
            let now = audience.bytes();
            looks = if now == before { looks + 1 } else { 0 };
            before = now;
            looks > 40
        });
        assert!(audience.longest_gaps().listeners.is_empty());
    }
}
