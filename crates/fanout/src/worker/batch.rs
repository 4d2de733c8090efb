//! One batch of sends: composes the bytes for some listeners, hands them to the back-end together, and records the
//! outcomes.
//!
//! ```text
//!  plan ─► send: compose, seal, submit ─► account ─► settle
//! ```
//!
//! All listeners that keep up get the same message, which is composed once. Made by `carousel`, for a part of a
//! subgroup.

use std::io::IoSlice;
use std::time::Instant;

use log::View;
use net::{SendOp, SendOutcome, Slot};

use super::carousel::Leaver;
use super::listener::{HEAD_PARTS, Listener, Plan};
use super::outlet::{Outlet, Sealing};
use crate::books::Books;
use crate::cursor::Reason;
use crate::lane::Lane;

/// Upper bound on sends handed to the back-end together: enough to make a submission cheap, few enough that the scratch
/// space stays in the first-level cache.
pub(super) const BATCH: usize = 32;

/// One batch of sends to members of a subgroup; call `plan`, `send`, `account` and `settle` in that order.
pub(super) struct Batch<'a> {
    /// Members of the batch, at most [`BATCH`].
    members: &'a mut [Listener],
    plans: [Plan; BATCH],
    /// Sends to the members that have bytes to send; the first `used` are valid.
    sends: [Sent; BATCH],
    used: usize,
}

/// One send and its outcome.
#[derive(Clone, Copy)]
struct Sent {
    member: usize,
    offered: usize,
    outcome: SendOutcome,
}

impl<'a> Batch<'a> {
    /// Plans the next send of each member. `seen` is the offset of members that keep up.
    pub(super) fn plan(
        members: &'a mut [Listener],
        lane: &Lane,
        view: &View,
        seen: u64,
        books: &Books,
        now: Instant,
    ) -> Self {
        let mut plans = [Plan::Rest; BATCH];
        let mut skips = 0;
        for (member, plan) in members.iter_mut().zip(&mut plans) {
            if !member.blocked {
                let before = member.skips;
                *plan = member.plan(view, seen, &lane.policy, now);
                skips += u64::from(member.skips - before);
            }
        }
        books.skips.add(skips);
        let nothing = Sent {
            member: 0,
            offered: 0,
            outcome: SendOutcome::Blocked,
        };
        Self {
            members,
            plans,
            sends: [nothing; BATCH],
            used: 0,
        }
    }

    /// Sends the batch. Bytes sealed for members behind TLS stay in the outlet until [`account`](Self::account).
    pub(super) fn send(&mut self, view: &View, seen: u64, outlet: &mut Outlet, books: &Books) {
        let Outlet { backend, sealing } = outlet;
        let common = Message::between(view, seen, view.end());
        let mut own = [None; BATCH];
        for ((member, plan), own) in self.members.iter().zip(&self.plans).zip(&mut own) {
            if let Plan::Send { to } = *plan
                && !(member.is_at(seen) && to == view.end())
            {
                *own = Some(Message::for_listener(view, member, to));
            }
        }
        sealing.clear();
        if self.members.iter().any(|member| member.records.is_some()) {
            sealing.seal_batch(self.members, &mut self.plans, &common, &own);
        }
        for (member, wire) in sealing.wires() {
            own[member] = Some(Message::sealed(wire));
        }
        let mut ops = [SendOp {
            slot: Slot { index: 0, reuse: 0 },
            slices: &[],
        }; BATCH];
        let mut used = 0;
        for (at, (member, plan)) in self.members.iter().zip(&self.plans).enumerate() {
            let Plan::Send { .. } = plan else { continue };
            let message = own[at].as_ref().unwrap_or(&common);
            if message.len > 0 {
                ops[used] = SendOp {
                    slot: member.slot,
                    slices: message.slices(),
                };
                (self.sends[used].member, self.sends[used].offered) = (at, message.len);
                used += 1;
            }
        }
        let mut outcomes = [SendOutcome::Blocked; BATCH];
        backend.send_batch(&ops[..used], &mut outcomes[..used]);
        books.sends.add(used as u64);
        for (send, outcome) in self.sends.iter_mut().zip(&outcomes[..used]) {
            send.outcome = *outcome;
        }
        self.used = used;
    }

