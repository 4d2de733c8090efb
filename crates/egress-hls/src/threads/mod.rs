//! Threads that answer the requests that viewers repeat most: playlists, segments and parts, most of which they wait
//! for.
//!
//! ```text
//!  connection's task ── carry ──► RequestThread: receive, answer, wait, send ──┐
//!        ▲                                                                     │ another request, silence, the end
//!        └───────────────────────── the socket and its unread bytes ◄──────────┘
//! ```
//!
//! All viewers of a stream are sent each part, and the playlist that lists it, at the moment the part is complete. One
//! task per viewer costs several times what the kernel needs to send: each task is woken, looks up the part, and writes
//! the head of its answer. Here one thread owns many connections and reads their sockets in batches. **Within a batch,
//! one answer serves all who request the same**: per connection the thread only looks up the viewer and sends the
//! bytes.
//!
//! * A connection is carried once its task has served it, so its client is known and has passed the gate. A request
//!   that a thread cannot answer at once, or by waiting for a part, goes back to the task with the connection:
//!   refusals, new viewers, files on disk, and whatever is not HLS.
//! * Requests are checked as strictly as by the task: the same parser parses their heads, unless a head repeats the
//!   connection's last one byte for byte except for the target.
//! * A carried connection belongs to a viewer, which is a listener within the server's limits and has at most some tens
//!   of connections. A connection whose client is silent for some seconds is given back.
//!
//! The server's HTTP connections without TLS call this module.

mod answers;
mod connection;
mod head;
mod targets;
mod thread;
mod waiting;

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::time::Instant;

use http::HeaderMap;
use media::StreamName;
use net::{Backend, Epoll, Waker};
use tokio::sync::oneshot;

use self::thread::RequestThread;
use self::waiting::WaitKey;
use crate::{Context, Resource};

/// Most messages that may wait for a thread. If the inbox is full, the connection stays with its task.
const INBOX_MAX: usize = 1_024;

/// Interface to the server that the threads are part of.
pub trait Site: Send + Sync {
    /// Parses a path, which is percent-decoded once, into the stream and the resource; `None` if it means something
    /// else.
    fn resource(&self, path: &str) -> Option<(StreamName, Resource)>;

    /// Returns the headers that all answers of the server have, unless an answer has its own.
    fn headers(&self) -> HeaderMap;

    /// Returns whether the server is about to leave; connections are then given back.
    fn is_leaving(&self) -> bool;
}

/// Connection in transit between a task and a thread.
#[derive(Debug)]
pub struct Carried {
    /// Socket, non-blocking.
    pub socket: TcpStream,
    /// Bytes that have arrived, from the beginning of a request.
    pub unread: Vec<u8>,
    /// Address of the client.
    pub peer: SocketAddr,
    /// Time at which the connection is to be given back.
    pub until: Instant,
}

/// Message to a thread.
enum Command {
    /// Serve this connection, and give it back through this channel.
    Carry(Carried, oneshot::Sender<Carried>),
    /// The wait for this part is over.
    Came(WaitKey),
    /// End the thread, and its connections with it.
    Stop,
}

/// Sender of commands to a thread.
#[derive(Clone)]
struct Handle {
    inbox: SyncSender<Command>,
    waker: Waker,
}

/// Pool of request threads; call [`carry`](Self::carry) for each connection.
pub struct RequestThreads {
    threads: Vec<Handle>,
    next: AtomicUsize,
}

base::debug!(RequestThreads {});

impl RequestThreads {
    /// Starts `count` threads, which end when this is dropped. Call it within the runtime that their waits are to run
    /// on.
    ///
    /// # Errors
    /// If a thread cannot be started, or has no descriptor.
    pub fn start(count: usize, context: &Arc<Context>, site: &Arc<dyn Site>) -> io::Result<Self> {
        let threads = (0..count.max(1)).map(|index| {
            let backend = Epoll::new()?;
            let (inbox, commands) = sync_channel(INBOX_MAX);
            let waker = backend.waker();
            let handle = Handle { inbox, waker };
            let parts = (Arc::clone(context), Arc::clone(site));
            let thread = RequestThread::new(parts, backend, (handle.clone(), commands));
            let builder = std::thread::Builder::new().name(format!("requests-{index}"));
            builder.spawn(move || thread.run())?;
            Ok(handle)
        });
        Ok(Self {
            threads: threads.collect::<io::Result<_>>()?,
            next: AtomicUsize::new(0),
        })
    }

    /// Answers requests on a connection until its task has to serve it again. Returns `None` if the connection is over.
    /// If the future is dropped, the connection ends within a second.
    pub async fn carry(&self, connection: Carried) -> Option<Carried> {
        let turn = self.next.fetch_add(1, Ordering::Relaxed);
        let handle = &self.threads[turn % self.threads.len()];
        let (back, returned) = oneshot::channel();
        match handle.inbox.try_send(Command::Carry(connection, back)) {
            Ok(()) => {
                handle.waker.wake();
                returned.await.ok()
            }
            // A thread that is behind takes no more connections, and a thread that has ended takes none.
            Err(TrySendError::Full(command) | TrySendError::Disconnected(command)) => match command
            {
                Command::Carry(connection, _) => Some(connection),
                Command::Came(_) | Command::Stop => None,
            },
        }
    }
}

impl Drop for RequestThreads {
    fn drop(&mut self) {
        for handle in &self.threads {
            // A thread that is behind stops when the server's process ends.
            handle.inbox.try_send(Command::Stop).ok();
            handle.waker.wake();
        }
    }
}
