//! What an MP4 file holds, and where: read from its boxes, for sending it in segments.
//!
//! ```text
//! plain:       ftyp mdat moov          its sample tables ─► segments, each made into a fragment when it is wanted
//! fragmented:  ftyp moov (moof mdat)*  its fragments     ─► segments, each a range of the file
//! ```
//!
//! A hybrid file that was finished is a plain one. Of a file with several tracks of pictures or of sound the first of
//! each counts; of an edit list its first edit. [`Indexer`] asks for ranges of the file, and is given them. Of a
//! fragmented file the index has its segments or its samples, whichever it was [read for](Purpose).
//!
//! Everything in a file may be wrong. Memory follows from what was read, within [`MOOV_BYTES_MAX`], [`SAMPLES_MAX`] and
//! [`BOXES_MAX`]; its segments are bounded in number ([`SEGMENTS_MAX`]), in bytes, in samples and in pieces.

mod collect;
mod cut;
mod entry;
mod fragments;
mod init;
mod moov;
mod probe;
mod reel;
mod samples;
mod segments;
mod silence;
mod tables;
mod tags;
#[cfg(test)]
mod tests;
mod unpacker;

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use media::{Span, Timestamp};

pub use self::probe::Probe;
pub(super) use self::probe::duration;
pub use self::reel::{Cursor, Placed};
pub use self::tags::Tags;
pub use self::unpacker::Unpacker;

use self::collect::Collected;
use self::cut::Cut;
use self::fragments::Fragments;
use self::moov::{Movie, Track, TrackHead};
use self::reel::Reel;
use self::samples::Samples;
use self::tables::Sample;
use super::walk::Head;

/// The longest `moov`: a day of pictures and sound has 48 MB.
pub const MOOV_BYTES_MAX: u64 = 64 << 20;

/// Samples of a file: seven hours of 30 pictures a second with sound. Each takes 24 bytes of memory.
pub const SAMPLES_MAX: usize = 2_000_000;

/// Boxes of a file: more than a day of fragments of a second has.
pub const BOXES_MAX: usize = 200_000;

/// Segments of a file: a day and a third of ordinary ones. Each takes 48 bytes of memory, and a line of the playlist.
pub const SEGMENTS_MAX: usize = 20_000;

/// The longest `moof`: some hundred samples take a few kilobytes.
const MOOF_BYTES_MAX: u64 = 1 << 20;

/// Bytes that are read where a box begins: the header of any, and all of most `moof`.
const LOOK_BYTES: u64 = 4 << 10;

/// How long a segment is, if keyframes allow: what HLS recommends.
const SEGMENT: Duration = Duration::from_secs(6);

/// Why a file has no index.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Error {
    /// It is no MP4 file, or is cut where it must not be.
    #[error("it is not an MP4 file, or an incomplete one")]
    Malformed,
    /// Its tables contradict one another, or the file.
    #[error("its sample tables contradict one another or the file")]
    Contradictory,
    /// It has neither pictures nor sound.
    #[error("it has no track that can be played")]
    NoTrack,
    /// It has more than is read.
    #[error("it has more samples, boxes or segments than are read")]
    TooLarge,
    /// It needs something that segments cannot have.
    #[error("its format changes, or a segment would have too many bytes, samples or pieces")]
    Unsuitable,
}

/// What an index is read for. That of a plain file serves both.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Purpose {
    /// To send the file in [segments](Index::segments).
    Segments,
    /// To send its samples [one by one](Index::next).
    Samples,
}

/// Reads a file's boxes.
#[derive(Debug)]
pub struct Indexer {
    purpose: Purpose,
    length: u64,
    /// Where the next box begins.
    at: u64,
    boxes: usize,
    /// The body of a box that must be whole.
    body: Option<(Head, Range<u64>)>,
    /// Of a fragmented file, once `moov` was read.
    fragments: Option<Cut>,
    /// What `moov` says beside its tracks.
    tags: Tags,
}

impl Indexer {
    /// Of a file of this length.
    pub fn new(length: u64, purpose: Purpose) -> Self {
        Self {
            purpose,
            length,
            at: 0,
            boxes: 0,
            body: None,
            fragments: None,
            tags: Tags::default(),
        }
    }

    /// The bytes that it needs next.
    pub fn wants(&self) -> Range<u64> {
        match &self.body {
            Some((_, range)) => range.clone(),
            None => self.at..self.length.min(self.at.saturating_add(LOOK_BYTES)),
        }
    }

