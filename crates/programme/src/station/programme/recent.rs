//! Times at which files were last played.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use base::Bounded;

use crate::station::playlist::ENTRIES_MAX;

/// Record of the files played within the time `kept`. If there are more files than a playlist can have, the oldest are
/// forgotten.
#[derive(Debug)]
pub(super) struct Recent {
    kept: Duration,
    begun: Bounded<PathBuf, Instant>,
}

impl Recent {
    pub(super) fn new(kept: Duration) -> Self {
        let begun = Bounded::new(ENTRIES_MAX);
        Self { kept, begun }
    }

    pub(super) fn note(&mut self, path: &Path, now: Instant) {
        let kept = self.kept;
        self.begun
            .drop_while(|at| now.saturating_duration_since(*at) >= kept);
        if !kept.is_zero() {
            self.begun.insert(path.to_owned(), now);
        }
    }

    /// Returns the time since a file began; `None` if the file is not known.
    pub(super) fn age(&self, path: &Path, now: Instant) -> Option<Duration> {
        let at = self.begun.get(path)?;
        Some(now.saturating_duration_since(*at))
    }
}
