//! MP4 files: samples found by the index, read in windows.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use container::flv::TAG_BODY_BYTES_MAX;
use container::mp4_file::index::{Cursor, Index, Placed, Purpose};
use media::{Item, Sample, Timestamp};

use super::metadata;
use crate::Served;
use crate::folder::Opened;
use crate::patches::Patches;
use crate::ranges::Ranges;
use crate::reads::{Read, Reads, malformed};

/// Bytes of samples that are read together, unless a few large ones exceed it, and the most samples.
const PLAN_BYTES: u64 = 1 << 20;
const PLAN_SAMPLES: usize = 1_024;

/// Reader of an MP4 file; call [`seek`](Self::seek), then [`next`](Self::next) until it returns nothing.
#[derive(Debug)]
pub(super) struct Mp4 {
    file: Arc<File>,
    reads: Arc<Reads>,
    index: Arc<Index>,
    opening: Vec<Item>,
    cursor: Cursor,
    /// Samples being read, and the ranges of them not read yet.
    plan: VecDeque<Placed>,
    left: Ranges,
    /// Last window; its memory is counted until the next one.
    window: Read,
    /// Beginning of a sample that ends in the next window.
    cut: BytesMut,
}

impl Mp4 {
    /// Opens a file at its beginning; also returns its duration.
    pub(super) async fn open(served: &Served, opened: &Opened) -> io::Result<(Self, Duration)> {
        let wanted = (opened.tag.as_str(), Purpose::Samples);
        let file = (&opened.file, opened.length);
        let index = served.indexes.of(wanted, file, &served.reads).await?;
        let index = index.map_err(malformed)?;
        if index.tracks().next().is_none() {
            let why = "it has no track that can be played over RTMP";
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        let whole = Arc::clone(&index);
        let look = move || Ok((whole.length(), whole.seek(Timestamp::ZERO)));
        let (length, cursor) = served.reads.blocking(look).await?;
        let length = Duration::from_secs_f64(length.seconds().max(0.0));
        let reported = metadata::item(index.tracks(), index.dimensions(), Some(length));
        let tracks = index.tracks().map(|track| Item::Track(Arc::clone(track)));
        let mp4 = Self {
            file: Arc::clone(&opened.file),
            reads: Arc::clone(&served.reads),
            opening: std::iter::once(reported).chain(tracks).collect(),
            cursor,
            index,
            plan: VecDeque::new(),
            left: Ranges::default(),
            window: Read::default(),
            cut: BytesMut::new(),
        };
        Ok((mp4, length))
    }

    pub(super) fn opening(&self) -> &[Item] {
        &self.opening
    }

    pub(super) async fn seek(&mut self, at: Timestamp) -> io::Result<()> {
        let index = Arc::clone(&self.index);
        // The search passes over all samples.
        let look = move || Ok(index.seek(at));
        self.cursor = self.reads.blocking(look).await?;
        self.plan.clear();
        self.left = Ranges::default();
        self.window = Read::default();
        self.cut = BytesMut::new();
        Ok(())
    }

    pub(super) async fn next(&mut self) -> io::Result<Vec<Item>> {
        let mut items = Vec::new();
        while items.is_empty() {
            if self.plan.is_empty() && !self.make_plan()? {
                return Ok(items);
            }
            if self.window.bytes.is_empty() {
                let left = std::mem::take(&mut self.left);
                let (reads, file) = (Arc::clone(&self.reads), Arc::clone(&self.file));
                (self.window, self.left) = reads.window(file, left, Patches::default()).await?;
            }
            while let Some(data) = self.take() {
                let Some(placed) = self.plan.pop_front() else {
                    break;
                };
                items.push(Item::Sample(Sample {
                    track: placed.track,
                    dts: placed.dts,
                    pts: placed.pts,
                    duration: placed.duration,
                    keyframe: placed.keyframe,
                    data,
                    flv: None,
                }));
            }
        }
        Ok(items)
    }

    /// Chooses the next samples to read; `false` at the end.
    fn make_plan(&mut self) -> io::Result<bool> {
        let (mut bytes, mut ranges) = (0, Vec::<Range<u64>>::new());
        while bytes < PLAN_BYTES && self.plan.len() < PLAN_SAMPLES {
            let Some(placed) = self.index.next(&mut self.cursor) else {
                break;
            };
            let length = placed.range.end - placed.range.start;
            if length > TAG_BODY_BYTES_MAX as u64 {
                let why = "a sample is too long";
                return Err(io::Error::new(io::ErrorKind::InvalidData, why));
            }
            bytes += length;
            match ranges.last_mut() {
                Some(last) if last.end == placed.range.start => last.end = placed.range.end,
                _ => ranges.push(placed.range.clone()),
            }
            self.plan.push_back(placed);
        }
        self.left = ranges.into();
        Ok(!self.plan.is_empty())
    }

    /// Takes the bytes of the first sample of the plan; `None` if they have not been read.
    fn take(&mut self) -> Option<Bytes> {
        let Range { start, end } = self.plan.front()?.range;
        let wanted = (end - start) as usize;
        let window = &mut self.window.bytes;
        if self.cut.is_empty() && window.len() >= wanted {
            return Some(window.split_to(wanted));
        }
        let more = window.split_to(window.len().min(wanted - self.cut.len()));
        self.cut.extend_from_slice(&more);
        (self.cut.len() == wanted).then(|| self.cut.split().freeze())
    }
}
