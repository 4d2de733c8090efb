//! Threads that read the sockets of many publishers.
//!
//! A publisher on a task of its own costs one wake-up per packet, and a thousand of them tens of thousands a
//! second. Here one thread reads all of them, in turns, and a turn takes the bytes that have arrived since
//! the last one:
//!
//! - Publishers with listeners are read [promptly](Pace::Prompt): at once while there are few. As they become
//!   many, turns are spaced so that reading takes its share of the thread and no more, by
//!   [`PROMPT_APART_MAX`] at most (`spacing`).
//! - Publishers without listeners are read at a [relaxed](Pace::Relaxed) pace, every [`RELAXED_APART`]. One
//!   that sends a lot is read promptly all the same, because otherwise the kernel's buffer would fill up and
//!   hold it back. One that hangs up is read to its end at once, before another takes its place.
//!
//! The thread knows no protocol: an [`IntakeReader`] takes the bytes and returns the next step. Decisions,
//! and work that takes time, belong to the caller that attached the socket: its reader gets the socket
//! [back](IntakeReader::give_back) and may be attached again.
//!
//! There are two ways of receiving promptly, with one contract (`receiver`): multishot receives into a shared
//! ring of buffers, and readiness by epoll. Relaxed turns poll each socket (`relaxed`): nearly every one has
//! brought bytes meanwhile, which would need more shared buffers than a cache holds. Called by `ingest`.

mod entries;
mod readiness;
pub(crate) mod receiver;
mod relaxed;
mod spacing;
#[cfg(test)]
mod tests;
mod thread;

use std::io;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver as Inbox, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use base::{Counter, Lock};

use self::readiness::Readiness;
use self::receiver::Receiver;
use self::relaxed::RelaxedSockets;
use self::thread::IntakeThread;
use crate::uring::{Multishot, Unavailable};
use crate::waker::Waker;

/// Upper bound on the time between turns of publishers with listeners: a small part of the time that a
/// listener's window adds under that load, and 250 wake-ups a second.
pub const PROMPT_APART_MAX: Duration = Duration::from_millis(4);

/// Time between turns of publishers without listeners. A new listener receives the stream's recent past
/// first, and new media at most this much later.
pub const RELAXED_APART: Duration = Duration::from_millis(250);

/// Interval of checks for deadlines, unsent replies and publishers that may relax.
pub const SURVEY_INTERVAL: Duration = Duration::from_millis(250);

/// Interval of an idle thread's turns, which show that it is alive.
pub const IDLE_TURN: Duration = Duration::from_secs(1);

/// Most bytes that a publisher may send between two surveys and still be read at a relaxed pace: the bytes
/// between two turns then fit into any socket's buffer.
const RELAXED_BYTES_MAX: usize = 64 * 1024;

/// Consumer of one socket's bytes. Runs on the intake's thread and must not block: thousands of others wait.
/// A reader that panics is dropped, and its socket closed; the others continue to be read.
pub trait IntakeReader: Send {
    /// Takes bytes. After [`Next::Return`] there may be more of them, until the socket is given back.
    fn take(&mut self, bytes: &[u8], now: Instant) -> Next;

    /// Returns the bytes to be sent to the peer. Sending is tried after each [`take`](Self::take) and at each
    /// survey, without waiting for room.
    fn unsent(&mut self) -> &[u8];

    /// Notes that this many of those bytes have been sent.
    fn sent(&mut self, count: usize);

    /// Returns the time at which the reader wants its socket back; checked at each survey.
    fn due(&self) -> Option<Instant>;

    /// Takes back the socket, which is non-blocking.
    fn give_back(self: Box<Self>, socket: TcpStream, why: Returned);
}

/// Next step after a reader has taken bytes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Next {
    /// Continue at this pace.
    Go(Pace),
    /// Return the socket.
    Return,
}

/// Urgency of reading a socket.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Pace {
    /// The stream has listeners.
    Prompt,
    /// The stream has no listeners.
    Relaxed,
}

/// Reason why a socket is returned.
#[derive(Debug)]
pub enum Returned {
    /// The reader requested it, or its deadline has come.
    Asked,
    /// [`IntakeTicket::recall`] was called, or the intake has ended.
    Recalled,
    /// The peer sends no more.
    HungUp,
    /// The connection has failed.
    Failed(io::Error),
}

/// Method of reading sockets.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Method {
    /// Readiness by epoll, then one `recv` per socket.
    Epoll,
    /// Multishot receives into a shared ring of buffers.
    Uring,
}

impl Method {
    /// Checks that this host supports io_uring for this purpose: it takes Linux 6.0.
    pub fn probe() -> Result<(), Unavailable> {
        Multishot::probe()
    }

    fn make(self, waker: &Waker) -> io::Result<Box<dyn Receiver>> {
        Ok(match self {
            Self::Epoll => Box::new(Readiness::new(waker.clone())?),
            Self::Uring => Box::new(Multishot::new(waker.clone()).map_err(io::Error::other)?),
        })
    }
}

/// A socket on its way to a thread.
struct Attach {
    reader: Box<dyn IntakeReader>,
    socket: TcpStream,
    /// Set once the socket is wanted back.
    recalled: Arc<AtomicBool>,
}

/// Most sockets that may wait to be taken in: a crowd of publishers that reconnects at once. One that does
/// not fit is refused.
const INBOX_MAX: usize = 1_024;

/// Threads that read publishers. Dropping it returns every socket.
#[derive(Debug)]
pub struct Intake {
    handles: Vec<ThreadHandle>,
    threads: Lock<Vec<JoinHandle<()>>>,
}

/// Handle to one thread.
#[derive(Clone, Debug)]
struct ThreadHandle {
    inbox: SyncSender<Attach>,
    waker: Waker,
    board: Arc<Board>,
}

