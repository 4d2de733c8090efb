//! A segment of a window, as the playlist lists it: its lines are written once.

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

/// Whether a segment is on disk.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Storage {
    /// It is to be written. The lane has it, or had it.
    Pending,
    /// So many bytes.
    Written(u64),
    /// It is a gap: there was no media, or it could not be written.
    Missing,
}

/// See the module's description.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    /// Without its parts and events, and with a title only if no title is listed with it.
    pub(crate) segment: Arc<Segment>,
    /// The digest of its initialization segment.
    pub(crate) map: Arc<str>,
    /// The lines of the playlist that are about it alone, without the end of the last, which is its address.
    pub(crate) lines: String,
    /// The times of day of its epoch.
    pub(crate) wall: Option<EpochWall>,
    /// Where in them its date ranges are.
    ranges: Range<usize>,
    pub(super) storage: Storage,
}

impl Kept {
    /// A segment that has come, and is to be written unless it is a gap. The lane has `all`.
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

    /// Its date ranges, which delta updates that leave it out have all the same.
    pub(crate) fn date_ranges(&self) -> &str {
        &self.lines[self.ranges.clone()]
    }

    pub(super) fn number(&self) -> u64 {
        self.segment.number
    }

    pub(super) fn end(&self) -> Timestamp {
        self.segment.end()
    }

    /// Bytes on disk.
    pub(super) fn bytes(&self) -> u64 {
        match self.storage {
            Storage::Written(bytes) => bytes,
            Storage::Pending | Storage::Missing => 0,
        }
    }

    /// The same, once it is on disk.
    pub(super) fn written(&self, bytes: u64) -> Self {
        Self {
            storage: Storage::Written(bytes),
            ..self.clone()
        }
    }

    /// The same as a gap.
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
