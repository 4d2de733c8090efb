//! Catalogue of all recordings, in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use media::StreamName;

use crate::{Recording, RecordingId};

/// Most recordings in the catalogue: a hundred streams with a file an hour for a hundred days. Each takes some 500 bytes, all
/// of them some 128 MB.
pub const RECORDINGS_MAX: usize = 1 << 18;

/// Most recordings in one list.
pub const LIST_MAX: usize = 1_000;

/// Reason why a recording is not in the catalogue.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum NotShelved {
    /// There is no room.
    #[error("the catalogue has {RECORDINGS_MAX} recordings and takes no more")]
    Full,
    /// Another recording has the identifier.
    #[error("another recording has the same identifier")]
    Taken,
}

/// Catalogue of all recordings. The recorder and the uploader write; any number of threads read, and hold the lock only for a
/// look-up or one page of a list. Readers receive snapshots.
#[derive(Debug, Default)]
pub struct Shelf {
    /// Recordings; consistent between any two statements that use the lock.
    all: RwLock<All>,
}

#[derive(Debug, Default)]
struct All {
    /// Recordings in order of their start.
    by_id: BTreeMap<RecordingId, Arc<Recording>>,
    by_stream: BTreeMap<StreamName, BTreeSet<RecordingId>>,
}

impl Shelf {
    /// Adds a recording.
    ///
    /// # Errors
    /// Fails when there is no room for it, or one has its identifier.
    pub fn insert(&self, recording: Recording) -> Result<(), NotShelved> {
        let mut all = self.write();
        if all.by_id.contains_key(&recording.id) {
            return Err(NotShelved::Taken);
        }
        if all.by_id.len() >= RECORDINGS_MAX {
            return Err(NotShelved::Full);
        }
        let of_stream = all.by_stream.entry(recording.stream.clone());
        of_stream.or_default().insert(recording.id);
        all.by_id.insert(recording.id, Arc::new(recording));
        Ok(())
    }

    /// Changes a recording's properties; its identifier and stream stay. Returns false if there is no such recording.
    pub fn update(&self, id: RecordingId, change: impl FnOnce(&mut Recording)) -> bool {
        let mut all = self.write();
        let Some(known) = all.by_id.get_mut(&id) else {
            return false;
        };
        let stream = known.stream.clone();
        let recording = Arc::make_mut(known);
        change(recording);
        (recording.id, recording.stream) = (id, stream);
        true
    }

    /// Removes a recording.
    pub fn remove(&self, id: RecordingId) -> Option<Arc<Recording>> {
        let mut all = self.write();
        let recording = all.by_id.remove(&id)?;
        if let Some(of_stream) = all.by_stream.get_mut(&recording.stream) {
            of_stream.remove(&id);
            if of_stream.is_empty() {
                all.by_stream.remove(&recording.stream);
            }
        }
        Some(recording)
    }

    /// Returns a recording.
    pub fn get(&self, id: RecordingId) -> Option<Arc<Recording>> {
        self.read().by_id.get(&id).cloned()
    }

    /// Returns the recordings of a stream, or of all, oldest first: at most `count` of those after `after`, and no more than
    /// [`LIST_MAX`].
    pub fn list(
        &self,
        stream: Option<&StreamName>,
        after: Option<RecordingId>,
        count: usize,
    ) -> Vec<Arc<Recording>> {
        use std::ops::Bound::{Excluded, Unbounded};
        let count = count.min(LIST_MAX);
        let from = (after.map_or(Unbounded, Excluded), Unbounded);
        let all = self.read();
        let Some(stream) = stream else {
            let listed = all.by_id.range(from).take(count);
            return listed.map(|(_, recording)| Arc::clone(recording)).collect();
        };
        let of_stream = all.by_stream.get(stream).into_iter();
        let ids = of_stream.flat_map(|ids| ids.range(from)).take(count);
        ids.filter_map(|id| all.by_id.get(id).cloned()).collect()
    }

