//! Arrival and departure of a worker's listeners.
//!
//! A [`Position`] locates a listener: lane, subgroup, index. The last listener of a subgroup takes the place of one
//! that leaves, and each departure is reported once.

use std::cmp::Reverse;
use std::sync::Arc;
use std::sync::mpsc::TrySendError;
use std::time::Instant;

use media::Timestamp;
use net::{Inbound, Transport};

use super::Worker;
use super::carousel::Carousel;
use super::handle::Attach;
use super::listener::Listener;
use super::position::Position;
use super::waker::LANES_MAX;
use crate::conversation::{Released, Talk};
use crate::cursor::Reason;
use crate::lane::LaneGuard;
use crate::listener::{Departure, ListenerId};

impl Worker {
    pub(super) fn attach(&mut self, attach: Attach, now: Instant) {
        let Attach {
            id,
            transport,
            head,
            guard,
            requested,
            conversation,
            after,
        } = attach;
        let protocol = guard.lane().format.protocol;
        let Some(lane_index) = self.lane_for(&guard, now) else {
            self.depart(id, Reason::Shutdown, 0, 0);
            return;
        };
        let Some(lane) = self.lanes.at_mut(lane_index as usize) else {
            return;
        };
        let group = lane.group_with_room();
        let members = &mut lane.groups[group].members;
        let position = Position {
            lane: lane_index,
            group: group as u32,
            index: members.len() as u32,
        };
        let slot = self.positions.insert(position);
        let Transport { socket, records } = transport;
        let inbound = match conversation.is_some() || records.is_some() {
            true => Inbound::Reported,
            false => Inbound::Dropped,
        };
        if let Err(error) = self.outlet.backend.attach(slot, socket, inbound) {
            tracing::debug!(%error, "a listener's socket could not be watched");
            self.positions.remove(slot);
            self.depart(id, Reason::Left, 0, 0);
            self.close_if_empty(lane_index);
            return;
        }
        let mut talk = conversation.map(|conversation| Box::new(Talk::new(conversation, after)));
        if self.is_leaving
            && let Some(talk) = &mut talk
        {
            // The listener was on its way here when the others got the announcement.
            talk.announce_leave();
        }
        let mut listener = Listener::new(id, slot, head, requested, guard, talk, records);
        // Bytes that its task has received and not read.
        let continues = listener.records.is_none() || listener.hear(&[], now);
        members.push(listener);
        self.links.books.listeners[protocol].add(1);
        lane.view.refresh();
        if !continues {
            self.dismiss(position, Reason::Left);
            return;
        }
        self.flush(position, now);
        // The first listener of a lane also arms the lane's bell.
        if let Some(lane) = self.lanes.at(lane_index as usize)
            && !lane.queued
        {
            self.reschedule(lane_index, now);
        }
    }

    /// Returns the index of a lane, entering it on first use; `None` when this worker serves too many.
    fn lane_for(&mut self, guard: &LaneGuard, now: Instant) -> Option<u32> {
        let lane = guard.lane();
        if let Some(index) = self.lane_index.get(&lane.id) {
            return Some(*index);
        }
        if self.lanes.len() >= LANES_MAX as usize {
            return None;
        }
        let index = self
            .lanes
            .insert(Carousel::new(Arc::clone(lane), now))
            .index;
        self.lane_index.insert(lane.id, index);
        Some(index)
    }

    pub(super) fn close_if_empty(&mut self, index: u32) {
        let lane = self.lanes.at(index as usize);
        if lane.is_none_or(|lane| !lane.is_empty()) {
            return;
        }
        if let Some(lane) = self.lanes.take(index as usize) {
            lane.lane.bells[self.index].disarm();
            self.turn_cost = self.turn_cost.saturating_sub(lane.cost());
            self.demand = (self.demand - lane.demand).max(0.0);
            self.links.books.demands(self.demand);
            self.lane_index.remove(&lane.lane.id);
            if self.lane_index.is_empty() {
                // No listener is left, and no checkup will follow to reset this.
                self.links.books.degraded.set(0);
            }
            self.schedule
                .retain(|Reverse((_, queued))| *queued != index);
        }
    }

