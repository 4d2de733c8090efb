//! Upload journal: a database of arrived parts and copies, which survives a crash at any point.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use crate::journal::{Error, File, Found, Health};
use media::StreamName;
use recordings::{Container, Recording, RecordingId, State, Upload};
use redb::{ReadableDatabase, ReadableTable, TableDefinition, WriteTransaction};

use crate::uploads::local::Generation;

/// Cache of recently read data, in bytes; the parts of an upload take some kilobytes.
const CACHE_BYTES: usize = 4 << 20;

/// Started uploads: object name, upload name at the storage, length and change time of the file, and its path.
const BEGUN: TableDefinition<'_, &str, BegunRow> = TableDefinition::new("begun");
type BegunRow = (&'static str, &'static str, u64, u64, &'static [u8]);
/// Tag of each part that has arrived.
const PARTS: TableDefinition<'_, (&str, u32), &str> = TableDefinition::new("parts");
/// Digest of each part that was sent while its file was still being written.
const AHEAD: TableDefinition<'_, (&str, u32), &[u8]> = TableDefinition::new("ahead");
/// Stored copies: name, tag and length of the object; stream, start (seconds), duration (microseconds), extension and path of
/// the recording.
type StoredRow = (
    &'static str,
    &'static str,
    u64,
    &'static str,
    u64,
    u64,
    &'static str,
    &'static [u8],
);
const STORED: TableDefinition<'_, &str, StoredRow> = TableDefinition::new("stored");
/// Recordings whose copies have not been reported yet.
const UNREPORTED: TableDefinition<'_, &str, ()> = TableDefinition::new("untold");
/// Recordings that the operator has removed, of which data may still be in the storage.
const REMOVED: TableDefinition<'_, &str, ()> = TableDefinition::new("removed");

/// Started upload.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Begun {
    /// Name of the object.
    pub(crate) key: String,
    /// Name of the upload at the storage; empty for a single request.
    pub(crate) upload: String,
    /// Version of the file at the start.
    pub(crate) generation: Generation,
    pub(crate) path: PathBuf,
}

impl Begun {
    /// Returns whether the file was still being written at the start.
    pub(crate) fn is_open(&self) -> bool {
        self.generation == Generation::OPEN && !self.upload.is_empty()
    }

    fn of((key, upload, bytes, modified, path): (&str, &str, u64, u64, &[u8])) -> Self {
        Self {
            key: key.to_owned(),
            upload: upload.to_owned(),
            generation: Generation { bytes, modified },
            path: OsStr::from_bytes(path).into(),
        }
    }
}

/// Object in the storage.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Stored {
    pub(crate) key: String,
    pub(crate) tag: String,
    pub(crate) bytes: u64,
}

/// Journal of uploads. Writes are durable when they return.
#[derive(Debug)]
pub(crate) struct Journal(File);

impl Journal {
    /// Makes a journal for a file, which is opened, or created, on first use.
    pub(crate) fn at(path: PathBuf, health: Arc<Health>) -> Self {
        Self(File::new(path, CACHE_BYTES, make_tables, health))
    }

    /// Examines the file before it is used.
    ///
    /// # Errors
    /// Fails when it cannot be read.
    pub(crate) fn look(&self) -> io::Result<Found> {
        self.0.look()
    }

    /// Records the start of an upload, and drops data of an earlier one.
    ///
    /// # Errors
    /// Fails when the disk fails, here and below, or another process has the file.
    pub(crate) fn begin(&self, id: RecordingId, begun: &Begun) -> Result<(), Error> {
        self.begin_with(id, begun, &BTreeSet::new())
    }

    /// Records the start of an upload like [`begin`](Self::begin), but keeps these parts of the earlier one.
    pub(crate) fn begin_with(
        &self,
        id: RecordingId,
        begun: &Begun,
        kept: &BTreeSet<u32>,
    ) -> Result<(), Error> {
        self.0.write(|write| {
            let id = id.to_string();
            let all = (&*id, 0)..=(&*id, u32::MAX);
            let mut parts = write.open_table(PARTS)?;
            parts.retain_in(all.clone(), |(_, number), _| kept.contains(&number))?;
            write.open_table(AHEAD)?.retain_in(all, |_, _| false)?;
            let Generation { bytes, modified } = begun.generation;
            let path = begun.path.as_os_str().as_bytes();
            let mut all = write.open_table(BEGUN)?;
            all.insert(&*id, (&*begun.key, &*begun.upload, bytes, modified, path))?;
            Ok(())
        })
    }