    /// Takes the bytes that it wanted. The index, when it is complete.
    ///
    /// # Errors
    /// Why there is none.
    pub fn take(&mut self, bytes: &[u8]) -> Result<Option<Index>, Error> {
        if let Some((head, _)) = self.body.take() {
            return self.read(head, bytes);
        }
        if self.at >= self.length {
            return self.end().map(Some);
        }
        self.boxes += 1;
        if self.boxes > BOXES_MAX {
            return Err(Error::TooLarge);
        }
        let Some(head) = Head::read(bytes, self.length - self.at) else {
            return self.end().map(Some);
        };
        let max = match &head.kind {
            b"moov" => MOOV_BYTES_MAX,
            b"moof" if self.fragments.is_some() => MOOF_BYTES_MAX,
            _ => {
                self.skip(&head);
                return Ok(None);
            }
        };
        if head.bytes > max {
            return Err(Error::TooLarge);
        }
        let body = head.header_bytes as u64..head.bytes;
        match bytes.get(body.start as usize..body.end as usize) {
            Some(body) => self.read(head, body),
            None => {
                let range = self.at + body.start..self.at + body.end;
                self.body = Some((head, range));
                Ok(None)
            }
        }
    }

    fn skip(&mut self, head: &Head) {
        if let Some(cut) = &mut self.fragments
            && &head.kind == b"mdat"
        {
            cut.end_at(self.at + head.bytes);
        }
        self.at += head.bytes;
    }

    fn read(&mut self, head: Head, body: &[u8]) -> Result<Option<Index>, Error> {
        let begin = self.at;
        self.at += head.bytes;
        match &mut self.fragments {
            Some(cut) if &head.kind == b"moof" => {
                cut.push(begin, body);
                Ok(None)
            }
            // A second `moov` says nothing.
            Some(_) => Ok(None),
            None => {
                let movie = Movie::read(body, self.length)?;
                let (heads, tags) = (movie.heads, Tags::read(body));
                if movie.has_samples {
                    return Ok(Some(Index::of_samples(&heads, movie.tracks, tags)));
                }
                self.tags = tags;
                self.fragments = Some(match self.purpose {
                    Purpose::Segments => Cut::Segments(Fragments::new(&heads, body), heads),
                    Purpose::Samples => {
                        Cut::Samples(Collected::new(movie.tracks, body, self.length), heads)
                    }
                });
                Ok(None)
            }
        }
    }

    /// There are no more whole boxes.
    fn end(&mut self) -> Result<Index, Error> {
        let cut = self.fragments.take().ok_or(Error::Malformed)?;
        Index::of_fragments(cut, std::mem::take(&mut self.tags))
    }
}

/// What a file holds.
#[derive(Debug)]
pub struct Index {
    init: Vec<u8>,
    segments: Result<Arc<[Segment]>, Error>,
    layout: Layout,
    reel: Reel,
    tags: Tags,
}

#[derive(Debug)]
enum Layout {
    Samples(Samples),
    /// Nothing beside the segments of a fragmented file.
    Fragments,
    /// The tracks of one, with what samples there are in its fragments.
    Collected(Vec<Track>),
}

impl Layout {
    /// The tracks whose samples are known.
    fn tracks(&self) -> &[Track] {
        match self {
            Self::Samples(samples) => samples.tracks(),
            Self::Fragments => &[],
            Self::Collected(tracks) => tracks,
        }
    }
}

/// One segment of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Segment {
    /// How long it lasts.
    pub duration: Duration,
    /// Where it is in the file; `None` if it has to be [packaged](Index::packaged).
    pub range: Option<Range<u64>>,
    /// It begins with a keyframe, if there are pictures, or is the first.
    pub is_independent: bool,
}

/// A segment that is made from samples: these bytes, and behind them those of the file.
#[derive(Clone, Debug, PartialEq)]
pub struct Packaged {
    /// `moof`, and the header of `mdat`.
    pub head: Vec<u8>,
    /// Its body.
    pub ranges: Vec<Range<u64>>,
}

impl Index {
    fn of_samples(heads: &[TrackHead], tracks: Vec<Track>, tags: Tags) -> Self {
        let (samples, segments) = Samples::new(tracks, SEGMENT);
        let layout = Layout::Samples(samples);
        Self::new(init::write(heads), segments, layout, heads, tags)
    }