/// State shared between one thread and its callers.
#[derive(Debug, Default)]
struct Board {
    /// Set once some sockets are wanted back.
    has_recalls: AtomicBool,
    /// Set once all sockets are wanted back and the thread must end.
    is_stopping: AtomicBool,
    /// Number of sockets that the thread holds.
    sockets: AtomicUsize,
    wakeups: Counter,
    turns: Counter,
}

/// A socket that has been passed to the intake. Dropping the ticket requests its return, if it has not been
/// returned yet.
#[derive(Debug)]
pub struct IntakeTicket {
    recalled: Arc<AtomicBool>,
    handle: ThreadHandle,
}

impl IntakeTicket {
    /// Requests the return of the socket, which follows soon.
    pub fn recall(&self) {
        // In this order: the thread looks for recalled sockets once it has seen `has_recalls`.
        self.recalled.store(true, Ordering::Relaxed);
        self.handle.board.has_recalls.store(true, Ordering::Release);
        self.handle.waker.wake();
    }
}

impl Drop for IntakeTicket {
    fn drop(&mut self) {
        self.recall();
    }
}

impl Intake {
    /// Starts this many threads, at least one. Each reads promptly while that takes it no more than
    /// `target_utilisation` of a core.
    ///
    /// # Errors
    /// A thread or its receiver cannot be created.
    pub fn start(threads: usize, method: Method, target_utilisation: f64) -> io::Result<Self> {
        let mut intake = Self {
            handles: Vec::new(),
            threads: Lock::default(),
        };
        for number in 0..threads.max(1) {
            let (inbox, arrivals) = sync_channel(INBOX_MAX);
            let (made, is_made) = sync_channel(1);
            let handle = ThreadHandle {
                inbox,
                waker: Waker::new()?,
                board: Arc::default(),
            };
            let (waker, board) = (handle.waker.clone(), Arc::clone(&handle.board));
            let thread = std::thread::Builder::new()
                .name(format!("intake-{number}"))
                .spawn(move || {
                    run_thread(method, target_utilisation, &waker, arrivals, board, &made);
                })?;
            intake.handles.push(handle);
            intake.threads.get_mut().push(thread);
            is_made.recv().map_err(io::Error::other)??;
        }
        Ok(intake)
    }

    /// Passes a connected socket to the thread that has the fewest.
    ///
    /// # Errors
    /// Too many sockets wait to be taken in, the intake has ended, or the socket cannot be made non-blocking;
    /// both arguments are returned.
    pub fn attach<R: IntakeReader + 'static>(
        &self,
        reader: Box<R>,
        socket: TcpStream,
    ) -> Result<IntakeTicket, (Box<dyn IntakeReader>, TcpStream)> {
        let load = |handle: &&ThreadHandle| handle.board.sockets.load(Ordering::Relaxed);
        let handle = self.handles.iter().min_by_key(load);
        let Some(handle) = handle.filter(|_| socket.set_nonblocking(true).is_ok()) else {
            return Err((reader, socket));
        };
        let ticket = IntakeTicket {
            recalled: Arc::default(),
            handle: handle.clone(),
        };
        let attach = Attach {
            reader,
            socket,
            recalled: Arc::clone(&ticket.recalled),
        };
        handle.board.sockets.fetch_add(1, Ordering::Relaxed);
        match handle.inbox.try_send(attach) {
            Ok(()) => {
                handle.waker.wake();
                Ok(ticket)
            }
            Err(TrySendError::Full(back) | TrySendError::Disconnected(back)) => {
                handle.board.sockets.fetch_sub(1, Ordering::Relaxed);
                Err((back.reader, back.socket))
            }
        }
    }

    /// Returns how often the threads have woken.
    pub fn wakeups(&self) -> u64 {
        let wakeups = |handle: &ThreadHandle| handle.board.wakeups.value();
        self.handles.iter().map(wakeups).sum()
    }

    /// Returns how often each thread has turned, at least once every [`IDLE_TURN`]. A thread that has ended
    /// or is stuck turns no more.
    pub fn turns(&self) -> impl Iterator<Item = u64> {
        let turns = |handle: &ThreadHandle| handle.board.turns.value();
        self.handles.iter().map(turns)
    }

    /// Returns every socket and ends the threads.
    pub fn stop(&self) {
        for handle in &self.handles {
            handle.board.is_stopping.store(true, Ordering::Release);
            handle.waker.wake();
        }
        let mut threads = self.threads.lock();
        let own = std::thread::current().id();
        for thread in threads.drain(..) {
            // A reader may hold the last reference to the intake. Its thread ends after this turn.
            if thread.thread().id() == own {
                continue;
            }
            if thread.join().is_err() {
                tracing::error!("an intake thread had panicked");
            }
        }
    }
}

impl Drop for Intake {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Runs a thread. Its receivers are created here, because a ring belongs to the thread that uses it.
fn run_thread(
    method: Method,
    target_utilisation: f64,
    waker: &Waker,
    arrivals: Inbox<Attach>,
    board: Arc<Board>,
    made: &SyncSender<io::Result<()>>,
) {
    let receivers = method.make(waker).and_then(|mut prompt| {
        let relaxed = RelaxedSockets::new()?;
        prompt.wake_by(relaxed.ends())?;
        Ok((prompt, relaxed))
    });
    let (reported, thread) = match receivers {
        Ok((prompt, relaxed)) => {
            let thread = IntakeThread::new(prompt, relaxed, arrivals, board, target_utilisation);
            (made.send(Ok(())), Some(thread))
        }
        Err(error) => (made.send(Err(error)), None),
    };
    if let (Ok(()), Some(thread)) = (reported, thread) {
        thread.run();
    }
}
