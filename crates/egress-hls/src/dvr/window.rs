//! Segments kept for one stream, with consecutive numbers, oldest first.
//!
//! The keeper notes each segment when it is complete, in the order of their numbers, and settles later whether it could
//! be written. Until then the lane has the bytes. A segment that turns out to be lost becomes a gap, which is the only
//! change to listed entries; players skip a gap, and would otherwise request the segment in vain.

use std::collections::{HashSet, VecDeque};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use base::Lock;
use bytes::Bytes;
use fanout::{LaneIndex, Preamble, Segment, Stream};
use media::Span;

use super::folder::Folder;
use super::kept::{Kept, Storage};
use super::past::Past;
use crate::digest::digest;
use crate::wall::Wall;

/// Most segments of one window: a day of three seconds each. Each takes half a kilobyte of memory and a line of the
/// playlist.
const SEGMENTS_MAX: usize = 28_800;

/// Most bytes of one window on disk: a day at 6 Mb/s.
const BYTES_MAX: u64 = 64 << 30;

/// Window of one stream. The keeper calls [`note`](Self::note), [`begin`](Self::begin) and [`settle`](Self::settle);
/// requests call [`past`](Self::past) and [`path`](Self::path).
#[derive(Debug)]
pub(crate) struct Window {
    pub(super) stream: Arc<Stream>,
    pub(super) folder: Folder,
    /// Listed length.
    length: Span,
    /// Time for which a segment can still be read after it was last listed.
    grace: Span,
    state: Lock<State>,
}

#[derive(Debug, Default)]
struct State {
    kept: VecDeque<Arc<Kept>>,
    wall: Wall,
    /// Number of segments that became gaps.
    revision: u64,
    /// Bytes on disk.
    bytes: u64,
    /// Number of the segment that is being written.
    in_flight: Option<u64>,
    /// Digests of the initialization segments on disk.
    inits: HashSet<Arc<str>>,
    /// Newest initialization segment with its digest, so that it is digested once.
    newest: Option<(Arc<Preamble>, Arc<str>)>,
    /// Placeholder for the initialization segment of entries that no longer need theirs.
    none: Arc<Preamble>,
    /// Files to remove; at most [`SEGMENTS_MAX`], the rest waits for the next start.
    removals: Vec<PathBuf>,
}

/// Changes other than those of the list.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Changes {
    /// Segments that were lost.
    pub(super) lost: u64,
    /// Bytes queued for removal.
    pub(super) freed: u64,
}

/// Next work on disk.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) number: u64,
    /// Range of the segment in the lane.
    pub(super) range: Range<u64>,
    pub(super) path: PathBuf,
    /// Initialization segment, unless it is on disk.
    pub(super) init: Option<(PathBuf, Bytes)>,
    /// Files to remove first.
    pub(super) removals: Vec<PathBuf>,
}

impl Window {
    /// Makes an empty window.
    pub(super) fn new(stream: Arc<Stream>, folder: Folder, length: Span, grace: Span) -> Self {
        Self {
            stream,
            folder,
            length,
            grace,
            state: Lock::default(),
        }
    }

    pub(super) fn is_of(&self, stream: &Arc<Stream>) -> bool {
        Arc::ptr_eq(&self.stream, stream)
    }

    /// Adds the lane's complete segments; the newest media arrived just `now`.
    pub(super) fn note(&self, index: &LaneIndex, now: SystemTime) -> Changes {
        let mut state = self.state.lock();
        let mut changes = Changes::default();
        let Some(first) = index.segments.first() else {
            return changes;
        };
        state.wall.observe(&index.segments, now);
        if state.next().is_some_and(|next| next < first.number) {
            // The lane has dropped segments that were never noted. The following ones begin a window of their own.
            changes.freed += self.clear(&mut state);
        }
        changes.lost += state.lose_before(first.number);
        for segment in &index.segments {
            let is_new = state.next().is_none_or(|next| segment.number >= next);
            if is_new && (segment.is_complete || index.is_ended) {
                state.push(segment, &index.segments);
            }
        }
        changes.freed += self.trim(&mut state);
        changes
    }

    /// Returns the job of writing the oldest pending segment, which counts as in flight until it is
    /// [settled](Self::settle).
    pub(super) fn begin(&self) -> Option<Job> {
        let mut state = self.state.lock();
        let is_pending = |kept: &&Arc<Kept>| kept.storage == Storage::Pending;
        let kept = Arc::clone(state.kept.iter().find(is_pending)?);
        state.in_flight = Some(kept.number());
        let init = match state.inits.contains(&kept.map) {
            true => None,
            false => Some((
                self.folder.init(&kept.map),
                kept.segment.preamble.bytes.clone(),
            )),
        };
        Some(Job {
            number: kept.number(),
            range: kept.segment.range.clone(),
            path: self.folder.segment(kept.number()),
            init,
            removals: std::mem::take(&mut state.removals),
        })
    }

    /// Records that a segment was written, with this many bytes, or is lost.
    pub(super) fn settle(&self, number: u64, written: Option<u64>) -> Changes {
        let mut state = self.state.lock();
        state.in_flight = None;
        let Some(at) = state.position(number) else {
            // The segment has left the window meanwhile.
            let file = self.folder.segment(number);
            written.is_some().then(|| state.remove(file));
            let freed = written.unwrap_or_default();
            return Changes { freed, lost: 0 };
        };
        let Some(bytes) = written else {
            state.lose(at);
            return Changes { freed: 0, lost: 1 };
        };
        let mut kept = state.kept[at].written(bytes);
        state.inits.insert(Arc::clone(&kept.map));
        state.forget_preamble(&mut kept);
        state.kept[at] = Arc::new(kept);
        state.bytes += bytes;
        let freed = self.trim(&mut state);
        Changes { freed, lost: 0 }
    }

