//! Reader of a media file, of whatever format.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use container::mp4_file::Init;
use container::mp4_file::index::{Index, Unpacker};
use media::{Item, Timestamp, Track};

use crate::flv::Flv;
use crate::fragments::Fragments;
use crate::mp4::Mp4;
use crate::stream::{Format, Stream};
use crate::{Error, Ranges, millis};

/// Reader of one file, from its beginning or a [place](Self::seek). Until it [is open](Self::is_open), it yields nothing.
#[derive(Debug)]
pub struct Reader {
    source: Source,
    /// Headers, metadata and tracks at the place where reading began.
    opening: Vec<Item>,
    /// Items that were read with the opening.
    ready: Vec<Item>,
}

#[derive(Debug)]
enum Source {
    Flv(Box<Flv>),
    Mp4(Box<Mp4>),
    Fragments(Box<Fragments>),
    Stream(Box<Stream>),
}

/// Makes a reader of nothing.
impl Default for Reader {
    fn default() -> Self {
        Self::stream(Format::Ogg, 0)
    }
}

impl Reader {
    fn new(source: Source, opening: Vec<Item>) -> Self {
        Self {
            source,
            opening,
            ready: Vec::new(),
        }
    }

    /// Makes a reader of a file that a demuxer takes from any place, of which `length` bytes are complete.
    pub fn stream(format: Format, length: u64) -> Self {
        let stream = Box::new(Stream::new(format, length));
        Self::new(Source::Stream(stream), Vec::new())
    }

    /// Makes a reader of an FLV file, of which `length` bytes are complete.
    pub fn flv(length: u64) -> Self {
        Self::new(Source::Flv(Box::new(Flv::new(length))), Vec::new())
    }

    /// Makes a reader of an MP4 file with this index.
    ///
    /// # Errors
    /// If its first samples cannot be carried.
    pub fn mp4(index: Arc<Index>) -> Result<Self, Error> {
        let opening = tracks(index.tracks());
        Ok(Self::new(Source::Mp4(Box::new(Mp4::new(index)?)), opening))
    }

    /// Makes a reader of the fragments of a file; [`plan`](Self::plan) gives it their ranges.
    pub fn fragments(init: &Init) -> Self {
        let unpacker = Unpacker::new(init);
        let opening = tracks(unpacker.tracks());
        let fragments = Fragments::new(unpacker);
        Self::new(Source::Fragments(Box::new(fragments)), opening)
    }

    /// Returns whether the [opening](Self::opening) is known.
    pub fn is_open(&self) -> bool {
        match &self.source {
            Source::Flv(flv) => !flv.is_opening(),
            Source::Stream(stream) => !stream.is_opening(),
            Source::Mp4(_) | Source::Fragments(_) => true,
        }
    }

    /// Returns whether it looks for a place: it wants few bytes, many times.
    pub fn is_looking(&self) -> bool {
        match &self.source {
            Source::Flv(flv) => flv.is_looking(),
            Source::Stream(stream) => stream.is_looking(),
            Source::Mp4(_) | Source::Fragments(_) => false,
        }
    }

    /// Returns the ranges to read next, in their order; empty at the end of the complete part.
    pub fn wants(&self) -> Ranges {
        match &self.source {
            Source::Flv(flv) => flv.wants().into(),
            Source::Mp4(mp4) => mp4.wants().clone(),
            Source::Fragments(fragments) => fragments.wants().into_iter().collect(),
            Source::Stream(stream) => stream.wants().into(),
        }
    }

    /// Takes wanted bytes, all or the first of them, and appends the items that they complete.
    ///
    /// # Errors
    /// If the file is damaged here.
    pub fn take(&mut self, bytes: Bytes, out: &mut Vec<Item>) -> Result<(), Error> {
        match &mut self.source {
            Source::Flv(flv) if flv.is_opening() => flv.take(bytes, &mut self.opening),
            Source::Flv(flv) => flv.take(bytes, out),
            Source::Mp4(mp4) => mp4.take(bytes, out),
            Source::Fragments(fragments) => fragments.take(bytes, out),
            Source::Stream(stream) if stream.is_opening() || stream.is_looking() => {
                stream.take(bytes, &mut self.ready)?;
                self.end_opening()
            }
            Source::Stream(stream) => stream.take(bytes, out),
        }
    }

    /// Returns the items that were read already: some after it has been opened, else none.
    pub fn ready(&mut self) -> Vec<Item> {
        match self.is_open() {
            true => std::mem::take(&mut self.ready),
            false => Vec::new(),
        }
    }

