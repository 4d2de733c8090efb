//! The document of the public streams, rendered of late.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use config::BaseUrl;

use super::assets::tag;

/// How old a document may be.
const FRESH_FOR: Duration = Duration::from_secs(1);

/// Addresses for which the document is kept: one public name, and a few that tests and monitors use.
const KEPT_MAX: usize = 4;

/// See the module's description.
#[derive(Debug, Default)]
pub(super) struct Rendered(Mutex<Vec<Document>>);

#[derive(Clone, Debug)]
pub(super) struct Document {
    base: BaseUrl,
    made: Instant,
    pub(super) text: Bytes,
    pub(super) tag: String,
}

impl Rendered {
    /// The document for `base`, from `make` unless there is a fresh one; `None` if that makes none.
    pub(super) fn of(
        &self,
        base: &BaseUrl,
        now: Instant,
        make: impl FnOnce() -> Option<String>,
    ) -> Option<Document> {
        // Nothing is left half done under this lock.
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|one| now.saturating_duration_since(one.made) < FRESH_FOR);
        if let Some(known) = kept.iter().find(|one| one.base == *base) {
            return Some(known.clone());
        }
        let text = Bytes::from(make()?);
        let document = Document {
            base: base.clone(),
            made: now,
            tag: tag(&text),
            text,
        };
        kept.truncate(KEPT_MAX - 1);
        kept.insert(0, document.clone());
        Some(document)
    }
}
