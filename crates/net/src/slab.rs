//! Table whose values keep their place until they are removed.
//!
//! ```text
//!  places   0: a   1: —   2: c   3: —     free: 1, 3     the next value goes to 3
//! ```
//!
//! A freed place is used again, the most recently freed first, so a table has as many places as it ever had
//! values at once. Each place counts how often it was freed: a [`Slot`] is index and count, so one that
//! outlives its value finds nothing, not the value that has its place now. An index alone finds any value
//! there.
//!
//! Invariants: a place is either in the free list, once, or has a value; places are never removed. Every
//! operation on one value is O(1) without a hash lookup; iteration is in the order of places and O(places).
//! It has one owner, and its owner bounds how many values it holds.
//!
//! Callers: `fanout` (a worker's listeners and lanes), the intake (publishers), `webrtc` (sessions),
//! `egress-webrtc` (lanes), `load` (clients).

/// Name of one value of a [`Slab`], such as a socket of a back-end: its place, and the number of times that
/// the place had been freed before, so that an event of a closed socket is recognised as stale.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Slot {
    /// Index of the place. Small: other tables are indexed by it.
    pub index: u32,
    /// Number of times the place had been freed before, modulo 2³².
    pub reuse: u32,
}

/// Table of values by [`Slot`] or index.
#[derive(Debug)]
pub struct Slab<T> {
    places: Vec<Place<T>>,
    /// Free places, the most recently freed last.
    free: Vec<u32>,
}

#[derive(Debug)]
struct Place<T> {
    reuse: u32,
    value: Option<T>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Slab<T> {
    /// Creates a table without places.
    pub const fn new() -> Self {
        Self {
            places: Vec::new(),
            free: Vec::new(),
        }
    }

    /// Returns the number of values in the table.
    pub fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of places, free ones included: every index is below this.
    pub fn places(&self) -> usize {
        self.places.len()
    }

    /// Returns the slot that the next value gets.
    ///
    /// # Panics
    /// There are 2³² values, which is beyond every caller's bound.
    pub fn vacant(&self) -> Slot {
        match self.free.last() {
            Some(index) => Slot {
                index: *index,
                reuse: self.places[*index as usize].reuse,
            },
            None => Slot {
                index: u32::try_from(self.places.len()).expect("values are far fewer than 2^32"),
                reuse: 0,
            },
        }
    }

    /// Adds a value.
    ///
    /// # Panics
    /// See [`vacant`](Self::vacant).
    pub fn insert(&mut self, value: T) -> Slot {
        let slot = self.vacant();
        self.fill(slot, value);
        slot
    }

    /// Adds a value that knows its slot.
    ///
    /// # Panics
    /// See [`vacant`](Self::vacant).
    pub fn insert_with(&mut self, make: impl FnOnce(Slot) -> T) -> &mut T {
        let slot = self.vacant();
        self.fill(slot, make(slot))
    }

    /// Gives the vacant slot its value.
    fn fill(&mut self, slot: Slot, value: T) -> &mut T {
        if self.free.pop().is_none() {
            self.places.push(Place {
                reuse: slot.reuse,
                value: None,
            });
        }
        self.places[slot.index as usize].value.insert(value)
    }

    /// Returns the value of a slot, unless it was removed.
    pub fn get(&self, slot: Slot) -> Option<&T> {
        let place = self.places.get(slot.index as usize)?;
        let value = place.value.as_ref()?;
        (place.reuse == slot.reuse).then_some(value)
    }

    /// Returns the value of a slot, unless it was removed.
    pub fn get_mut(&mut self, slot: Slot) -> Option<&mut T> {
        let place = self.places.get_mut(slot.index as usize)?;
        let value = place.value.as_mut()?;
        (place.reuse == slot.reuse).then_some(value)
    }

    /// Removes the value of a slot, unless it was removed before.
    pub fn remove(&mut self, slot: Slot) -> Option<T> {
        self.get(slot)?;
        self.take(slot.index as usize)
    }

    /// Returns the value at a place.
    pub fn at(&self, index: usize) -> Option<&T> {
        self.places.get(index)?.value.as_ref()
    }

    /// Returns the value at a place.
    pub fn at_mut(&mut self, index: usize) -> Option<&mut T> {
        self.places.get_mut(index)?.value.as_mut()
    }

    /// Returns the slot of the value at a place.
    pub fn slot_at(&self, index: usize) -> Option<Slot> {
        let place = self.places.get(index)?;
        place.value.as_ref()?;
        Some(Slot {
            index: index as u32,
            reuse: place.reuse,
        })
    }

    /// Removes the value at a place.
    pub fn take(&mut self, index: usize) -> Option<T> {
        let place = self.places.get_mut(index)?;
        let value = place.value.take()?;
        place.reuse = place.reuse.wrapping_add(1);
        self.free.push(index as u32);
        Some(value)
    }

    /// Iterates over the values and their slots, in the order of places.
    pub fn iter(&self) -> impl Iterator<Item = (Slot, &T)> {
        self.places.iter().zip(0..).filter_map(|(place, index)| {
            let reuse = place.reuse;
            Some((Slot { index, reuse }, place.value.as_ref()?))
        })
    }

    /// Iterates over the values, in the order of places.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.places
            .iter_mut()
            .filter_map(|place| place.value.as_mut())
    }

