//! One batch of sends: what each of some listeners is to have, handed to the back-end together, and what came of it.
//!
//! ```text
//!  plan ─► send: compose, seal, submit ─► account ─► settle
//! ```
//!
//! All listeners that keep up are sent the same message, which is composed once. Made by `carousel`, for a part of a
//! subgroup.

use std::time::Instant;

use log::View;
use net::{SendOp, SendOutcome, Slot};

use super::carousel::Leaver;
use super::listener::{Listener, Plan};
use super::message::Message;
use super::outlet::{Outlet, Sealing};
use crate::books::Books;
use crate::cursor::Reason;
use crate::lane::Lane;

/// Sends handed to the back-end together. Enough to make a submission cheap, few enough that the
/// scratch space stays in the first-level cache.
pub(super) const BATCH: usize = 32;

/// See the module's description.
pub(super) struct Batch<'a> {
    /// At most [`BATCH`].
    members: &'a mut [Listener],
    plans: [Plan; BATCH],
    /// Of the members that have something to send; so many are in use.
    sends: [Sent; BATCH],
    used: usize,
}

/// One send, and what came of it.
#[derive(Clone, Copy)]
struct Sent {
    member: usize,
    offered: usize,
    outcome: SendOutcome,
}

impl<'a> Batch<'a> {
    /// Decides what each is to have. `seen` is where those are that keep up.
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

    /// Sends it. What is sealed for those behind TLS stays in the outlet until [`account`](Self::account).
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

    /// Takes down what was sent, and returns how many members had been at `seen`.
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

    /// Adds those that leave, the first member being number `first` of its subgroup. Returns whether one of the others
    /// has more to get and room for it, before the log's `end`; if that `is_last`, those that have all of it leave too.
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
