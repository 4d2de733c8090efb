//! Source of a recorder's data.

use fanout::{ArchiveReader, Archived};

use crate::archive::fragments::{Fragments, Waits};

/// Source of a recorder's data.
#[derive(Debug)]
pub(crate) enum Reader {
    /// The stream's samples, turned into fragments here.
    Items(Box<Fragments>),
    /// A lane that listeners may share.
    Lane(ArchiveReader),
}

impl Reader {
    /// Returns the next item; `None` at the end.
    ///
    /// # Errors
    /// Fails when it would wait.
    pub(crate) fn at_hand(&mut self) -> Result<Option<Archived>, Waits> {
        match self {
            Self::Items(fragments) => fragments.at_hand(),
            Self::Lane(reader) => reader.at_hand().map_err(|_| Waits),
        }
    }
}
