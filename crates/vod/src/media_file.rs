//! Media file that is read as items, through the reads that all clients of its folder share.

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use files::Reader;
use media::Item;

use crate::patches::Patches;
use crate::reads::{Read, Reads};

/// Most looks for a place in one turn: a second on a disk that must seek for each.
const LOOKS_MAX: usize = 128;

/// File that belongs to one player; call [`seek`](Self::seek), then [`next`](Self::next).
#[derive(Debug)]
pub(crate) struct MediaFile {
    file: Arc<File>,
    reads: Arc<Reads>,
    /// Reader of nothing after a turn that failed.
    reader: Reader,
    /// Last window; its memory is counted until the next one.
    window: Read,
}

impl MediaFile {
    /// Opens a file at its beginning.
    ///
    /// # Errors
    /// `NotFound` if it contains no media, or not yet; other kinds if it cannot be read.
    pub(crate) async fn open(
        (file, reads): (&Arc<File>, &Arc<Reads>),
        reader: Reader,
    ) -> io::Result<Self> {
        let mut new = Self {
            file: Arc::clone(file),
            reads: Arc::clone(reads),
            reader,
            window: Read::default(),
        };
        new.look(|_| Ok(())).await?;
        new.read_opening().await?;
        Ok(new)
    }

    pub(crate) fn reader(&self) -> &Reader {
        &self.reader
    }

    pub(crate) fn reader_mut(&mut self) -> &mut Reader {
        &mut self.reader
    }

    /// Continues from the last place at or before a time where a player may begin.
    ///
    /// # Errors
    /// If the disk does not deliver it, or the file is damaged.
    pub(crate) async fn seek(&mut self, to: Duration) -> io::Result<()> {
        self.window = Read::default();
        self.look(move |reader| Ok(reader.seek(to)?)).await?;
        self.read_opening().await
    }

    /// Returns the next items; none at the end of the complete part.
    ///
    /// # Errors
    /// If the disk does not deliver them, or the file is damaged there.
    pub(crate) async fn next(&mut self) -> io::Result<Vec<Item>> {
        let mut items = self.reader.ready();
        while items.is_empty() && self.read(&mut items).await? {}
        Ok(items)
    }

    /// Reads until every track is known.
    async fn read_opening(&mut self) -> io::Result<()> {
        while !self.reader.is_open() {
            if !self.read(&mut Vec::new()).await? {
                return Err(files::Error::NoMedia.into());
            }
        }
        Ok(())
    }

    /// Reads a window; returns false if there is none.
    async fn read(&mut self, items: &mut Vec<Item>) -> io::Result<bool> {
        let wanted = self.reader.wants();
        if wanted.is_empty() {
            return Ok(false);
        }
        let (reads, file) = (Arc::clone(&self.reads), Arc::clone(&self.file));
        (self.window, _) = reads.window(file, wanted, Patches::default()).await?;
        self.reader.take(self.window.bytes.clone(), items)?;
        Ok(true)
    }

    /// Has the reader do some work, and then look for its place, in as many turns as it takes.
    async fn look(
        &mut self,
        work: impl FnOnce(&mut Reader) -> io::Result<()> + Send + 'static,
    ) -> io::Result<()> {
        let mut work = Some(work);
        loop {
            let (mut reader, file) = (std::mem::take(&mut self.reader), Arc::clone(&self.file));
            let work = work.take();
            let turn = move || {
                work.map_or(Ok(()), |work| work(&mut reader))?;
                let is_over = reader.look(&file, LOOKS_MAX)?;
                Ok((reader, is_over))
            };
            let (reader, is_over) = self.reads.blocking(turn).await?;
            self.reader = reader;
            if is_over {
                return Ok(());
            }
        }
    }
}
