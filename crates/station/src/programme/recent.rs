//! When files were played last.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::playlist::ENTRIES_MAX;

/// See the module's description. What was longer ago than `kept` is forgotten, and of more files than a playlist can
/// have the oldest.
#[derive(Debug)]
pub(super) struct Recent {
    kept: Duration,
    begun: HashMap<PathBuf, Instant>,
}

impl Recent {
    pub(super) fn new(kept: Duration) -> Self {
        let begun = HashMap::new();
        Self { kept, begun }
    }

    pub(super) fn note(&mut self, path: &Path, now: Instant) {
        let kept = self.kept;
        self.begun
            .retain(|_, at| now.saturating_duration_since(*at) < kept);
        if kept.is_zero() {
            return;
        }
        if self.begun.len() >= ENTRIES_MAX
            && let Some(oldest) = self.begun.iter().min_by_key(|(_, at)| **at)
        {
            let oldest = oldest.0.clone();
            self.begun.remove(&oldest);
        }
        self.begun.insert(path.to_owned(), now);
    }

    /// How long ago a file was begun; `None` if it is not known.
    pub(super) fn age(&self, path: &Path, now: Instant) -> Option<Duration> {
        let at = self.begun.get(path)?;
        Some(now.saturating_duration_since(*at))
    }
}
