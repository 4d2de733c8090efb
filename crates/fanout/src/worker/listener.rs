//! One listener of a worker: a socket and an offset.

use std::time::{Duration, Instant};

use bytes::{Buf, Bytes};
use net::{SendOutcome, Slot};

use crate::ListenerId;
use crate::cursor::{Reason, Start, Verdict, judge, lost, start};
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

/// The response head and a preamble, each shared with whoever made it.
#[derive(Debug)]
struct Head {
    parts: [Bytes; HEAD_PARTS],
}

/// Slices that the head of a send may take.
pub(super) const HEAD_PARTS: usize = 2;

impl Head {
    fn is_empty(&self) -> bool {
        self.parts.iter().all(Bytes::is_empty)
    }

    /// Takes up to `count` bytes off the front; returns how many.
    fn advance(&mut self, count: usize) -> usize {
        let mut left = count;
        for part in &mut self.parts {
            let taken = left.min(part.len());
            part.advance(taken);
            left -= taken;
        }
        count - left
    }

    /// Adds a preamble behind what is still to be sent.
    fn append(&mut self, preamble: Bytes) {
        let [first, second] = &mut self.parts;
        if first.is_empty() {
            *first = std::mem::replace(second, preamble);
        } else if second.is_empty() {
            *second = preamble;
        } else {
            // A listener that skipped twice without taking a byte: rare enough to copy.
            *second = [&second[..], &preamble].concat().into();
        }
    }
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
                parts: [head, Bytes::new()],
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

    /// The unsent parts of the head; some may be empty.
    pub(super) fn head(&self) -> impl Iterator<Item = &[u8]> {
        let parts = self.head.as_ref().map_or(&[][..], |head| &head.parts);
        parts.iter().map(|part| &part[..])
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
        if self.offset < view.start() {
            return Plan::Leave(lost(view, policy));
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
        if !start.preamble.is_empty() {
            let empty = || {
                Box::new(Head {
                    parts: [Bytes::new(), Bytes::new()],
                })
            };
            self.head.get_or_insert_with(empty).append(start.preamble);
        }
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
            of_log -= head.advance(count);
            if head.is_empty() {
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
