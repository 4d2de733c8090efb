//! Parser of the pages of a finished file.

use std::time::Duration;

use super::super::mapping::Mapping;
use super::super::page::{self, FLAG_LAST, Front, HEADER_BYTES, Page};
use crate::walk::{Closed, Piece, Pieces};

/// Upper bound on the logical streams that are read, of all links of a file: one a minute in half a day, more than
/// there are titles.
const STREAMS_MAX: usize = 1_024;

/// Largest plausible position at the end of a first page, in seconds; beyond it, the stream was joined midway.
const FIRST_PAGE_SECONDS_MAX: f64 = 5.0;

/// Pages of a file, and the facts found in them.
#[derive(Debug, Default)]
pub struct Pages {
    links: Vec<Link>,
    streams: usize,
    /// Pages of the current link have arrived that begin no stream.
    is_open: bool,
    /// Total duration of the finished links, in seconds.
    lasted: f64,
    patches: Vec<(u64, Vec<u8>)>,
}

/// Logical stream of the current link.
#[derive(Debug)]
struct Link {
    serial: u32,
    mapping: Mapping,
    begins: Option<f64>,
    ends: f64,
    /// Offset of its last page, and that page.
    last: (u64, Page),
}

impl Pages {
    fn take(&mut self, page: &Page, at: u64) {
        if page.is_first() {
            if self.is_open {
                self.end_link();
            }
            if self.streams < STREAMS_MAX {
                self.streams += 1;
                let packet = page.pieces().next().map(|(packet, _)| packet);
                self.links.push(Link {
                    serial: page.serial(),
                    mapping: packet.map_or(Mapping::Unknown, Mapping::of),
                    begins: None,
                    ends: 0.0,
                    last: (at, page.clone()),
                });
            }
        } else {
            self.is_open = true;
        }
        let serial = page.serial();
        let Some(link) = self.links.iter_mut().find(|link| link.serial == serial) else {
            return;
        };
        link.last = (at, page.clone());
        if let Some(granule) = page.granule().filter(|granule| *granule > 0) {
            let seconds = link.mapping.ticks(granule) as f64 / media::TICKS_PER_SECOND as f64;
            link.ends = link.ends.max(seconds);
            let is_late = seconds > FIRST_PAGE_SECONDS_MAX;
            link.begins
                .get_or_insert(if is_late { seconds } else { 0.0 });
        }
    }

    fn end_link(&mut self) {
        let lasts = |link: &Link| link.ends - link.begins.unwrap_or(0.0);
        self.lasted += self.links.iter().map(lasts).fold(0.0, f64::max);
        for link in self.links.drain(..) {
            let (at, page) = link.last;
            let mut place = page.place();
            if place.flags & FLAG_LAST == 0 {
                place.flags |= FLAG_LAST;
                let mut patch = Vec::new();
                page.write_at(place, &mut patch);
                patch.truncate(HEADER_BYTES);
                self.patches.push((at, patch));
            }
        }
        self.is_open = false;
    }
}

impl Pieces for Pages {
    fn piece(&mut self, front: &[u8], at: u64, _left: u64) -> Piece {
        match page::at_front(front) {
            Front::Unclear => Piece::Short(page::PAGE_BYTES_MAX.max(front.len() + 1)),
            Front::Garbage | Front::Damaged(_) => Piece::Foreign,
            Front::Page(bytes) => {
                let page = Page::new(bytes::Bytes::copy_from_slice(&front[..bytes]));
                self.take(&page, at);
                Piece::Whole(bytes as u64)
            }
        }
    }

    fn close(&mut self, bytes: u64) -> Closed {
        self.end_link();
        let patches = std::mem::take(&mut self.patches);
        if self.lasted <= 0.0 {
            // Headers alone are nothing.
            return Closed::default();
        }
        Closed {
            bytes,
            duration: Duration::try_from_secs_f64(self.lasted).ok(),
            patches,
        }
    }
}
