//! Index of an MP4 file: its tracks and segments, read from its boxes, so that the file can be sent in segments.
//!
//! ```text
//! plain:       ftyp mdat moov          its sample tables ─► segments, each made into a fragment when it is wanted
//! fragmented:  ftyp moov (moof mdat)*  its fragments     ─► segments, each a range of the file
//! ```
//!
//! A finalised hybrid file is a plain one. Of a file with several video or several audio tracks, the first of each is
//! used; of an edit list, its first edit. [`Indexer`] requests ranges of the file and is given them. The index of a
//! fragmented file has either its segments or its samples, depending on its [`Purpose`].
//!
//! Everything in a file may be wrong. Memory is proportional to the bytes read, within [`MOOV_BYTES_MAX`],
//! [`SAMPLES_MAX`] and [`BOXES_MAX`]; segments are bounded in number ([`SEGMENTS_MAX`]), in bytes, in samples and in
//! pieces.

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

/// Upper bound on the bytes of a `moov`: a day of video and audio has 48 MB.
pub const MOOV_BYTES_MAX: u64 = 64 << 20;

/// Upper bound on the samples of a file: seven hours of 30 frames a second with audio. Each takes 24 bytes of memory.
pub const SAMPLES_MAX: usize = 2_000_000;

/// Upper bound on the boxes of a file: more than a day of one-second fragments has.
pub const BOXES_MAX: usize = 200_000;

/// Upper bound on the segments of a file: a day and a third of ordinary ones. Each takes 48 bytes of memory, and a line
/// of the playlist.
pub const SEGMENTS_MAX: usize = 20_000;

/// Upper bound on the bytes of a `moof`: some hundred samples take a few kilobytes.
const MOOF_BYTES_MAX: u64 = 1 << 20;

/// Bytes that are read at the beginning of a box: enough for any header, and for all of most `moof` boxes.
const LOOK_BYTES: u64 = 4 << 10;

/// Duration of a segment, if keyframes allow: the value that HLS recommends.
const SEGMENT: Duration = Duration::from_secs(6);

/// Reason why a file has no index.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Error {
    /// The file is not an MP4 file, or is cut where it must not be.
    #[error("it is not an MP4 file, or an incomplete one")]
    Malformed,
    /// The sample tables contradict each other or the file.
    #[error("its sample tables contradict one another or the file")]
    Contradictory,
    /// The file has neither video nor audio.
    #[error("it has no track that can be played")]
    NoTrack,
    /// The file has more samples, boxes or segments than are read.
    #[error("it has more samples, boxes or segments than are read")]
    TooLarge,
    /// The file needs something that segments cannot have.
    #[error("its format changes, or a segment would have too many bytes, samples or pieces")]
    Unsuitable,
}

/// Purpose for which an index is read. The index of a plain file serves both.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Purpose {
    /// Sending the file in [segments](Index::segments).
    Segments,
    /// Sending the file's samples [one by one](Index::next).
    Samples,
}

/// Reader of a file's boxes: pass it the bytes that it [`wants`](Self::wants) until [`take`](Self::take) returns the
/// index.
#[derive(Debug)]
pub struct Indexer {
    purpose: Purpose,
    length: u64,
    /// Offset of the next box.
    at: u64,
    boxes: usize,
    /// Box whose body must be read whole, and the range of that body.
    body: Option<(Head, Range<u64>)>,
    /// Fragments read so far of a fragmented file, once `moov` was read.
    fragments: Option<Cut>,
    /// Metadata in `moov`.
    tags: Tags,
}

impl Indexer {
    /// Creates an indexer for a file of `length` bytes.
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

    /// Returns the range of the file to read next.
    pub fn wants(&self) -> Range<u64> {
        match &self.body {
            Some((_, range)) => range.clone(),
            None => self.at..self.length.min(self.at.saturating_add(LOOK_BYTES)),
        }
    }

    /// Takes the wanted bytes; returns the index once it is complete.
    ///
    /// # Errors
    /// The reason why there is no index.
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
            // A second `moov` is ignored.
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

    /// Ends the input, since there are no more whole boxes.
    fn end(&mut self) -> Result<Index, Error> {
        let cut = self.fragments.take().ok_or(Error::Malformed)?;
        Index::of_fragments(cut, std::mem::take(&mut self.tags))
    }
}

/// Index of a file.
#[derive(Debug)]
pub struct Index {
    init: Vec<u8>,
    segments: Result<Arc<[Segment]>, Error>,
    /// Tracks whose samples are known; those of a fragmented file are not cut.
    samples: Samples,
    /// Purpose that the index of a fragmented file has; `None` for both.
    only: Option<Purpose>,
    reel: Reel,
    tags: Tags,
}

/// Segment of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Segment {
    /// Duration of the segment.
    pub duration: Duration,
    /// Byte range in the file; `None` if the segment has to be [packaged](Index::packaged).
    pub range: Option<Range<u64>>,
    /// The segment begins with a keyframe, if there is video, or is the first.
    pub is_independent: bool,
}

