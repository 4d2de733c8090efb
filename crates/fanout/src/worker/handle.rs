//! A worker's command channel to the rest of the program.

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
    /// Bytes to send before anything of the lane: the response head.
    pub(crate) head: Bytes,
    pub(crate) guard: LaneGuard,
    /// Time of the listener's request.
    pub(crate) requested: Instant,
    pub(crate) conversation: Option<Box<dyn Conversation>>,
    /// Media time up to which the listener has had everything.
    pub(crate) after: Option<Timestamp>,
}

/// A command to a worker.
#[derive(Debug)]
pub(crate) enum Command {
    Attach(Box<Attach>),
    /// Removes these listeners, as far as they are here. Their ids ascend.
    Kick(Arc<[ListenerId]>),
    /// Announces to every listener whose protocol can express it that the server is about to leave.
    AnnounceLeave,
    /// Requests a report on each listener.
    Report(SyncSender<Vec<ListenerReport>>),
    /// Closes every listener and ends the worker.
    Stop,
}

/// Sends commands to one worker and wakes it.
#[derive(Clone, Debug)]
pub(crate) struct Handle {
    inbox: SyncSender<Command>,
    waker: WorkerWaker,
    /// Listeners passed to this worker so far; less the departures, that is its load.
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

    /// Returns the number of listeners passed to this worker so far.
    pub(crate) fn attached(&self) -> usize {
        self.attached.load(Ordering::Relaxed)
    }

    /// Passes a listener to the worker, or returns it when the worker's inbox is full.
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

    /// Sends a command, waiting for room if there is none. Returns `false` when the worker is gone.
    pub(crate) fn tell(&self, command: Command) -> bool {
        let reported = self.inbox.send(command).is_ok();
        self.waker.wake();
        reported
    }

    /// Sends a command without waiting; returns `false` if the inbox is full or the worker is gone.
    pub(crate) fn try_tell(&self, command: Command) -> bool {
        let reported = self.inbox.try_send(command).is_ok();
        self.waker.wake();
        reported
    }
}