    /// Records the outcomes of the sends; returns how many members had been at `seen`.
    pub(super) fn account(
        &mut self,
        lane: &Lane,
        seen: u64,
        sealing: &Sealing,
        books: &Books,
        now: Instant,
    ) -> u64 {
        let protocol = lane.format.protocol;
        let (mut bytes, mut in_step) = (0, 0);
        let mut sealed = sealing.messages().iter();
        for send in &self.sends[..self.used] {
            let member = &mut self.members[send.member];
            in_step += u64::from(member.is_at(seen));
            let (outcome, offered) = match &mut member.records {
                Some(records) => sealed.next().map_or((SendOutcome::Closed, 0), |message| {
                    message.outcome(records, send.outcome)
                }),
                None => (send.outcome, send.offered),
            };
            if let SendOutcome::Sent(count) = outcome {
                bytes += count as u64;
            }
            if outcome == SendOutcome::Closed {
                self.plans[send.member] = Plan::Leave(Reason::Left);
            } else if let Some(join) = member.account(outcome, offered, now) {
                books.join_seconds[protocol as usize].observe_duration(join, 1);
            }
        }
        books.egress_bytes[protocol].add(bytes);
        in_step
    }

    /// Appends the members that leave to `leavers`; the first member is number `first` of its subgroup. Returns whether
    /// one of the others still lacks bytes before the log's `end` and has room for them; if that `is_last`, members
    /// that have everything leave too.
    pub(super) fn settle(
        self,
        first: usize,
        end: u64,
        is_last: bool,
        leavers: &mut Vec<Leaver>,
    ) -> bool {
        let mut is_unfinished = false;
        for (at, (member, plan)) in self.members.iter().zip(&self.plans).enumerate() {
            match plan {
                Plan::Leave(reason) => leavers.push((first + at, *reason)),
                _ if is_last && member.is_settled(end) => {
                    leavers.push((first + at, Reason::Ended));
                }
                Plan::Send { .. } if !member.blocked && !member.is_settled(end) => {
                    is_unfinished = true;
                }
                _ => {}
            }
        }
        is_unfinished
    }
}

const _: () = assert!(
    HEAD_PARTS < SendOp::SLICES_MAX,
    "a send has room for the log's bytes"
);

/// Bytes of one send.
#[derive(Clone, Copy)]
pub(super) struct Message<'a> {
    slices: [IoSlice<'a>; SendOp::SLICES_MAX],
    count: usize,
    /// Total of all slices, in bytes.
    pub(super) len: usize,
}

impl<'a> Message<'a> {
    fn empty() -> Self {
        Self {
            slices: [IoSlice::new(&[]); SendOp::SLICES_MAX],
            count: 0,
            len: 0,
        }
    }

    /// Creates a message of sealed bytes.
    pub(super) fn sealed(wire: IoSlice<'a>) -> Self {
        let mut message = Self::empty();
        message.slices[0] = wire;
        (message.count, message.len) = (1, wire.len());
        message
    }

    pub(super) fn between(view: &'a View, from: u64, to: u64) -> Self {
        let mut message = Self::empty();
        message.append(view, from, to);
        message
    }

    // Few listeners need a message of their own, so the loop over all of them should not carry its weight.
    #[inline(never)]
    pub(super) fn for_listener(view: &'a View, listener: &'a Listener, to: u64) -> Self {
        let mut message = Self::empty();
        for part in listener.head().filter(|part| !part.is_empty()) {
            message.slices[message.count] = IoSlice::new(part);
            message.count += 1;
            message.len += part.len();
        }
        if !listener.is_waiting() {
            message.append(view, listener.offset, to);
        }
        message
    }

    fn append(&mut self, view: &'a View, from: u64, to: u64) {
        let used = view.slices(from, to, &mut self.slices[self.count..]);
        self.len += self.slices[self.count..][..used]
            .iter()
            .map(|slice| slice.len())
            .sum::<usize>();
        self.count += used;
    }

    pub(super) fn slices(&self) -> &[IoSlice<'a>] {
        &self.slices[..self.count]
    }
}
