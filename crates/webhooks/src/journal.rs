//! The file that deliveries survive a restart in.

use std::fs::{DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use bytes::{Buf, Bytes};
use redb::{Builder, Database, ReadableDatabase, ReadableTable, TableDefinition};

use crate::queue::Delivery;

/// The file's name in its directory.
const FILE: &str = "webhooks.redb";

/// Deliveries by their numbers.
const DELIVERIES: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("deliveries");

/// What entries begin with. Those of another version are not understood.
const VERSION: u8 = 1;

/// Memory of the database: the file has a few megabytes, and is read once.
const CACHE_BYTES: usize = 1 << 20;

/// Why the queue cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The file or its directory cannot be made or read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It is not a queue, or another process has it.
    #[error(transparent)]
    Database(Box<redb::Error>),
}

impl From<Box<redb::Error>> for OpenError {
    fn from(error: Box<redb::Error>) -> Self {
        Self::Database(error)
    }
}

/// See the module's description. Everything here blocks.
#[derive(Debug)]
pub(crate) struct Journal(Database);

impl Journal {
    /// Opens the one of a directory, which is made if need be, and reads what it has.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub(crate) fn open(directory: &Path) -> Result<(Self, Vec<(u64, Delivery)>), OpenError> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o750)
            .create(directory)?;
        let path = directory.join(FILE);
        // First, so that nobody else may read it.
        OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path)?;
        let mut builder = Builder::new();
        builder.set_cache_size(CACHE_BYTES);
        let database = builder.create(&path).map_err(boxed)?;
        let journal = Self(database);
        // Makes the table, too.
        journal.write(&[])?;
        let kept = journal.read()?;
        Ok((journal, kept))
    }

    fn read(&self) -> Result<Vec<(u64, Delivery)>, Box<redb::Error>> {
        let transaction = self.0.begin_read().map_err(boxed)?;
        let table = transaction.open_table(DELIVERIES).map_err(boxed)?;
        let mut all = Vec::new();
        for entry in table.iter().map_err(boxed)? {
            let (number, bytes) = entry.map_err(boxed)?;
            match decode(Bytes::copy_from_slice(bytes.value())) {
                Some(delivery) => all.push((number.value(), delivery)),
                None => tracing::error!(
                    number = number.value(),
                    "an entry of the webhooks' queue is not understood"
                ),
            }
        }
        Ok(all)
    }

    /// Writes changes down, all or none: deliveries as they are now, or that they are no more.
    ///
    /// # Errors
    /// When the disk refuses.
    pub(crate) fn write(
        &self,
        changes: &[(u64, Option<Delivery>)],
    ) -> Result<(), Box<redb::Error>> {
        let transaction = self.0.begin_write().map_err(boxed)?;
        {
            let mut table = transaction.open_table(DELIVERIES).map_err(boxed)?;
            for (number, delivery) in changes {
                match delivery {
                    Some(delivery) => {
                        table
                            .insert(number, encode(delivery).as_slice())
                            .map_err(boxed)?;
                    }
                    None => {
                        table.remove(number).map_err(boxed)?;
                    }
                }
            }
        }
        transaction.commit().map_err(boxed)
    }
}

fn boxed(error: impl Into<redb::Error>) -> Box<redb::Error> {
    Box::new(error.into())
}

/// Identifiers and kinds are ours, and shorter than 256 bytes; what is longer is cut.
fn encode(delivery: &Delivery) -> Vec<u8> {
    let mut bytes = vec![VERSION];
    bytes.extend(delivery.receiver.to_be_bytes());
    bytes.extend(delivery.attempts.to_be_bytes());
    bytes.extend(delivery.due.to_be_bytes());
    for text in [&delivery.id, &delivery.kind] {
        let text = &text.as_bytes()[..text.len().min(usize::from(u8::MAX))];
        bytes.push(text.len() as u8);
        bytes.extend(text);
    }
    bytes.extend(&delivery.body);
    bytes
}

fn decode(mut bytes: Bytes) -> Option<Delivery> {
    if bytes.try_get_u8().ok()? != VERSION {
        return None;
    }
    let receiver = bytes.try_get_u64().ok()?;
    let attempts = bytes.try_get_u32().ok()?;
    let due = bytes.try_get_u64().ok()?;
    let mut text = || {
        let length = usize::from(bytes.try_get_u8().ok()?);
        let text = (length <= bytes.len()).then(|| bytes.split_to(length))?;
        std::str::from_utf8(&text).map(Into::into).ok()
    };
    let (id, kind) = (text()?, text()?);
    Some(Delivery {
        receiver,
        id,
        kind,
        body: bytes,
        attempts,
        due,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delivery(number: u64) -> Delivery {
        Delivery {
            receiver: u64::MAX - number,
            id: format!("msg_{number}").into(),
            kind: "recording.gap".into(),
            body: vec![b'x'; number as usize].into(),
            attempts: 3,
            due: 1_800_000_000_000 + number,
        }
    }

    #[test]
    fn what_was_written_is_there_when_it_is_opened_again() {
        let root = tempfile::tempdir().expect("a directory");
        let directory = root.path().join("a/b");
        let (journal, kept) = Journal::open(&directory).expect("opened");
        assert!(kept.is_empty());
        let all: Vec<_> = (0..100).map(|n| (n, Some(delivery(n)))).collect();
        journal.write(&all).expect("written");
        let gone: Vec<_> = (0..100).filter(|n| n % 2 == 0).map(|n| (n, None)).collect();
        journal.write(&gone).expect("written");
        // While it is open no other process may have it.
        assert!(Journal::open(&directory).is_err());
        drop(journal);
        let (_journal, kept) = Journal::open(&directory).expect("opened");
        let wanted = (0..100).filter(|n| n % 2 == 1).map(|n| (n, delivery(n)));
        assert_eq!(kept, wanted.collect::<Vec<_>>());
    }

    #[test]
    fn an_entry_that_is_cut_is_none() {
        let whole = encode(&delivery(0));
        assert_eq!(decode(whole.clone().into()), Some(delivery(0)));
        for bytes in 0..whole.len() {
            assert_eq!(decode(whole[..bytes].to_vec().into()), None, "{bytes}");
        }
    }

    #[test]
    fn a_file_of_another_kind_is_left_alone() {
        let root = tempfile::tempdir().expect("a directory");
        let file = root.path().join(FILE);
        std::fs::write(&file, vec![b'?'; 9_000]).expect("written");
        assert!(Journal::open(root.path()).is_err());
        assert_eq!(std::fs::read(&file).expect("read"), vec![b'?'; 9_000]);
    }
}
