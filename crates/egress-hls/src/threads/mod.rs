//! Threads that answer what viewers request again and again: playlists, segments and parts, most of which are waited
//! for.
//!
//! ```text
//!  connection's task ── carry ──► RequestThread: receive, answer, wait, send ──┐
//!        ▲                                                                     │ another request, silence, the end
//!        └───────────────────────── the socket and its unread bytes ◄──────────┘
//! ```
//!
//! When a part of a stream is complete, all of its viewers are sent it, and the playlist that lists it, at the same
//! moment. A task for each of them costs several times what the kernel needs to send: each is woken, looks the part up,
//! and writes the head of its answer. Here one thread owns many connections. It takes what sockets have in batches, and
//! **within one batch, one answer serves all who request the same**: the viewer is looked up, and the bytes are sent,
//! and nothing else is done for each of them.
//!
//! * A connection is carried once it has been served by its task, so its client is known and has passed the gate. What
//!   a thread cannot answer at once, or by waiting for a part, goes back to the task with the connection: refusals, new
//!   viewers, what is read from a disk, and whatever is not HLS.
//! * Requests are read as strictly as by the task: their heads are parsed by the same parser, unless they repeat the
//!   connection's last head but for the target, byte for byte.
//! * A connection that is carried belongs to a viewer, who is a listener within the server's limits and has no more than
//!   some tens of them. One whose client is silent for some seconds is given back.
//!
//! Called by the server's HTTP connections, for those without TLS.

mod answers;
mod connection;
mod head;
mod prepared;
mod sending;
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

/// Messages that may wait for a thread. A connection that finds so many is served by its task.
const INBOX_MAX: usize = 1_024;

/// What the threads are told by the server that they are part of.
pub trait Site: Send + Sync {
    /// The stream and the resource of a path, which is percent-decoded once; `None` if it means something else.
    fn resource(&self, path: &str) -> Option<(StreamName, Resource)>;

    /// The headers that all answers of the server have, unless an answer has its own.
    fn headers(&self) -> HeaderMap;

    /// Whether the server is about to leave: connections are given back.
    fn is_leaving(&self) -> bool;
}

/// A connection between a task and a thread.
#[derive(Debug)]
pub struct Carried {
    /// The socket, non-blocking.
    pub socket: TcpStream,
    /// What has arrived, from the beginning of a request.
    pub unread: Vec<u8>,
    /// The client.
    pub peer: SocketAddr,
    /// When it is to be given back.
    pub until: Instant,
}

/// What a thread is told.
enum Command {
    /// Serve this connection, and give it back by this.
    Carry(Carried, oneshot::Sender<Carried>),
    /// It is known where the part is that requests wait for.
    Came(WaitKey),
    /// The thread ends, and its connections with it.
    Stop,
}

/// Speaks to a thread.
#[derive(Clone)]
struct Handle {
    inbox: SyncSender<Command>,
    waker: Waker,
}

/// All threads.
pub struct RequestThreads {
    threads: Vec<Handle>,
    next: AtomicUsize,
}

base::debug!(RequestThreads {});

impl RequestThreads {
    /// Starts `count` threads, which end when this is dropped. To be called within the runtime that their waits run on.
    ///
    /// # Errors
    /// When a thread cannot be started, or has no descriptor.
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

    /// Answers requests on a connection until it has to be served by its task again. `None` when it is over. A call that
    /// is dropped ends the connection within a second.
    pub async fn carry(&self, connection: Carried) -> Option<Carried> {
        let turn = self.next.fetch_add(1, Ordering::Relaxed);
        let handle = &self.threads[turn % self.threads.len()];
        let (back, returned) = oneshot::channel();
        match handle.inbox.try_send(Command::Carry(connection, back)) {
            Ok(()) => {
                handle.waker.wake();
                returned.await.ok()
            }
            // A thread that is behind takes no more, and one that is gone none.
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
            // One that is behind stops when the server's process ends.
            handle.inbox.try_send(Command::Stop).ok();
            handle.waker.wake();
        }
    }
}
