//! Splicing of files into one physical stream.
//!
//! * A link begins with its header pages, and the last page of each of its streams is marked as such. Whether a
//!   recording that ends is continued is known only afterwards, so one page is held back; streams that end before it
//!   get an empty page.
//! * Media with the same header as the open link continues that link, if its positions can be counted from there.
//!   Anything else is a link of its own, whose streams have serial numbers that differ from those before.
//! * Positions count from the beginning of a link, as in a file ([`Rebase`]).

use bytes::Bytes;

use super::super::page::{self, FLAG_LAST, Page, PagePosition};
use super::Rebase;

/// Upper bound on the logical streams of a link; see [`super::super::chain`].
const STREAMS_MAX: usize = 16;

/// Splicer of files into one stream: pass it each [`header`](Self::header) and its [`pages`](Self::pages), then
/// [`end`](Self::end).
#[derive(Debug, Default)]
pub struct Splice {
    header: Bytes,
    rebase: Rebase,
    streams: Vec<Stream>,
    /// Serial numbers of the link before.
    before: Vec<u32>,
    /// Last page read, which is not written yet.
    held: Option<(Page, PagePosition)>,
}

/// Stream of the open link.
#[derive(Debug)]
struct Stream {
    /// Serial number in the source.
    source: u32,
    serial: u32,
    /// Number of its next page.
    sequence: u32,
    /// Offset added to its positions, and the last position written.
    base: u64,
    last: u64,
}

impl Splice {
    /// Begins media with this header, and returns the bytes to write for it.
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

    /// Takes pages that follow the header, and returns the bytes to write for them. Bytes that are not a page are left
    /// out.
    pub fn pages(&mut self, pages: &Bytes) -> Vec<u8> {
        let mut out = Vec::with_capacity(pages.len());
        let pages = self.rebase.push(pages);
        self.put(pages.into(), &mut out);
        out
    }

    /// Ends the stream, and returns the bytes to write at the end.
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

    /// Assigns numbers that differ from those of the link before to the streams that begin in some pages.
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
