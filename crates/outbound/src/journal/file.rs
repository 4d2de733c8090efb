//! Journal file: opened on first use, and set aside when it is not a valid database.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::Lock;
use redb::{Builder, Database, StorageBackend, WriteTransaction};

use crate::journal::Error;
use crate::journal::backend::Reserved;
use crate::journal::health::Health;

/// Most damaged files kept. Beyond that the newest replaces the one before, so that a disk that damages every file is not
/// filled with them.
const KEPT_MAX: u32 = 8;

/// Bytes at the beginning that are zero in a file that was created on a full disk, and never became a database.
const BEGINNING_BYTES: u64 = 4_096;

/// Function that creates missing tables.
pub type MakeTables = fn(&WriteTransaction) -> Result<(), Error>;

/// Database in one file; access it through [`with`](Self::with).
#[derive(Debug)]
pub struct File {
    path: PathBuf,
    /// Size of the cache in bytes.
    cache_bytes: usize,
    make_tables: MakeTables,
    /// Open database; `None` before the first use, and after a failed one.
    database: Lock<Option<Database>>,
    health: Arc<Health>,
    faults: Faults,
}

impl File {
    /// Makes a file that is opened, or created, on first use.
    pub fn new(
        path: PathBuf,
        cache_bytes: usize,
        make_tables: MakeTables,
        health: Arc<Health>,
    ) -> Self {
        Self {
            path,
            cache_bytes,
            make_tables,
            database: Lock::default(),
            health,
            faults: Faults::default(),
        }
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Runs `work` on the database. After a failure the database may be in the state before or after the change.
    ///
    /// # Errors
    /// Fails when the file cannot be opened, or with the error of `work`.
    pub fn with<T>(&self, work: impl FnOnce(&Database) -> Result<T, Error>) -> Result<T, Error> {
        let mut database = self.database.lock();
        let done = match &mut *database {
            Some(database) => work(database),
            closed => self.open().and_then(|opened| work(closed.insert(opened))),
        };
        if done.is_err() {
            // It would accept nothing more.
            *database = None;
        }
        self.health.used(done.is_err());
        done
    }

    /// Commits a change of the tables: all of it, or nothing.
    ///
    /// # Errors
    /// Fails when the file cannot be opened or written, or with the error of `change`.
    pub fn write(
        &self,
        change: impl FnOnce(&WriteTransaction) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.with(|database| {
            let write = database.begin_write()?;
            change(&write)?;
            Ok(write.commit()?)
        })
    }

    fn open(&self) -> Result<Database, Error> {
        match self.try_open() {
            Err(error) if error.is_damage() => {
                self.clear_the_way(&error)?;
                self.try_open()
            }
            opened => opened,
        }
    }

    fn try_open(&self) -> Result<Database, Error> {
        if let Some(folder) = self.path.parent() {
            DirBuilder::new()
                .recursive(true)
                .mode(0o750)
                .create(folder)?;
        }
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&self.path)?;
        self.open_in(Reserved::new(file, self.faults.clone())?)
    }

    /// Opens the backend's content, and creates missing tables.
    pub(crate) fn open_in(&self, backend: impl StorageBackend) -> Result<Database, Error> {
        let mut builder = Builder::new();
        builder.set_cache_size(self.cache_bytes);
        // Damage that happened while the file was closed must be detected now, not by a panic later.
        builder.set_check_integrity_on_open(true);
        let opening = AssertUnwindSafe(|| builder.create_with_backend(backend));
        let panicked = |_| {
            let text = "it cannot be understood".to_owned();
            Error::from(redb::Error::Corrupted(text))
        };
        let database = catch_unwind(opening).map_err(panicked)??;
        let write = database.begin_write()?;
        (self.make_tables)(&write)?;
        write.commit()?;
        Ok(database)
    }

