//! State shared by the workers of a port, and their queues.

use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use base::{Numbers, Published};

use super::bell::Bell;
use super::counters::Counters;
use crate::ice::{Credentials, Path};
use crate::mux::{Directory, NewSession};

/// Largest number of datagrams and connections that wait for another worker than the one they reached: those of a few
/// milliseconds, from peers whose address has changed. More are lost, as on the network.
const MAIL_MAX: usize = 1_024;

/// Largest number of commands that wait for a worker; further ones are refused. Each is caused by one HTTP request.
const COMMANDS_MAX: usize = 4_096;

/// Session on its way to a worker.
#[derive(Debug)]
pub(super) struct Expected<T> {
    pub(super) session: NewSession,
    pub(super) ticket: T,
}

/// Input that another worker received.
#[derive(Debug)]
pub(super) enum Mail {
    Datagram {
        path: Path,
        bytes: Box<[u8]>,
        /// Number of workers that have forwarded it.
        hops: u8,
    },
    /// Connection, with the bytes read from it.
    Connection {
        stream: TcpStream,
        path: Path,
        bytes: Vec<u8>,
    },
}

/// Request to a worker.
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

/// Queues and published figures of one worker.
pub(super) struct Post {
    mail: SyncSender<Mail>,
    commands: SyncSender<Command>,
    bell: Arc<Bell>,
    counters: Published<Counters>,
    sessions: AtomicUsize,
    turns: AtomicU64,
}

/// Worker's side of its [`Post`].
pub(super) struct Inbox {
    pub(super) mail: Receiver<Mail>,
    pub(super) commands: Receiver<Command>,
    /// Bell that is rung after each of them.
    pub(super) bell: Arc<Bell>,
}

/// Creates both sides of a post for the worker that this waker wakes.
pub(super) fn post(waker: net::Waker) -> (Post, Inbox) {
    let (mail, mail_inbox) = sync_channel(MAIL_MAX);
    let (commands, command_inbox) = sync_channel(COMMANDS_MAX);
    let bell = Arc::new(Bell::new(waker));
    let post = Post {
        mail,
        commands,
        bell: Arc::clone(&bell),
        counters: Published::default(),
        sessions: AtomicUsize::new(0),
        turns: AtomicU64::new(0),
    };
    let inbox = Inbox {
        mail: mail_inbox,
        commands: command_inbox,
        bell,
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

    pub(super) fn ring_all(&self) {
        for post in &self.posts {
            post.bell.ring();
        }
    }

    /// Forwards something to another worker; returns false if its queue is full.
    pub(super) fn pass(&self, worker: u16, mail: Mail) -> bool {
        let Some(post) = self.posts.get(usize::from(worker)) else {
            return false;
        };
        let passed = post.mail.try_send(mail).is_ok();
        post.bell.ring();
        passed
    }

    /// Queues a command; returns false if the worker's queue is full.
    pub(super) fn command(&self, worker: u16, command: Command) -> bool {
        let Some(post) = self.posts.get(usize::from(worker)) else {
            return false;
        };
        let reported = post.commands.try_send(command).is_ok();
        post.bell.ring();
        reported
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

    /// Returns how many times each worker has published.
    pub(super) fn turns(&self) -> Vec<u64> {
        let turns = self.posts.iter().map(|post| &post.turns);
        turns.map(|turns| turns.load(Ordering::Relaxed)).collect()
    }

    pub(super) fn sessions(&self) -> usize {
        let each = self.posts.iter().map(|post| &post.sessions);
        each.map(|sessions| sessions.load(Ordering::Relaxed)).sum()
    }
}
