//! Index of a recording's fragments by time, while its file grows and after it was finalised.
//!
//! A file's fragments stay where they are for as long as the file exists, so each fragment has a fixed number, and so
//! has each segment made of them. [`Timeline::segments`] depends on the fragments alone: segments reported for a
//! growing file are also segments of the finished one.

use std::ops::Range;
use std::time::Duration;

use super::patch::segment;
use super::walk::Head;
use super::{Found, Fragment, Init, Scan};

/// Upper bound on the fragments of a file: two days of one-second fragments. Each takes 48 bytes of memory.
const POINTS_MAX: usize = 200_000;

/// Target duration of a segment, which ends before the first keyframe after it.
const SEGMENT: Duration = Duration::from_secs(6);

/// Timeline of one recording. The caller reads the bytes that it [`wants`](Self::wants) and passes them to
/// [`take`](Self::take), until there are none.
#[derive(Debug, Default)]
pub struct Timeline {
    scan: Scan,
    init: Option<Init>,
    segment: Vec<u8>,
    points: Vec<Point>,
}

/// Fragment in a timeline.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Point {
    /// Byte range in the file, including anything before the next fragment.
    begin: u64,
    end: u64,
    /// Nanoseconds from the file's beginning.
    at: u64,
    until: u64,
    /// Beginning of the first sample of any track, in nanoseconds.
    first: u64,
    is_sync: bool,
}

impl Point {
    /// Returns the beginning, from the file's beginning.
    pub fn at(&self) -> Duration {
        Duration::from_nanos(self.at)
    }

    /// Returns the end of the fragment's media.
    pub fn until(&self) -> Duration {
        Duration::from_nanos(self.until)
    }

    /// Returns the beginning of the first sample of any track.
    pub fn first(&self) -> Duration {
        Duration::from_nanos(self.first)
    }

    /// Returns the byte range in the file.
    pub fn range(&self) -> Range<u64> {
        self.begin..self.end
    }

    /// Returns whether a player can start at this fragment.
    pub fn is_sync(&self) -> bool {
        self.is_sync
    }
}

impl Timeline {
    /// Longest segment, unless one fragment is longer. This limits how far a playlist may fall behind if keyframes are
    /// rare.
    pub const SEGMENT_MAX: Duration = Duration::from_secs(12);

    /// Creates the timeline of a file whose first `bytes` bytes are whole.
    pub fn new(bytes: u64) -> Self {
        Self {
            scan: Scan::through(bytes),
            ..Self::default()
        }
    }

    /// Extends the whole part of the file to `bytes` bytes.
    pub fn grow(&mut self, bytes: u64) {
        self.scan.grow(bytes);
    }

    /// Returns the range of the file to read next, a MiB at most; `None` once everything is known.
    pub fn wants(&self) -> Option<Range<u64>> {
        let wanted = self.scan.wants();
        wanted.filter(|_| self.points.len() < POINTS_MAX)
    }

    /// Takes the wanted bytes.
    pub fn take(&mut self, bytes: &[u8]) {
        match self.scan.take(bytes) {
            Some(Found::Init(init)) => {
                let moov = Head::read_sized(bytes, u64::MAX)
                    .and_then(|head| bytes.get(..head.bytes as usize));
                self.segment = segment(&init, moov.unwrap_or_default());
                self.init = Some(init);
            }
            Some(Found::Fragment(fragment)) => {
                let point = self.init.as_ref().and_then(|init| point(init, &fragment));
                self.points.extend(point);
            }
            None => {}
        }
    }

    /// Returns the tracks; `None` if the file has no fragments, or none that are known yet.
    pub fn init(&self) -> Option<&Init> {
        self.init.as_ref()
    }

    /// Returns the initialization segment; empty without tracks.
    pub fn init_segment(&self) -> &[u8] {
        &self.segment
    }

    /// Returns the fragments in file order.
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// Returns the number of the fragment at which a player starts in order to play from `time`, counted from the
    /// file's beginning: the last one with a keyframe before `time`, or the very first.
    pub fn at(&self, time: Duration) -> usize {
        let before = self.points.partition_point(|point| point.at() <= time);
        let sync = self.points[..before]
            .iter()
            .rposition(|point| point.is_sync);
        sync.unwrap_or(0)
    }

    /// Returns the segments as ranges of fragments, from fragment `from`. The last segment is listed only when the file
    /// `is_whole`, or once the segment can no longer grow.
    pub fn segments(&self, from: usize, is_whole: bool) -> Vec<Range<usize>> {
        let mut segments = Vec::new();
        let mut begin = from;
        for (number, point) in self.points.iter().enumerate().skip(from) {
            let lasts = |until: Duration| until.saturating_sub(self.points[begin].at());
            let is_full = point.is_sync && lasts(point.at()) >= SEGMENT;
            let is_too_long = lasts(point.until()) > Self::SEGMENT_MAX;
            if number > begin && (is_full || is_too_long) {
                segments.push(begin..number);
                begin = number;
            }
        }
        if is_whole && begin < self.points.len() {
            segments.push(begin..self.points.len());
        }
        segments
    }

    /// Returns the byte range of consecutive fragments; `None` if there are none with these numbers.
    pub fn range(&self, fragments: &Range<usize>) -> Option<Range<u64>> {
        let all = self.points.get(fragments.clone())?;
        Some(all.first()?.begin..all.last()?.end)
    }

    /// Returns the total duration of consecutive fragments.
    pub fn lasts(&self, fragments: &Range<usize>) -> Duration {
        let all = self.points.get(fragments.clone()).unwrap_or_default();
        let (first, last) = (all.first(), all.last());
        let ends = last.map_or(Duration::ZERO, Point::until);
        ends.saturating_sub(first.map_or(Duration::ZERO, Point::at))
    }

    /// Returns the approximate memory in bytes.
    pub fn memory(&self) -> usize {
        self.segment.len() + self.points.capacity() * size_of::<Point>()
    }
}

/// Creates the point of a fragment from the times of its video, or of its audio if it has none.
fn point(init: &Init, fragment: &Fragment) -> Option<Point> {
    let is_video = |run: &&super::Run| init.track(run.track).is_some_and(|track| track.is_video);
    let picture = fragment.runs.iter().find(is_video);
    let lead = picture.or_else(|| fragment.runs.first())?;
    let time = |track: u32, units: u64| {
        let timescale = u128::from(init.track(track)?.timescale);
        let nanos = u128::from(units) * 1_000_000_000 / timescale;
        Some(u64::try_from(nanos).unwrap_or(u64::MAX))
    };
    let begins = |run: &super::Run| time(run.track, run.at);
    let end = fragment.runs_of(lead.track).map(super::Run::end).max()?;
    let has_begun = picture.is_some() || !init.has_video();
    Some(Point {
        begin: fragment.range.start,
        end: fragment.range.end,
        at: begins(lead)?,
        until: time(lead.track, end)?,
        first: fragment.runs.iter().filter_map(begins).min()?,
        is_sync: has_begun && lead.rows.first().is_some_and(|row| row.is_sync),
    })
}
