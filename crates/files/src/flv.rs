//! FLV files: their beginning, their duration, and their tags, one after another.

use std::ops::Range;

use bytes::Bytes;
use container::flv::{FILE_HEAD_BYTES, FileHead, Reader, Search, TagHead};
use media::Item;

use crate::Error;
use crate::whole::Whole;

/// Bytes at the end of a tag that state its length, and those at its beginning.
const TRAILER_BYTES: u64 = 4;
const HEAD_BYTES: u64 = 11;

/// Reader of a file's tags.
#[derive(Debug)]
pub(crate) struct Flv {
    /// Length in bytes of the complete part.
    pub(crate) length: u64,
    head: FileHead,
    /// Duration in milliseconds that the last tag shows; zero for a truncated file.
    last: u32,
    step: Step,
    /// Beginning of what is looked at.
    cut: Whole,
    reader: Reader,
    /// Read position in bytes.
    at: u64,
}

/// Step of reading: at first the file's head and, unless that states the duration, its last tag.
#[derive(Debug)]
enum Step {
    Head,
    /// The length of the last tag.
    Trailer,
    /// The last tag, which begins here.
    Last(u64),
    Search(Search),
    Media,
}

impl Flv {
    pub(crate) fn new(length: u64) -> Self {
        Self {
            length,
            head: FileHead::default(),
            last: 0,
            step: Step::Head,
            cut: Whole::default(),
            reader: Reader::default(),
            at: 0,
        }
    }

    /// Returns whether the head and the duration are still to be read.
    pub(crate) fn is_opening(&self) -> bool {
        matches!(self.step, Step::Head | Step::Trailer | Step::Last(_))
    }

    pub(crate) fn is_looking(&self) -> bool {
        !matches!(self.step, Step::Media)
    }

    /// Returns the duration in seconds that the metadata states.
    pub(crate) fn stated(&self) -> Option<f64> {
        self.head.duration
    }

    /// Returns the duration in seconds.
    pub(crate) fn seconds(&self) -> f64 {
        self.stated()
            .unwrap_or_else(|| f64::from(self.last) / 1_000.0)
    }

    pub(crate) fn wants(&self) -> Range<u64> {
        let wanted = self.wanted();
        wanted.start + self.cut.held()..wanted.end
    }

    /// Returns the range of the current step.
    fn wanted(&self) -> Range<u64> {
        match &self.step {
            Step::Head => 0..self.length.min(FILE_HEAD_BYTES as u64),
            Step::Trailer => self.length - TRAILER_BYTES..self.length,
            Step::Last(begin) => *begin..begin + HEAD_BYTES,
            Step::Search(search) => search.wants(),
            Step::Media => self.at..self.length,
        }
    }

    pub(crate) fn take(&mut self, mut bytes: Bytes, out: &mut Vec<Item>) -> Result<(), Error> {
        if let Step::Media = self.step {
            self.at += bytes.len() as u64;
            self.reader.push(&bytes, out)?;
            // The opening already contains the metadata.
            out.retain(|item| !matches!(item, Item::Metadata(_)));
            return Ok(());
        }
        let Range { start, end } = self.wanted();
        let Some(bytes) = self.cut.take(end - start, &mut bytes) else {
            return Ok(());
        };
        match &mut self.step {
            Step::Head => {
                self.head = FileHead::read(&bytes)?;
                self.begin(self.head.end, out)?;
                if self.stated().is_none() && self.length >= TRAILER_BYTES {
                    self.step = Step::Trailer;
                }
            }
            Step::Trailer => {
                let size = bytes.first_chunk().map(|it| u32::from_be_bytes(*it).into());
                let begin = size.and_then(|size| start.checked_sub(size));
                self.step = match begin.filter(|begin| begin + HEAD_BYTES <= self.length) {
                    Some(begin) => Step::Last(begin),
                    None => Step::Media,
                };
            }
            Step::Last(_) => {
                let tag = TagHead::parse(&bytes).filter(|tag| start + tag.bytes() == self.length);
                self.last = tag.map_or(0, |tag| tag.millis);
                self.step = Step::Media;
            }
            Step::Search(search) => {
                if let Some(place) = search.take(&bytes) {
                    self.begin(place, &mut Vec::new())?;
                }
            }
            Step::Media => {}
        }
        self.end_search()
    }

    /// Ends a search that wants nothing more.
    fn end_search(&mut self) -> Result<(), Error> {
        while let Step::Search(search) = &mut self.step
            && search.wants().is_empty()
        {
            if let Some(place) = search.take(&[]) {
                self.begin(place, &mut Vec::new())?;
            }
        }
        Ok(())
    }

    /// Continues from a tag; appends what the head describes.
    fn begin(&mut self, at: u64, out: &mut Vec<Item>) -> Result<(), Error> {
        self.reader = Reader::default();
        self.reader.push(&self.head.bytes, out)?;
        self.at = at;
        self.step = Step::Media;
        Ok(())
    }

    pub(crate) fn seek(&mut self, millis: u32) -> Result<(), Error> {
        self.step = Step::Search(self.head.search(millis, self.length));
        self.cut = Whole::default();
        self.end_search()
    }
}
