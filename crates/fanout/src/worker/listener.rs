//! One listener of a worker: a socket and an offset.

use std::cell::Cell;
use std::time::{Duration, Instant};

use bytes::{Buf, Bytes};
use log::View;
use net::tls::{self, RecordLayer};
use net::{SendOutcome, Slot};

use crate::books::DEGRADED_FOR;
use crate::conversation::Talk;
use crate::cursor::{Reason, Start, Verdict, first, judge, lost};
use crate::lane::LaneGuard;
use crate::listener::ListenerId;
use crate::policy::Policy;

/// Offset of a listener that has found no join point yet.
const WAITING: u64 = u64::MAX;

/// State of one listener, kept small: thousands lie side by side in a subgroup.
#[derive(Debug)]
pub(super) struct Listener {
    pub(super) id: ListenerId,
    pub(super) slot: Slot,
    /// Log offset of the next byte it needs, or [`WAITING`].
    pub(super) offset: u64,
    /// Whether the socket was full; nothing is sent before the back-end reports room.
    pub(super) blocked: bool,
    /// Bytes to send before the log's: response head and preamble.
    head: Option<Box<Head>>,
    pub(super) sent_bytes: u64,
    pub(super) skips: u32,
    skipped_at: Option<Instant>,
    /// Degraded state last reported.
    pub(super) is_reported_degraded: Cell<bool>,
    /// Time of its request; cleared with its first media byte.
    requested: Option<Instant>,
    pub(super) guard: LaneGuard,
    /// Its conversation, if its protocol has one.
    pub(super) talk: Option<Box<Talk>>,
    /// Record layer that seals its bytes, if it is behind TLS.
    pub(super) records: Option<Box<RecordLayer>>,
}

/// The response head and a preamble, each shared with its maker.
#[derive(Debug, Default)]
struct Head {
    parts: [Bytes; HEAD_PARTS],
}

/// Upper bound on the slices that the head of a send takes.
pub(super) const HEAD_PARTS: usize = 2;

impl Head {
    fn is_empty(&self) -> bool {
        self.parts.iter().all(Bytes::is_empty)
    }

    /// Removes up to `count` bytes from the front; returns their number.
    fn advance(&mut self, count: usize) -> usize {
        let mut left = count;
        for part in &mut self.parts {
            let taken = left.min(part.len());
            part.advance(taken);
            left -= taken;
        }
        count - left
    }

    /// Appends a preamble, or a reply, to the unsent bytes.
    fn append(&mut self, more: Bytes) {
        let [first, second] = &mut self.parts;
        if first.is_empty() {
            *first = std::mem::replace(second, more);
        } else if second.is_empty() {
            *second = more;
        } else {
            // A listener that skipped twice without taking a byte: rare enough to copy.
            *second = [&second[..], &more].concat().into();
        }
    }
}

/// Extent of the next send to a listener.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Plan {
    /// Nothing to send now.
    Rest,
    /// The head, if any, and the log's bytes up to this offset.
    Send {
        /// Offset after the last byte to send.
        to: u64,
    },
    /// Remove the listener, for this reason.
    Leave(Reason),
}

impl Listener {
    pub(super) fn new(
        id: ListenerId,
        slot: Slot,
        head: Bytes,
        requested: Instant,
        guard: LaneGuard,
        talk: Option<Box<Talk>>,
        records: Option<Box<RecordLayer>>,
    ) -> Self {
        let mut listener = Self {
            id,
            slot,
            offset: WAITING,
            blocked: false,
            head: None,
            sent_bytes: 0,
            skips: 0,
            skipped_at: None,
            is_reported_degraded: Cell::new(false),
            requested: Some(requested),
            guard,
            talk,
            records,
        };
        listener.put_first(head);
        listener
    }

    /// Whether everything up to `end` is sent and nothing else is due.
    pub(super) fn is_at(&self, end: u64) -> bool {
        self.offset == end && self.head.is_none()
    }

    /// Whether a visit would find nothing to do, if the log ends at `end`.
    pub(super) fn is_settled(&self, end: u64) -> bool {
        (self.is_at(end) || (self.is_waiting() && self.head.is_none())) && !self.has_something()
    }

    /// Whether its conversation needs attention between units.
    pub(super) fn has_something(&self) -> bool {
        self.talk.as_ref().is_some_and(|talk| talk.has_something())
    }

    /// Whether it has everything that was begun: it is between two units, and nothing waits to be sent first.
    pub(super) fn is_between_units(&self, view: &View) -> bool {
        let is_within_record = self
            .records
            .as_ref()
            .is_some_and(|records| records.is_within_record());
        self.head.is_none()
            && !is_within_record
            && (self.is_waiting() || view.boundary_from(self.offset) == self.offset)
    }

    /// Returns the time it has waited for its first media.
    fn waited(&self, now: Instant) -> Duration {
        self.requested.map_or(Duration::ZERO, |requested| {
            now.saturating_duration_since(requested)
        })
    }

