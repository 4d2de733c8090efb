//! Conversion of a chain's links into one logical stream.
//!
//! Some browsers stop, or fall silent, where one link of a chain follows another, which is how encoders announce
//! titles. In the output, links that a decoder can continue with share one serial number, their pages are numbered
//! without a gap, and positions count the samples that decoders return:
//!
//! * A link whose headers differ from those before in comments alone continues the open stream. Its header pages are
//!   for listeners that join.
//! * Any other link starts a new link in the output, too: decoders need its headers. The stream before it ends with an
//!   empty page.
//! * Packets at the beginning of a link that yield no audio (Opus before the end of the pre-skip, the first of Vorbis)
//!   are left out if they have pages of their own, as [`Retitler`](super::Retitler) makes them: a decoder that
//!   continues would play them.
//! * Links of several streams, or of one that is not understood, are passed on unchanged.

use bytes::Bytes;

use super::file::length::Counter;
use super::headers::Headers;
use super::mapping::Mapping;
use super::page::{self, FLAG_LAST, Page, PagePosition};

/// Unchainer of one stream; pass it the headers and the pages of a [`Demuxer`](super::Demuxer).
#[derive(Debug, Default)]
pub struct Unchainer {
    open: Option<Open>,
}

/// Logical stream that is open.
#[derive(Debug)]
struct Open {
    /// Headers of the source's current link.
    headers: Headers,
    serial: u32,
    sequence: u32,
    /// Counter of the samples so far.
    counter: Counter,
    /// No page of the current link has arrived, and the link follows another.
    is_splice: bool,
}

impl Unchainer {
    /// Takes the header of the source's next link. Returns the bytes for current listeners, or `None` if they just
    /// continue, and the header for listeners that join.
    pub fn header(&mut self, header: &Bytes) -> (Option<Bytes>, Bytes) {
        let headers = Headers::of(header);
        let counter = |headers: &Headers| Counter::of(headers.mapping, &headers.packets);
        let counted = headers.and_then(|headers| Some((counter(&headers)?, headers)));
        if let (Some(open), Some((_, headers))) = (&mut self.open, &counted)
            && open.headers.decode_alike(headers)
        {
            let pages = headers.pages(open.serial).0;
            open.headers = headers.clone();
            open.counter.open = None;
            open.is_splice = true;
            return (None, pages);
        }
        let before = self.open.take();
        let mut end = Vec::new();
        if let Some(open) = &before {
            open.write_end(&mut end);
        }
        let pages = match counted {
            None => header.clone(),
            Some((counter, headers)) => {
                let taken = before.map(|open| open.serial);
                let serial = match taken == Some(headers.serial) {
                    true => headers.serial.wrapping_add(1),
                    false => headers.serial,
                };
                let (pages, sequence) = headers.pages(serial);
                self.open = Some(Open {
                    headers,
                    serial,
                    sequence,
                    counter,
                    is_splice: false,
                });
                pages
            }
        };
        end.extend_from_slice(&pages);
        (Some(end.into()), pages)
    }

    /// Takes a page that follows the header, and returns it with its numbers in the output; `None` if it is left out.
    pub fn page(&mut self, bytes: &Bytes) -> Option<Bytes> {
        let Some(open) = &mut self.open else {
            return Some(bytes.clone());
        };
        let page = Page::whole(bytes);
        let page = page.filter(|page| page.serial() == open.headers.serial);
        open.page(&page?)
    }
}

impl Open {
    fn page(&mut self, page: &Page) -> Option<Bytes> {
        if std::mem::take(&mut self.is_splice) && self.is_silent(page) {
            return None;
        }
        let mut pieces = page.pieces();
        if page.is_continued() && self.counter.open.is_none() {
            // The end of a packet whose beginning did not arrive is discarded.
            pieces.next();
        }
        let before = self.counter.packets;
        pieces.for_each(|(piece, ends)| self.counter.take(piece, ends));
        let ends_any = self.counter.packets > before;
        let place = PagePosition {
            flags: page.flags() & !FLAG_LAST,
            granule: ends_any.then_some(self.counter.samples),
            serial: self.serial,
            sequence: self.sequence,
        };
        self.sequence = self.sequence.wrapping_add(1);
        let mut bytes = Vec::with_capacity(page.bytes.len());
        page.write_at(place, &mut bytes);
        Some(bytes.into())
    }

    /// Returns whether a decoder that starts with this link would play nothing of its first page.
    fn is_silent(&self, page: &Page) -> bool {
        let silent = match self.headers.mapping {
            Mapping::Opus { .. } => self.headers.pre_skip(),
            _ => 0,
        };
        page.granule().is_some_and(|granule| granule <= silent)
    }

    /// Ends the stream with a page without packets.
    fn write_end(&self, out: &mut Vec<u8>) {
        let place = PagePosition {
            flags: FLAG_LAST,
            granule: Some(self.counter.samples),
            serial: self.serial,
            sequence: self.sequence,
        };
        page::write(out, place, &[], &[]);
    }
}
