//! Search for the page at which a listener begins in order to play from a given time.
//!
//! Positions count from the beginning of a link. So the links are searched one after another, each by a bisection,
//! until the time lies in one; the last position of each earlier link gives its duration.

use std::ops::Range;

use bytes::Bytes;
use media::Span;

use super::super::chain::{Chain, FIRST_PAGE_TICKS_MAX, may_start_at};
use super::super::mapping::Mapping;
use super::super::page::{self, Front, PAGE_BYTES_MAX, Page};
use super::super::{HEADER_BYTES_MAX, Meaning};
use crate::search::{Bisection, LOOK_BYTES, LOOKS_MAX, Mark, Marks, Place, Search};

/// Bytes for which a wrong checksum may be computed in one look: in a file that holds only beginnings of long pages,
/// each of them would be checked.
const CHECKED_IN_VAIN_MAX: usize = 16 * PAGE_BYTES_MAX;

/// Search in one file; see [`Search`] for how to drive it.
#[derive(Debug)]
pub struct PageSearch {
    /// Time searched for, from the beginning of the current link.
    to: i64,
    /// Beginning of that link.
    began: i64,
    end: u64,
    looks: usize,
    step: Step,
    best: Option<Place>,
}

#[derive(Debug)]
enum Step {
    /// Reading the header pages of a link, from this offset on.
    Headers(Box<Chain>, u64),
    /// Searching for the link's first position.
    First(Pages, Bytes, u64),
    /// Searching among the link's pages.
    Pages(Pages, Bytes, Bisection),
    Over,
}

/// Pages of a link as marks.
#[derive(Debug)]
struct Pages {
    chain: Box<Chain>,
    serial: u32,
    mapping: Mapping,
    /// Origin of positions, and the last position seen.
    origin: i64,
    last: i64,
}

impl PageSearch {
    /// Creates a search for the time `to` in a file of `file_bytes` bytes.
    pub fn new(to: Span, file_bytes: u64) -> Self {
        Self {
            to: to.ticks().max(0),
            began: 0,
            end: file_bytes,
            looks: LOOKS_MAX,
            step: Step::Headers(Box::new(Chain::new()), 0),
            best: None,
        }
    }

    fn place_in(&self, header: &Bytes, (at, ticks): (u64, i64)) -> Place {
        Place {
            header: header.clone(),
            at,
            began: Span::from_ticks(self.began.saturating_add(ticks)),
        }
    }

    /// Reads the pages of a link's headers from one look.
    fn headers(&mut self, mut chain: Box<Chain>, begin: u64, bytes: &Bytes) -> Step {
        let mut offset = 0;
        let mut checks = CHECKED_IN_VAIN_MAX;
        while let Some((at, page)) = next_page(bytes, offset, &mut checks) {
            offset = at + page.bytes.len();
            if page.is_first() && !chain.admits(page.serial()) {
                return Step::Over;
            }
            let data = match chain.take(&page, media::Timestamp::ZERO) {
                Meaning::Header | Meaning::HeaderAndData(_) if chain.is_complete() => offset,
                Meaning::Header | Meaning::HeaderAndData(_) | Meaning::Foreign => continue,
                Meaning::Data => at,
                Meaning::Overflow => return Step::Over,
            };
            let (header, ..) = chain.begin();
            let data = begin + data as u64;
            self.best = Some(self.place_in(&header, (data, 0)));
            let Some((serial, mapping)) = chain.leader() else {
                // Nothing in this link gives a time.
                return Step::Over;
            };
            let pages = Pages {
                chain,
                serial,
                mapping,
                origin: 0,
                last: 0,
            };
            return Step::First(pages, header, data);
        }
        let is_all = begin + bytes.len() as u64 >= self.end;
        match is_all || offset == 0 {
            true => Step::Over,
            false => Step::Headers(chain, begin + offset as u64),
        }
    }

    /// Determines the origin of positions from the first one, then starts the search among the pages.
    fn first(&self, mut pages: Pages, header: Bytes, data: u64, bytes: &Bytes) -> Step {
        let (mut offset, mut checks) = (0, CHECKED_IN_VAIN_MAX);
        while let Some((at, page)) = next_page(bytes, offset, &mut checks) {
            offset = at + page.bytes.len();
            if let Some(granule) = pages.granule(&page) {
                let is_joined_midway = granule > FIRST_PAGE_TICKS_MAX;
                pages.origin = if is_joined_midway { granule } else { 0 };
                break;
            }
        }
        let search = Bisection::new(self.to, (data, 0), self.end, self.looks);
        Step::Pages(pages, header, search)
    }