    /// Iterates over the values, in the order of places.
    pub fn into_values(self) -> impl Iterator<Item = T> {
        self.places.into_iter().filter_map(|place| place.value)
    }
}

/// Puts a value at the index of `slot` in a table beside a slab, which grows as needed.
pub(crate) fn put<T>(table: &mut Vec<Option<T>>, slot: Slot, value: T) {
    let index = slot.index as usize;
    if table.len() <= index {
        table.resize_with(index + 1, || None);
    }
    table[index] = Some(value);
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use base::Jitter;

    fn slot(index: u32, reuse: u32) -> Slot {
        Slot { index, reuse }
    }

    #[test]
    fn the_place_freed_last_is_used_first() {
        let mut slab = Slab::new();
        let slots: Vec<_> = ["a", "b", "c"].map(|value| slab.insert(value)).into();
        assert_eq!(slots, [slot(0, 0), slot(1, 0), slot(2, 0)]);
        assert_eq!(slab.remove(slots[0]), Some("a"));
        assert_eq!(slab.take(2), Some("c"));
        assert_eq!((slab.len(), slab.places()), (1, 3));

        assert_eq!(slab.vacant(), slot(2, 1));
        assert_eq!(slab.insert("d"), slot(2, 1));
        assert_eq!(slab.insert("e"), slot(0, 1));
        assert_eq!(slab.insert("f"), slot(3, 0));
        let values: Vec<_> = slab.into_values().collect();
        assert_eq!(values, ["e", "b", "d", "f"]);
    }

    #[test]
    fn a_slot_that_outlives_its_value_finds_nothing() {
        let mut slab = Slab::new();
        let before = slab.insert(1);
        slab.remove(before);
        assert_eq!(slab.slot_at(0), None);
        let after = slab.insert(2);
        assert_eq!(before.index, after.index);
        assert_eq!(slab.get(before), None);
        assert_eq!(slab.get_mut(before), None);
        assert_eq!(slab.remove(before), None);
        assert_eq!(slab.get(after), Some(&2));
        assert_eq!((slab.at(0), slab.slot_at(0)), (Some(&2), Some(after)));
        assert_eq!(slab.at(1), None);
        assert_eq!(slab.at_mut(1), None);
        assert_eq!(slab.take(1), None);
    }

    #[test]
    fn a_value_may_know_its_slot() {
        let mut slab = Slab::new();
        slab.insert(slot(9, 9));
        slab.take(0);
        assert_eq!(*slab.insert_with(|slot| slot), slot(0, 1));
        assert_eq!(*slab.insert_with(|slot| slot), slot(1, 0));
        assert!(slab.iter().all(|(slot, value)| slot == *value));
    }

    /// Random insertions and removals against a map.
    #[test]
    fn it_holds_what_was_inserted_and_not_removed() {
        let jitter = Jitter::new(7);
        let mut slab = Slab::new();
        let mut model = BTreeMap::new();
        let mut gone = Vec::new();
        for number in 0..5_000 {
            let draw = jitter.random() as usize;
            let chosen = draw % model.len().max(1);
            let chosen = model.keys().nth(chosen).copied();
            match chosen {
                Some(index) if draw % 5 > 2 => {
                    let (slot, value) = model.remove(&index).expect("a key of the model");
                    assert_eq!(slab.remove(slot), Some(value));
                    gone.push(slot);
                }
                _ => {
                    let slot = slab.insert(number);
                    assert_eq!(model.insert(slot.index, (slot, number)), None);
                }
            }
            assert_eq!(slab.len(), model.len());
        }
        let held: Vec<_> = slab.iter().map(|(slot, value)| (slot, *value)).collect();
        let expected: Vec<_> = model.into_values().collect();
        assert_eq!(held, expected);
        assert!(gone.iter().all(|slot| slab.get(*slot).is_none()));
        assert_eq!(slab.values_mut().count(), expected.len());
    }
}