    /// Records that a part has arrived, with its digest if the file is still being written.
    pub(crate) fn arrived(
        &self,
        id: RecordingId,
        number: u32,
        tag: &str,
        digest: Option<[u8; 16]>,
    ) -> Result<(), Error> {
        self.0.write(|write| {
            let id = id.to_string();
            write.open_table(PARTS)?.insert((&*id, number), tag)?;
            if let Some(digest) = digest {
                let mut ahead = write.open_table(AHEAD)?;
                ahead.insert((&*id, number), digest.as_slice())?;
            }
            Ok(())
        })
    }

    /// Returns the digests, by part number, of a recording's parts that were sent while its file was still being written.
    pub(crate) fn ahead(&self, id: RecordingId) -> Result<BTreeMap<u32, Vec<u8>>, Error> {
        self.0.with(|database| {
            let read = database.begin_read()?;
            let table = read.open_table(AHEAD)?;
            let id = id.to_string();
            let mut digests = BTreeMap::new();
            for row in table.range((&*id, 0)..=(&*id, u32::MAX))? {
                let (key, digest) = row?;
                digests.insert(key.value().1, digest.value().to_owned());
            }
            Ok(digests)
        })
    }

    /// Returns all started uploads.
    pub(crate) fn begun(&self) -> Result<Vec<(RecordingId, Begun)>, Error> {
        self.0.with(|database| {
            let read = database.begin_read()?;
            let mut all = Vec::new();
            for row in read.open_table(BEGUN)?.iter()? {
                let (id, row) = row?;
                if let Ok(id) = id.value().parse() {
                    all.push((id, Begun::of(row.value())));
                }
            }
            Ok(all)
        })
    }

    /// Returns a recording's started upload.
    pub(crate) fn begun_of(&self, id: RecordingId) -> Result<Option<Begun>, Error> {
        self.0.with(|database| {
            let read = database.begin_read()?;
            let row = read.open_table(BEGUN)?.get(&*id.to_string())?;
            Ok(row.map(|row| Begun::of(row.value())))
        })
    }

    /// Returns the tags, by part number, of a recording's parts that have arrived.
    pub(crate) fn parts(&self, id: RecordingId) -> Result<BTreeMap<u32, String>, Error> {
        self.0.with(|database| {
            let read = database.begin_read()?;
            let table = read.open_table(PARTS)?;
            let id = id.to_string();
            let mut parts = BTreeMap::new();
            for row in table.range((&*id, 0)..=(&*id, u32::MAX))? {
                let (key, tag) = row?;
                parts.insert(key.value().1, tag.value().to_owned());
            }
            Ok(parts)
        })
    }

    /// Records that a recording's copy is complete, and not yet [reported](Self::reported).
    pub(crate) fn complete(&self, recording: &Recording, stored: &Stored) -> Result<(), Error> {
        self.0.write(|write| {
            forget(write, recording.id)?;
            let id = recording.id.to_string();
            let since = recording.started.duration_since(UNIX_EPOCH);
            let micros = recording.duration.as_micros();
            let row = (
                &*stored.key,
                &*stored.tag,
                stored.bytes,
                recording.stream.as_str(),
                since.unwrap_or_default().as_secs(),
                u64::try_from(micros).unwrap_or(u64::MAX),
                recording.container.extension(),
                recording.path.as_os_str().as_bytes(),
            );
            write.open_table(STORED)?.insert(&*id, row)?;
            write.open_table(UNREPORTED)?.insert(&*id, ())?;
            Ok(())
        })
    }

    /// Records that a recording's copy was reported.
    pub(crate) fn reported(&self, id: RecordingId) -> Result<(), Error> {
        self.0.write(|write| {
            write.open_table(UNREPORTED)?.remove(&*id.to_string())?;
            Ok(())
        })
    }

    /// Returns the recordings whose copies have not been reported yet.
    pub(crate) fn unreported(&self) -> Result<BTreeSet<RecordingId>, Error> {
        self.ids(UNREPORTED)
    }

    /// Returns the copy of a recording.
    pub(crate) fn stored(&self, id: RecordingId) -> Result<Option<Stored>, Error> {
        self.0.with(|database| {
            let read = database.begin_read()?;
            let row = read.open_table(STORED)?.get(&*id.to_string())?;
            Ok(row.map(|row| {
                let (key, tag, bytes, ..) = row.value();
                Stored {
                    key: key.to_owned(),
                    tag: tag.to_owned(),
                    bytes,
                }
            }))
        })
    }

