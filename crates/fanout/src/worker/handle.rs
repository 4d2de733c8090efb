//! How the rest of the program talks to a worker.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError};
use std::time::Instant;

use bytes::Bytes;
use media::Timestamp;
use net::Transport;

use super::WorkerWaker;
use crate::conversation::Conversation;
use crate::lane::LaneGuard;
use crate::listener::{ListenerId, ListenerReport};

/// A connected listener on its way to a worker.
#[derive(Debug)]
pub(crate) struct Attach {
    pub(crate) id: ListenerId,
    pub(crate) transport: Transport,
    /// What to send before anything of the lane: the response head.
    pub(crate) head: Bytes,
    pub(crate) guard: LaneGuard,
    /// When the listener asked.
    pub(crate) requested: Instant,
    pub(crate) conversation: Option<Box<dyn Conversation>>,
    /// The time up to which it has had media before.
    pub(crate) after: Option<Timestamp>,
}

/// The commands of a worker.
#[derive(Debug)]
pub(crate) enum Command {
    Attach(Box<Attach>),
    /// Remove these listeners, as far as they are here. Their ids ascend.
    Kick(Arc<[ListenerId]>),
    /// Tell every listener whose protocol can express it that the server is about to leave.
    AnnounceLeave,
    /// Report how each listener fares.
    Report(SyncSender<Vec<ListenerReport>>),
    /// Close every listener and end.
    Stop,
}

/// Sends commands to one worker and wakes it.
#[derive(Clone, Debug)]
pub(crate) struct Handle {
    inbox: SyncSender<Command>,
    waker: WorkerWaker,
    /// Listeners given to this worker so far; with the departures that is its load.
    attached: Arc<AtomicUsize>,
}

impl Handle {
    pub(crate) fn new(inbox: SyncSender<Command>, waker: WorkerWaker) -> Self {
        Self {
            inbox,
            waker,
            attached: Arc::default(),
        }
    }

    pub(crate) fn waker(&self) -> &WorkerWaker {
        &self.waker
    }

    /// Listeners given to this worker so far.
    pub(crate) fn attached(&self) -> usize {
        self.attached.load(Ordering::Relaxed)
    }

    /// Passes a listener on, or returns it when the worker's inbox is full.
    pub(crate) fn attach(&self, attach: Attach) -> Result<(), Box<Attach>> {
        match self.inbox.try_send(Command::Attach(Box::new(attach))) {
            Ok(()) => {
                self.attached.fetch_add(1, Ordering::Relaxed);
                self.waker.wake();
                Ok(())
            }
            Err(
                TrySendError::Full(Command::Attach(back))
                | TrySendError::Disconnected(Command::Attach(back)),
            ) => Err(back),
            Err(_) => unreachable!("the refused command is the one that was sent"),
        }
    }

    /// Sends a command, waiting for room if there is none. `false` when the worker is gone.
    pub(crate) fn tell(&self, command: Command) -> bool {
        let told = self.inbox.send(command).is_ok();
        self.waker.wake();
        told
    }

    /// The same without waiting; false if the inbox is full.
    pub(crate) fn try_tell(&self, command: Command) -> bool {
        let told = self.inbox.try_send(command).is_ok();
        self.waker.wake();
        told
    }
}