    fn of_fragments(cut: Cut, tags: Tags) -> Result<Self, Error> {
        match cut {
            Cut::Segments(fragments, heads) => {
                let (init, segments) = fragments.finish(SEGMENT)?;
                let layout = Layout::Fragments;
                Ok(Self::new(init, Ok(segments), layout, &heads, tags))
            }
            Cut::Samples(collected, heads) => {
                let layout = Layout::Collected(collected.finish()?);
                Ok(Self::new(Vec::new(), Ok(Vec::new()), layout, &heads, tags))
            }
        }
    }

    fn new(
        init: Vec<u8>,
        segments: Result<Vec<Segment>, Error>,
        layout: Layout,
        heads: &[TrackHead],
        tags: Tags,
    ) -> Self {
        Self {
            init,
            segments: segments.map(Into::into),
            reel: Reel::new(heads, layout.tracks()),
            layout,
            tags,
        }
    }

    /// Whether it serves a purpose. Else it has nothing of what that one takes.
    pub fn is_for(&self, purpose: Purpose) -> bool {
        match self.layout {
            Layout::Samples(_) => true,
            Layout::Fragments => purpose == Purpose::Segments,
            Layout::Collected(_) => purpose == Purpose::Samples,
        }
    }

    /// The initialization segment.
    pub fn init(&self) -> &[u8] {
        &self.init
    }

    /// The segments, in their order.
    ///
    /// # Errors
    /// Why there are none. The samples can be sent one by one all the same.
    pub fn segments(&self) -> Result<&Arc<[Segment]>, Error> {
        self.segments.as_ref().map_err(|error| *error)
    }

    /// A segment by its place among them; `None` if there is none, or if it is a range of the file.
    pub fn packaged(&self, number: usize) -> Option<Packaged> {
        match &self.layout {
            Layout::Samples(samples) => samples.packaged(number),
            Layout::Fragments | Layout::Collected(_) => None,
        }
    }

    /// Memory that such a segment takes, at most.
    pub fn packaged_memory(&self, number: usize) -> Option<usize> {
        match &self.layout {
            Layout::Samples(samples) => samples.packaged_memory(number),
            Layout::Fragments | Layout::Collected(_) => None,
        }
    }

    /// How long it plays.
    pub fn duration(&self) -> Duration {
        let segments = self.segments.iter().flat_map(|segments| segments.iter());
        segments.map(|segment| segment.duration).sum()
    }

    /// The tracks whose samples can be sent one by one: those that FLV can carry. None of a fragmented file that has
    /// more samples than are read.
    pub fn tracks(&self) -> impl Iterator<Item = &Arc<media::Track>> {
        self.reel.tracks()
    }

    /// Width and height of the pictures.
    pub fn dimensions(&self) -> Option<(u16, u16)> {
        self.reel.dimensions
    }

    /// What the file calls itself.
    pub fn tags(&self) -> &Tags {
        &self.tags
    }

    /// Whole samples of the sound at its beginning and at its end that are not heard: what its encoder added.
    pub fn unheard(&self) -> (usize, usize) {
        silence::unheard(self.layout.tracks(), &self.tags)
    }

    /// How long these tracks last.
    pub fn length(&self) -> Span {
        self.reel.length(self.layout.tracks())
    }

    /// The place of the last keyframe that is decoded no later than `at`.
    pub fn seek(&self, at: Timestamp) -> Cursor {
        self.reel.seek(self.layout.tracks(), at)
    }

    /// The sample at a place, which is the next one's afterwards.
    pub fn next(&self, cursor: &mut Cursor) -> Option<Placed> {
        self.reel.next(self.layout.tracks(), cursor)
    }

    /// Memory that it takes, about.
    pub fn memory(&self) -> usize {
        let segments = self.segments.as_ref().map_or(0, |segments| segments.len());
        let cuts = match &self.layout {
            Layout::Samples(samples) => samples.cuts_memory(),
            Layout::Fragments | Layout::Collected(_) => 0,
        };
        let tracks = self.layout.tracks().iter();
        let samples: usize = tracks.map(|track| track.samples.len()).sum();
        self.init.len() + segments * size_of::<Segment>() + samples * size_of::<Sample>() + cuts
    }
}

/// Time on a clock of so many units in a second.
pub(super) fn time(units: u64, timescale: u32) -> Duration {
    let scale = u64::from(timescale.max(1));
    let nanos = (units % scale) * 1_000_000_000 / scale;
    Duration::new(units / scale, nanos as u32)
}
