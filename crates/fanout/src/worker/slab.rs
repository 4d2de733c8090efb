//! Slots of a worker's sockets: where in the carousel each listener sits.

use net::Slot;

/// Where a listener is: lane, subgroup, position.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Position {
    pub(super) lane: u32,
    pub(super) group: u32,
    pub(super) index: u32,
}

/// Slots by index. A freed index is used again under a new reuse count, so that events of the
/// socket before are recognised.
#[derive(Debug, Default)]
pub(super) struct Slab {
    slots: Vec<(u32, Option<Position>)>,
    free: Vec<u32>,
}

impl Slab {
    pub(super) fn insert(&mut self, position: Position) -> Slot {
        if let Some(index) = self.free.pop() {
            let (reuse, place) = &mut self.slots[index as usize];
            *place = Some(position);
            return Slot {
                index,
                reuse: *reuse,
            };
        }
        let index = u32::try_from(self.slots.len()).expect("sockets are far fewer than 2^32");
        self.slots.push((0, Some(position)));
        Slot { index, reuse: 0 }
    }

    pub(super) fn position(&self, slot: Slot) -> Option<Position> {
        match self.slots.get(slot.index as usize)? {
            (reuse, position) if *reuse == slot.reuse => *position,
            _ => None,
        }
    }

    pub(super) fn move_to(&mut self, slot: Slot, position: Position) {
        debug_assert!(self.position(slot).is_some());
        self.slots[slot.index as usize].1 = Some(position);
    }

    pub(super) fn remove(&mut self, slot: Slot) {
        debug_assert!(self.position(slot).is_some());
        let (reuse, position) = &mut self.slots[slot.index as usize];
        *reuse = reuse.wrapping_add(1);
        *position = None;
        self.free.push(slot.index);
    }
}
