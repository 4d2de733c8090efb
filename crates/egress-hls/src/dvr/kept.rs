//! A segment of a window, as the playlist lists it: its lines are written once.

use std::fmt::Write;
use std::sync::Arc;

use fanout::Segment;
use media::Timestamp;

use crate::playlist;
use crate::wall::iso8601;

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
    /// Without its parts.
    pub(crate) segment: Arc<Segment>,
    /// The digest of its initialization segment.
    pub(crate) map: Arc<str>,
    /// The lines of the playlist that are about it alone, without the end of the last, which is its address.
    pub(crate) lines: String,
    pub(super) storage: Storage,
    /// When it began, in milliseconds since 1970.
    began: Option<i64>,
}

impl Kept {
    /// A segment that has come, and is to be written unless it is a gap.
    pub(super) fn new(segment: &Segment, map: Arc<str>, began: Option<i64>) -> Self {
        let segment = Segment {
            parts: Vec::new(),
            is_complete: true,
            ..segment.clone()
        };
        let storage = match segment.is_gap {
            true => Storage::Missing,
            false => Storage::Pending,
        };
        let lines = lines(&segment, began);
        Self {
            segment: Arc::new(segment),
            map,
            lines,
            storage,
            began,
        }
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
        Self {
            lines: lines(&segment, self.began),
            segment: Arc::new(segment),
            storage: Storage::Missing,
            ..self.clone()
        }
    }
}

fn lines(segment: &Segment, began: Option<i64>) -> String {
    let mut lines = String::new();
    let time = match began {
        Some(millis) => writeln!(lines, "#EXT-X-PROGRAM-DATE-TIME:{}", iso8601(millis)),
        None => Ok(()),
    };
    time.and_then(|()| playlist::whole(&mut lines, segment))
        .expect("a String takes all text");
    lines
}
