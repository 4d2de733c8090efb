//! Parameter sets of H.264 and HEVC that a publisher has sent.

/// Upper bound on the sets that are kept, of all kinds together; encoders use one of each kind. Beyond this the oldest
/// is dropped.
const SETS_MAX: usize = 32;

/// Upper bound on the bytes of a set that is kept. Those with every scaling list and timing of layers stay below.
const SET_BYTES_MAX: usize = 4_096;

/// Sets by kind and number.
#[derive(Debug, Default)]
pub(super) struct ParameterSets {
    sets: Vec<Set>,
    has_changed: bool,
}

#[derive(Debug)]
struct Set {
    kind: u8,
    id: u32,
    unit: Vec<u8>,
}

impl ParameterSets {
    /// Keeps a set in place of the one with its number.
    pub(super) fn put(&mut self, kind: u8, id: u32, unit: &[u8]) {
        if unit.len() > SET_BYTES_MAX {
            return;
        }
        let known = self
            .sets
            .iter_mut()
            .find(|set| (set.kind, set.id) == (kind, id));
        match known {
            Some(known) if known.unit == unit => return,
            Some(known) => known.unit = unit.to_vec(),
            None => {
                if self.sets.len() == SETS_MAX {
                    self.sets.remove(0);
                }
                self.sets.push(Set {
                    kind,
                    id,
                    unit: unit.to_vec(),
                });
            }
        }
        self.has_changed = true;
    }

    /// Returns the sets of a kind.
    pub(super) fn of(&self, kind: u8) -> Vec<&[u8]> {
        let sets = self.sets.iter().filter(|set| set.kind == kind);
        sets.map(|set| &set.unit[..]).collect()
    }

    /// Returns whether a set has changed since the last call.
    pub(super) fn take_changed(&mut self) -> bool {
        std::mem::take(&mut self.has_changed)
    }
}