    /// Calls `found` for each recording that has a copy, oldest first.
    pub(crate) fn recordings(&self, mut found: impl FnMut(Recording)) -> Result<(), Error> {
        self.0.with(|database| {
            let read = database.begin_read()?;
            for row in read.open_table(STORED)?.iter()? {
                let (id, row) = row?;
                let (key, _, bytes, stream, started, micros, extension, path) = row.value();
                let (Ok(id), Ok(stream), Some(container)) = (
                    id.value().parse(),
                    StreamName::parse(stream),
                    Container::of_extension(extension),
                ) else {
                    continue;
                };
                let path = PathBuf::from(OsStr::from_bytes(path));
                found(Recording {
                    id,
                    stream,
                    is_local: path.is_file(),
                    path,
                    started: UNIX_EPOCH + Duration::from_secs(started),
                    duration: Duration::from_micros(micros),
                    bytes,
                    state: State::Finalised,
                    container,
                    // Pins are stored with files; the recorder lists pinned ones.
                    is_pinned: false,
                    upload: Upload::Stored {
                        key: key.into(),
                        is_spare: false,
                    },
                });
            }
            Ok(())
        })
    }

    /// Drops everything about a recording.
    pub(crate) fn forget(&self, id: RecordingId) -> Result<(), Error> {
        self.0.write(|write| forget(write, id))
    }

    /// Records that a recording is to be removed, with its data in the storage.
    pub(crate) fn remove(&self, id: RecordingId) -> Result<(), Error> {
        self.0.write(|write| {
            write.open_table(REMOVED)?.insert(&*id.to_string(), ())?;
            Ok(())
        })
    }

    /// Returns the recordings whose removal is recorded but not done.
    pub(crate) fn removed(&self) -> Result<BTreeSet<RecordingId>, Error> {
        self.ids(REMOVED)
    }

    /// Records that the removal is done.
    pub(crate) fn forget_removed(&self, id: RecordingId) -> Result<(), Error> {
        self.0.write(|write| {
            forget(write, id)?;
            write.open_table(REMOVED)?.remove(&*id.to_string())?;
            Ok(())
        })
    }

    /// Returns the recordings listed in a table.
    fn ids(&self, table: TableDefinition<'_, &str, ()>) -> Result<BTreeSet<RecordingId>, Error> {
        self.0.with(|database| {
            let read = database.begin_read()?;
            let mut ids = BTreeSet::new();
            for row in read.open_table(table)?.iter()? {
                ids.extend(row?.0.value().parse::<RecordingId>());
            }
            Ok(ids)
        })
    }

    #[cfg(test)]
    pub(crate) fn refuse_writes(&self, count: u32) {
        self.0.refuse_writes(count);
    }
}

fn make_tables(write: &WriteTransaction) -> Result<(), Error> {
    write.open_table(BEGUN)?;
    write.open_table(PARTS)?;
    write.open_table(STORED)?;
    write.open_table(UNREPORTED)?;
    write.open_table(AHEAD)?;
    write.open_table(REMOVED)?;
    Ok(())
}