    /// Continues from the last place at or before a time where a player may begin. For MP4 it passes over all samples
    /// before it: up to a second of a processor for millions.
    ///
    /// # Errors
    /// If the file is damaged there.
    pub fn seek(&mut self, to: Duration) -> Result<(), Error> {
        self.ready.clear();
        match &mut self.source {
            Source::Flv(flv) => flv.seek(millis(to))?,
            Source::Mp4(mp4) => mp4.seek(Timestamp::from_millis(millis(to).into()))?,
            Source::Fragments(fragments) => fragments.clear(),
            Source::Stream(stream) => {
                stream.seek(to, &mut self.ready)?;
                return self.end_opening();
            }
        }
        Ok(())
    }

    /// Takes the opening out of the items that were read, if it is complete.
    fn end_opening(&mut self) -> Result<(), Error> {
        if let Source::Stream(stream) = &mut self.source
            && !stream.is_looking()
            && stream.end_opening(&self.ready)
        {
            (self.opening, self.ready) = parted(std::mem::take(&mut self.ready));
            if self.opening.is_empty() {
                return Err(Error::NoMedia);
            }
        }
        Ok(())
    }

    /// Appends fragments to be read.
    pub fn plan(&mut self, ranges: impl Iterator<Item = std::ops::Range<u64>>) {
        if let Source::Fragments(fragments) = &mut self.source {
            fragments.plan(ranges);
        }
    }

    /// Updates the length of the complete part; returns whether it grew.
    pub fn grow(&mut self, length: u64) -> bool {
        let known = match &mut self.source {
            Source::Flv(flv) => &mut flv.length,
            Source::Stream(stream) => &mut stream.length,
            Source::Mp4(_) | Source::Fragments(_) => return false,
        };
        let has_grown = length > *known;
        *known = length.max(*known);
        has_grown
    }

    /// Returns the items left at the end of the file.
    pub fn finish(&mut self) -> Vec<Item> {
        let mut out = Vec::new();
        if let Source::Stream(stream) = &mut self.source {
            stream.finish(&mut out);
        }
        out
    }

    /// Returns headers, metadata and tracks at the place where reading began.
    pub fn opening(&self) -> &[Item] {
        &self.opening
    }

    /// Returns the duration, of FLV and of MP4 with an index.
    pub fn length(&self) -> Option<Duration> {
        let seconds = match &self.source {
            Source::Flv(flv) => flv.seconds(),
            Source::Mp4(mp4) => mp4.length.seconds(),
            Source::Fragments(_) | Source::Stream(_) => return None,
        };
        Some(Duration::try_from_secs_f64(seconds).unwrap_or_default())
    }

    /// Returns whether the opening contains metadata that state the duration.
    pub fn states_length(&self) -> bool {
        let has = |item: &Item| matches!(item, Item::Metadata(_));
        match &self.source {
            Source::Flv(flv) => flv.stated().is_some() && self.opening.iter().any(has),
            _ => false,
        }
    }

    /// Returns the width and height of the video, of MP4.
    pub fn dimensions(&self) -> Option<(u16, u16)> {
        match &self.source {
            Source::Mp4(mp4) => mp4.index.dimensions(),
            Source::Fragments(fragments) => fragments.unpacker.dimensions(),
            Source::Flv(_) | Source::Stream(_) => None,
        }
    }

    /// Returns whether it has tracks that cannot be extracted.
    pub fn is_partial(&self) -> bool {
        match &self.source {
            Source::Fragments(fragments) => fragments.unpacker.leaves_out(),
            Source::Stream(stream) => stream.is_partial(),
            Source::Flv(_) | Source::Mp4(_) => false,
        }
    }
}

fn tracks<'a>(tracks: impl Iterator<Item = &'a Arc<Track>>) -> Vec<Item> {
    tracks.cloned().map(Item::Track).collect()
}

/// Splits items into those that open the stream, and the rest. A repeated header or track describes only the items
/// after it, so it belongs to the rest.
fn parted(items: Vec<Item>) -> (Vec<Item>, Vec<Item>) {
    let (mut opening, mut rest) = (Vec::<Item>::new(), Vec::new());
    for item in items {
        let is_known = |known: &Item| match (known, &item) {
            (Item::Header(_), Item::Header(_)) => true,
            (Item::Track(known), Item::Track(track)) => known.id == track.id,
            _ => false,
        };
        let opens = matches!(item, Item::Header(_) | Item::Track(_));
        match opens && !opening.iter().any(is_known) {
            true => opening.push(item),
            false => rest.push(item),
        }
    }
    (opening, rest)
}
