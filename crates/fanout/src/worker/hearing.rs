//! Handling of socket events: room for more, received bytes, the end.

use std::time::Instant;

use net::{Event, Received, Slot};

use super::listener::Listener;
use super::position::Position;
use super::{Worker, enqueue};
use crate::cursor::Reason;

/// Upper bound on the bytes that a listener may have sent since its input was last read. Players send some tens of
/// bytes at a time; one that sends this much while a worker is busy is misbehaving.
const HEARD_BYTES_MAX: usize = 16 * 1024;

/// Bytes received at once from a listener.
const HEAR_BYTES: usize = 2 * 1024;

impl Worker {
    pub(super) fn on_event(&mut self, event: Event, now: Instant) {
        let (Event::Closed(slot) | Event::Readable(slot) | Event::Writable(slot)) = event;
        let Some(position) = self.positions.get(slot).copied() else {
            return;
        };
        match event {
            Event::Closed(_) => self.dismiss(position, Reason::Left),
            Event::Readable(_) => self.hear(position, slot, now),
            Event::Writable(_) => {
                if let Some(listener) = self.listener_mut(position)
                    && listener.blocked
                {
                    listener.blocked = false;
                    self.flush(position, now);
                }
            }
        }
    }

    /// Passes received bytes to a listener's conversation, and sends the replies as soon as they may go.
    fn hear(&mut self, position: Position, slot: Slot, now: Instant) {
        let mut buffer = [0; HEAR_BYTES];
        let mut left = HEARD_BYTES_MAX;
        loop {
            if !self
                .listener_mut(position)
                .is_some_and(|listener| listener.listens())
            {
                break;
            }
            let continues = match self.outlet.backend.receive(slot, &mut buffer) {
                Received::Nothing => break,
                Received::Bytes(count) if count <= left => {
                    left -= count;
                    let listener = self.listener_mut(position);
                    listener.is_some_and(|listener| listener.hear(&buffer[..count], now))
                }
                Received::Bytes(_) | Received::Closed => false,
            };
            if !continues {
                self.dismiss(position, Reason::Left);
                return;
            }
        }
        self.say(position, now);
    }

    /// Sends waiting replies, unless the socket is full; then they follow once it has room.
    fn say(&mut self, position: Position, now: Instant) {
        let waits = |listener: &mut Listener| listener.has_something() && !listener.blocked;
        if self.listener_mut(position).is_some_and(waits) {
            self.flush(position, now);
        }
    }

    pub(super) fn announce_leave(&mut self, now: Instant) {
        self.is_leaving = true;
        for slot in self.slots_where(|listener| listener.talk.is_some()) {
            let Some(position) = self.positions.get(slot).copied() else {
                continue;
            };
            if let Some(talk) = self.listener_mut(position).and_then(|l| l.talk.as_mut()) {
                talk.announce_leave();
            }
            self.say(position, now);
        }
    }

    /// Brings one listener up to date outside its subgroup's visit.
    pub(super) fn flush(&mut self, position: Position, now: Instant) {
        let Some(lane) = self.lanes.at_mut(position.lane as usize) else {
            return;
        };
        let (group, index) = (position.group as usize, position.index as usize);
        let (outlet, books) = (&mut self.outlet, &self.links.books);
        lane.flush(group, index, outlet, books, now, &mut self.leavers);
        let unfinished = lane.groups[group].unfinished;
        self.dismiss_leavers(position.lane, group);
        if unfinished && let Some(lane) = self.lanes.at_mut(position.lane as usize) {
            enqueue(&mut self.schedule, lane, position.lane);
        }
    }
}