/// Segment made from samples: bytes to send first, then ranges of the file.
#[derive(Clone, Debug, PartialEq)]
pub struct Packaged {
    /// `moof`, and the header of `mdat`.
    pub head: Vec<u8>,
    /// Ranges of the file that make up the body of `mdat`.
    pub ranges: Vec<Range<u64>>,
}

impl Index {
    fn of_samples(heads: &[TrackHead], tracks: Vec<Track>, tags: Tags) -> Self {
        let (samples, segments) = Samples::new(tracks, SEGMENT);
        Self {
            init: init::write(heads),
            segments: segments.map(Into::into),
            ..Self::new(heads, samples, None, tags)
        }
    }

    fn of_fragments(cut: Cut, tags: Tags) -> Result<Self, Error> {
        match cut {
            Cut::Segments(fragments, heads) => {
                let (init, segments) = fragments.finish(SEGMENT)?;
                let only = Some(Purpose::Segments);
                Ok(Self {
                    init,
                    segments: Ok(segments.into()),
                    ..Self::new(&heads, Samples::default(), only, tags)
                })
            }
            Cut::Samples(collected, heads) => {
                let samples = Samples::uncut(collected.finish()?);
                Ok(Self::new(&heads, samples, Some(Purpose::Samples), tags))
            }
        }
    }

    /// Creates an index without segments.
    fn new(heads: &[TrackHead], samples: Samples, only: Option<Purpose>, tags: Tags) -> Self {
        Self {
            init: Vec::new(),
            segments: Ok(Arc::default()),
            reel: Reel::new(heads, samples.tracks()),
            samples,
            only,
            tags,
        }
    }

    /// Returns whether the index serves this purpose. Otherwise it lacks the data for it.
    pub fn is_for(&self, purpose: Purpose) -> bool {
        self.only.is_none_or(|only| only == purpose)
    }

    /// Returns the initialization segment.
    pub fn init(&self) -> &[u8] {
        &self.init
    }

    /// Returns the segments in order.
    ///
    /// # Errors
    /// The reason why there are none. The samples can still be sent one by one.
    pub fn segments(&self) -> Result<&Arc<[Segment]>, Error> {
        self.segments.as_ref().map_err(|error| *error)
    }

    /// Packages segment `number`; `None` if there is none, or if it is a range of the file.
    pub fn packaged(&self, number: usize) -> Option<Packaged> {
        self.samples.packaged(number)
    }

    /// Returns an upper bound on the memory of such a packaged segment.
    pub fn packaged_memory(&self, number: usize) -> Option<usize> {
        self.samples.packaged_memory(number)
    }

    /// Returns the total duration of the segments.
    pub fn duration(&self) -> Duration {
        let segments = self.segments.iter().flat_map(|segments| segments.iter());
        segments.map(|segment| segment.duration).sum()
    }

    /// Returns the tracks whose samples can be sent one by one: those that FLV can carry. Empty for a fragmented file
    /// with more samples than are read.
    pub fn tracks(&self) -> impl Iterator<Item = &Arc<media::Track>> {
        self.reel.tracks()
    }

    /// Returns the width and height of the video.
    pub fn dimensions(&self) -> Option<(u16, u16)> {
        self.reel.dimensions
    }

    /// Returns the title and artist in the file.
    pub fn tags(&self) -> &Tags {
        &self.tags
    }

    /// Returns the number of whole audio samples at the beginning and at the end that are encoder padding and should
    /// not be played.
    pub fn unheard(&self) -> (usize, usize) {
        silence::unheard(self.samples.tracks(), &self.tags)
    }

    /// Returns the duration of the sendable tracks.
    pub fn length(&self) -> Span {
        self.reel.length(self.samples.tracks())
    }

    /// Returns the position of the last keyframe that is decoded no later than `at`.
    pub fn seek(&self, at: Timestamp) -> Cursor {
        self.reel.seek(self.samples.tracks(), at)
    }

    /// Returns the sample at the cursor, and advances the cursor.
    pub fn next(&self, cursor: &mut Cursor) -> Option<Placed> {
        self.reel.next(self.samples.tracks(), cursor)
    }

    /// Returns the approximate memory in bytes.
    pub fn memory(&self) -> usize {
        let segments = self.segments.as_ref().map_or(0, |segments| segments.len());
        let cuts = self.samples.cuts_memory();
        let tracks = self.samples.tracks().iter();
        let samples: usize = tracks.map(|track| track.samples.len()).sum();
        self.init.len() + segments * size_of::<Segment>() + samples * size_of::<Sample>() + cuts
    }
}

/// Converts a time from a clock of `timescale` units per second.
pub(super) fn time(units: u64, timescale: u32) -> Duration {
    let scale = u64::from(timescale.max(1));
    let nanos = (units % scale) * 1_000_000_000 / scale;
    Duration::new(units / scale, nanos as u32)
}