    /// Sets a damaged file aside; one that never was a database is emptied.
    fn clear_the_way(&self, error: &Error) -> io::Result<()> {
        if has_never_begun(&self.path)? {
            return OpenOptions::new().write(true).open(&self.path)?.set_len(0);
        }
        let name = |number: u32| self.path.with_added_extension(format!("damaged-{number}"));
        let free = (1..KEPT_MAX).map(name).find(|path| !path.exists());
        let aside = free.unwrap_or_else(|| name(KEPT_MAX));
        fs::rename(&self.path, &aside)?;
        self.health.was_damaged();
        tracing::error!(path = %self.path.display(), aside = %aside.display(), %error, "a journal is damaged; it is set aside, and a new one is begun");
        Ok(())
    }
}

#[cfg(test)]
impl File {
    /// Makes the disk refuse the next `count` writes.
    pub fn refuse_writes(&self, count: u32) {
        let Faults(left) = &self.faults;
        left.store(count, std::sync::atomic::Ordering::Relaxed);
    }
}

/// Number of writes that the disk will still refuse.
#[cfg(test)]
#[derive(Clone, Debug, Default)]
pub(crate) struct Faults(Arc<std::sync::atomic::AtomicU32>);

#[cfg(test)]
impl Faults {
    pub(crate) fn strike(&self) -> io::Result<()> {
        use std::sync::atomic::Ordering::Relaxed;
        let one_less = |left: u32| left.checked_sub(1);
        match self.0.fetch_update(Relaxed, Relaxed, one_less) {
            Ok(_) => Err(io::ErrorKind::StorageFull.into()),
            Err(_) => Ok(()),
        }
    }
}

/// Placeholder: there are no faults except the disk's own.
#[cfg(not(test))]
#[derive(Clone, Debug, Default)]
pub(crate) struct Faults {}

