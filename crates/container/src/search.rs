//! Search in a file for the last place at or before a given time where a reader may begin.
//!
//! ```text
//! │ found ≤ time │ ····· probe ─► first mark behind it ····· │ all later │
//!                ▲ from                                       ▲ until
//! ```
//!
//! A [`Search`] reads nothing itself: its caller reads the range it [`wants`](Search::wants) until there is none.
//! [`Marks`] knows where and at which time readers may begin in a format; a [`Bisection`] decides where to look for
//! marks. The number of looks is bounded, whatever the file holds; a search that runs out of looks returns the best
//! place it found.

use std::ops::Range;

use bytes::Bytes;
use media::Span;

/// Bytes of one look: two of the longest Ogg pages, or some frames of video.
pub(crate) const LOOK_BYTES: u64 = 128 * 1024;

/// Upper bound on the looks of one search. A bisection of a 4 GiB file takes some twenty; a search in a chain takes ten
/// for each title before the time, so the bound allows a hundred titles.
pub(crate) const LOOKS_MAX: usize = 1_024;

/// Starting point of a reader.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Place {
    /// Bytes that the reader needs first; empty if the bytes at `at` have it all.
    pub header: Bytes,
    /// Offset in the file from which the reader continues.
    pub at: u64,
    /// Playback time at `at`, from the file's beginning.
    pub began: Span,
}

/// Search in a file of any format.
pub trait Search: std::fmt::Debug + Send {
    /// Returns the range of the file to read next, some hundred KiB; `None` when the search is over.
    fn wants(&self) -> Option<Range<u64>>;

    /// Takes the wanted bytes. Fewer bytes mean the end of the file.
    fn take(&mut self, bytes: &Bytes);

    /// Returns the place found, once nothing is wanted; `None` if nothing in the file can be read.
    fn place(&mut self) -> Option<Place>;
}

/// First place in some bytes where a reader may begin.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Mark {
    /// A mark in these bytes.
    At {
        /// Offset of the mark in the bytes.
        offset: usize,
        /// Offset at which the search for the next mark starts: `offset` or later.
        behind: usize,
        ticks: i64,
    },
    /// No mark before this offset; everything from there on is later than any time searched for.
    Beyond(usize),
    /// No mark in this many bytes.
    None(usize),
}

/// Finder of marks in one format.
pub(crate) trait Marks {
    /// Returns the first mark in `bytes`.
    fn first(&mut self, bytes: &Bytes) -> Mark;
}

/// Bisection of a file for a time; read what it wants and pass it to `take` until it wants nothing. Times of marks rise
/// with their offsets.
#[derive(Debug)]
pub(crate) struct Bisection {
    to: i64,
    /// Offset and time of the best mark so far.
    pub(crate) found: (u64, i64),
    /// Lowest offset known to be beyond all times.
    pub(crate) beyond: Option<u64>,
    from: u64,
    until: u64,
    /// Offset at which the current probe began, followed by its progress.
    probe: u64,
    at: u64,
    end: u64,
    looks: usize,
}

impl Bisection {
    /// Creates a bisection for the time `to` in a file of `end` bytes. `found` is a known mark that is not later than
    /// `to`; at most `looks` looks are made.
    pub(crate) fn new(to: i64, found: (u64, i64), end: u64, looks: usize) -> Self {
        let mut new = Self {
            to,
            found,
            beyond: None,
            from: found.0,
            until: end,
            probe: 0,
            at: 0,
            end,
            looks,
        };
        new.begin_probe();
        new
    }

    pub(crate) fn wants(&self) -> Option<Range<u64>> {
        let is_over = self.from >= self.until || self.looks == 0;
        let end = self.end.min(self.at.saturating_add(LOOK_BYTES));
        (!is_over && self.at < end).then_some(self.at..end)
    }

    /// Returns the number of looks left.
    pub(crate) fn looks(&self) -> usize {
        self.looks
    }

    pub(crate) fn take(&mut self, marks: &mut impl Marks, bytes: &Bytes) {
        let Some(wanted) = self.wants() else {
            return;
        };
        self.looks -= 1;
        let begin = wanted.start;
        if (bytes.len() as u64) < wanted.end - begin {
            self.end = begin + bytes.len() as u64;
        }
        while self.from < self.until {
            let offset = self.at.checked_sub(begin);
            let offset = offset.and_then(|offset| usize::try_from(offset).ok());
            let Some(rest) = offset.filter(|offset| *offset < bytes.len()) else {
                // The offset is outside this look, or at the end of the file.
                if self.at >= self.end {
                    self.later();
                    continue;
                }
                return;
            };
            let is_look = rest == 0;
            match marks.first(&bytes.slice(rest..)) {
                Mark::At {
                    offset,
                    behind,
                    ticks,
                } => {
                    let at = self.at + offset as u64;
                    if at <= self.found.0 {
                        self.at += behind.max(1) as u64;
                        continue;
                    }
                    let is_near = at < self.until || self.is_linear();
                    if is_near && ticks <= self.to {
                        self.found = (at, ticks);
                        self.from = self.at + behind as u64;
                        self.until = self.until.max(self.from + 1);
                        self.begin_probe();
                    } else {
                        self.later();
                    }
                }
                Mark::Beyond(offset) => {
                    let at = self.at + offset as u64;
                    self.beyond = Some(self.beyond.map_or(at, |beyond| beyond.min(at)));
                    self.later();
                }
                Mark::None(passed) => {
                    let left = bytes.len() - rest;
                    // If a look that begins here has no mark, none of it is looked at again.
                    let is_stuck = passed == 0 && (is_look || self.at + left as u64 >= self.end);
                    self.at += if is_stuck { left } else { passed.min(left) } as u64;
                    let is_past = self.at >= self.until && !self.is_linear();
                    if is_past || self.at >= self.end {
                        self.later();
                    } else {
                        return;
                    }
                }
            }
        }
    }

