//! The fragments of a recording by their times, while its file grows and after it was finalised.
//!
//! A file's fragments stay where they are for as long as it exists, so each has one number, and so has each segment that
//! is made of some of them. [`Timeline::segments`] depends on the fragments alone: what it said of a file that grew it
//! says of the whole one as well.

use std::ops::Range;
use std::time::Duration;

use super::patch::segment;
use super::walk::Head;
use super::{Found, Fragment, Init, Scan};

/// Fragments of a file: two days of fragments of a second. Each takes 48 bytes of memory.
const POINTS_MAX: usize = 200_000;

/// A segment ends before the first keyframe behind this.
const SEGMENT: Duration = Duration::from_secs(6);

/// See the module's description. The caller reads the bytes that it [`wants`](Self::wants), until there are none.
#[derive(Debug, Default)]
pub struct Timeline {
    scan: Scan,
    init: Option<Init>,
    segment: Vec<u8>,
    points: Vec<Point>,
}

/// One fragment.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Point {
    /// Where it is in the file, with what precedes the next one.
    begin: u64,
    end: u64,
    /// Nanoseconds from the file's beginning on.
    at: u64,
    until: u64,
    /// Of its first sample of any track.
    first: u64,
    is_sync: bool,
}

impl Point {
    /// When it begins, from the file's beginning on.
    pub fn at(&self) -> Duration {
        Duration::from_nanos(self.at)
    }

    /// When its media ends.
    pub fn until(&self) -> Duration {
        Duration::from_nanos(self.until)
    }

    /// When its first sample of any track begins.
    pub fn first(&self) -> Duration {
        Duration::from_nanos(self.first)
    }

    /// Where it is in the file.
    pub fn range(&self) -> Range<u64> {
        self.begin..self.end
    }

    /// Whether a player can start at it.
    pub fn is_sync(&self) -> bool {
        self.is_sync
    }
}

impl Timeline {
    /// The longest segment, unless one fragment is longer: how far a playlist may fall behind if keyframes are rare.
    pub const SEGMENT_MAX: Duration = Duration::from_secs(12);

    /// Of a file of which so many bytes are whole.
    pub fn new(bytes: u64) -> Self {
        Self {
            scan: Scan::through(bytes),
            ..Self::default()
        }
    }

    /// More of the file is whole: so many bytes in all.
    pub fn grow(&mut self, bytes: u64) {
        self.scan.grow(bytes);
    }

    /// The bytes of the file that it needs next, a MiB at most; `None` if it knows all of it.
    pub fn wants(&self) -> Option<Range<u64>> {
        let wanted = self.scan.wants();
        wanted.filter(|_| self.points.len() < POINTS_MAX)
    }

    /// Takes the bytes that it wants.
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

    /// What its tracks are; `None` if it has no fragments, or does not know them yet.
    pub fn init(&self) -> Option<&Init> {
        self.init.as_ref()
    }

    /// The initialization segment; empty without tracks.
    pub fn init_segment(&self) -> &[u8] {
        &self.segment
    }

    /// Its fragments, in their order.
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// The fragment that a player starts at which is to play what is at this time, from the file's beginning on: the last
    /// keyframe before it, or the first at all.
    pub fn at(&self, time: Duration) -> usize {
        let before = self.points.partition_point(|point| point.at() <= time);
        let sync = self.points[..before]
            .iter()
            .rposition(|point| point.is_sync);
        sync.unwrap_or(0)
    }

    /// Segments as fragments, from one of them on. The last is listed when the file `is_whole`, or once it will not grow
    /// any more.
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

    /// Where fragments that follow one another are in the file; `None` if there are none of these numbers.
    pub fn range(&self, fragments: &Range<usize>) -> Option<Range<u64>> {
        let all = self.points.get(fragments.clone())?;
        Some(all.first()?.begin..all.last()?.end)
    }

    /// How long fragments that follow one another last.
    pub fn lasts(&self, fragments: &Range<usize>) -> Duration {
        let all = self.points.get(fragments.clone()).unwrap_or_default();
        let (first, last) = (all.first(), all.last());
        let ends = last.map_or(Duration::ZERO, Point::until);
        ends.saturating_sub(first.map_or(Duration::ZERO, Point::at))
    }

    /// Memory that it takes, about.
    pub fn memory(&self) -> usize {
        self.segment.len() + self.points.capacity() * size_of::<Point>()
    }
}

/// A fragment by the times of its pictures, or of its sound where it has none.
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
