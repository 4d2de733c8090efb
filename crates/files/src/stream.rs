//! Files that a demuxer takes from any place: frames of MP3 or AAC, Ogg, MPEG-TS and WebM. Pages and clusters are passed on
//! unchanged; the others become samples.
//!
//! The place for a time is searched for, except among frames, where it is proportional to the time: exact for a constant bit
//! rate, and approximate for others.

use std::ops::Range;
use std::time::Duration;

use bytes::Bytes;
use container::frames::Syntax;
use container::{Demuxer, Place, Search, frames, ogg, ts, webm};
use media::{Item, Span};

use crate::Error;
use crate::whole::Whole;

/// Most bytes read until every track is known: headers of Ogg and WebM are at most half as long, and a track in MPEG-TS
/// is described by its first audio frame or keyframe.
const OPENING_BYTES_MAX: u64 = 2 << 20;

/// Most bytes read at once: four seconds at 128 kb/s.
const PIECE_BYTES: u64 = 64 << 10;

/// Format of a file that a demuxer takes from any place.
#[derive(Clone, Copy, Debug)]
pub enum Format {
    /// MP3, or AAC in ADTS, from a byte on, with the duration of all frames.
    Frames(Syntax, u64, Duration),
    /// Ogg: its items are header and pages.
    Ogg,
    /// MPEG-TS.
    Ts,
    /// WebM: its items are header and clusters.
    WebM,
}

/// Reader of one file.
#[derive(Debug)]
pub(crate) struct Stream {
    format: Format,
    /// Length in bytes of the complete part.
    pub(crate) length: u64,
    demuxer: Demuxer,
    search: Option<Box<dyn Search>>,
    /// Beginning of what is looked at.
    cut: Whole,
    /// Read position in bytes, and the playback time at which reading began.
    at: u64,
    from: Span,
    /// Offset at which every track must be known, until all are.
    opening_end: Option<u64>,
}

impl Stream {
    pub(crate) fn new(format: Format, length: u64) -> Self {
        let mut new = Self {
            format,
            length,
            demuxer: demuxer(format),
            search: None,
            cut: Whole::default(),
            at: 0,
            from: Span::ZERO,
            opening_end: None,
        };
        let at = match format {
            Format::Frames(_, start, _) => start,
            Format::Ogg | Format::Ts | Format::WebM => 0,
        };
        let place = Place {
            at,
            ..Place::default()
        };
        new.begin(place, &mut Vec::new());
        new
    }

    /// Returns whether tracks are still missing in the items that were read.
    pub(crate) fn is_opening(&self) -> bool {
        self.opening_end.is_some()
    }

    pub(crate) fn is_looking(&self) -> bool {
        self.search.is_some()
    }

    /// Returns whether it has tracks that cannot be extracted.
    pub(crate) fn is_partial(&self) -> bool {
        matches!(&self.demuxer, Demuxer::Ts(demuxer) if demuxer.leaves_out())
    }

    pub(crate) fn wants(&self) -> Range<u64> {
        match self.search.as_ref().and_then(|search| search.wants()) {
            Some(wanted) => wanted.start + self.cut.held()..wanted.end,
            None => self.at..self.length.min(self.at.saturating_add(PIECE_BYTES)),
        }
    }

    pub(crate) fn take(&mut self, mut bytes: Bytes, out: &mut Vec<Item>) -> Result<(), Error> {
        let Some(search) = &mut self.search else {
            self.at += bytes.len() as u64;
            self.push(&bytes, out);
            return Ok(());
        };
        if let Some(Range { start, end }) = search.wants()
            && let Some(bytes) = self.cut.take(end - start, &mut bytes)
        {
            search.take(&bytes);
        }
        self.end_search(out)
    }

    /// Continues from the last place at or before a time where a listener may begin.
    pub(crate) fn seek(&mut self, to: Duration, out: &mut Vec<Item>) -> Result<(), Error> {
        let time = Span::from(to);
        self.cut = Whole::default();
        self.search = Some(match self.format {
            Format::Ogg => Box::new(ogg::file::PageSearch::new(time, self.length)),
            Format::Ts => Box::new(ts::file::PacketSearch::new(time, self.length)),
            Format::WebM => Box::new(webm::file::ClusterSearch::new(time, self.length)),
            Format::Frames(_, start, plays) => {
                let to = to.min(plays);
                let bytes = u128::from(self.length.saturating_sub(start));
                let behind = bytes * to.as_nanos() / plays.as_nanos().max(1);
                self.at = u64::try_from(behind).map_or(self.length, |behind| start + behind);
                self.from = Span::from(to);
                self.demuxer = demuxer(self.format);
                return Ok(());
            }
        });
        self.end_search(out)
    }

    /// Begins where a search has ended, if it has.
    fn end_search(&mut self, out: &mut Vec<Item>) -> Result<(), Error> {
        if let Some(mut search) = self.search.take_if(|search| search.wants().is_none()) {
            let place = search.place().ok_or(Error::NoMedia)?;
            self.begin(place, out);
        }
        Ok(())
    }

    fn begin(&mut self, place: Place, out: &mut Vec<Item>) {
        self.demuxer = demuxer(self.format);
        (self.at, self.from) = (place.at, place.began);
        self.opening_end = Some(self.at.saturating_add(OPENING_BYTES_MAX));
        self.push(&place.header, out);
    }

    /// Appends the items that some bytes complete, on the file's clock: demuxers count from where reading began.
    fn push(&mut self, bytes: &[u8], out: &mut Vec<Item>) {
        let before = out.len();
        self.demuxer.push(bytes, out);
        self.shift(&mut out[before..]);
    }

    /// Appends the items left at the end of the file.
    pub(crate) fn finish(&mut self, out: &mut Vec<Item>) {
        let before = out.len();
        self.demuxer.finish(out);
        self.shift(&mut out[before..]);
    }

    fn shift(&self, items: &mut [Item]) {
        for item in items {
            if let Item::Sample(sample) = item {
                sample.dts += self.from;
                sample.pts += self.from;
            }
        }
    }

    /// Ends the opening if these items describe every track, or no more of them may be read.
    pub(crate) fn end_opening(&mut self, items: &[Item]) -> bool {
        let has = |is: fn(&Item) -> bool| items.iter().any(is);
        let has_begun = match &self.demuxer {
            Demuxer::Ogg(_) | Demuxer::WebM(_) => has(|item| matches!(item, Item::Header(_))),
            Demuxer::Ts(demuxer) => demuxer.is_complete(),
            Demuxer::Frames(_) | Demuxer::Raw(_) => has(|item| matches!(item, Item::Track(_))),
        };
        let end = self.opening_end.map(|end| end.min(self.length));
        let is_over = has_begun || end.is_some_and(|end| self.at >= end);
        self.opening_end.take_if(|_| is_over).is_some()
    }
}

fn demuxer(format: Format) -> Demuxer {
    match format {
        Format::Frames(syntax, ..) => Demuxer::Frames(frames::Demuxer::new(syntax)),
        Format::Ogg => Demuxer::Ogg(Box::default()),
        Format::Ts => Demuxer::Ts(Box::default()),
        Format::WebM => Demuxer::WebM(Box::default()),
    }
}
