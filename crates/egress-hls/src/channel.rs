//! View of a stream for its HLS viewers, in one [`Packaging`]; it exists as long as there are viewers.
//!
//! A channel owns the [`RangeReader`] that keeps the lane of segments open, the [`Renderer`] of its playlists, and the
//! [`Viewers`]. [`Channels`](crate::channels::Channels) owns all channels and closes them.

use std::sync::Arc;
use std::time::Instant;

use base::holdings::Holdings;
use bytes::Bytes;
use fanout::{
    LaneGuard, LaneIndex, LaneRefused, PartState, RangeReader, Segment, Segmentation, Stream,
    Subscription,
};
use tokio::time::timeout;

use crate::answer::Answer;
use crate::keys::{KEY_BYTES, Keys};
use crate::packaging::Packaging;
use crate::playlist;
use crate::promise::Promise;
use crate::renderer::{Rendered, Renderer, Wanted};
use crate::resource::Piece;
use crate::viewers::Viewers;
use crate::waits;

/// Least content of the first playlist that a player reads.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Start {
    /// A part of a segment.
    Part,
    /// The given number of complete segments.
    Segments(usize),
}

/// Number of segments in a first playlist where not every segment begins with a keyframe. VHS, the HLS engine of
/// video.js, appends the initialization segment again if it takes its first and second segments from different versions
/// of the playlist; browsers then drop frames until the next keyframe.
const SPARSE_START: usize = 2;

/// Result of an attempt to answer, without waiting, a viewer that may watch.
pub(crate) enum AtOnce {
    Answer(Box<Answer>),
    /// Answer due once this part of a segment, or a later one, has arrived.
    Awaits(u64, usize),
    /// Request for [`resource`](crate::respond::resource), which may wait for other things and refuse.
    Elsewhere,
}

impl AtOnce {
    pub(crate) fn of(answer: Option<Answer>) -> Self {
        answer.map_or(Self::Elsewhere, |answer| Self::Answer(Box::new(answer)))
    }
}

/// View of one stream in one packaging. [`Channels::open`](crate::channels::Channels::open) makes it; requests call
/// [`playlist`](Self::playlist), [`segment`](Self::segment) and [`part`](Self::part).
#[derive(Debug)]
pub(crate) struct Channel {
    pub(crate) promise: Promise,
    /// Number of segments that the first playlist lists.
    first_segments: usize,
    pub(crate) reader: RangeReader,
    pub(crate) viewers: Viewers,
    renderer: Renderer,
}

impl Channel {
    /// Opens a channel and its lane. `discontinuity_base` is added to its discontinuity sequence numbers.
    ///
    /// # Errors
    /// If the lane cannot be opened.
    pub(crate) fn new(
        subscription: &Subscription,
        packaging: Packaging,
        segmentation: Segmentation,
        discontinuity_base: u64,
        (keys, holdings): (&Arc<Keys>, &Arc<Holdings>),
        now: Instant,
    ) -> Result<Self, LaneRefused> {
        let stream = Arc::clone(subscription.stream());
        let suits_parts = playlist::suits_parts(&stream.info(), &segmentation);
        let promise = Promise {
            stream,
            packaging,
            segmentation,
            has_parts: packaging.has_parts() && suits_parts,
            discontinuity_base,
            keys: Arc::clone(keys),
        };
        let reader = subscription.ranges(promise.format(), || promise.packager(), now)?;
        Ok(Self {
            promise,
            first_segments: if suits_parts { 1 } else { SPARSE_START },
            reader,
            viewers: Viewers::new(waits::silence(&segmentation), now),
            renderer: Renderer::new(holdings),
        })
    }

    /// Returns the index of the readable segments.
    pub(crate) fn index(&self) -> LaneIndex {
        self.reader.index()
    }

    /// Returns the least content of the first playlist for a player: a part if it is [content with parts](Start::Part)
    /// and the channel has parts, otherwise whole segments.
    pub(crate) fn start(&self, parts_are_enough: bool) -> Start {
        match parts_are_enough && self.promise.has_parts {
            true => Start::Part,
            false => Start::Segments(self.first_segments),
        }
    }

    /// Returns whether that content has arrived.
    pub(crate) fn has_begun(&self, start: Start) -> bool {
        let index = self.index();
        match start {
            Start::Part => index
                .segments
                .iter()
                .any(|segment| !segment.parts.is_empty()),
            Start::Segments(count) => index.has_complete(count),
        }
    }

