//! Where a recorder reads.

use fanout::{ArchiveReader, Archived};

use crate::fragments::{Fragments, Waits};

/// What a stream is to its recorder.
#[derive(Debug)]
pub(crate) enum Reader {
    /// Its samples, made to fragments here.
    Items(Box<Fragments>),
    /// A lane that listeners may have as well.
    Lane(ArchiveReader),
}

impl Reader {
    /// What comes next; `None` at the end.
    ///
    /// # Errors
    /// When it would wait.
    pub(crate) fn at_hand(&mut self) -> Result<Option<Archived>, Waits> {
        match self {
            Self::Items(fragments) => fragments.at_hand(),
            Self::Lane(reader) => reader.at_hand().map_err(|_| Waits),
        }
    }
}
