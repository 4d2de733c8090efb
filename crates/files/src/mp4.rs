//! MP4 files: samples found by the index.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use container::flv::TAG_BODY_BYTES_MAX;
use container::mp4_file::index::{Cursor, Index, Placed};
use media::{Item, Sample, Span, Timestamp};

use crate::whole::Whole;
use crate::{Error, Ranges};

/// Bytes of samples that are planned together, unless a few large ones exceed it, and the most samples.
const PLAN_BYTES: u64 = 1 << 20;
const PLAN_SAMPLES: usize = 1_024;

/// Largest sample in bytes, as FLV limits it.
const SAMPLE_BYTES_MAX: u64 = TAG_BODY_BYTES_MAX as u64;

/// Reader of a file's samples, in the order in which they are decoded.
#[derive(Debug)]
pub(crate) struct Mp4 {
    pub(crate) index: Arc<Index>,
    /// Duration, which passes over all samples.
    pub(crate) length: Span,
    cursor: Cursor,
    /// Samples to be read, and the ranges of them not read yet.
    plan: VecDeque<Placed>,
    left: Ranges,
    /// Beginning of a sample that ends in the next piece.
    cut: Whole,
}

impl Mp4 {
    /// Makes a reader from the beginning. It passes over all samples.
    pub(crate) fn new(index: Arc<Index>) -> Result<Self, Error> {
        let mut new = Self {
            length: index.length(),
            cursor: index.seek(Timestamp::ZERO),
            index,
            plan: VecDeque::new(),
            left: Ranges::default(),
            cut: Whole::default(),
        };
        new.plan()?;
        Ok(new)
    }

    /// Continues from the last keyframe at or before a time. It passes over all samples before it.
    pub(crate) fn seek(&mut self, to: Timestamp) -> Result<(), Error> {
        self.cursor = self.index.seek(to);
        self.plan.clear();
        self.cut = Whole::default();
        self.plan()
    }

    pub(crate) fn wants(&self) -> &Ranges {
        &self.left
    }

    pub(crate) fn take(&mut self, mut bytes: Bytes, out: &mut Vec<Item>) -> Result<(), Error> {
        self.left.skip(bytes.len() as u64);
        while let Some(Placed { range, .. }) = self.plan.front()
            && let Some(data) = self.cut.take(range.end - range.start, &mut bytes)
            && let Some(placed) = self.plan.pop_front()
        {
            out.push(Item::Sample(Sample {
                pts: placed.pts,
                keyframe: placed.keyframe,
                ..Sample::frame(placed.track, placed.dts, placed.duration, data)
            }));
        }
        match self.plan.is_empty() {
            true => self.plan(),
            false => Ok(()),
        }
    }

    /// Chooses the next samples; none at the end. Samples without a byte are passed over.
    fn plan(&mut self) -> Result<(), Error> {
        let (mut bytes, mut ranges) = (0, Vec::<Range<u64>>::new());
        let mut seen = 0;
        while bytes < PLAN_BYTES && seen < PLAN_SAMPLES {
            let Some(placed) = self.index.next(&mut self.cursor) else {
                break;
            };
            seen += 1;
            let length = placed.range.end - placed.range.start;
            match length {
                0 => continue,
                1..=SAMPLE_BYTES_MAX => bytes += length,
                _ => return Err(Error::Sample),
            }
            match ranges.last_mut() {
                Some(last) if last.end == placed.range.start => last.end = placed.range.end,
                _ => ranges.push(placed.range.clone()),
            }
            self.plan.push_back(placed);
        }
        if self.plan.is_empty() && seen == PLAN_SAMPLES {
            return Err(Error::Sample);
        }
        self.left = ranges.into();
        Ok(())
    }
}