    pub(super) fn is_waiting(&self) -> bool {
        self.offset == WAITING
    }

    pub(super) fn is_degraded(&self, now: Instant) -> bool {
        self.skipped_at
            .is_some_and(|at| now.saturating_duration_since(at) < DEGRADED_FOR)
    }

    /// Returns the unsent parts of the head; some may be empty.
    pub(super) fn head(&self) -> impl Iterator<Item = &[u8]> {
        let parts = self.head.as_ref().map_or(&[][..], |head| &head.parts);
        parts.iter().map(|part| &part[..])
    }

    /// Plans the next send. Finds a join point for a listener that waits for one, and moves a listener that has fallen
    /// behind `seen`, the end of the log at the last visit.
    #[inline]
    pub(super) fn plan(&mut self, view: &View, seen: u64, policy: &Policy, now: Instant) -> Plan {
        if self.records.is_some()
            && let Some(plan) = self.finish_record(view, policy)
        {
            return plan;
        }
        if self.has_something()
            && let Some(plan) = self.pause(view)
        {
            return plan;
        }
        if self.is_waiting()
            && let Some(plan) = self.wait(view, policy, now)
        {
            return plan;
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
        self.catch_up(view, policy, now)
    }

    /// Returns the plan that completes a partly sent record; `None` if there is none. A record of the head needs no
    /// such plan: the head is sent first anyway.
    fn finish_record(&self, view: &View, policy: &Policy) -> Option<Plan> {
        let begun = self.records.as_ref()?.begun_bytes() as u64;
        if begun == 0 || self.head.is_some() {
            return None;
        }
        Some(match self.offset < view.start() {
            true => Plan::Leave(lost(view, policy)),
            false => Plan::Send {
                to: self.offset + begun,
            },
        })
    }

    /// Plans for a listener that has fallen behind. Kept apart, like everything that most visits do not need.
    #[cold]
    fn catch_up(&mut self, view: &View, policy: &Policy, now: Instant) -> Plan {
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

    /// Starts a waiting listener at a join point and returns `None`, or returns its plan if there is none yet.
    #[cold]
    fn wait(&mut self, view: &View, policy: &Policy, now: Instant) -> Option<Plan> {
        let reach = self.guard.lane().reach(self.waited(now));
        let after = self.talk.as_ref().and_then(|talk| talk.after);
        if let Some(start) = first(view, policy, reach, after) {
            self.go(start);
            return None;
        }
        Some(match self.head {
            Some(_) => Plan::Send { to: self.offset },
            None => Plan::Rest,
        })
    }

    /// Returns the plan that takes a listener to the next boundary of units, where it has something to do: a reply to
    /// send, or its departure. `None` when it continues as usual.
    #[cold]
    fn pause(&mut self, view: &View) -> Option<Plan> {
        if !self.is_waiting() {
            if self.offset < view.start() {
                return None;
            }
            let pause = view.boundary_from(self.offset);
            if pause > self.offset {
                return Some(Plan::Send { to: pause });
            }
        }
        let talk = self.talk.as_mut()?;
        let is_leaving = talk.is_leaving;
        let words = std::mem::take(&mut talk.words);
        self.put_first(words.freeze());
        if !is_leaving {
            return None;
        }
        Some(match self.head {
            Some(_) => Plan::Send { to: self.offset },
            None => Plan::Leave(Reason::Left),
        })
    }

    fn go(&mut self, start: Start) {
        self.offset = start.offset;
        self.put_first(start.preamble);
    }

    /// Queues `bytes`, if there are any, before anything of the log.
    fn put_first(&mut self, bytes: Bytes) {
        if !bytes.is_empty() {
            self.head.get_or_insert_default().append(bytes);
        }
    }

    /// Handles received bytes. Returns `false` when the connection is of no more use.
    pub(super) fn hear(&mut self, bytes: &[u8], now: Instant) -> bool {
        let Self { talk, records, .. } = self;
        let Some(records) = records else {
            return talk.as_mut().is_some_and(|talk| talk.hear(bytes, now));
        };
        if let Err(error) = records.receive(bytes) {
            match error {
                tls::Error::Alerted(_) => {}
                error => tracing::debug!(%error, "a listener's connection is ended"),
            }
            return false;
        }
        let heard = records.received();
        let continues = match talk {
            Some(talk) if !heard.is_empty() && !talk.is_leaving => talk.hear(heard, now),
            _ => true,
        };
        records.consume(heard.len());
        continues && !records.is_ended()
    }

    /// Whether bytes that it sends are read here.
    pub(super) fn listens(&self) -> bool {
        match &self.talk {
            // Once it is known to leave, received bytes belong to the next owner of the socket.
            Some(talk) => !talk.is_leaving,
            None => self.records.is_some(),
        }
    }

    /// Records the result of a send of `offered` bytes. Returns the duration of the join if these were the first media
    /// bytes.
    #[inline]
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