    /// Returns whether the current probe covers everything after the mark found so far.
    fn is_linear(&self) -> bool {
        self.probe == self.from
    }

    /// Continues before the current probe, because the probe found nothing early enough.
    fn later(&mut self) {
        self.until = self.probe;
        self.begin_probe();
    }

    fn begin_probe(&mut self) {
        let room = self.until.saturating_sub(self.from);
        let half = if room > LOOK_BYTES { room / 2 } else { 0 };
        self.probe = self.from + half;
        self.at = self.probe;
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Goes through a search of a file. What it found, and in how many looks.
    pub(crate) fn searched(search: &mut dyn Search, file: &[u8]) -> (Option<Place>, usize) {
        let mut looks = 0;
        while let Some(wanted) = search.wants() {
            assert!(wanted.start < wanted.end && wanted.end - wanted.start <= LOOK_BYTES);
            let end = wanted.end.min(file.len() as u64) as usize;
            let begin = (wanted.start as usize).min(end);
            search.take(&Bytes::copy_from_slice(&file[begin..end]));
            looks += 1;
            assert!(looks <= 2 * LOOKS_MAX, "a search ends");
        }
        (search.place(), looks)
    }

    /// Marks of eight bytes: an `M`, and seven digits of their time. A `B` is beyond.
    struct Digits;

    impl Marks for Digits {
        fn first(&mut self, bytes: &Bytes) -> Mark {
            for (offset, byte) in bytes.iter().enumerate() {
                match byte {
                    b'B' => return Mark::Beyond(offset),
                    b'M' => {
                        let Some(digits) = bytes.get(offset + 1..offset + 8) else {
                            return Mark::None(offset);
                        };
                        let digits = String::from_utf8_lossy(digits);
                        return Mark::At {
                            offset,
                            behind: offset + 8,
                            ticks: digits.parse().unwrap_or(i64::MAX),
                        };
                    }
                    _ => {}
                }
            }
            Mark::None(bytes.len())
        }
    }

    /// A mark every so many bytes, each a second later.
    fn file(count: usize, every: usize) -> Vec<u8> {
        let mut file = Vec::new();
        for number in 0..count {
            file.extend_from_slice(format!("M{number:07}").as_bytes());
            file.resize((number + 1) * every, b'.');
        }
        file
    }

    fn found(file: &[u8], to: i64) -> ((u64, i64), Option<u64>, usize) {
        let mut search = Bisection::new(to, (0, 0), file.len() as u64, LOOKS_MAX);
        let mut looks = 0;
        while let Some(wanted) = search.wants() {
            let bytes = &file[wanted.start as usize..wanted.end as usize];
            search.take(&mut Digits, &Bytes::copy_from_slice(bytes));
            looks += 1;
        }
        (search.found, search.beyond, looks)
    }

    #[test]
    fn the_last_mark_at_or_before_a_time_is_found_in_few_looks() {
        for every in [8, 9, 1_000, 100_003, 400_000] {
            let count = (40_000_000 / every).min(3_000);
            let file = file(count, every);
            let last = count as i64 - 1;
            for to in [0, 1, 2, last / 3, last / 2, last - 1, last, last + 9] {
                let (place, beyond, looks) = found(&file, to);
                let expected = to.min(last);
                let expected = (expected as u64 * every as u64, expected);
                assert_eq!(place, expected, "{every} {to}");
                assert!(beyond.is_none() && looks < 60, "{every} {to}: {looks}");
            }
        }
    }

    #[test]
    fn what_is_beyond_bounds_it_and_is_reported() {
        let mut all = file(3_000, 1_000);
        let bytes = all.len() as u64;
        all.push(b'B');
        all.extend(file(3_000, 1_000));
        let (place, beyond, _) = found(&all, 9_999);
        assert_eq!((place, beyond), ((2_999_000, 2_999), Some(bytes)));
        assert_eq!(found(&all, 100).0, (100_000, 100));
    }

    #[test]
    fn a_file_without_marks_and_one_that_is_cut_end_the_search() {
        assert_eq!(found(&[], 5).0, (0, 0));
        let (place, _, looks) = found(&vec![b'.'; 3 << 20], 5);
        assert_eq!(place, (0, 0));
        assert!(looks < 70, "{looks}");
        let cut = file(10, 1_000);
        assert_eq!(found(&cut[..9_004], 50).0, (8_000, 8));
        let mut search = Bisection::new(50, (0, 0), 1 << 40, LOOKS_MAX);
        while search.wants().is_some() {
            search.take(&mut Digits, &Bytes::new());
        }
        assert_eq!(search.found, (0, 0));
    }

    #[test]
    fn looks_are_bounded() {
        let mut search = Bisection::new(50, (0, 0), 1 << 50, LOOKS_MAX);
        let (blank, mut looks) = (Bytes::from(vec![b'.'; LOOK_BYTES as usize]), 0);
        while let Some(wanted) = search.wants() {
            search.take(
                &mut Digits,
                &blank.slice(..(wanted.end - wanted.start) as usize),
            );
            looks += 1;
        }
        assert!(looks <= LOOKS_MAX);
    }
}
