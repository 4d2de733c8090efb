//! Fragments of a recording as samples, from any keyframe: read one after another, also while the file grows.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use container::mp4_file::Point;
use container::mp4_file::index::Unpacker;
use media::{Item, Track};
use recordings::{Recording, State};

use super::Past;
use super::absent::Absent;
use super::reader::Next;
use crate::patches::Patches;
use crate::ranges::Ranges;
use crate::reads::malformed;

/// Fragments whose positions are looked up at once: a minute.
const PLAN_MAX: usize = 60;

/// Longest fragment in bytes: ten seconds at 25 Mb/s. A fragment is in memory while it is sent.
const FRAGMENT_BYTES_MAX: u64 = 32 << 20;

/// Error for a malformed fragment.
#[derive(Debug, thiserror::Error)]
#[error("a fragment is malformed, or too long")]
struct Malformed;

/// Reader of a recording's fragments; call [`seek`](Self::seek), then [`next`](Self::next).
#[derive(Debug)]
pub(super) struct Fragments {
    file: Arc<File>,
    unpacker: Unpacker,
    /// Number of the first fragment after the plan, and the ranges of the planned ones.
    next: usize,
    plan: VecDeque<Range<u64>>,
}

impl Fragments {
    /// Opens a recording at its beginning; also returns its duration so far.
    pub(super) async fn open(
        past: &Past,
        recording: Arc<Recording>,
        file: Arc<File>,
    ) -> io::Result<(Self, Duration)> {
        let (_, timeline) = past.timeline(recording).await?;
        let init = timeline.init().ok_or(io::ErrorKind::NotFound)?;
        let length = timeline
            .points()
            .last()
            .map_or(Duration::ZERO, Point::until);
        let fragments = Self {
            file,
            unpacker: Unpacker::new(init),
            next: 0,
            plan: VecDeque::new(),
        };
        Ok((fragments, length))
    }

    pub(super) fn tracks(&self) -> impl Iterator<Item = &Arc<Track>> {
        self.unpacker.tracks()
    }

    pub(super) fn dimensions(&self) -> Option<(u16, u16)> {
        self.unpacker.dimensions()
    }

    /// Returns whether it has tracks whose samples cannot be extracted.
    pub(super) fn is_partial(&self) -> bool {
        self.unpacker.leaves_out()
    }

    /// Continues from the last keyframe at or before a time.
    pub(super) async fn seek(
        &mut self,
        (past, recording): (&Past, Arc<Recording>),
        to: Duration,
    ) -> io::Result<()> {
        let (_, timeline) = past.timeline(recording).await?;
        self.next = timeline.at(to);
        self.plan.clear();
        Ok(())
    }

    /// Returns the samples of the next fragment. `recording` returns the recording in its current state.
    pub(super) async fn next(
        &mut self,
        past: &Past,
        recording: impl Fn() -> Result<Arc<Recording>, Absent>,
    ) -> io::Result<Next> {
        if self.plan.is_empty() {
            let (recording, timeline) = past.timeline(recording()?).await?;
            let rest = timeline.points().get(self.next..).unwrap_or_default();
            let places = rest.iter().take(PLAN_MAX).map(Point::range);
            self.plan.extend(places);
            self.next += self.plan.len();
            if self.plan.is_empty() {
                return Ok(match recording.state {
                    State::Open => Next::Later,
                    State::Closed | State::Finalised => Next::End,
                });
            }
        }
        let Some(range) = self.plan.pop_front() else {
            return Ok(Next::End);
        };
        let unit = self.read(past, range).await?;
        let samples = self.unpacker.samples(&unit);
        let samples = samples.ok_or_else(|| malformed(Malformed))?;
        Ok(Next::Items(samples.into_iter().map(Item::Sample).collect()))
    }

    async fn read(&self, past: &Past, range: Range<u64>) -> io::Result<Bytes> {
        let length = range.end - range.start;
        if length > FRAGMENT_BYTES_MAX {
            return Err(malformed(Malformed));
        }
        let mut left = Ranges::from(range);
        let mut unit = BytesMut::with_capacity(length as usize);
        while !left.is_empty() {
            let (reads, file) = (Arc::clone(&past.reads), Arc::clone(&self.file));
            let (read, rest) = reads.window(file, left, Patches::default()).await?;
            unit.extend_from_slice(&read.bytes);
            left = rest;
        }
        Ok(unit.freeze())
    }
}