fn forget(write: &WriteTransaction, id: RecordingId) -> Result<(), Error> {
    let id = id.to_string();
    write.open_table(STORED)?.remove(&*id)?;
    write.open_table(UNREPORTED)?.remove(&*id)?;
    write.open_table(BEGUN)?.remove(&*id)?;
    let all = (&*id, 0)..=(&*id, u32::MAX);
    let mut ahead = write.open_table(AHEAD)?;
    ahead.retain_in(all.clone(), |_, _| false)?;
    write.open_table(PARTS)?.retain_in(all, |_, _| false)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recording(folder: &tempfile::TempDir, stream: &str) -> Recording {
        let stream = StreamName::parse(stream).expect("a name");
        let started = UNIX_EPOCH + Duration::from_secs(1_800_000_000);
        Recording {
            id: RecordingId::new(&stream, started, 0),
            stream,
            path: folder.path().join("a.mp4"),
            is_local: false,
            started,
            duration: Duration::from_micros(3_500_100),
            bytes: 77,
            state: State::Finalised,
            container: Container::Mp4,
            is_pinned: false,
            upload: Upload::Pending,
        }
    }

    fn stored() -> Stored {
        Stored {
            key: "p/live/a".to_owned(),
            tag: "tag".to_owned(),
            bytes: 77,
        }
    }

    #[test]
    fn what_has_arrived_is_known_after_a_restart() {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("made/journal.redb");
        let (one, other) = (recording(&folder, "live/a"), recording(&folder, "live/b"));
        let begun = Begun {
            key: "p/live/a".to_owned(),
            upload: "upload".to_owned(),
            generation: Generation {
                bytes: 77,
                modified: 9,
            },
            path: one.path.clone(),
        };
        let open = || Journal::at(path.clone(), Arc::default());
        let journal = open();
        journal.begun().expect("made");
        assert!(open().begun().expect_err("it is taken").is_taken());
        journal.begin(one.id, &begun).expect("written");
        journal.begin(other.id, &begun).expect("written");
        for number in [0, 2] {
            let tag = format!("t{number}");
            let arrived = journal.arrived(one.id, number, &tag, Some([1; 16]));
            arrived.expect("written");
        }
        let arrived = journal.arrived(other.id, 1, "other", None);
        arrived.expect("written");
        drop(journal);
        let journal = open();
        assert_eq!(journal.begun_of(one.id).expect("read"), Some(begun.clone()));
        assert_eq!(journal.begun().expect("read").len(), 2);
        let parts = journal.parts(one.id).expect("read");
        let arrived = [(0, "t0".to_owned()), (2, "t2".to_owned())];
        assert_eq!(parts, BTreeMap::from(arrived));
        // Of the file as it is now, some of them may be true.
        let ahead = journal.ahead(one.id).expect("read");
        assert_eq!(ahead.into_keys().collect::<Vec<_>>(), [0, 2]);
        let kept = BTreeSet::from([2]);
        journal.begin_with(one.id, &begun, &kept).expect("written");
        let parts = journal.parts(one.id).expect("read");
        assert_eq!(parts, BTreeMap::from([(2, "t2".to_owned())]));
        assert!(journal.ahead(one.id).expect("read").is_empty());
        // Another beginning knows nothing of the first.
        journal.begin(one.id, &begun).expect("written");
        assert!(journal.parts(one.id).expect("read").is_empty());
        let stored = stored();
        journal.complete(&one, &stored).expect("written");
        drop(journal);
        let journal = open();
        assert_eq!(journal.stored(one.id).expect("read"), Some(stored));
        let unreported = journal.unreported().expect("read");
        assert_eq!(unreported, BTreeSet::from([one.id]));
        journal.reported(one.id).expect("written");
        assert!(journal.unreported().expect("read").is_empty());
        assert_eq!(journal.begun_of(one.id).expect("read"), None);
        let mut listed = Vec::new();
        journal.recordings(|it| listed.push(it)).expect("read");
        let upload = Upload::Stored {
            key: "p/live/a".into(),
            is_spare: false,
        };
        let one = Recording { upload, ..one };
        assert_eq!(listed, std::slice::from_ref(&one));
        std::fs::write(&one.path, "here").expect("written");
        listed.clear();
        journal.recordings(|it| listed.push(it)).expect("read");
        assert!(listed[0].is_local);
        journal.forget(one.id).expect("written");
        assert_eq!(journal.stored(one.id).expect("read"), None);
        assert_eq!(journal.parts(other.id).expect("read").len(), 1);
    }

    #[test]
    fn a_disk_that_fails_once_costs_one_write() {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("journal.redb");
        let journal = Journal::at(path.clone(), Arc::default());
        let one = recording(&folder, "live/a");
        journal.begun().expect("made");
        journal.refuse_writes(1);
        journal.remove(one.id).expect_err("the disk is full");
        journal.remove(one.id).expect("it has room again");
        drop(journal);
        let journal = Journal::at(path, Arc::default());
        assert_eq!(journal.removed().expect("read"), BTreeSet::from([one.id]));
    }

    #[test]
    fn what_is_removed_is_known_until_its_copy_has_gone() {
        let folder = tempfile::tempdir().expect("a directory");
        let journal = Journal::at(folder.path().join("journal.redb"), Arc::default());
        let one = recording(&folder, "live/a");
        let stored = stored();
        journal.complete(&one, &stored).expect("written");
        journal.remove(one.id).expect("written");
        assert_eq!(journal.removed().expect("read"), BTreeSet::from([one.id]));
        assert_eq!(journal.stored(one.id).expect("read"), Some(stored));
        journal.forget_removed(one.id).expect("written");
        assert!(journal.removed().expect("read").is_empty());
        assert_eq!(journal.stored(one.id).expect("read"), None);
    }
}
