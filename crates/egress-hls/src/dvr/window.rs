//! What is kept of one stream: segments with consecutive numbers, oldest first.
//!
//! The keeper notes each segment when it is complete, in the order of their numbers, and settles later whether it
//! could be written. Until then the lane has it. A segment that turns out to be lost becomes a gap, the only change
//! of what was listed: players pass over it, and would otherwise ask for it in vain.

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

/// Segments of one window: a day of three seconds each. Each takes half a kilobyte of memory, and a line of the
/// playlist.
const SEGMENTS_MAX: usize = 28_800;

/// Bytes of one window on disk: a day of 6 Mb/s.
const BYTES_MAX: u64 = 64 << 30;

/// See the module's description.
#[derive(Debug)]
pub(crate) struct Window {
    stream: Arc<Stream>,
    folder: Folder,
    /// How much is listed.
    length: Span,
    /// For how long a segment can be read after it was listed last.
    grace: Span,
    state: Lock<State>,
}

#[derive(Debug, Default)]
struct State {
    kept: VecDeque<Arc<Kept>>,
    wall: Wall,
    /// Counts the segments that became gaps.
    revision: u64,
    /// Bytes on disk.
    bytes: u64,
    /// The segment that is being written.
    in_flight: Option<u64>,
    /// Initialization segments on disk.
    inits: HashSet<Arc<str>>,
    /// The newest one's, so that it is digested once.
    newest: Option<(Arc<Preamble>, Arc<str>)>,
    /// Stands for those of segments that no longer need theirs.
    none: Arc<Preamble>,
    /// Files to be removed; at most [`SEGMENTS_MAX`], the rest waits for the next start.
    removals: Vec<PathBuf>,
}

/// What has changed beside the list.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Changes {
    /// Segments that were lost.
    pub(super) lost: u64,
    /// Bytes that are to be removed.
    pub(super) freed: u64,
}

/// What is to be done on disk next.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) number: u64,
    /// Where the lane has the segment.
    pub(super) range: Range<u64>,
    pub(super) path: PathBuf,
    /// The initialization segment, unless it is there.
    pub(super) init: Option<(PathBuf, Bytes)>,
    /// To be removed before.
    pub(super) removals: Vec<PathBuf>,
}

impl Window {
    /// Empty.
    pub(super) fn new(stream: Arc<Stream>, folder: Folder, length: Span, grace: Span) -> Self {
        Self {
            stream,
            folder,
            length,
            grace,
            state: Lock::default(),
        }
    }

    pub(super) fn stream(&self) -> &Arc<Stream> {
        &self.stream
    }

    pub(super) fn folder(&self) -> &Folder {
        &self.folder
    }

    pub(super) fn is_of(&self, stream: &Arc<Stream>) -> bool {
        Arc::ptr_eq(&self.stream, stream)
    }

    /// Takes the lane's complete segments, of which the newest media came just `now`.
    pub(super) fn note(&self, index: &LaneIndex, now: SystemTime) -> Changes {
        let mut state = self.state.lock();
        let mut changes = Changes::default();
        let Some(first) = index.segments.first() else {
            return changes;
        };
        state.wall.observe(&index.segments, now);
        if state.next().is_some_and(|next| next < first.number) {
            // The lane has dropped what was never noted. What follows is a window of its own.
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

    /// The oldest segment that is to be written. It is being written until it is [settled](Self::settle).
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

    /// A segment was written, as so many bytes, or is lost.
    pub(super) fn settle(&self, number: u64, written: Option<u64>) -> Changes {
        let mut state = self.state.lock();
        state.in_flight = None;
        let Some(at) = state.position(number) else {
            // It has left the window meanwhile.
            let file = self.folder.segment(number);
            written.is_some().then(|| state.remove(file));
            return Changes {
                freed: written.unwrap_or_default(),
                ..Changes::default()
            };
        };
        let Some(bytes) = written else {
            state.lose(at);
            return Changes {
                lost: 1,
                ..Changes::default()
            };
        };
        let mut kept = state.kept[at].written(bytes);
        state.inits.insert(Arc::clone(&kept.map));
        state.forget_preamble(&mut kept);
        state.kept[at] = Arc::new(kept);
        state.bytes += bytes;
        let freed = self.trim(&mut state);
        Changes { freed, lost: 0 }
    }

    /// Bytes of a segment that is to be written.
    pub(super) fn size(&self, number: u64) -> Option<u64> {
        let state = self.state.lock();
        let range = &state.kept[state.position(number)?].segment.range;
        Some(range.end - range.start)
    }

    /// Gives up the oldest segments to make room for so many bytes. Returns how many are to be removed.
    pub(super) fn shrink(&self, bytes: u64) -> u64 {
        let mut state = self.state.lock();
        let mut freed = 0;
        while freed < bytes && state.kept.front().is_some_and(|kept| kept.bytes() > 0) {
            freed += self.pop(&mut state);
        }
        freed
    }

    /// Empties it: what is to be removed, and its bytes.
    pub(super) fn wipe(&self) -> (Vec<PathBuf>, u64) {
        let mut state = self.state.lock();
        let freed = self.clear(&mut state);
        (std::mem::take(&mut state.removals), freed)
    }

    /// The times of day of what is listed beside a lane that has `index`, of which the newest media came just `now`.
    pub(crate) fn wall(&self, index: &LaneIndex, now: SystemTime) -> Wall {
        let mut state = self.state.lock();
        if !index.segments.is_empty() {
            state.wall.observe(&index.segments, now);
        }
        state.wall.clone()
    }

    /// What is listed beside a lane that has `index`.
    pub(crate) fn past(&self, index: &LaneIndex) -> Past {
        let state = self.state.lock();
        Past::of(&state.kept, state.revision, self.length, index)
    }

    /// The file of a segment that was written, and whether any node has the same.
    pub(super) fn path(&self, number: u64) -> Option<(PathBuf, bool)> {
        let state = self.state.lock();
        let kept = &state.kept[state.position(number)?];
        let path = (kept.bytes() > 0).then(|| self.folder.segment(number))?;
        Some((path, kept.segment.is_whole))
    }

    /// The file of an initialization segment that was written.
    pub(super) fn init_path(&self, digest: &str) -> Option<PathBuf> {
        let is_there = self.state.lock().inits.contains(digest);
        is_there.then(|| self.folder.init(digest))
    }

    /// Drops what is too old or too much. Returns the bytes that are to be removed.
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

    /// Drops the oldest segment, and the initialization segment that was its alone.
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
    /// The number that is noted next; `None` if it may be any.
    fn next(&self) -> Option<u64> {
        self.kept.back().map(|newest| newest.number() + 1)
    }

    fn position(&self, number: u64) -> Option<usize> {
        let first = self.kept.front()?.number();
        let at = usize::try_from(number.checked_sub(first)?).ok()?;
        (at < self.kept.len()).then_some(at)
    }

    /// Adds a segment of the lane, which has `all`.
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

    /// Tells those that were not written in time, of which the lane has none before `first`.
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

    /// It is on disk, or not needed.
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
