//! Writer of external titles into an Ogg stream.
//!
//! The comments of a link cannot change, so a title begins another link of the chain: the last page before it is marked
//! as the last of its stream, and header pages with the new comments follow, with another serial number. Nothing is
//! decoded or encoded, and no sample is lost or played twice:
//!
//! * A decoder returns no audio for the first packet of Vorbis, because it is overlapped with the packet before. So the
//!   last packet of the link before is repeated, at position 0 (Vorbis I specification, §4.3.8).
//! * A decoder of Opus has to converge. So the last packets are repeated, and the pre-skip is as long as they are (RFC
//!   7845 §4.2, §4.6).
//!
//! Links that the source begins itself are passed on unchanged, with their own titles, except for a serial number that
//! equals that of the link before. Without a title, the caller should pass on all items unchanged.

use std::sync::Arc;

use bytes::Bytes;
use media::codec::opus;
use media::{Item, Sample, SongTitle, Span};

use super::headers::Headers;
use super::mapping::Mapping;
use super::page::{self, FLAG_LAST, Page, PagePosition, lace};

/// Samples that an Opus decoder is given to converge: 80 ms (RFC 7845 §4.2).
const PRE_ROLL: u64 = 3_840;

/// Retitler of one stream; pass it the items of a [`Demuxer`](super::Demuxer).
#[derive(Debug, Default)]
pub struct Retitler {
    /// Current link of the source, if a title can be written into it.
    link: Option<Link>,
    wish: Option<SongTitle>,
    /// Serial number of the last stream that was passed on.
    serial: Option<u32>,
}

#[derive(Debug)]
struct Link {
    /// Headers as the source sent them.
    headers: Headers,
    /// Numbers of its pages in the output: the stream's serial number, the next page's number, and the offset added to
    /// positions. `None` while they are as the source sent them.
    place: Option<Place>,
    /// Set when the last page was marked as the last of its stream.
    turn: Option<Turn>,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    serial: u32,
    sequence: u32,
    /// Wrapping offset, which may be negative.
    shift: u64,
}

/// Data with which the next link begins.
#[derive(Debug)]
struct Turn {
    song: SongTitle,
    /// Packets that are repeated, and their duration in samples, which a decoder drops.
    repeated: Vec<Bytes>,
    lasts: u64,
    /// Position of the last page in the source.
    granule: u64,
}

impl Retitler {
    /// Returns whether the source's current link takes titles.
    pub fn takes_titles(&self) -> bool {
        self.link.is_some()
    }

    /// Sets the title to write; a title that still waits is dropped.
    pub fn wish(&mut self, song: SongTitle) {
        self.wish = Some(song);
    }

    /// Takes the next item, and appends the resulting items to `out`.
    pub fn push(&mut self, item: Item, out: &mut Vec<Item>) {
        match item {
            Item::Header(header) => {
                let header = self.begin(header);
                out.push(Item::Header(header));
            }
            Item::Sample(sample) => self.page(sample, out),
            other => out.push(other),
        }
    }

    /// Begins a link of the source.
    fn begin(&mut self, header: Bytes) -> Bytes {
        // A waiting title was about the song before.
        self.wish = None;
        let can_be_titled = |headers: &Headers| headers.titled(&SongTitle::default()).is_some();
        let Some(headers) = Headers::of(&header).filter(can_be_titled) else {
            self.link = None;
            return header;
        };
        let (place, header) = match self.serial {
            Some(before) if before == headers.serial => {
                let serial = before.wrapping_add(1);
                let (pages, sequence) = headers.pages(serial);
                let place = Place {
                    serial,
                    sequence,
                    shift: 0,
                };
                (Some(place), pages)
            }
            _ => (None, header),
        };
        self.serial = Some(place.map_or(headers.serial, |place| place.serial));
        self.link = Some(Link {
            headers,
            place,
            turn: None,
        });
        header
    }

