//! What the workers of a port share, and how they are reached.

use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::task::Waker;

use base::{Numbers, Published};

use super::bell::Bell;
use super::counters::Counters;
use crate::ice::{Credentials, Path};
use crate::mux::{Directory, NewSession};

/// Datagrams and connections that may wait for another worker than the one they reached: those of a
/// few milliseconds, of peers whose address has changed. More are lost, as on the network.
const MAIL_MAX: usize = 1_024;

/// Commands that may wait for a worker; beyond it further ones are refused. Each is caused by one
/// HTTP request.
const COMMANDS_MAX: usize = 4_096;

/// A session on its way to a worker.
#[derive(Debug)]
pub(super) struct Expected<T> {
    pub(super) session: NewSession,
    pub(super) ticket: T,
}

/// What another worker received.
#[derive(Debug)]
pub(super) enum Mail {
    Datagram {
        path: Path,
        bytes: Box<[u8]>,
        /// How many workers have passed it on.
        hops: u8,
    },
    /// A connection, with what was read from it.
    Connection {
        stream: TcpStream,
        path: Path,
        bytes: Vec<u8>,
    },
}

/// What a worker can be asked to do.
#[derive(Debug)]
pub(super) enum Command {
    Restart {
        ufrag: Box<str>,
        local: Credentials,
        remote_ufrag: Box<str>,
    },
    Close {
        ufrag: Box<str>,
    },
}

/// How one worker is reached.
pub(super) struct Post {
    mail: SyncSender<Mail>,
    commands: SyncSender<Command>,
    bell: Arc<Bell>,
    counters: Published<Counters>,
    sessions: AtomicUsize,
    turns: AtomicU64,
}

/// The worker's side of its [`Post`].
pub(super) struct Inbox {
    pub(super) mail: Receiver<Mail>,
    pub(super) commands: Receiver<Command>,
}

/// Both sides of a post for the worker that this waker wakes.
pub(super) fn post(waker: net::Waker) -> (Post, Inbox) {
    let (mail, mail_inbox) = sync_channel(MAIL_MAX);
    let (commands, command_inbox) = sync_channel(COMMANDS_MAX);
    let post = Post {
        mail,
        commands,
        bell: Arc::new(Bell::new(waker)),
        counters: Published::default(),
        sessions: AtomicUsize::new(0),
        turns: AtomicU64::new(0),
    };
    let inbox = Inbox {
        mail: mail_inbox,
        commands: command_inbox,
    };
    (post, inbox)
}

pub(super) struct Shared<T> {
    pub(super) directory: Directory<Expected<T>>,
    pub(super) is_stopping: AtomicBool,
    posts: Vec<Post>,
}

impl<T> Shared<T> {
    pub(super) fn new(posts: Vec<Post>) -> Self {
        Self {
            directory: Directory::default(),
            is_stopping: AtomicBool::new(false),
            posts,
        }
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Acquire)
    }

    /// Rings a worker's bell when called.
    pub(super) fn waker(&self, worker: usize) -> Waker {
        match self.posts.get(worker) {
            Some(post) => Arc::clone(&post.bell).into(),
            None => Waker::noop().clone(),
        }
    }

    pub(super) fn bell(&self, worker: usize) -> Option<&Bell> {
        Some(&*self.posts.get(worker)?.bell)
    }

    pub(super) fn ring_all(&self) {
        for post in &self.posts {
            post.bell.ring();
        }
    }

    /// Passes something on to another worker. False when its queue is full.
    pub(super) fn pass(&self, worker: u16, mail: Mail) -> bool {
        let Some(post) = self.posts.get(usize::from(worker)) else {
            return false;
        };
        let passed = post.mail.try_send(mail).is_ok();
        post.bell.ring();
        passed
    }

    /// Queues a command. False when the worker's queue is full.
    pub(super) fn command(&self, worker: u16, command: Command) -> bool {
        let Some(post) = self.posts.get(usize::from(worker)) else {
            return false;
        };
        let told = post.commands.try_send(command).is_ok();
        post.bell.ring();
        told
    }

    /// Publishes a worker's counters.
    pub(super) fn publish(&self, worker: usize, counters: Counters, sessions: usize) {
        if let Some(post) = self.posts.get(worker) {
            post.counters.publish(counters);
            post.sessions.store(sessions, Ordering::Relaxed);
            post.turns.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(super) fn counters(&self) -> Counters {
        let mut sum = Counters::default();
        for post in &self.posts {
            sum.merge(post.counters.value());
        }
        sum
    }

    /// How often each worker has published.
    pub(super) fn turns(&self) -> Vec<u64> {
        let turns = self.posts.iter().map(|post| &post.turns);
        turns.map(|turns| turns.load(Ordering::Relaxed)).collect()
    }

    pub(super) fn sessions(&self) -> usize {
        let each = self.posts.iter().map(|post| &post.sessions);
        each.map(|sessions| sessions.load(Ordering::Relaxed)).sum()
    }
}
