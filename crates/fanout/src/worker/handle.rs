//! How the rest of the program speaks to a worker.

use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError};
use std::time::Instant;

use bytes::Bytes;
use media::{Span, Timestamp};

use super::WorkerWaker;
use crate::ListenerId;
use crate::conversation::Conversation;
use crate::cursor::Reason;
use crate::lane::LaneGuard;

/// A connected listener on its way to a worker.
#[derive(Debug)]
pub(crate) struct Attach {
    pub(crate) id: ListenerId,
    pub(crate) socket: TcpStream,
    /// What to send before anything of the lane: the response head.
    pub(crate) head: Bytes,
    pub(crate) guard: LaneGuard,
    /// When the listener asked.
    pub(crate) requested: Instant,
    pub(crate) conversation: Option<Box<dyn Conversation>>,
    /// What it has had before.
    pub(crate) after: Option<Timestamp>,
}

/// What a worker can be asked to do.
#[derive(Debug)]
pub(crate) enum Command {
    Attach(Box<Attach>),
    /// Remove a listener, if it is here.
    Kick(ListenerId),
    /// Tell every listener that can be told that the server is about to leave.
    AnnounceLeave,
    /// Tell how each listener fares.
    Report(SyncSender<Vec<ListenerReport>>),
    /// Let go of every listener and end.
    Stop,
}

/// How one listener fares.
#[derive(Clone, Debug)]
pub struct ListenerReport {
    /// Which one.
    pub id: ListenerId,
    /// Bytes its socket has taken, the response head included.
    pub sent_bytes: u64,
    /// How often it was moved forward.
    pub skips: u32,
    /// How far behind it is; `None` when it is further behind than the log reaches back.
    pub lag: Option<Span>,
}

/// A listener that is gone.
#[derive(Clone, Debug)]
pub struct Departure {
    /// Which one.
    pub id: ListenerId,
    /// Why.
    pub reason: Reason,
    /// Bytes its socket had taken.
    pub sent_bytes: u64,
    /// How often it was moved forward.
    pub skips: u32,
}

/// Sends commands to one worker and wakes it.
#[derive(Clone, Debug)]
pub(crate) struct Handle {
    inbox: SyncSender<Command>,
    wakers: WorkerWaker,
    /// Listeners ever given to this worker; with the departures it tells the load.
    attached: Arc<AtomicUsize>,
}

impl Handle {
    pub(crate) fn new(inbox: SyncSender<Command>, wakers: WorkerWaker) -> Self {
        Self {
            inbox,
            wakers,
            attached: Arc::default(),
        }
    }

    pub(crate) fn wakers(&self) -> &WorkerWaker {
        &self.wakers
    }

    /// Listeners ever given to this worker.
    pub(crate) fn attached(&self) -> usize {
        self.attached.load(Ordering::Relaxed)
    }

    /// Passes a listener on, or gives it back when the worker has too much to do already.
    pub(crate) fn attach(&self, attach: Attach) -> Result<(), Box<Attach>> {
        match self.inbox.try_send(Command::Attach(Box::new(attach))) {
            Ok(()) => {
                self.attached.fetch_add(1, Ordering::Relaxed);
                self.wakers.wake();
                Ok(())
            }
            Err(
                TrySendError::Full(Command::Attach(back))
                | TrySendError::Disconnected(Command::Attach(back)),
            ) => Err(back),
            Err(_) => unreachable!("the refused command is the one that was sent"),
        }
    }

    /// Leaves a command, waiting for room if there is none. `false` when the worker is gone.
    pub(crate) fn tell(&self, command: Command) -> bool {
        let told = self.inbox.send(command).is_ok();
        self.wakers.wake();
        told
    }

    /// The same without waiting; false if the inbox is full.
    pub(crate) fn try_tell(&self, command: Command) -> bool {
        let told = self.inbox.try_send(command).is_ok();
        self.wakers.wake();
        told
    }
}
