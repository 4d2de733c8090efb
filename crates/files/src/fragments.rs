//! Fragments of a recording, whose ranges the caller knows: also of one that is still growing.

use std::collections::VecDeque;
use std::ops::Range;

use bytes::Bytes;
use container::mp4_file::index::Unpacker;
use media::Item;

use crate::whole::Whole;
use crate::{Error, FRAGMENT_BYTES_MAX};

/// Reader of planned fragments.
#[derive(Debug)]
pub(crate) struct Fragments {
    pub(crate) unpacker: Unpacker,
    plan: VecDeque<Range<u64>>,
    cut: Whole,
}

impl Fragments {
    pub(crate) fn new(unpacker: Unpacker) -> Self {
        Self {
            unpacker,
            plan: VecDeque::new(),
            cut: Whole::default(),
        }
    }

    /// Appends fragments to be read.
    pub(crate) fn plan(&mut self, ranges: impl Iterator<Item = Range<u64>>) {
        self.plan.extend(ranges);
    }

    pub(crate) fn clear(&mut self) {
        self.plan.clear();
        self.cut = Whole::default();
    }

    /// Returns what is left of the first fragment; `None` if none is planned.
    pub(crate) fn wants(&self) -> Option<Range<u64>> {
        let range = self.plan.front()?;
        Some(range.start + self.cut.held()..range.end)
    }

    pub(crate) fn take(&mut self, mut bytes: Bytes, out: &mut Vec<Item>) -> Result<(), Error> {
        while let Some(Range { start, end }) = self.plan.front() {
            let length = end.saturating_sub(*start);
            if length > FRAGMENT_BYTES_MAX {
                return Err(Error::Fragment);
            }
            let Some(unit) = self.cut.take(length, &mut bytes) else {
                break;
            };
            self.plan.pop_front();
            let samples = self.unpacker.samples(&unit).ok_or(Error::Fragment)?;
            out.extend(samples.into_iter().map(Item::Sample));
        }
        Ok(())
    }
}