    /// Returns the recordings of a stream, or of all, newest first: at most `count` of those before `before`, and no more than
    /// [`LIST_MAX`].
    pub fn newest(
        &self,
        stream: Option<&StreamName>,
        before: Option<RecordingId>,
        count: usize,
    ) -> Vec<Arc<Recording>> {
        use std::ops::Bound::{Excluded, Unbounded};
        let count = count.min(LIST_MAX);
        let to = (Unbounded, before.map_or(Unbounded, Excluded));
        let all = self.read();
        let Some(stream) = stream else {
            let listed = all.by_id.range(to).rev().take(count);
            return listed.map(|(_, recording)| Arc::clone(recording)).collect();
        };
        let of_stream = all.by_stream.get(stream).into_iter();
        let ids = of_stream.flat_map(|ids| ids.range(to).rev()).take(count);
        ids.filter_map(|id| all.by_id.get(id).cloned()).collect()
    }

    /// Returns the number of recordings.
    pub fn len(&self) -> usize {
        self.read().by_id.len()
    }

    /// Whether there are no recordings.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn read(&self) -> RwLockReadGuard<'_, All> {
        self.all.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, All> {
        self.all.write().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;
    use crate::{Container, State, Upload};

    fn name(stream: &str) -> StreamName {
        StreamName::parse(stream).expect("a name")
    }

    /// A recording that has just begun, so many seconds after 1970.
    pub(crate) fn recording(stream: &str, seconds: u64) -> Recording {
        let started = UNIX_EPOCH + Duration::from_secs(seconds);
        let stream = name(stream);
        Recording {
            id: RecordingId::new(&stream, started, 0),
            path: format!("/rec/{stream}/{seconds}.mp4.part").into(),
            is_local: true,
            stream,
            started,
            duration: Duration::ZERO,
            bytes: 0,
            state: State::Open,
            container: Container::Mp4,
            upload: Upload::Never,
            is_pinned: false,
        }
    }

    fn seconds(listed: &[Arc<Recording>]) -> Vec<u64> {
        let since = |it: &Arc<Recording>| it.started.duration_since(UNIX_EPOCH);
        let since = listed.iter().map(since);
        since.map(|it| it.expect("after 1970").as_secs()).collect()
    }

    #[test]
    fn recordings_are_listed_in_pages_oldest_first() {
        let shelf = Shelf::default();
        for at in [5, 1, 3, 2, 4] {
            assert_eq!(shelf.insert(recording("live/a", at)), Ok(()));
            assert_eq!(shelf.insert(recording("live/b", 10 + at)), Ok(()));
        }
        let of_a = name("live/a");
        let first = shelf.list(Some(&of_a), None, 2);
        assert_eq!(seconds(&first), [1, 2]);
        let rest = shelf.list(Some(&of_a), Some(first[1].id), 10);
        assert_eq!(seconds(&rest), [3, 4, 5]);
        let newest = shelf.newest(Some(&of_a), None, 2);
        assert_eq!(seconds(&newest), [5, 4]);
        let before = shelf.newest(Some(&of_a), Some(newest[1].id), 10);
        assert_eq!(seconds(&before), [3, 2, 1]);
        assert!(shelf.newest(Some(&name("live")), None, 10).is_empty());
        assert!(shelf.list(Some(&of_a), Some(rest[2].id), 10).is_empty());
        assert!(shelf.list(Some(&name("live")), None, 10).is_empty());
        assert_eq!(seconds(&shelf.list(None, None, 7)), [1, 2, 3, 4, 5, 11, 12]);
        let newest = shelf.newest(None, None, 4);
        assert_eq!(seconds(&newest), [15, 14, 13, 12]);
        let before = shelf.newest(None, Some(newest[3].id), 2);
        assert_eq!(seconds(&before), [11, 5]);
        assert_eq!((shelf.len(), shelf.is_empty()), (10, false));
    }

    #[test]
    fn one_changes_and_leaves() {
        let shelf = Shelf::default();
        let made = recording("live/a", 7);
        let id = made.id;
        assert_eq!(shelf.insert(made.clone()), Ok(()));
        assert_eq!(shelf.insert(made), Err(NotShelved::Taken));
        let before = shelf.get(id).expect("there");
        assert!(shelf.update(id, |it| {
            it.bytes = 99;
            it.stream = name("other");
        }));
        let after = shelf.get(id).expect("there");
        assert_eq!((before.bytes, after.bytes), (0, 99));
        assert_eq!(after.stream, name("live/a"));
        assert_eq!(shelf.remove(id).map(|it| it.bytes), Some(99));
        assert!(shelf.remove(id).is_none() && shelf.get(id).is_none());
        assert!(!shelf.update(id, |_| ()));
        assert!(shelf.list(Some(&name("live/a")), None, 1).is_empty());
        assert!(shelf.is_empty());
    }
}