    fn page(&mut self, mut sample: Sample, out: &mut Vec<Item>) {
        let page = Page::whole(&sample.data);
        let page = self.link.as_mut().zip(page);
        let page = page.filter(|(link, page)| page.serial() == link.headers.serial);
        let Some((link, page)) = page else {
            out.push(Item::Sample(sample));
            return;
        };
        if let Some(mut turn) = link.turn.take() {
            if let Some(newer) = self.wish.take() {
                turn.song = newer;
            }
            self.serial = link.turn(turn, &sample, self.serial, out).or(self.serial);
        }
        // The title waits while a packet continues on the next page.
        let last = self.wish.as_ref().and_then(|_| link.last_packets(&page));
        let turn = last.and_then(|(repeated, lasts, granule)| {
            Some(Turn {
                song: self.wish.take()?,
                repeated,
                lasts,
                granule,
            })
        });
        let flags = page.flags() | if turn.is_some() { FLAG_LAST } else { 0 };
        link.turn = turn;
        if link.place.is_some() || flags != page.flags() {
            sample.data = link.placed(&page, flags);
        }
        out.push(Item::Sample(sample));
    }
}

impl Link {
    /// Writes the beginning of the next link, before `next`; returns the serial number of its stream.
    fn turn(
        &mut self,
        turn: Turn,
        next: &Sample,
        before: Option<u32>,
        out: &mut Vec<Item>,
    ) -> Option<u32> {
        let mut headers = self.headers.titled(&turn.song)?;
        if let Mapping::Opus { .. } = headers.mapping {
            headers.set_pre_skip(u16::try_from(turn.lasts).unwrap_or(u16::MAX));
        }
        let serial = before.unwrap_or(self.headers.serial).wrapping_add(1);
        let (pages, sequence) = headers.pages(serial);
        out.push(Item::Header(pages));
        out.push(Item::Title(Arc::new(turn.song.title())));
        let (mut table, mut body) = (Vec::new(), Vec::new());
        for packet in &turn.repeated {
            lace(&mut table, packet.len());
            body.extend_from_slice(packet);
        }
        let place = PagePosition {
            flags: 0,
            granule: Some(turn.lasts),
            serial,
            sequence,
        };
        let mut repeated = Vec::new();
        page::write(&mut repeated, place, &table, &body);
        out.push(Item::Sample(Sample {
            data: repeated.into(),
            duration: Span::ZERO,
            keyframe: false,
            ..next.clone()
        }));
        self.place = Some(Place {
            serial,
            sequence: sequence.wrapping_add(1),
            shift: turn.lasts.wrapping_sub(turn.granule),
        });
        Some(serial)
    }

    /// Returns the packets at the end of a page with which the next link can begin, their duration in samples, and the
    /// page's position; `None` if the page cannot be the last of a link.
    fn last_packets(&self, page: &Page) -> Option<(Vec<Bytes>, u64, u64)> {
        let granule = page.granule()?;
        let mut pieces: Vec<_> = page.pieces().collect();
        // Remove the end of a packet that begins on another page.
        if page.is_continued() {
            pieces.remove(0);
        }
        let (last, is_whole) = *pieces.last()?;
        if !is_whole || page.flags() & FLAG_LAST != 0 {
            return None;
        }
        let bytes = |piece: &[u8]| page.bytes.slice_ref(piece);
        if !matches!(self.headers.mapping, Mapping::Opus { .. }) {
            return Some((vec![bytes(last)], 0, granule));
        }
        let mut repeated = Vec::new();
        let mut lasts = 0;
        for (piece, _) in pieces.iter().rev() {
            if lasts >= PRE_ROLL {
                break;
            }
            lasts += opus::samples(piece)?;
            repeated.insert(0, bytes(piece));
        }
        Some((repeated, lasts, granule))
    }

    /// Returns a page with its numbers in the current link.
    fn placed(&mut self, page: &Page, flags: u8) -> Bytes {
        let mut position = page.place();
        position.flags = flags;
        if let Some(place) = &mut self.place {
            let granule = page.granule();
            position.granule = granule.map(|granule| granule.wrapping_add(place.shift));
            (position.serial, position.sequence) = (place.serial, place.sequence);
            place.sequence = place.sequence.wrapping_add(1);
        }
        let mut bytes = Vec::with_capacity(page.bytes.len());
        page.write_at(position, &mut bytes);
        bytes.into()
    }
}