    /// Waits for that content, or for the end of the lane.
    pub(crate) async fn begins(&self, start: Start) {
        match start {
            Start::Part => {
                self.reader.wait_for(0, 0).await;
            }
            Start::Segments(count) => self.reader.wait_for_segments(count).await,
        }
    }

    /// Returns the current playlist.
    pub(crate) fn playlist(&self, wanted: Wanted<'_>) -> Arc<Rendered> {
        self.renderer.playlist(&self.index(), wanted)
    }

    /// Returns the initialization segment with this digest.
    pub(crate) fn init(&self, digest: &str) -> Option<Bytes> {
        self.renderer.init(&self.index(), digest)
    }

    /// Returns a segment that no longer grows.
    pub(crate) fn segment(&self, number: u64) -> Option<Answer> {
        let index = self.index();
        let is_closed =
            |segment: &Segment| (segment.is_complete || index.is_ended) && !segment.is_gap;
        let segment = find(&index, number).filter(|segment| is_closed(segment))?;
        let pieces = self.reader.range(segment.range.clone())?;
        let packaging = self.promise.packaging;
        Some(Answer::media(packaging, pieces, segment.is_whole))
    }

    /// Returns the key with this number, if a listed segment uses it.
    pub(crate) fn key(&self, number: u64) -> Option<[u8; KEY_BYTES]> {
        let (keys, stream) = (&self.promise.keys, &self.promise.stream);
        let is_used = |segment: &Arc<Segment>| keys.number(segment.number) == number;
        let is_listed = self.index().segments.iter().any(is_used);
        is_listed.then(|| keys.key(stream.name(), number))
    }

    /// Returns a part; waits for it if it is the next one due.
    pub(crate) async fn part(&self, number: u64, part: usize) -> Option<Answer> {
        if self.is_to_come(number, part) {
            let patience = waits::patience(&self.promise.segmentation);
            let wait = self.reader.wait_for(number, part);
            timeout(patience, wait).await.ok();
        }
        self.listed_part(number, part)
    }

    /// Returns whether this is the part that playlists announce as the next one, and it has not arrived yet.
    pub(crate) fn is_to_come(&self, number: u64, part: usize) -> bool {
        self.reader.place(number, part).is_none() && self.is_hinted(number, part)
    }

    /// Returns a part that has arrived.
    pub(crate) fn listed_part(&self, number: u64, part: usize) -> Option<Answer> {
        let came = PartState::There { number, part };
        if self.reader.place(number, part) != Some(came) {
            return None;
        }
        let index = self.index();
        let segment = find(&index, number)?;
        let listed = segment.parts.get(part)?;
        let pieces = self.reader.range(listed.range.clone())?;
        let packaging = self.promise.packaging;
        Some(Answer::media(packaging, pieces, segment.is_whole))
    }

    /// Answers a request for a piece in memory without waiting.
    pub(crate) fn at_once(&self, piece: &Piece) -> AtOnce {
        AtOnce::of(match piece {
            Piece::Part(number, part) if self.is_to_come(*number, *part) => {
                return AtOnce::Awaits(*number, *part);
            }
            Piece::Part(number, part) => self.listed_part(*number, *part),
            Piece::Segment(number) => self.segment(*number),
            Piece::Init(digest) => self.init(digest).map(Answer::init),
            Piece::Playlist | Piece::Dvr | Piece::Key(_) => None,
        })
    }

    fn is_hinted(&self, number: u64, part: usize) -> bool {
        let index = self.index();
        let last = index.segments.last().filter(|_| !index.is_ended);
        last.is_some_and(|last| playlist::next(last) == (number, part))
    }

    /// Opens a lane for one more viewer.
    pub(crate) fn lane(
        &self,
        subscription: &Subscription,
        now: Instant,
    ) -> Result<LaneGuard, LaneRefused> {
        let promise = &self.promise;
        subscription.lane(promise.format(), || promise.packager(), now)
    }

    /// Returns whether it shows the stream that the registry has under its name, or the end of the one that was there.
    pub(crate) fn is_current(&self, present: Option<&Arc<Stream>>) -> bool {
        match present {
            Some(stream) => Arc::ptr_eq(stream, &self.promise.stream) && !self.reader.is_ended(),
            None => true,
        }
    }
}

/// Returns the segment with this number. Numbers are consecutive.
fn find(index: &LaneIndex, number: u64) -> Option<&Arc<Segment>> {
    let first = index.segments.first()?.number;
    index
        .segments
        .get(usize::try_from(number.checked_sub(first)?).ok()?)
}
