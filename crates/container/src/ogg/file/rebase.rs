//! Rebasing of pages for a file: numbered from zero, with positions from its beginning.

use bytes::Bytes;

use super::super::mapping::Mapping;
use super::super::page::{self, Page, PagePosition};
use super::length::Counter;

/// Upper bound on the logical streams of a link; see [`super::super::chain`].
const STREAMS_MAX: usize = 16;

/// Upper bound on the bytes of header packets that are kept until all have arrived: see
/// [`super::super::HEADER_BYTES_MAX`].
const HEADERS_BYTES_MAX: usize = super::super::HEADER_BYTES_MAX;

/// Rebaser of one file's pages. In a link with several streams, or with a stream whose packet lengths are not known,
/// pages are numbered but positions stay: otherwise the streams would drift apart.
#[derive(Debug, Default)]
pub struct Rebase {
    streams: Vec<Stream>,
    /// Pages of this link have arrived that begin no stream.
    is_open: bool,
}

#[derive(Debug)]
struct Stream {
    serial: u32,
    pages: u32,
    position: Position,
}

/// Progress towards a stream's first position.
#[derive(Debug)]
enum Position {
    /// Its header packets are arriving.
    Headers {
        mapping: Mapping,
        whole: Vec<Vec<u8>>,
        packet: Vec<u8>,
        bytes: usize,
    },
    /// Samples have arrived, but no page with a position.
    Data(Counter),
    /// Amount by which positions are reduced.
    Known(u64),
}

impl Rebase {
    /// Takes whole pages, and returns them as the file stores them. Bytes that are not a page are left out.
    pub fn push(&mut self, pages: &Bytes) -> Vec<u8> {
        let mut out = Vec::with_capacity(pages.len());
        page::pages(pages.clone()).for_each(|page| self.page(&page, &mut out));
        out
    }

    /// Returns whether the link has one stream, whose headers are complete, and whose positions are being counted.
    pub(super) fn is_counted(&self) -> bool {
        let is_counted = |it: &Stream| matches!(it.position, Position::Data(_));
        self.streams.len() == 1 && self.streams.iter().all(is_counted)
    }

    fn page(&mut self, page: &Page, out: &mut Vec<u8>) {
        if page.is_first() {
            if self.is_open {
                self.streams.clear();
                self.is_open = false;
            }
            self.streams.retain(|stream| stream.serial != page.serial());
            if self.streams.len() < STREAMS_MAX {
                self.streams.push(Stream::new(page));
            }
        } else {
            self.is_open = true;
        }
        let is_alone = self.streams.len() == 1;
        let mut of = self.streams.iter_mut();
        let (sequence, less) = match of.find(|stream| stream.serial == page.serial()) {
            Some(stream) => {
                let sequence = stream.pages;
                stream.pages = sequence.wrapping_add(1);
                (sequence, stream.take(page, is_alone))
            }
            None => return,
        };
        let granule = page.granule().map(|granule| granule.saturating_sub(less));
        let place = PagePosition {
            granule,
            sequence,
            ..page.place()
        };
        page.write_at(place, out);
    }
}

impl Stream {
    fn new(first: &Page) -> Self {
        let mapping = first.pieces().next();
        let mapping = mapping.map_or(Mapping::Unknown, |(packet, _)| Mapping::of(packet));
        Self {
            serial: first.serial(),
            pages: 0,
            position: Position::Headers {
                mapping,
                whole: Vec::new(),
                packet: Vec::new(),
                bytes: 0,
            },
        }
    }

    /// Returns the amount by which a page's position is reduced in the file.
    fn take(&mut self, page: &Page, is_alone: bool) -> u64 {
        if let Position::Known(less) = self.position {
            return less;
        }
        if !is_alone {
            self.position = Position::Known(0);
            return 0;
        }
        // The end of a packet whose beginning did not arrive is discarded.
        let is_unknown =
            matches!(&self.position, Position::Data(counter) if counter.open.is_none());
        let is_end_of_unknown = page.is_continued() && is_unknown;
        for (piece, ends) in page.pieces().skip(usize::from(is_end_of_unknown)) {
            self.piece(piece, ends);
        }
        match (&self.position, page.granule()) {
            (Position::Data(counter), Some(granule)) if counter.packets > 0 => {
                // A last page may be cut short, and then its position is less than the samples of its packets.
                let less = granule.saturating_sub(counter.samples);
                self.position = Position::Known(less);
                less
            }
            (Position::Known(less), _) => *less,
            _ => 0,
        }
    }

    fn piece(&mut self, piece: &[u8], ends: bool) {
        match &mut self.position {
            Position::Headers {
                mapping,
                whole,
                packet,
                bytes,
            } => {
                // Audio instead of the last headers, as FLAC may have any number of them.
                let is_data = matches!(mapping, Mapping::Flac { .. })
                    && packet.is_empty()
                    && !whole.is_empty()
                    && piece.first() == Some(&0xFF);
                *bytes += piece.len();
                if *bytes > HEADERS_BYTES_MAX {
                    self.position = Position::Known(0);
                    return;
                }
                if !is_data {
                    packet.extend_from_slice(piece);
                    if !ends {
                        return;
                    }
                    whole.push(std::mem::take(packet));
                    let last = whole.last().map_or(&[][..], |last| last);
                    if !mapping.is_complete(whole.len() as u32, last) {
                        return;
                    }
                }
                let counter = Counter::of(*mapping, whole);
                self.position = counter.map_or(Position::Known(0), Position::Data);
                if is_data {
                    self.piece(piece, ends);
                }
            }
            Position::Data(counter) => counter.take(piece, ends),
            Position::Known(_) => {}
        }
    }
}
