//! Record of the taken places in a ring's table of descriptors.

/// Allocator of places, the most recently vacated first.
#[derive(Debug)]
pub(super) struct Table {
    len: u32,
    /// First place that has never been taken.
    fresh: u32,
    vacant: Vec<u32>,
}

impl Table {
    pub(super) fn new(len: u32) -> Self {
        Self {
            len,
            fresh: 0,
            vacant: Vec::new(),
        }
    }

    pub(super) fn take(&mut self) -> Option<u32> {
        if let Some(place) = self.vacant.pop() {
            return Some(place);
        }
        let place = self.fresh;
        (place < self.len).then(|| {
            self.fresh += 1;
            place
        })
    }

    /// Takes back a place that [`take`](Self::take) has returned, once it is empty.
    pub(super) fn vacate(&mut self, place: u32) {
        debug_assert!(place < self.fresh);
        self.vacant.push(place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_given_once_until_it_is_vacated() {
        let mut table = Table::new(2);
        assert_eq!(
            [table.take(), table.take(), table.take()],
            [Some(0), Some(1), None]
        );
        table.vacate(0);
        assert_eq!([table.take(), table.take()], [Some(0), None]);
    }
}
