//! The links of a chain as one logical stream.
//!
//! Some browsers stop, or fall silent, where one link of a chain follows another, which is how encoders announce titles. What
//! can be decoded as it goes on has one serial number here, pages numbered without a gap, and positions that count the
//! samples that decoders return:
//!
//! * A link whose headers differ from those before in comments alone goes on in the stream that is open. Its header pages
//!   are for listeners that join.
//! * Any other link is a link here, too: decoders need its headers. The stream before it ends with an empty page.
//! * Packets at the beginning of a link that make no sound (Opus before the end of the pre-skip, the first of Vorbis) are
//!   left out if they have pages of their own, as [`Retitler`](super::Retitler) makes them: a decoder that goes on would
//!   let them be heard.
//! * Links of several streams, or of one that is not understood, are passed on as they are.

use bytes::Bytes;

use super::file::length::Lengths;
use super::headers::Headers;
use super::mapping::Mapping;
use super::page::{self, FLAG_LAST, Front, NO_GRANULE, Page, PagePosition, relocate};

/// See the module's description. It takes the headers and the pages that a [`Demuxer`](super::Demuxer) gives.
#[derive(Debug, Default)]
pub struct Unchainer {
    open: Option<Open>,
}

/// What a header means for the listeners that are there.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Change {
    /// They go on.
    Same,
    /// They are sent this.
    New(Vec<u8>),
}

/// The logical stream that is open.
#[derive(Debug)]
struct Open {
    /// Of the source's present link.
    headers: Headers,
    serial: u32,
    sequence: u32,
    /// Samples so far.
    position: u64,
    lengths: Lengths,
    /// What the packet lasts that has begun on a page before.
    begun: Option<u64>,
    /// No page of the present link has come, and it follows another.
    is_splice: bool,
}

impl Unchainer {
    /// The source's next link has this header. Returns what that means, and the header for listeners that join.
    pub fn header(&mut self, header: &Bytes) -> (Change, Bytes) {
        let headers = Headers::of(header);
        let lengths = |headers: &Headers| Lengths::of(headers.mapping, &headers.packets);
        let counted = headers.and_then(|headers| Some((lengths(&headers)?, headers)));
        if let (Some(open), Some((_, headers))) = (&mut self.open, &counted)
            && open.headers.decode_alike(headers)
        {
            let pages = headers.pages(open.serial).0;
            open.headers = headers.clone();
            open.begun = None;
            open.is_splice = true;
            return (Change::Same, pages);
        }
        let before = self.open.take();
        let mut end = Vec::new();
        if let Some(open) = &before {
            open.write_end(&mut end);
        }
        let pages = match counted {
            None => header.clone(),
            Some((lengths, headers)) => {
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
                    position: 0,
                    lengths,
                    begun: None,
                    is_splice: false,
                });
                pages
            }
        };
        end.extend_from_slice(&pages);
        (Change::New(end), pages)
    }

    /// Takes a page that follows the header, and returns it as it is here; `None` if it is left out.
    pub fn page(&mut self, bytes: &Bytes) -> Option<Bytes> {
        let Some(open) = &mut self.open else {
            return Some(bytes.clone());
        };
        if page::at_front(bytes) != Front::Page(bytes.len()) {
            return None;
        }
        let page = Page::new(bytes.clone());
        (page.serial() == open.headers.serial)
            .then(|| open.page(&page))
            .flatten()
    }
}

impl Open {
    fn page(&mut self, page: &Page) -> Option<Bytes> {
        if std::mem::take(&mut self.is_splice) && self.is_silent(page) {
            return None;
        }
        let mut pieces = page.pieces();
        if page.is_continued() && self.begun.is_none() {
            // The end of a packet of which the beginning did not come is none.
            pieces.next();
        }
        let mut ends_any = false;
        for (piece, ends) in pieces {
            let lasts = self
                .begun
                .take()
                .unwrap_or_else(|| self.lengths.of_packet(piece));
            if ends {
                self.position = self.position.saturating_add(lasts);
                ends_any = true;
            } else {
                self.begun = Some(lasts);
            }
        }
        let place = PagePosition {
            flags: page.flags() & !FLAG_LAST,
            granule: if ends_any { self.position } else { NO_GRANULE },
            serial: self.serial,
            sequence: self.sequence,
        };
        self.sequence = self.sequence.wrapping_add(1);
        let mut bytes = page.bytes.to_vec();
        relocate(&mut bytes, place);
        Some(bytes.into())
    }

    /// Whether nothing on the first page of a link is heard where the link is decoded by itself.
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
            granule: self.position,
            serial: self.serial,
            sequence: self.sequence,
        };
        page::write(out, place, &[], &[]);
    }
}
