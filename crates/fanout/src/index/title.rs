//! The titles of a lane: which one is in force where a segment begins, and which ones have come since.

use std::sync::Arc;

use media::{Timestamp, Title};

/// Upper bound on titles that wait for their segment; the oldest go first. A source has one in some minutes.
const TITLES_WAITING_MAX: usize = 8;

/// A title, or that there is none any more, and from when on.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TitleChange {
    /// An empty one if nothing is known to be playing.
    pub title: Arc<Title>,
    /// The end of the media before it, on the stream's timeline.
    pub at: Timestamp,
    /// The epoch it is of.
    pub epoch: u32,
}

/// What a lane knows of titles.
#[derive(Debug, Default)]
pub(super) struct Titles {
    /// The one in force where the newest segment begins.
    now: Option<Arc<TitleChange>>,
    /// Those since then, oldest first.
    pub(super) waiting: Vec<Arc<TitleChange>>,
}

impl Titles {
    pub(super) fn note(&mut self, change: Arc<TitleChange>) {
        if self.waiting.len() >= TITLES_WAITING_MAX {
            self.waiting.remove(0);
        }
        self.waiting.push(change);
    }

    /// A segment begins at `at`. Returns the title in force there, and those to list with the segment.
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
