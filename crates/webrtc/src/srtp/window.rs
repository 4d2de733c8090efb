//! Replay window: the recently received indices of a source.

/// Highest index received, and a bit for each of the `64 * WORDS` indices up to it.
///
/// Bits are stored at `index % (64 * WORDS)`, so advancing clears the bits left behind and shifts nothing.
#[derive(Clone, Debug)]
pub(super) struct Window<const WORDS: usize> {
    highest: u64,
    seen: [u64; WORDS],
}

impl<const WORDS: usize> Window<WORDS> {
    const SIZE: u64 = 64 * WORDS as u64;

    /// Creates a window that has received `index` and nothing else.
    pub(super) fn starting_at(index: u64) -> Self {
        let mut window = Self {
            highest: index,
            seen: [0; WORDS],
        };
        window.set(index);
        window
    }

    pub(super) fn highest(&self) -> u64 {
        self.highest
    }

    /// Whether `index` was not received yet and is not older than the window.
    pub(super) fn is_new(&self, index: u64) -> bool {
        if index > self.highest {
            return true;
        }
        if self.highest - index >= Self::SIZE {
            return false;
        }
        let (word, bit) = Self::place(index);
        self.seen[word] & bit == 0
    }

    /// Records that `index` was received. It must be new.
    pub(super) fn accept(&mut self, index: u64) {
        if index > self.highest {
            if index - self.highest >= Self::SIZE {
                self.seen = [0; WORDS];
            } else {
                for skipped in self.highest + 1..index {
                    let (word, bit) = Self::place(skipped);
                    self.seen[word] &= !bit;
                }
            }
            self.highest = index;
        }
        self.set(index);
    }

    fn set(&mut self, index: u64) {
        let (word, bit) = Self::place(index);
        self.seen[word] |= bit;
    }

    fn place(index: u64) -> (usize, u64) {
        let place = index % Self::SIZE;
        ((place / 64) as usize, 1 << (place % 64))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn nothing_passes_twice_and_what_is_new_passes(
            steps in prop::collection::vec((any::<bool>(), 0u64..300), 1..400),
        ) {
            let mut highest = 1_000u64;
            let mut window = Window::<2>::starting_at(highest);
            let mut seen = HashSet::from([highest]);
            for (forward, step) in steps {
                let index = if forward { highest + step } else { highest.saturating_sub(step) };
                let expected = !seen.contains(&index) && highest < index + 128;
                prop_assert_eq!(window.is_new(index), expected);
                if expected {
                    window.accept(index);
                    seen.insert(index);
                    highest = highest.max(index);
                }
                prop_assert_eq!(window.highest(), highest);
            }
        }
    }
}
