//! A connection that a thread carries.

use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::Carried;
use super::head::{HEAD_BYTES_MAX, Profile, written};
use super::prepared::Prepared;
use super::targets::Target;
use super::waiting::WaitKey;
use crate::Request;
use crate::channel::Channel;
use crate::viewers::Viewer;

/// How long a connection may wait here for its next request. A player of parts makes several in a second, one of
/// segments one in a few; those that make none count as idle with their task, and may have to give way.
const IDLE_MAX: Duration = Duration::from_secs(10);

/// For a client to take an answer: one that takes longer is not reading.
const SEND_MAX: Duration = Duration::from_secs(30);

/// Bytes of requests that a client may send before the last one is answered. A player waits for each answer; this is a
/// read and more.
const AHEAD_BYTES_MAX: usize = 8 * 1024;

/// See the module's description.
#[derive(Debug)]
pub(super) struct Connection {
    back: Option<oneshot::Sender<Carried>>,
    pub(super) peer: SocketAddr,
    /// When it is to be given back.
    until: Instant,
    pub(super) phase: Phase,
    /// What has arrived behind the request that is being answered, or as a part of the next one.
    pub(super) unread: Vec<u8>,
    /// Of its last request.
    pub(super) profile: Option<Arc<Profile>>,
    viewer: Option<Viewer>,
    /// Where it counts as a connection of its viewer.
    counted: Option<Arc<Channel>>,
}

/// What a connection is doing.
#[derive(Debug)]
pub(super) enum Phase {
    /// It waits for a request.
    Idle { since: Instant },
    /// Its request waits for a part.
    Waiting {
        target: Arc<Target>,
        key: WaitKey,
        until: Instant,
    },
    /// So many bytes of its answer have been sent.
    Sending {
        prepared: Arc<Prepared>,
        sent: usize,
        /// The socket will tell when it has room.
        is_full: bool,
        until: Instant,
    },
}

/// What time demands of a connection.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Overdue {
    /// It has waited here for long enough.
    GiveBack,
    /// Its part did not come.
    Refuse,
    /// Its client does not read, or its task is gone.
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

    /// Keeps bytes for later. False when there are more than a client may send ahead, or than a head may have.
    pub(super) fn keep(&mut self, bytes: &[u8]) -> bool {
        self.unread.extend_from_slice(bytes);
        let most = match self.is_idle() {
            true => HEAD_BYTES_MAX + AHEAD_BYTES_MAX,
            false => AHEAD_BYTES_MAX,
        };
        self.unread.len() <= most
    }

    /// The request for `target` with the connection's present profile.
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

    /// The viewer that requests `target`, with a head of `profile`, which is the connection's from now on.
    pub(super) fn viewer(&mut self, target: &Target, profile: &Arc<Profile>) -> Viewer {
        let is_same = |last: &Arc<Profile>| Arc::ptr_eq(last, profile);
        if let Some(viewer) = &self.viewer
            && self.profile.as_ref().is_some_and(is_same)
            && viewer.suffix() == target.suffix
        {
            return viewer.clone();
        }
        let viewer = Viewer::of(&self.request(target, profile));
        self.uncount();
        self.profile = Some(Arc::clone(profile));
        self.viewer.insert(viewer).clone()
    }

    /// Counts as a connection of its viewer, who watches a channel. False if it does not, or has too many.
    pub(super) fn count(&mut self, channel: &Arc<Channel>, now: Instant) -> bool {
        let is_same = |counted: &Arc<Channel>| Arc::ptr_eq(counted, channel);
        if self.counted.as_ref().is_some_and(is_same) {
            return true;
        }
        self.uncount();
        let is_counted = self
            .viewer
            .as_ref()
            .is_some_and(|viewer| channel.viewers().carry(viewer, now));
        self.counted = is_counted.then(|| Arc::clone(channel));
        is_counted
    }

    fn uncount(&mut self) {
        if let (Some(channel), Some(viewer)) = (self.counted.take(), &self.viewer) {
            channel.viewers().put_down(viewer);
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

    /// The socket has room again. False if it was not full.
    pub(super) fn has_room(&mut self) -> bool {
        match &mut self.phase {
            Phase::Sending { is_full, .. } => std::mem::take(is_full),
            Phase::Idle { .. } | Phase::Waiting { .. } => false,
        }
    }

    /// Returns its socket to its task, which may be gone.
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

    /// What has arrived, from the beginning of the request that is not answered yet.
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

    /// What is to be done at this time, if anything.
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
