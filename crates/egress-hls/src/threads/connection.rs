//! Connection that a thread carries.

use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::Carried;
use super::answers::Prepared;
use super::head::{HEAD_BYTES_MAX, Profile, written};
use super::targets::Target;
use super::waiting::WaitKey;
use crate::Request;
use crate::channel::Channel;
use crate::viewers::Viewer;

/// Longest wait of a connection here for its next request. A player of parts sends several requests in a second, a
/// player of segments one in a few seconds. Connections without requests count as idle with their task, and may have to
/// give way.
const IDLE_MAX: Duration = Duration::from_secs(10);

/// Longest time for a client to take an answer: a client that takes longer is not reading.
const SEND_MAX: Duration = Duration::from_secs(30);

/// Most bytes of requests that a client may send before the last one is answered. A player waits for each answer; this
/// is more than one read.
const AHEAD_BYTES_MAX: usize = 8 * 1024;

/// Connection that a thread carries, with the state of its current request.
#[derive(Debug)]
pub(super) struct Connection {
    back: Option<oneshot::Sender<Carried>>,
    pub(super) peer: SocketAddr,
    /// Time at which it is to be given back.
    until: Instant,
    pub(super) phase: Phase,
    /// Bytes that have arrived after the request that is being answered, or the beginning of the next request.
    pub(super) unread: Vec<u8>,
    /// Profile of its last request.
    pub(super) profile: Option<Arc<Profile>>,
    viewer: Option<Viewer>,
    /// Channel in which it counts as a connection of its viewer.
    counted: Option<Arc<Channel>>,
}

/// Activity of a connection.
#[derive(Debug)]
pub(super) enum Phase {
    /// Idle: no request has arrived.
    Idle { since: Instant },
    /// Waiting for the part that the request names.
    Waiting {
        target: Arc<Target>,
        key: WaitKey,
        until: Instant,
    },
    /// Sending an answer; `sent` bytes of it are sent.
    Sending {
        prepared: Arc<Prepared>,
        sent: usize,
        /// Whether the socket is full; epoll reports when it has room.
        is_full: bool,
        until: Instant,
    },
}

/// Action due at a deadline.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Overdue {
    /// Return to the task: the connection has waited here long enough.
    GiveBack,
    /// Refusal: the part did not arrive.
    Refuse,
    /// Close: the client does not read, or the task is gone.
    End,
}

impl Connection {
    pub(super) fn new(
        back: oneshot::Sender<Carried>,
        peer: SocketAddr,
        until: Instant,
        now: Instant,
    ) -> Self {
        Self {
            back: Some(back),
            peer,
            until,
            phase: Phase::Idle { since: now },
            unread: Vec::new(),
            profile: None,
            viewer: None,
            counted: None,
        }
    }

    pub(super) fn is_idle(&self) -> bool {
        matches!(self.phase, Phase::Idle { .. })
    }

    /// Keeps bytes for later. Returns false if there are more than a client may send ahead, or than a head may have.
    pub(super) fn keep(&mut self, bytes: &[u8]) -> bool {
        self.unread.extend_from_slice(bytes);
        let most = match self.is_idle() {
            true => HEAD_BYTES_MAX + AHEAD_BYTES_MAX,
            false => AHEAD_BYTES_MAX,
        };
        self.unread.len() <= most
    }

    /// Returns the request for `target` with the given profile.
    pub(super) fn request<'a>(&self, target: &'a Target, profile: &'a Profile) -> Request<'a> {
        Request {
            stream: &target.stream,
            resource: &target.resource,
            peer: self.peer,
            // No proxy is in between.
            country: None,
            headers: &profile.headers,
            query: &target.query,
        }
    }

    /// Returns the viewer that requests `target` with a head of `profile`, which becomes the connection's profile.
    pub(super) fn viewer(&mut self, target: &Target, profile: &Arc<Profile>) -> Viewer {
        let is_same = |last: &Arc<Profile>| Arc::ptr_eq(last, profile);
        if let Some(viewer) = &self.viewer
            && self.profile.as_ref().is_some_and(is_same)
            && viewer.suffix == target.suffix
        {
            return viewer.clone();
        }
        let viewer = Viewer::of(&self.request(target, profile));
        self.uncount();
        self.profile = Some(Arc::clone(profile));
        self.viewer.insert(viewer).clone()
    }

    /// Counts it as a connection of its viewer, which watches a channel. Returns false if the viewer does not watch, or
    /// has too many connections.
    pub(super) fn count(&mut self, channel: &Arc<Channel>, now: Instant) -> bool {
        let is_same = |counted: &Arc<Channel>| Arc::ptr_eq(counted, channel);
        if self.counted.as_ref().is_some_and(is_same) {
            return true;
        }
        self.uncount();
        let is_counted = self
            .viewer
            .as_ref()
            .is_some_and(|viewer| channel.viewers.carry(viewer, now));
        self.counted = is_counted.then(|| Arc::clone(channel));
        is_counted
    }

    fn uncount(&mut self) {
        if let (Some(channel), Some(viewer)) = (self.counted.take(), &self.viewer) {
            channel.viewers.put_down(viewer);
        }
    }

    pub(super) fn send(&mut self, prepared: Arc<Prepared>, now: Instant) {
        self.phase = Phase::Sending {
            prepared,
            sent: 0,
            is_full: false,
            until: now + SEND_MAX,
        };
    }

    /// Notes that the socket has room again. Returns false if it was not full.
    pub(super) fn has_room(&mut self) -> bool {
        match &mut self.phase {
            Phase::Sending { is_full, .. } => std::mem::take(is_full),
            Phase::Idle { .. } | Phase::Waiting { .. } => false,
        }
    }

    /// Returns its socket to its task, unless the task is gone.
    pub(super) fn give_back(mut self, socket: TcpStream) {
        let carried = Carried {
            socket,
            unread: self.take_unread(),
            peer: self.peer,
            until: self.until,
        };
        if let Some(back) = self.back.take() {
            back.send(carried).ok();
        }
    }

    /// Returns the bytes that have arrived, from the beginning of the unanswered request.
    fn take_unread(&mut self) -> Vec<u8> {
        let unread = std::mem::take(&mut self.unread);
        match (&self.phase, &self.profile) {
            (Phase::Waiting { target, .. }, Some(profile)) => {
                let mut all = written(&target.text, profile);
                all.extend_from_slice(&unread);
                all
            }
            _ => unread,
        }
    }

    /// Returns the action that is due at this time, if any.
    pub(super) fn overdue(&self, now: Instant) -> Option<Overdue> {
        if self.back.as_ref().is_none_or(oneshot::Sender::is_closed) {
            return Some(Overdue::End);
        }
        match self.phase {
            Phase::Idle { since } => {
                let is_due = now >= self.until || now >= since + IDLE_MAX;
                is_due.then_some(Overdue::GiveBack)
            }
            Phase::Waiting { until, .. } => (now >= until).then_some(Overdue::Refuse),
            Phase::Sending { until, .. } => (now >= until).then_some(Overdue::End),
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.uncount();
    }
}