    /// Ends the search of a link: the next link begins where this one ends, if it ends before the time.
    fn end_link(&mut self, pages: &Pages, header: &Bytes, search: &Bisection) {
        self.looks = search.looks();
        self.best = Some(self.place_in(header, search.found));
        let next = search.beyond.filter(|_| pages.last <= self.to);
        self.step = match next {
            Some(at) => {
                self.to -= pages.last;
                self.began += pages.last;
                Step::Headers(Box::new(Chain::new()), at)
            }
            None => Step::Over,
        };
    }
}

impl Search for PageSearch {
    fn wants(&self) -> Option<Range<u64>> {
        let at = match &self.step {
            Step::Headers(_, at) | Step::First(_, _, at) => *at,
            Step::Pages(_, _, search) => return search.wants(),
            Step::Over => return None,
        };
        let end = self.end.min(at.saturating_add(LOOK_BYTES));
        (self.looks > 0 && at < end).then_some(at..end)
    }

    fn take(&mut self, bytes: &Bytes) {
        let Some(wanted) = self.wants() else {
            return;
        };
        if (bytes.len() as u64) < wanted.end - wanted.start {
            self.end = wanted.start + bytes.len() as u64;
        }
        self.looks = self.looks.saturating_sub(1);
        self.step = match std::mem::replace(&mut self.step, Step::Over) {
            Step::Headers(chain, at) => self.headers(chain, at, bytes),
            Step::First(pages, header, at) => self.first(pages, header, at, bytes),
            Step::Pages(mut pages, header, mut search) => {
                search.take(&mut pages, bytes);
                Step::Pages(pages, header, search)
            }
            Step::Over => Step::Over,
        };
        let is_over = matches!(&self.step, Step::Pages(.., search) if search.wants().is_none());
        if is_over
            && let Step::Pages(pages, header, search) =
                std::mem::replace(&mut self.step, Step::Over)
        {
            self.end_link(&pages, &header, &search);
        }
    }

    fn place(&mut self) -> Option<Place> {
        self.best.take()
    }
}

impl Pages {
    /// Returns the position of a page, if it has one and belongs to the leader.
    fn granule(&self, page: &Page) -> Option<i64> {
        let granule = page.granule().filter(|_| page.serial() == self.serial)?;
        Some(self.mapping.ticks(granule))
    }
}

/// A page begins where the one before it ends, so the search for marks starts at that page.
impl Marks for Pages {
    fn first(&mut self, bytes: &Bytes) -> Mark {
        let mut checks = CHECKED_IN_VAIN_MAX;
        let mut offset = 0;
        // Last position, and the page that has it.
        let mut before: Option<(usize, i64)> = None;
        while let Some((at, page)) = next_page(bytes, offset, &mut checks) {
            if !self.chain.has(&page) {
                return Mark::Beyond(at);
            }
            if at != offset {
                // Data in between is lost, so the page does not begin where the one before ended.
                before = None;
            }
            let is_leader = page.serial() == self.serial;
            if let Some((_, ticks)) = before
                && is_leader
                && may_start_at(self.mapping, &page)
            {
                return Mark::At {
                    offset: at,
                    behind: at,
                    ticks,
                };
            }
            if let Some(granule) = self.granule(&page) {
                let ends = granule.saturating_sub(self.origin);
                self.last = self.last.max(ends);
                before = Some((at, ends));
            }
            offset = at + page.bytes.len();
        }
        match before {
            Some((at, _)) if at > 0 => Mark::None(at),
            _ => Mark::None(offset),
        }
    }
}

/// Returns the next whole page and its offset, skipping anything else.
fn next_page(bytes: &Bytes, mut at: usize, checks: &mut usize) -> Option<(usize, Page)> {
    loop {
        let rest = bytes.get(at..).filter(|rest| !rest.is_empty())?;
        match page::at_front(rest) {
            Front::Page(length) => return Some((at, Page::new(bytes.slice(at..at + length)))),
            Front::Unclear => return None,
            Front::Damaged(length) if length > *checks => at += length,
            front => {
                if let Front::Damaged(length) = front {
                    *checks -= length;
                }
                let next = rest[1..].iter().position(|byte| *byte == page::CAPTURE[0]);
                at += 1 + next.unwrap_or(rest.len() - 1);
            }
        }
    }
}

/// Headers are read in looks, each of which must contain a whole page.
const _: () =
    assert!(LOOK_BYTES > 2 * PAGE_BYTES_MAX as u64 && LOOK_BYTES < HEADER_BYTES_MAX as u64);