    /// Returns the length in bytes of a segment that is to be written.
    pub(super) fn size(&self, number: u64) -> Option<u64> {
        let state = self.state.lock();
        let range = &state.kept[state.position(number)?].segment.range;
        Some(range.end - range.start)
    }

    /// Gives up the oldest segments to make room for `bytes` bytes. Returns how many bytes are queued for removal.
    pub(super) fn shrink(&self, bytes: u64) -> u64 {
        let mut state = self.state.lock();
        let mut freed = 0;
        while freed < bytes && state.kept.front().is_some_and(|kept| kept.bytes() > 0) {
            freed += self.pop(&mut state);
        }
        freed
    }

    /// Empties the window. Returns the files to remove, and their bytes.
    pub(super) fn wipe(&self) -> (Vec<PathBuf>, u64) {
        let mut state = self.state.lock();
        let freed = self.clear(&mut state);
        (std::mem::take(&mut state.removals), freed)
    }

    /// Returns the times of day of the segments listed beside a lane that has `index`; the newest media arrived just
    /// `now`.
    pub(crate) fn wall(&self, index: &LaneIndex, now: SystemTime) -> Wall {
        let mut state = self.state.lock();
        if !index.segments.is_empty() {
            state.wall.observe(&index.segments, now);
        }
        state.wall.clone()
    }

    /// Returns the list of the window beside a lane that has `index`.
    pub(crate) fn past(&self, index: &LaneIndex) -> Past {
        let state = self.state.lock();
        Past::of(&state.kept, state.revision, self.length, index)
    }

    /// Returns the file of a segment that was written, and whether every node has the same bytes.
    pub(super) fn path(&self, number: u64) -> Option<(PathBuf, bool)> {
        let state = self.state.lock();
        let kept = &state.kept[state.position(number)?];
        let path = (kept.bytes() > 0).then(|| self.folder.segment(number))?;
        Some((path, kept.segment.is_whole))
    }

    /// Returns the file of an initialization segment that was written.
    pub(super) fn init_path(&self, digest: &str) -> Option<PathBuf> {
        let is_there = self.state.lock().inits.contains(digest);
        is_there.then(|| self.folder.init(digest))
    }

    /// Drops segments beyond the limits of age, number and bytes. Returns the bytes queued for removal.
    fn trim(&self, state: &mut State) -> u64 {
        let mut freed = 0;
        while let (Some(oldest), Some(newest)) = (state.kept.front(), state.kept.back()) {
            let is_old = newest.end() - oldest.end() > self.length + self.grace;
            if !is_old && state.kept.len() <= SEGMENTS_MAX && state.bytes <= BYTES_MAX {
                break;
            }
            freed += self.pop(state);
        }
        freed
    }

    fn clear(&self, state: &mut State) -> u64 {
        let mut freed = 0;
        while !state.kept.is_empty() {
            freed += self.pop(state);
        }
        freed
    }

    /// Drops the oldest segment, and its initialization segment if no other segment uses it.
    fn pop(&self, state: &mut State) -> u64 {
        let Some(oldest) = state.kept.pop_front() else {
            return 0;
        };
        if oldest.bytes() > 0 {
            state.remove(self.folder.segment(oldest.number()));
            state.bytes -= oldest.bytes();
        }
        let is_needed = |kept: &Arc<Kept>| kept.map == oldest.map;
        if !state.kept.iter().any(is_needed) && state.inits.remove(&oldest.map) {
            state.remove(self.folder.init(&oldest.map));
        }
        oldest.bytes()
    }
}

impl State {
    /// Returns the number that is noted next; `None` if any number may be.
    fn next(&self) -> Option<u64> {
        self.kept.back().map(|newest| newest.number() + 1)
    }

    fn position(&self, number: u64) -> Option<usize> {
        let first = self.kept.front()?.number();
        let at = usize::try_from(number.checked_sub(first)?).ok()?;
        (at < self.kept.len()).then_some(at)
    }

    /// Adds a segment of the lane; `all` are the lane's segments.
    fn push(&mut self, segment: &Segment, all: &[Arc<Segment>]) {
        let preamble = &segment.preamble;
        let map = match &self.newest {
            Some((known, map)) if Arc::ptr_eq(known, preamble) => Arc::clone(map),
            _ => digest(&preamble.bytes).into(),
        };
        self.newest = Some((Arc::clone(preamble), Arc::clone(&map)));
        let mut kept = Kept::new(segment, map, &self.wall, all);
        if kept.storage != Storage::Pending {
            self.forget_preamble(&mut kept);
        }
        self.kept.push_back(Arc::new(kept));
    }

    /// Turns segments into gaps that were not written in time: the lane has none before `first`. Returns how many.
    fn lose_before(&mut self, first: u64) -> u64 {
        let mut lost = 0;
        for at in 0..self.kept.len() {
            let kept = &self.kept[at];
            if kept.number() >= first {
                break;
            }
            if kept.storage == Storage::Pending && self.in_flight != Some(kept.number()) {
                self.lose(at);
                lost += 1;
            }
        }
        lost
    }

    fn lose(&mut self, at: usize) {
        let mut kept = self.kept[at].missing();
        self.forget_preamble(&mut kept);
        self.kept[at] = Arc::new(kept);
        self.revision += 1;
    }

    /// Drops the initialization segment from an entry that has it on disk, or does not need it.
    fn forget_preamble(&self, kept: &mut Kept) {
        let segment = Segment {
            preamble: Arc::clone(&self.none),
            ..Segment::clone(&kept.segment)
        };
        kept.segment = Arc::new(segment);
    }

    fn remove(&mut self, file: PathBuf) {
        if self.removals.len() < SEGMENTS_MAX {
            self.removals.push(file);
        }
    }
}
