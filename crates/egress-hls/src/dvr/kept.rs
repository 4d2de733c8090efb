//! Segment of a window, with its lines of the playlist rendered once.

use std::fmt::Write;
use std::ops::Range;
use std::sync::Arc;

use fanout::Segment;
use media::Timestamp;

use super::PACKAGING;
use crate::date_range;
use crate::playlist;
use crate::wall::{EpochWall, Wall, iso8601};

const INFALLIBLE: &str = "a String takes all text";

/// State of a segment on disk.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Storage {
    /// Queued for writing; its bytes are still in the lane, or were.
    Pending,
    /// Written, with this many bytes.
    Written(u64),
    /// Gap: there was no media, or it could not be written.
    Missing,
}

/// Segment of a window, with its playlist lines.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    /// Segment without its parts and events, and with a title only if no title is listed with it.
    pub(crate) segment: Arc<Segment>,
    /// Digest of its initialization segment.
    pub(crate) map: Arc<str>,
    /// Playlist lines about this segment alone, without the line end of the last, which is its address.
    pub(crate) lines: String,
    /// Times of day of its epoch.
    pub(crate) wall: Option<EpochWall>,
    /// Byte range of its date ranges within `lines`.
    ranges: Range<usize>,
    pub(super) storage: Storage,
}

impl Kept {
    /// Makes the entry of a segment that has arrived; it is to be written unless it is a gap. `all` are the lane's
    /// segments.
    pub(super) fn new(segment: &Segment, map: Arc<str>, wall: &Wall, all: &[Arc<Segment>]) -> Self {
        let mut lines = String::new();
        if let Some(millis) = wall.began(segment) {
            writeln!(lines, "#EXT-X-PROGRAM-DATE-TIME:{}", iso8601(millis)).expect(INFALLIBLE);
        }
        let begin = lines.len();
        date_range::write_all(&mut lines, &segment.events, |at| wall.moment(all, at))
            .expect(INFALLIBLE);
        date_range::write_titles(&mut lines, &segment.titles, |change| wall.title(change))
            .expect(INFALLIBLE);
        let ranges = begin..lines.len();
        let epoch = segment.epoch;
        let segment = Segment {
            parts: Vec::new(),
            events: Vec::new(),
            title: segment.title.clone().filter(|_| segment.titles.is_empty()),
            titles: Vec::new(),
            is_complete: true,
            ..segment.clone()
        };
        let storage = match segment.is_gap {
            true => Storage::Missing,
            false => Storage::Pending,
        };
        playlist::whole(&mut lines, &segment, PACKAGING).expect(INFALLIBLE);
        Self {
            segment: Arc::new(segment),
            map,
            lines,
            wall: wall.epoch(epoch),
            ranges,
            storage,
        }
    }

    /// Returns its date ranges, which a delta update includes even if it omits the segment.
    pub(crate) fn date_ranges(&self) -> &str {
        &self.lines[self.ranges.clone()]
    }

    pub(super) fn number(&self) -> u64 {
        self.segment.number
    }

    pub(super) fn end(&self) -> Timestamp {
        self.segment.end()
    }

    /// Returns the number of bytes on disk.
    pub(super) fn bytes(&self) -> u64 {
        match self.storage {
            Storage::Written(bytes) => bytes,
            Storage::Pending | Storage::Missing => 0,
        }
    }

    /// Returns a copy that is marked as written.
    pub(super) fn written(&self, bytes: u64) -> Self {
        Self {
            storage: Storage::Written(bytes),
            ..self.clone()
        }
    }

    /// Returns a copy that is a gap.
    pub(super) fn missing(&self) -> Self {
        let segment = Segment {
            is_gap: true,
            ..Segment::clone(&self.segment)
        };
        let mut lines = self.lines[..self.ranges.end].to_owned();
        playlist::whole(&mut lines, &segment, PACKAGING).expect(INFALLIBLE);
        Self {
            lines,
            segment: Arc::new(segment),
            storage: Storage::Missing,
            ..self.clone()
        }
    }
}