#[cfg(not(test))]
impl Faults {
    pub(crate) fn strike(&self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns whether a file begins with zeros only, like one that a full disk kept from becoming a database.
pub(crate) fn has_never_begun(path: &Path) -> io::Result<bool> {
    let mut beginning = Vec::new();
    let file = fs::File::open(path)?;
    file.take(BEGINNING_BYTES).read_to_end(&mut beginning)?;
    Ok(beginning.iter().all(|byte| *byte == 0))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use redb::{ReadableDatabase, TableDefinition};

    use super::*;
    use crate::journal::backend::RESERVE_BYTES;
    use crate::journal::{Found, State};

    const NUMBERS: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("numbers");

    fn file(root: &tempfile::TempDir) -> (File, Arc<Health>) {
        let health = Arc::<Health>::default();
        let make_tables: MakeTables = |write| {
            write.open_table(NUMBERS)?;
            Ok(())
        };
        let path = root.path().join("made/a.redb");
        let file = File::new(path, 1 << 20, make_tables, Arc::clone(&health));
        (file, health)
    }

    fn put(file: &File, number: u64) -> Result<(), Error> {
        file.write(|write| {
            write.open_table(NUMBERS)?.insert(number, &[7; 2_000][..])?;
            Ok(())
        })
    }

    fn has(file: &File, number: u64) -> bool {
        let read = file.with(|database| {
            let read = database.begin_read()?;
            let found = read.open_table(NUMBERS)?.get(number)?;
            Ok(found.is_some_and(|it| it.value() == [7; 2_000]))
        });
        read.expect("read")
    }

    #[test]
    fn a_disk_that_fails_once_costs_what_was_written_then() {
        let root = tempfile::tempdir().expect("a directory");
        let (file, health) = file(&root);
        put(&file, 1).expect("written");
        file.refuse_writes(1);
        assert!(put(&file, 2).is_err());
        assert!(health.state().is_failing);
        put(&file, 3).expect("written");
        assert_eq!(health.state(), State::default());
        assert!(has(&file, 1) && has(&file, 3));
    }

    #[test]
    fn what_is_no_database_is_set_aside_and_another_begun() {
        let whole = {
            let root = tempfile::tempdir().expect("a directory");
            let (file, _) = file(&root);
            (0..20)
                .try_for_each(|number| put(&file, number))
                .expect("written");
            let path = file.path().to_owned();
            drop(file);
            fs::read(path).expect("read")
        };
        let mut header = whole.clone();
        header[..64].fill(0xA5);
        let mut flipped = whole.clone();
        // Behind the header.
        let pages = flipped[4_096..].iter_mut().step_by(977);
        pages.for_each(|byte| *byte ^= 0x10);
        for damaged in [vec![b'?'; 9_000], whole[..20_000].to_vec(), header, flipped] {
            let root = tempfile::tempdir().expect("a directory");
            let (file, health) = file(&root);
            let aside = |number| {
                let name = format!("a.redb.damaged-{number}");
                file.path().with_file_name(name)
            };
            fs::create_dir_all(file.path().parent().expect("a folder")).expect("made");
            fs::write(file.path(), &damaged).expect("written");
            assert!(matches!(file.look().expect("read"), Found::Damaged(_)));
            assert!(fs::read(file.path()).expect("read") == damaged);
            put(&file, 1).expect("written");
            assert!(has(&file, 1) && !has(&file, 2));
            assert!(fs::read(aside(1)).expect("read") == damaged);
            assert_eq!(health.state().damaged, 1);
        }
    }

    #[test]
    fn a_look_finds_what_a_kill_leaves_whole_and_changes_nothing() {
        let root = tempfile::tempdir().expect("a directory");
        let (file, _) = file(&root);
        let looked = || file.look().expect("read");
        assert!(matches!(looked(), Found::Nothing));
        put(&file, 1).expect("written");
        assert!(matches!(looked(), Found::Taken));
        let killed = fs::read(file.path()).expect("read");
        let other = file.path().with_file_name("killed.redb");
        fs::write(&other, &killed).expect("written");
        let other = File::new(other, 1 << 20, file.make_tables, Arc::default());
        assert!(matches!(other.look().expect("read"), Found::Whole));
        assert!(fs::read(other.path()).expect("read") == killed);
        // It holds nothing up.
        put(&other, 2).expect("written");
        drop(file);
        let (emptied, _) = self::file(&root);
        fs::write(emptied.path(), []).expect("written");
        assert!(matches!(emptied.look().expect("read"), Found::Nothing));
    }

    #[test]
    fn damaged_files_do_not_fill_the_disk() {
        let root = tempfile::tempdir().expect("a directory");
        for _ in 0..KEPT_MAX + 5 {
            let (file, _) = file(&root);
            put(&file, 1).expect("written");
            let path = file.path().to_owned();
            drop(file);
            fs::write(path, "no database").expect("written");
        }
        let all = fs::read_dir(root.path().join("made")).expect("read");
        assert_eq!(all.count(), 1 + KEPT_MAX as usize);
    }

    #[test]
    fn what_a_full_disk_left_of_a_beginning_is_no_damage() {
        let root = tempfile::tempdir().expect("a directory");
        let (file, health) = file(&root);
        file.refuse_writes(1);
        assert!(put(&file, 1).is_err());
        put(&file, 1).expect("written");
        assert_eq!(health.state().damaged, 0);
    }

    #[test]
    fn it_is_its_owners_and_one_process_has_it() {
        let root = tempfile::tempdir().expect("a directory");
        let (one, _) = file(&root);
        put(&one, 1).expect("written");
        let mode = fs::metadata(one.path())
            .expect("a file")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
        let (other, health) = file(&root);
        assert!(put(&other, 2).expect_err("it is taken").is_taken());
        assert_eq!(health.state().damaged, 0);
        drop(one);
        put(&other, 2).expect("written");
        assert!(has(&other, 1));
    }

    #[test]
    fn its_blocks_are_there_before_they_are_written() {
        use std::os::unix::fs::MetadataExt;
        let root = tempfile::tempdir().expect("a directory");
        let (file, _) = file(&root);
        put(&file, 1).expect("written");
        let reported = fs::metadata(file.path()).expect("a file");
        let least = reported.len().max(RESERVE_BYTES);
        assert!(reported.blocks() * 512 >= least, "{reported:?}");
    }
}
