//! Titles of a lane: the one in force at the beginning of a segment, and those that have come since.

use std::sync::Arc;

use media::{Timestamp, Title};

/// Upper bound on titles that wait for their segment; the oldest are dropped first. A source has one every few minutes.
const TITLES_WAITING_MAX: usize = 8;

/// A change of the title, and its time.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TitleChange {
    /// The new title; empty if nothing is known to be playing.
    pub title: Arc<Title>,
    /// End of the media before it, on the stream's timeline.
    pub at: Timestamp,
    /// Number of its epoch.
    pub epoch: u32,
}

/// A lane's titles.
#[derive(Debug, Default)]
pub(super) struct Titles {
    /// Title in force at the beginning of the newest segment.
    now: Option<Arc<TitleChange>>,
    /// Titles since then, oldest first.
    pub(super) waiting: Vec<Arc<TitleChange>>,
}

impl Titles {
    pub(super) fn note(&mut self, change: Arc<TitleChange>) {
        if self.waiting.len() >= TITLES_WAITING_MAX {
            self.waiting.remove(0);
        }
        self.waiting.push(change);
    }

    /// Begins a segment at `at`. Returns the title in force there, and those to list with the segment.
    pub(super) fn begin(
        &mut self,
        at: Timestamp,
    ) -> (Option<Arc<TitleChange>>, Vec<Arc<TitleChange>>) {
        let due: Vec<_> = self
            .waiting
            .extract_if(.., |change| change.at <= at)
            .collect();
        if let Some(newest) = due.last() {
            self.now = Some(Arc::clone(newest));
        }
        (self.now.clone(), due)
    }
}
