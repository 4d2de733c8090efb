//! What has arrived in the storage, written down: a database of its own, which survives a crash at any point.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use journal::{Error, File, Found, Health};
use media::StreamName;
use recordings::{Container, Recording, RecordingId, State, Upload};
use redb::{ReadableDatabase, ReadableTable, TableDefinition, WriteTransaction};

use crate::local::Generation;

/// Memory for what was read lately: an upload's parts are some kilobytes.
const CACHE_BYTES: usize = 4 << 20;

/// The object's name, the upload's name at the storage, the file's bytes and change, and the file.
const BEGUN: TableDefinition<'_, &str, BegunRow> = TableDefinition::new("begun");
type BegunRow = (&'static str, &'static str, u64, u64, &'static [u8]);
/// The tag of each part that has arrived.
const PARTS: TableDefinition<'_, (&str, u32), &str> = TableDefinition::new("parts");
/// The digest of each that was sent while its file was still written.
const AHEAD: TableDefinition<'_, (&str, u32), &[u8]> = TableDefinition::new("ahead");
/// Name, tag and bytes of the object; stream, beginning (seconds), duration (microseconds), extension and file of the
/// recording.
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
/// The recordings with copies of which nobody was told yet.
const UNTOLD: TableDefinition<'_, &str, ()> = TableDefinition::new("untold");
/// The recordings that the operator has removed, of which something may be in the storage still.
const REMOVED: TableDefinition<'_, &str, ()> = TableDefinition::new("removed");

/// An upload that has begun.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Begun {
    /// The object's name.
    pub(crate) key: String,
    /// Its name at the storage; empty for one in a single request.
    pub(crate) upload: String,
    /// The file as it was then.
    pub(crate) generation: Generation,
    pub(crate) path: PathBuf,
}

impl Begun {
    /// Whether the file was still written then.
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

/// An object in the storage.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Stored {
    pub(crate) key: String,
    pub(crate) tag: String,
    pub(crate) bytes: u64,
}

/// See the module's description. Writes return once they are on the disk.
#[derive(Debug)]
pub(crate) struct Journal(File);

impl Journal {
    /// The one in a file, which is opened, and made, when it is first used.
    pub(crate) fn at(path: PathBuf, health: Arc<Health>) -> Self {
        Self(File::new(path, CACHE_BYTES, make_tables, health))
    }

