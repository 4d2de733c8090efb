//! Journal file, in which deliveries survive a restart.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::journal::{Error, File, Found, Health};
use bytes::{Buf, Bytes};
use redb::{ReadableDatabase, ReadableTable, TableDefinition, WriteTransaction};

use crate::webhooks::queue::Delivery;

/// Name of the file in its directory.
const FILE: &str = "webhooks.redb";

/// Deliveries by number.
const DELIVERIES: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("deliveries");

/// Single entry: the highest sequence number assigned.
const SEQUENCE: TableDefinition<'_, (), u64> = TableDefinition::new("sequence");

/// Version byte at the start of entries. Other versions are not read.
const VERSION: u8 = 2;

/// Cache of the database, in bytes: the file has a few megabytes, and is read once.
const CACHE_BYTES: usize = 1 << 20;

/// Reason why webhooks cannot start.
#[derive(Debug, thiserror::Error)]
#[error("another process has {}", .0.display())]
pub struct OpenError(PathBuf);

/// Changed deliveries by number; `None` for removed ones.
pub(crate) type Changes = Vec<(u64, Option<Delivery>)>;

/// Contents left by an earlier run.
#[derive(Debug, Default, Eq, PartialEq)]
pub(crate) struct Kept {
    pub(crate) deliveries: Vec<(u64, Delivery)>,
    pub(crate) sequence: u64,
}

/// Examines the queue file of a directory before it is opened, without changing it. Returns its path and state.
///
/// # Errors
/// Returns an error in place of the state when the file cannot be read.
pub fn look(directory: &Path) -> (PathBuf, io::Result<Found>) {
    let Journal(file) = Journal::of(directory, Arc::default());
    (file.path().to_owned(), file.look())
}

/// Journal of deliveries. All its methods block.
#[derive(Debug)]
pub(crate) struct Journal(File);

impl Journal {
    /// Makes the journal of a directory, which is created if necessary.
    pub(crate) fn of(directory: &Path, health: Arc<Health>) -> Self {
        let path = directory.join(FILE);
        Self(File::new(path, CACHE_BYTES, make_tables, health))
    }

    /// Returns the error for a file that another process holds.
    pub(crate) fn taken(&self) -> OpenError {
        OpenError(self.0.path().to_owned())
    }

    /// Reads the contents.
    ///
    /// # Errors
    /// Fails when the disk refuses, here and below, or another process holds the file.
    pub(crate) fn read(&self) -> Result<Kept, Error> {
        self.0.with(|database| {
            let transaction = database.begin_read()?;
            let table = transaction.open_table(DELIVERIES)?;
            let mut deliveries = Vec::new();
            for entry in table.iter()? {
                let (number, bytes) = entry?;
                match decode(Bytes::copy_from_slice(bytes.value())) {
                    Some(delivery) => deliveries.push((number.value(), delivery)),
                    None => tracing::error!(
                        number = number.value(),
                        "an entry of the webhooks' queue is not understood"
                    ),
                }
            }
            let sequence = transaction.open_table(SEQUENCE)?.get(())?;
            Ok(Kept {
                deliveries,
                sequence: sequence.map_or(0, |it| it.value()),
            })
        })
    }

    /// Commits changes, all or none. With `is_all` they replace everything in the file.
    pub(crate) fn write(
        &self,
        changes: &Changes,
        sequence: u64,
        is_all: bool,
    ) -> Result<(), Error> {
        self.0.write(|write| {
            let mut table = write.open_table(DELIVERIES)?;
            if is_all {
                table.retain(|_, _| false)?;
            }
            for (number, delivery) in changes {
                match delivery {
                    Some(delivery) => {
                        table.insert(number, &*encode(delivery))?;
                    }
                    None => {
                        table.remove(number)?;
                    }
                }
            }
            write.open_table(SEQUENCE)?.insert((), sequence)?;
            Ok(())
        })
    }

    #[cfg(test)]
    pub(crate) fn refuse_writes(&self, count: u32) {
        self.0.refuse_writes(count);
    }
}

fn make_tables(write: &WriteTransaction) -> Result<(), Error> {
    write.open_table(DELIVERIES)?;
    write.open_table(SEQUENCE)?;
    Ok(())
}

/// Identifiers, kinds and streams are this server's own, and shorter than 256 bytes; longer ones are cut.
fn encode(delivery: &Delivery) -> Vec<u8> {
    let mut bytes = vec![VERSION];
    bytes.extend(delivery.receiver.to_be_bytes());
    bytes.extend(delivery.attempts.to_be_bytes());
    bytes.extend(delivery.due.to_be_bytes());
    bytes.extend(delivery.reported.to_be_bytes());
    bytes.push(u8::from(delivery.is_apart));
    for text in [&delivery.id, &delivery.kind, &delivery.stream] {
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
    let reported = bytes.try_get_u64().ok()?;
    let is_apart = bytes.try_get_u8().ok()? != 0;
    let mut text = || {
        let length = usize::from(bytes.try_get_u8().ok()?);
        let text = (length <= bytes.len()).then(|| bytes.split_to(length))?;
        std::str::from_utf8(&text).map(Into::into).ok()
    };
    let (id, kind, stream) = (text()?, text()?, text()?);
    Some(Delivery {
        receiver,
        stream,
        id,
        kind,
        body: bytes,
        attempts,
        due,
        reported,
        is_apart,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delivery(number: u64) -> Delivery {
        Delivery {
            receiver: u64::MAX - number,
            stream: "live/show".into(),
            id: format!("msg_{number}").into(),
            kind: "recording.gap".into(),
            body: vec![b'x'; number as usize].into(),
            attempts: 3,
            due: 1_800_000_000_000 + number,
            reported: 1_700_000_000_000 + number,
            is_apart: number.is_multiple_of(3),
        }
    }

    fn all(numbers: impl Iterator<Item = u64>) -> Changes {
        numbers.map(|n| (n, Some(delivery(n)))).collect()
    }

    fn journal(root: &tempfile::TempDir) -> Journal {
        Journal::of(&root.path().join("a/b"), Arc::default())
    }

    fn numbers(journal: &Journal) -> Vec<u64> {
        let kept = journal.read().expect("read").deliveries;
        assert!(kept.iter().all(|(n, kept)| *kept == delivery(*n)));
        kept.into_iter().map(|(number, _)| number).collect()
    }

    #[test]
    fn what_was_written_is_there_when_it_is_opened_again() {
        let root = tempfile::tempdir().expect("a directory");
        let first = journal(&root);
        assert_eq!(first.read().expect("made"), Kept::default());
        first.write(&all(0..100), 7, false).expect("written");
        let gone = (0..100).step_by(2).map(|n| (n, None)).collect();
        first.write(&gone, 8, false).expect("written");
        // While it is open no other process may have it.
        assert!(journal(&root).read().expect_err("taken").is_taken());
        drop(first);
        let again = journal(&root);
        assert_eq!(numbers(&again), (1..100).step_by(2).collect::<Vec<_>>());
        assert_eq!(again.read().expect("read").sequence, 8);
        again.write(&all(500..503), 9, true).expect("written");
        assert_eq!(numbers(&again), [500, 501, 502]);
    }

    #[test]
    fn an_entry_that_is_cut_is_none() {
        let whole = encode(&delivery(0));
        assert_eq!(decode(whole.clone().into()), Some(delivery(0)));
        for bytes in 0..whole.len() {
            assert_eq!(decode(whole[..bytes].to_vec().into()), None, "{bytes}");
        }
    }
}
