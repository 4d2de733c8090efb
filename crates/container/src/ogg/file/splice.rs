//! One physical stream out of what was read in one file after another.
//!
//! * A link begins with its header pages, and the last page of each of its streams says so. Whether a recording that ends is
//!   gone on with is known only afterwards, so one page is held back; streams that end before it get an empty page.
//! * What has the same header as the link that is open goes on in it, if its positions can be counted from there;
//!   everything else is a link of its own, whose streams have other serial numbers than those before.
//! * Positions count from where a link begins, as in a file ([`Rebase`]).

use bytes::Bytes;

use super::super::page::{self, FLAG_LAST, Page, PagePosition};
use super::Rebase;

/// Logical streams of a link; see [`super::super::chain`].
const STREAMS_MAX: usize = 16;

/// See the module's description.
#[derive(Debug, Default)]
pub struct Splice {
    header: Bytes,
    rebase: Rebase,
    streams: Vec<Stream>,
    /// The serial numbers of the link before.
    before: Vec<u32>,
    /// The page that was read last, which is not written yet.
    held: Option<(Page, PagePosition)>,
}

/// A stream of the link that is open.
#[derive(Debug)]
struct Stream {
    /// Its number where it was read.
    source: u32,
    serial: u32,
    /// The number of its next page.
    sequence: u32,
    /// What is added to its positions, and the last one that was written.
    base: u64,
    last: u64,
}

impl Splice {
    /// What follows has this header. Returns what is written for that.
    pub fn header(&mut self, header: &Bytes) -> Vec<u8> {
        let mut rebase = Rebase::default();
        let pages = Bytes::from(rebase.push(header));
        let is_same = !header.is_empty() && *header == self.header;
        if is_same && rebase.is_counted() {
            self.rebase = rebase;
            for stream in &mut self.streams {
                stream.base = stream.last;
            }
            return Vec::new();
        }
        let mut out = self.end();
        (self.header, self.rebase) = (header.clone(), rebase);
        self.open(pages.clone());
        self.put(pages, &mut out);
        out
    }

    /// Takes pages that follow the header, and returns what is written for them. What is no page is left out.
    pub fn pages(&mut self, pages: &Bytes) -> Vec<u8> {
        let mut out = Vec::with_capacity(pages.len());
        let pages = self.rebase.push(pages);
        self.put(pages.into(), &mut out);
        out
    }

    /// Nothing follows: returns what is written at the end.
    pub fn end(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        self.header.clear();
        if !self.streams.is_empty() {
            self.before = self.streams.iter().map(|it| it.serial).collect();
        }
        let mut ended = None;
        // Only the end of a packet is the end of a stream.
        if let Some((_, place)) = &mut self.held
            && place.granule.is_some()
        {
            place.flags |= FLAG_LAST;
            ended = Some(place.serial);
        }
        self.release(&mut out);
        for stream in self.streams.drain(..) {
            if ended == Some(stream.serial) {
                continue;
            }
            let place = PagePosition {
                flags: FLAG_LAST,
                granule: None,
                serial: stream.serial,
                sequence: stream.sequence,
            };
            page::write(&mut out, place, &[], &[]);
        }
        out
    }

    /// Gives the streams that begin in some pages numbers that none of the link before has.
    fn open(&mut self, pages: Bytes) {
        for page in page::pages(pages) {
            if page.is_first() && self.streams.len() < STREAMS_MAX {
                self.streams.push(Stream {
                    source: page.serial(),
                    serial: page.serial(),
                    sequence: 0,
                    base: 0,
                    last: 0,
                });
            }
        }
        let more = (0..=u32::MAX).find(|more| {
            let mut streams = self.streams.iter();
            !streams.any(|it| self.before.contains(&it.source.wrapping_add(*more)))
        });
        for stream in &mut self.streams {
            stream.serial = stream.source.wrapping_add(more.unwrap_or(0));
        }
    }

    fn put(&mut self, pages: Bytes, out: &mut Vec<u8>) {
        for page in page::pages(pages) {
            let mut streams = self.streams.iter_mut();
            let Some(stream) = streams.find(|it| it.source == page.serial()) else {
                continue;
            };
            let granule = page.granule().map(|it| it.saturating_add(stream.base));
            stream.last = stream.last.max(granule.unwrap_or(0));
            let place = PagePosition {
                flags: page.flags() & !FLAG_LAST,
                granule,
                serial: stream.serial,
                sequence: stream.sequence,
            };
            stream.sequence = stream.sequence.wrapping_add(1);
            self.release(out);
            self.held = Some((page, place));
        }
    }

    /// Writes the page that was held back.
    fn release(&mut self, out: &mut Vec<u8>) {
        if let Some((page, place)) = self.held.take() {
            page.write_at(place, out);
        }
    }
}
