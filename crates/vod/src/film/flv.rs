//! FLV files: tags, read one after another.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::Duration;

use container::flv::{FILE_HEAD_BYTES, FileHead, Reader, TagHead};
use media::Item;

use super::metadata;
use crate::patches::Patches;
use crate::reads::{Read, Reads, malformed};

/// Most probes of a search in one turn: a second on a disk that must seek for each.
const LOOKS_MAX: usize = 128;

/// Reader of an FLV file; call [`seek`](Self::seek), then [`next`](Self::next) until it returns nothing.
#[derive(Debug)]
pub(crate) struct Flv {
    file: Arc<File>,
    reads: Arc<Reads>,
    length: u64,
    head: FileHead,
    opening: Vec<Item>,
    reader: Reader,
    /// Read position in bytes.
    at: u64,
}

impl Flv {
    /// Opens a file at its beginning; also returns its duration.
    pub(crate) async fn open(
        (file, reads): (&Arc<File>, &Arc<Reads>),
        length: u64,
    ) -> io::Result<(Self, Duration)> {
        let read = Arc::clone(file);
        let (head, last) = reads
            .blocking(move || Ok((head(&read, length)?, last_millis(&read, length)?)))
            .await?;
        let seconds = head.duration.unwrap_or_else(|| f64::from(last) / 1_000.0);
        let plays = Duration::try_from_secs_f64(seconds).unwrap_or_default();
        let mut opening = Vec::new();
        let reader = begin(&head, &mut opening)?;
        let has_reported = opening.iter().any(|item| matches!(item, Item::Metadata(_)));
        if !has_reported || head.duration.is_none() {
            opening.retain(|item| !matches!(item, Item::Metadata(_)));
            let tracks = opening.iter().filter_map(|item| match item {
                Item::Track(track) => Some(track),
                _ => None,
            });
            let reported = metadata::item(tracks, None, Some(plays));
            opening.insert(0, reported);
        }
        let flv = Self {
            file: Arc::clone(file),
            reads: Arc::clone(reads),
            length,
            at: head.end,
            head,
            opening,
            reader,
        };
        Ok((flv, plays))
    }

    pub(crate) fn opening(&self) -> &[Item] {
        &self.opening
    }

    /// Updates the readable length; returns whether it grew.
    pub(crate) fn grow(&mut self, length: u64) -> bool {
        let has_grown = length > self.length;
        self.length = self.length.max(length);
        has_grown
    }

    pub(crate) async fn seek(&mut self, millis: u32) -> io::Result<()> {
        let mut search = self.head.search(millis, self.length);
        let place = loop {
            let file = Arc::clone(&self.file);
            let look = move || {
                for _ in 0..LOOKS_MAX {
                    let wants = search.wants();
                    let mut bytes = vec![0; (wants.end - wants.start) as usize];
                    file.read_exact_at(&mut bytes, wants.start)?;
                    if let Some(place) = search.take(&bytes) {
                        return Ok((search, Some(place)));
                    }
                }
                Ok((search, None))
            };
            match self.reads.blocking(look).await? {
                (_, Some(place)) => break place,
                (then, None) => search = then,
            }
        };
        self.reader = begin(&self.head, &mut Vec::new())?;
        self.at = place;
        Ok(())
    }

    pub(crate) async fn next(&mut self) -> io::Result<Vec<Item>> {
        let mut items = Vec::new();
        while items.is_empty() && self.at < self.length {
            let rest = self.at..self.length;
            let (reads, file) = (Arc::clone(&self.reads), Arc::clone(&self.file));
            let window = reads.window(file, rest.into(), Patches::default());
            let (Read { bytes, .. }, _) = window.await?;
            self.at += bytes.len() as u64;
            self.reader.push(&bytes, &mut items).map_err(malformed)?;
        }
        // The opening already contains the metadata.
        items.retain(|item| !matches!(item, Item::Metadata(_)));
        Ok(items)
    }
}

/// Makes a reader that has read the head.
fn begin(head: &FileHead, out: &mut Vec<Item>) -> io::Result<Reader> {
    let mut reader = Reader::default();
    reader.push(&head.bytes, out).map_err(malformed)?;
    Ok(reader)
}

/// Parses the head. Blocks.
pub(crate) fn head(file: &File, length: u64) -> io::Result<FileHead> {
    let mut bytes = vec![0; length.min(FILE_HEAD_BYTES as u64) as usize];
    file.read_exact_at(&mut bytes, 0)?;
    FileHead::read(&bytes).map_err(malformed)
}

/// Returns the tag that begins at a position, if one does. Blocks.
pub(crate) fn tag_at(file: &File, length: u64, at: u64) -> io::Result<Option<TagHead>> {
    let read = |at: u64, bytes: &mut [u8]| {
        let end = at.saturating_add(bytes.len() as u64);
        match end <= length {
            true => file.read_exact_at(bytes, at).map(|()| true),
            false => Ok(false),
        }
    };
    let (mut head, mut trailer) = ([0; 11], [0; 4]);
    if !read(at, &mut head)? {
        return Ok(None);
    }
    let Some(tag) = TagHead::parse(&head) else {
        return Ok(None);
    };
    let is_whole = read(at + tag.bytes() - 4, &mut trailer)? && tag.is_closed_by(trailer);
    Ok(is_whole.then_some(tag))
}

/// Returns the time of the last tag in milliseconds; zero for a truncated file. Blocks.
fn last_millis(file: &File, length: u64) -> io::Result<u32> {
    let Some(at) = length.checked_sub(4) else {
        return Ok(0);
    };
    let mut size = [0; 4];
    file.read_exact_at(&mut size, at)?;
    let Some(begin) = at.checked_sub(u32::from_be_bytes(size).into()) else {
        return Ok(0);
    };
    let tag = tag_at(file, length, begin)?;
    Ok(tag.map_or(0, |tag| tag.millis))
}