    /// How its file is, before it is used.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(crate) fn look(&self) -> io::Result<Found> {
        self.0.look()
    }

    /// An upload begins; what was known of an earlier one is forgotten.
    ///
    /// # Errors
    /// When the disk fails, here and below, or another process has the file.
    pub(crate) fn begin(&self, id: RecordingId, begun: &Begun) -> Result<(), Error> {
        self.begin_with(id, begun, &BTreeSet::new())
    }

    /// The same, with these parts of the earlier one.
    pub(crate) fn begin_with(
        &self,
        id: RecordingId,
        begun: &Begun,
        kept: &BTreeSet<u32>,
    ) -> Result<(), Error> {
        self.write(|write| {
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

    /// A part has arrived; of one of a file that is still written, with its digest.
    pub(crate) fn arrived(
        &self,
        id: RecordingId,
        number: u32,
        tag: &str,
        digest: Option<[u8; 16]>,
    ) -> Result<(), Error> {
        self.write(|write| {
            let id = id.to_string();
            write.open_table(PARTS)?.insert((&*id, number), tag)?;
            if let Some(digest) = digest {
                let mut ahead = write.open_table(AHEAD)?;
                ahead.insert((&*id, number), digest.as_slice())?;
            }
            Ok(())
        })
    }

    /// The digests of a recording's parts that were sent while its file was still written, by their numbers.
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

    /// All uploads that have begun.
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

    /// The upload of a recording that has begun.
    pub(crate) fn begun_of(&self, id: RecordingId) -> Result<Option<Begun>, Error> {
        self.0.with(|database| {
            let read = database.begin_read()?;
            let row = read.open_table(BEGUN)?.get(&*id.to_string())?;
            Ok(row.map(|row| Begun::of(row.value())))
        })
    }

    /// The tags of a recording's parts that have arrived, by their numbers.
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

    /// A recording's copy is complete. It is still to be [told](Self::told) of it.
    pub(crate) fn complete(&self, recording: &Recording, stored: &Stored) -> Result<(), Error> {
        self.write(|write| {
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
            write.open_table(UNTOLD)?.insert(&*id, ())?;
            Ok(())
        })
    }

    /// It was told that a recording's copy is complete.
    pub(crate) fn told(&self, id: RecordingId) -> Result<(), Error> {
        self.write(|write| {
            write.open_table(UNTOLD)?.remove(&*id.to_string())?;
            Ok(())
        })
    }

    /// The recordings of which that was not told yet.
    pub(crate) fn untold(&self) -> Result<BTreeSet<RecordingId>, Error> {
        self.ids(UNTOLD)
    }

    /// The copy of a recording.
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

    /// Calls `found` for each recording of which there is a copy, oldest first.
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
                    // Marks are with files; the recorder lists what has one.
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

    /// Nothing is known of a recording any more.
    pub(crate) fn forget(&self, id: RecordingId) -> Result<(), Error> {
        self.write(|write| forget(write, id))
    }

    /// A recording is to be removed, and so is what is in the storage of it.
    pub(crate) fn remove(&self, id: RecordingId) -> Result<(), Error> {
        self.write(|write| {
            write.open_table(REMOVED)?.insert(&*id.to_string(), ())?;
            Ok(())
        })
    }

    /// The recordings of which that was said, and not done.
    pub(crate) fn removed(&self) -> Result<BTreeSet<RecordingId>, Error> {
        self.ids(REMOVED)
    }

    /// It is done.
    pub(crate) fn forget_removed(&self, id: RecordingId) -> Result<(), Error> {
        self.write(|write| {
            forget(write, id)?;
            write.open_table(REMOVED)?.remove(&*id.to_string())?;
            Ok(())
        })
    }

    /// Writes changes down, all or none.
    fn write(
        &self,
        change: impl FnOnce(&WriteTransaction) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.0.with(|database| {
            let write = database.begin_write()?;
            change(&write)?;
            Ok(write.commit()?)
        })
    }

    /// The recordings that a table names.
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
    write.open_table(UNTOLD)?;
    write.open_table(AHEAD)?;
    write.open_table(REMOVED)?;
    Ok(())
}

fn forget(write: &WriteTransaction, id: RecordingId) -> Result<(), Error> {
    let id = id.to_string();
    write.open_table(STORED)?.remove(&*id)?;
    write.open_table(UNTOLD)?.remove(&*id)?;
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

    fn recording(folder: &std::path::Path, stream: &str) -> Recording {
        let stream = StreamName::parse(stream).expect("a name");
        let started = UNIX_EPOCH + Duration::from_secs(1_800_000_000);
        Recording {
            id: RecordingId::new(&stream, started, 0),
            stream,
            path: folder.join("a.mp4"),
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

    #[test]
    fn what_has_arrived_is_known_after_a_restart() {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("made/journal.redb");
        let (one, other) = (
            recording(folder.path(), "live/a"),
            recording(folder.path(), "live/b"),
        );
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
            journal
                .arrived(one.id, number, &format!("t{number}"), Some([1; 16]))
                .expect("written");
        }
        journal
            .arrived(other.id, 1, "other", None)
            .expect("written");
        drop(journal);
        let journal = open();
        assert_eq!(journal.begun_of(one.id).expect("read"), Some(begun.clone()));
        assert_eq!(journal.begun().expect("read").len(), 2);
        let parts = journal.parts(one.id).expect("read");
        assert_eq!(
            parts,
            BTreeMap::from([(0, "t0".to_owned()), (2, "t2".to_owned())])
        );
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
        let stored = Stored {
            key: "p/live/a".to_owned(),
            tag: "tag".to_owned(),
            bytes: 77,
        };
        journal.complete(&one, &stored).expect("written");
        drop(journal);
        let journal = open();
        assert_eq!(journal.stored(one.id).expect("read"), Some(stored));
        assert_eq!(journal.untold().expect("read"), BTreeSet::from([one.id]));
        journal.told(one.id).expect("written");
        assert!(journal.untold().expect("read").is_empty());
        assert_eq!(journal.begun_of(one.id).expect("read"), None);
        let mut listed = Vec::new();
        journal.recordings(|it| listed.push(it)).expect("read");
        let upload = Upload::Stored {
            key: "p/live/a".into(),
            is_spare: false,
        };
        assert_eq!(
            listed,
            [Recording {
                upload,
                ..one.clone()
            }]
        );
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
        let one = recording(folder.path(), "live/a");
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
        let one = recording(folder.path(), "live/a");
        let stored = Stored {
            key: "p/live/a".to_owned(),
            tag: "tag".to_owned(),
            bytes: 77,
        };
        journal.complete(&one, &stored).expect("written");
        journal.remove(one.id).expect("written");
        assert_eq!(journal.removed().expect("read"), BTreeSet::from([one.id]));
        assert_eq!(journal.stored(one.id).expect("read"), Some(stored));
        journal.forget_removed(one.id).expect("written");
        assert!(journal.removed().expect("read").is_empty());
        assert_eq!(journal.stored(one.id).expect("read"), None);
    }
}
