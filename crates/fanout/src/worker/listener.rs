//! One listener of a worker: a socket and an offset.

use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use net::{SendOutcome, Slot};

use crate::ListenerId;
use crate::cursor::{Reason, Start, Verdict, judge, start};
use crate::lane::LaneGuard;
use crate::log::View;
use crate::policy::Policy;

/// The offset of a listener for whom there has been no join point yet.
const WAITING: u64 = u64::MAX;

/// A listener counts as degraded for this long after it was moved forward.
const DEGRADED_FOR: Duration = Duration::from_secs(10);

/// State of one listener, kept small: thousands lie side by side in a subgroup.
#[derive(Debug)]
pub(super) struct Listener {
    pub(super) id: ListenerId,
    pub(super) slot: Slot,
    /// The next byte of the log it needs, or [`WAITING`].
    pub(super) offset: u64,
    /// The socket was full; nothing is sent before the back-end reports room.
    pub(super) blocked: bool,
    /// Bytes to send before the log's: response head and preamble.
    head: Option<Box<Head>>,
    pub(super) sent_bytes: u64,
    pub(super) skips: u32,
    skipped_at: Option<Instant>,
    /// When it asked; cleared with its first media byte.
    requested: Option<Instant>,
    pub(super) guard: LaneGuard,
}

#[derive(Debug)]
struct Head {
    bytes: Bytes,
    sent: usize,
}

/// What the next send to a listener covers.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Plan {
    /// Nothing to send now.
    Rest,
    /// The head, if any, and the log's bytes up to this offset.
    Send {
        /// Offset after the last byte to send.
        to: u64,
    },
    /// The listener must go.
    Leave(Reason),
}

impl Listener {
    pub(super) fn new(
        id: ListenerId,
        slot: Slot,
        head: Bytes,
        requested: Instant,
        guard: LaneGuard,
    ) -> Self {
        let head = (!head.is_empty()).then(|| {
            Box::new(Head {
                bytes: head,
                sent: 0,
            })
        });
        Self {
            id,
            slot,
            offset: WAITING,
            blocked: false,
            head,
            sent_bytes: 0,
            skips: 0,
            skipped_at: None,
            requested: Some(requested),
            guard,
        }
    }

    /// Whether everything up to `end` is sent and nothing else is due.
    pub(super) fn is_at(&self, end: u64) -> bool {
        self.offset == end && self.head.is_none()
    }

    pub(super) fn is_waiting(&self) -> bool {
        self.offset == WAITING
    }

    pub(super) fn is_degraded(&self, now: Instant) -> bool {
        self.skipped_at
            .is_some_and(|at| now.saturating_duration_since(at) < DEGRADED_FOR)
    }

    /// The unsent part of the head.
    pub(super) fn head(&self) -> &[u8] {
        self.head
            .as_ref()
            .map_or(&[], |head| &head.bytes[head.sent..])
    }

    /// Decides on the next send. Finds a place for a listener that waits for one and moves one that
    /// has fallen behind `seen`, the end of the log at the last visit.
    pub(super) fn plan(&mut self, view: &View, seen: u64, policy: &Policy, now: Instant) -> Plan {
        if self.is_waiting() {
            if let Some(start) = start(view, policy.burst) {
                self.go(start);
            } else {
                let to = self.offset;
                return if self.head.is_some() {
                    Plan::Send { to }
                } else {
                    Plan::Rest
                };
            }
        }
        if self.is_at(view.end()) {
            return Plan::Rest;
        }
        if self.offset >= seen || self.head.is_some() {
            return Plan::Send { to: view.end() };
        }
        match judge(view, self.offset, policy) {
            Verdict::Keep => Plan::Send { to: view.end() },
            Verdict::Finish(exit) => Plan::Send { to: exit },
            Verdict::Drop(reason) => Plan::Leave(reason),
            Verdict::Skip(start) => {
                self.go(start);
                self.skips += 1;
                self.skipped_at = Some(now);
                Plan::Send { to: view.end() }
            }
        }
    }

    fn go(&mut self, start: Start) {
        self.offset = start.offset;
        if start.preamble.is_empty() {
            return;
        }
        let unsent = self.head();
        let bytes = if unsent.is_empty() {
            start.preamble
        } else {
            let mut joined = BytesMut::with_capacity(unsent.len() + start.preamble.len());
            joined.extend_from_slice(unsent);
            joined.extend_from_slice(&start.preamble);
            joined.freeze()
        };
        self.head = Some(Box::new(Head { bytes, sent: 0 }));
    }

    /// Accounts for a send that had `offered` bytes. Returns how long the join took when these were
    /// the first media bytes.
    pub(super) fn account(
        &mut self,
        outcome: SendOutcome,
        offered: usize,
        now: Instant,
    ) -> Option<Duration> {
        let SendOutcome::Sent(count) = outcome else {
            self.blocked = outcome == SendOutcome::Blocked;
            return None;
        };
        self.blocked = count < offered;
        self.sent_bytes += count as u64;
        let mut of_log = count;
        if let Some(head) = &mut self.head {
            let of_head = count.min(head.bytes.len() - head.sent);
            head.sent += of_head;
            of_log -= of_head;
            if head.sent == head.bytes.len() {
                self.head = None;
            }
        }
        if of_log == 0 {
            return None;
        }
        self.offset += of_log as u64;
        self.requested
            .take()
            .map(|requested| now.saturating_duration_since(requested))
    }
}