    /// Removes the listeners that a visit found gone. Indices are taken from the back, so that moving the last member
    /// into a gap moves none that has yet to be removed.
    pub(super) fn dismiss_leavers(&mut self, lane: u32, group: usize) {
        let mut leavers = std::mem::take(&mut self.leavers);
        leavers.sort_unstable_by_key(|(index, _)| Reverse(*index));
        leavers.dedup_by_key(|(index, _)| *index);
        for (index, reason) in leavers.drain(..) {
            self.dismiss(
                Position {
                    lane,
                    group: group as u32,
                    index: index as u32,
                },
                reason,
            );
        }
        self.leavers = leavers;
    }

    pub(super) fn dismiss(&mut self, position: Position, reason: Reason) {
        let Some(lane) = self.lanes.at_mut(position.lane as usize) else {
            return;
        };
        let members = &mut lane.groups[position.group as usize].members;
        let gone = members.swap_remove(position.index as usize);
        if let Some(moved) = members.get(position.index as usize)
            && let Some(place) = self.positions.get_mut(moved.slot)
        {
            *place = position;
        }
        if members.is_empty() {
            let cost = lane.retire(position.group as usize);
            self.turn_cost = self.turn_cost.saturating_sub(cost);
        }
        let back = match (&gone.talk, reason) {
            (Some(_), Reason::Ended) if gone.is_settled(lane.view.end()) => Some(Released::Ended),
            (Some(talk), Reason::Left) if talk.is_leaving && gone.is_between_units(&lane.view) => {
                Some(Released::Asked)
            }
            _ => None,
        };
        let reached = back.and_then(|_| lane.view.time_before(gone.offset));
        self.release(gone, reason, back, reached);
        self.close_if_empty(position.lane);
    }

    /// Closes a listener that has been taken out of its subgroup, or gives its socket `back`. A socket with a partial
    /// unit is not given back, because its next owner could not continue there: such a listener had requested its
    /// release, and was gone before the unit was complete.
    fn release(
        &mut self,
        mut gone: Listener,
        reason: Reason,
        back: Option<Released>,
        reached: Option<Timestamp>,
    ) {
        let socket = match back {
            Some(_) => self.outlet.backend.release(gone.slot),
            None => {
                self.outlet.part(&mut gone);
                self.outlet.backend.detach(gone.slot);
                None
            }
        };
        let position = self.positions.remove(gone.slot);
        debug_assert!(position.is_some());
        let protocol = gone.guard.lane().format.protocol;
        self.links.books.listeners[protocol].sub(1);
        self.depart(gone.id, reason, gone.sent_bytes, gone.skips);
        // Last, so that its next owner finds the listener gone from all books.
        if let (Some(talk), Some(why), Some(socket)) = (gone.talk, back, socket) {
            let records = gone.records;
            talk.release(Transport { socket, records }, why, reached);
        }
    }

    fn depart(&mut self, id: ListenerId, reason: Reason, sent_bytes: u64, skips: u32) {
        self.links.books.departures[reason].add(1);
        self.unsent_departures.push(Departure {
            id,
            reason,
            sent_bytes,
            skips,
        });
        self.report_departures();
    }

    /// Passes departures on without ever waiting. Departures that do not fit stay here, bounded by the number of
    /// listeners this worker had.
    pub(super) fn report_departures(&mut self) {
        while let Some(departure) = self.unsent_departures.pop() {
            if let Err(TrySendError::Full(departure)) = self.links.departures.try_send(departure) {
                self.unsent_departures.push(departure);
                return;
            }
        }
    }

    /// Removes the listeners with these ids, which ascend. Looks at each listener once.
    pub(super) fn kick(&mut self, ids: &[ListenerId]) {
        let is_named = |listener: &Listener| ids.binary_search(&listener.id).is_ok();
        self.dismiss_where(Reason::Kicked, is_named);
    }

    pub(super) fn dismiss_all(&mut self) {
        self.dismiss_where(Reason::Shutdown, |_| true);
    }

    fn dismiss_where(&mut self, reason: Reason, goes: impl Fn(&Listener) -> bool) {
        for slot in self.slots_where(goes) {
            if let Some(position) = self.positions.get(slot).copied() {
                self.dismiss(position, reason);
            }
        }
    }
}
