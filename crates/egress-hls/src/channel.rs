//! A stream as its HLS viewers see it, for as long as there are any.
//!
//! A channel holds the [`RangeReader`] that keeps the lane of segments open, the playlist of the present version,
//! and the [`Viewers`]. A task of its own lets viewers go that have left, and closes the channel when it has had
//! none for a while, or when its lane has ended.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use fanout::{
    Info, LaneGuard, LaneIndex, LaneRefused, PartState, Preamble, RangeReader, Registry, Segment,
    Segmentation, Stream, Subscription,
};
use formats::Mp4;
use media::StreamName;
use sha2::{Digest, Sha256};
use tokio::time::timeout;

use crate::answer::Answer;
use crate::dvr::{Kept, Window};
use crate::encoding::Encoded;
use crate::playlist::{self, Sheet};
use crate::reload::Directives;
use crate::viewers::Viewers;
use crate::wall::Wall;

/// How long the lane stays open without viewers: the next one finds segments, and need not wait for one.
const LINGER: Duration = Duration::from_secs(60);

/// How often the channel's task looks: a lane that has ended is let go of this much later.
const TICK: Duration = Duration::from_millis(250);

/// How long the playlist of a lane that has ended can still be had, so that players see that it has.
const ENDED_FOR: Duration = Duration::from_secs(30);

/// How long any request waits: the server answers pages within 30 s.
const WAIT_MAX: Duration = Duration::from_secs(25);

/// What is granted beyond the times that media takes.
const ROUND_TRIP: Duration = Duration::from_secs(2);

/// Characters of a digest in an address: of the few initialization segments of a stream no two share them.
pub(crate) const DIGEST_CHARS: usize = 12;

/// See the module's description.
#[derive(Debug)]
pub(crate) struct Channel {
    stream: Arc<Stream>,
    segmentation: Segmentation,
    reader: RangeReader,
    viewers: Viewers,
    sheets: Mutex<Sheets>,
}

/// What playlists are made of, and made.
#[derive(Debug, Default)]
struct Sheets {
    wall: Wall,
    /// The digests of the listed initialization segments.
    digests: Vec<(Arc<Preamble>, String)>,
    /// The present version, whole and as a delta update; of the live playlist, and of the DVR window.
    rendered: [[Option<Arc<Rendered>>; 2]; 2],
}

/// A version of a playlist.
#[derive(Debug)]
pub(crate) struct Rendered {
    version: Version,
    pub(crate) text: Encoded,
    /// The entity tag.
    pub(crate) tag: String,
}

/// What tells the versions of a playlist apart.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Version {
    first: u64,
    last: u64,
    parts: usize,
    /// See [`Past::revision`]; zero without a DVR window.
    revision: u64,
    is_ended: bool,
}

impl Channel {
    fn new(
        subscription: &Subscription,
        segmentation: Segmentation,
        now: Instant,
    ) -> Result<Arc<Self>, LaneRefused> {
        let format = Mp4::segments(&segmentation);
        let reader = subscription.ranges(format, || packager(segmentation), now)?;
        Ok(Arc::new(Self {
            stream: Arc::clone(subscription.stream()),
            segmentation,
            reader,
            viewers: Viewers::new(silence(&segmentation), now),
            sheets: Mutex::default(),
        }))
    }

    pub(crate) fn stream(&self) -> &Arc<Stream> {
        &self.stream
    }

    pub(crate) fn viewers(&self) -> &Viewers {
        &self.viewers
    }

    pub(crate) fn reader(&self) -> &RangeReader {
        &self.reader
    }

    /// The stream's description.
    pub(crate) fn info(&self) -> Info {
        self.stream.info()
    }

    /// The segments that can be read.
    pub(crate) fn index(&self) -> LaneIndex {
        self.reader.index()
    }

    /// How long a request may wait: three target durations (§6.2.5.2), and no longer than [`WAIT_MAX`].
    pub(crate) fn patience(&self) -> Duration {
        WAIT_MAX.min(3 * target(&self.segmentation))
    }

    /// How long a player that asks for the present waits for a first segment: what it takes until one is complete
    /// at most. Players that know no parts give up on a playlist without segments.
    pub(crate) fn start_wait(&self) -> Duration {
        WAIT_MAX.min(target(&self.segmentation) + ROUND_TRIP)
    }

    /// Waits for the first part.
    pub(crate) async fn has_part(&self) {
        self.reader.wait_for(0, 0).await;
    }

    /// Waits for the first segment that no longer grows.
    pub(crate) async fn has_segment(&self) {
        self.has_part().await;
        loop {
            let index = self.index();
            let is_there = |segment: &Arc<Segment>| segment.is_complete && !segment.is_gap;
            let Some(last) = index.segments.last() else {
                return;
            };
            if index.is_ended || index.segments.iter().any(is_there) {
                return;
            }
            self.reader.wait_for(last.number + 1, 0).await;
        }
    }

    /// Whether there is nothing to list.
    pub(crate) fn is_blank(&self) -> bool {
        self.index().segments.is_empty()
    }

    /// The playlist of this moment, with the viewer's own query behind its addresses: the live one, or that of the
    /// stream's window, if `is_dvr`.
    pub(crate) fn playlist(
        &self,
        window: Option<&Window>,
        is_dvr: bool,
        directives: &Directives,
        suffix: &str,
    ) -> Arc<Rendered> {
        let index = self.index();
        let past = window.filter(|_| is_dvr).map(|window| window.past(&index));
        let (kept, segments) = match &past {
            Some(past) => (&past.kept[..], &index.segments[past.unlisted..]),
            None => (&[][..], playlist::listed(&index)),
        };
        let segmentation = self.segmentation;
        let skipped = playlist::skipped(kept, segments, &segmentation);
        let is_delta = directives.skips && !index.is_ended && skipped > 0;
        let version = Version {
            revision: past.as_ref().map_or(0, |past| past.revision),
            ..Version::of(kept, segments, index.is_ended)
        };
        let mut sheets = self.sheets();
        let place = (usize::from(past.is_some()), usize::from(is_delta));
        let cached = &sheets.rendered[place.0][place.1];
        if let Some(cached) = cached
            && suffix.is_empty()
            && cached.version == version
        {
            return Arc::clone(cached);
        }
        // All that the lane has: the two playlists list different ones.
        sheets.describe(&index.segments);
        // A window outlives channels, and its times are those of both playlists.
        let wall = window.map(|window| window.wall(&index, SystemTime::now()));
        let sheet = Sheet {
            kept,
            segments,
            segmentation,
            is_ended: index.is_ended,
            wall: wall.as_ref().unwrap_or(&sheets.wall),
            digest: &|preamble| sheets.digest(preamble),
            suffix,
            is_delta,
        };
        let text = sheet.to_string();
        let rendered = Arc::new(Rendered {
            version,
            // Weak, because the codings of a text differ in their bytes (RFC 9110 §8.8.3).
            tag: format!("W/\"{}\"", digest(text.as_bytes())),
            text: Encoded::new(text),
        });
        if suffix.is_empty() {
            sheets.rendered[place.0][place.1] = Some(Arc::clone(&rendered));
        }
        rendered
    }

    /// The initialization segment of a digest.
    pub(crate) fn init(&self, digest: &str) -> Option<Bytes> {
        let index = self.index();
        let mut sheets = self.sheets();
        sheets.describe(&index.segments);
        let found = sheets.digests.iter().find(|(_, known)| known == digest);
        found.map(|(preamble, _)| preamble.bytes.clone())
    }

    /// A segment that no longer grows.
    pub(crate) fn segment(&self, number: u64) -> Option<Answer> {
        let index = self.index();
        let is_closed =
            |segment: &Segment| (segment.is_complete || index.is_ended) && !segment.is_gap;
        let segment = find(&index, number).filter(|segment| is_closed(segment))?;
        let pieces = self.reader.range(segment.range.clone())?;
        Some(Answer::media(pieces, segment.is_whole))
    }

    /// A part, which may be the next to come.
    pub(crate) async fn part(&self, number: u64, part: usize) -> Option<Answer> {
        if self.is_hinted(number, part) {
            let place = timeout(self.patience(), self.reader.wait_for(number, part)).await;
            let came = PartState::There { number, part };
            place.ok().filter(|place| *place == came)?;
        }
        let index = self.index();
        let segment = find(&index, number)?;
        let listed = segment.parts.get(part)?;
        let pieces = self.reader.range(listed.range.clone())?;
        Some(Answer::media(pieces, segment.is_whole))
    }

    fn is_hinted(&self, number: u64, part: usize) -> bool {
        let index = self.index();
        let last = index.segments.last().filter(|_| !index.is_ended);
        last.is_some_and(|last| playlist::next(last) == (number, part))
    }

    /// A lane for one more viewer.
    pub(crate) fn lane(
        &self,
        subscription: &Subscription,
        now: Instant,
    ) -> Result<LaneGuard, LaneRefused> {
        let format = Mp4::segments(&self.segmentation);
        subscription.lane(format, || packager(self.segmentation), now)
    }

    /// Whether it shows what the registry has by that name, or the end of what there was.
    fn is_current(&self, present: Option<&Arc<Stream>>) -> bool {
        match present {
            Some(stream) => Arc::ptr_eq(stream, &self.stream) && !self.reader.is_ended(),
            None => true,
        }
    }

    fn sheets(&self) -> MutexGuard<'_, Sheets> {
        // Whatever a panic left undone is made anew by the next request.
        self.sheets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) fn packager(segmentation: Segmentation) -> Box<dyn fanout::Packager> {
    Box::new(Mp4::segmented(segmentation))
}

/// The target duration.
fn target(segmentation: &Segmentation) -> Duration {
    Duration::from_secs(playlist::target_seconds(segmentation).unsigned_abs())
}

/// A player that still plays requests something at least once in a target duration, and after a stall in three.
fn silence(segmentation: &Segmentation) -> Duration {
    3 * target(segmentation) + ROUND_TRIP
}

/// The segment of a number. They are numbered without holes.
fn find(index: &LaneIndex, number: u64) -> Option<&Arc<Segment>> {
    let first = index.segments.first()?.number;
    index
        .segments
        .get(usize::try_from(number.checked_sub(first)?).ok()?)
}

impl Version {
    fn of(kept: &[Arc<Kept>], segments: &[Arc<Segment>], is_ended: bool) -> Self {
        let kept = kept.iter().map(|kept| &kept.segment);
        let mut all = kept.chain(segments);
        let last = all.clone().next_back();
        Self {
            first: all.next().map_or(0, |segment| segment.number),
            last: last.map_or(0, |segment| segment.number),
            parts: last.map_or(0, |segment| segment.parts.len()),
            revision: 0,
            is_ended,
        }
    }
}

impl Sheets {
    /// Takes what is listed, whose newest media has just come.
    fn describe(&mut self, segments: &[Arc<Segment>]) {
        self.wall.observe(segments, SystemTime::now());
        let is_listed = |preamble: &Arc<Preamble>| {
            segments
                .iter()
                .any(|segment| Arc::ptr_eq(&segment.preamble, preamble))
        };
        self.digests.retain(|(preamble, _)| is_listed(preamble));
        for segment in segments {
            let preamble = &segment.preamble;
            if !self
                .digests
                .iter()
                .any(|(known, _)| Arc::ptr_eq(known, preamble))
            {
                self.digests
                    .push((Arc::clone(preamble), digest(&preamble.bytes)));
            }
        }
    }

    /// The digest of a preamble that was described.
    fn digest(&self, preamble: &Arc<Preamble>) -> &str {
        let mut known = self.digests.iter();
        let known = known.find(|(known, _)| Arc::ptr_eq(known, preamble));
        known.map_or("", |(_, digest)| digest)
    }
}

pub(crate) fn digest(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest[..DIGEST_CHARS / 2]
        .iter()
        .fold(String::new(), |mut out, byte| {
            write!(out, "{byte:02x}").expect("a String takes all text");
            out
        })
}

/// All channels, by their streams' names.
#[derive(Debug)]
pub(crate) struct Channels {
    segmentation: Segmentation,
    all: Mutex<HashMap<StreamName, Arc<Channel>>>,
}

impl Channels {
    /// None yet. All will have the same bounds.
    pub(crate) fn new(segmentation: Segmentation) -> Self {
        Self {
            segmentation,
            all: Mutex::default(),
        }
    }

    /// The channel of a stream, unless what it shows is no longer the stream of that name.
    pub(crate) fn get(&self, registry: &Registry, name: &StreamName) -> Option<Arc<Channel>> {
        let channel = self.lock().get(name).cloned()?;
        let present = registry.stream(name);
        channel.is_current(present.as_ref()).then_some(channel)
    }

    /// The channel of a stream that a viewer has joined.
    ///
    /// # Errors
    /// When its lane cannot be opened.
    pub(crate) fn open(
        self: &Arc<Self>,
        subscription: &Subscription,
        now: Instant,
    ) -> Result<Arc<Channel>, LaneRefused> {
        let stream = subscription.stream();
        match self.lock().entry(stream.name().clone()) {
            Entry::Occupied(entry) if entry.get().is_current(Some(stream)) => {
                Ok(Arc::clone(entry.get()))
            }
            entry => {
                let channel = Channel::new(subscription, self.segmentation, now)?;
                tokio::spawn(keep(Arc::downgrade(self), Arc::clone(&channel)));
                entry.insert_entry(Arc::clone(&channel));
                Ok(channel)
            }
        }
    }

    /// Forgets a channel, unless another has its place.
    fn close(&self, channel: &Arc<Channel>) {
        let name = channel.stream.name();
        let mut all = self.lock();
        if all
            .get(name)
            .is_some_and(|present| Arc::ptr_eq(present, channel))
        {
            all.remove(name);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<StreamName, Arc<Channel>>> {
        // The map is valid between any two statements of its users.
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Lets go of viewers, and of the channel when it has had none for a while.
async fn keep(channels: Weak<Channels>, channel: Arc<Channel>) {
    let mut ended = None;
    loop {
        tokio::time::sleep(TICK).await;
        let now = Instant::now();
        if channel.reader.is_ended() {
            channel.viewers.end();
            ended = ended.or(Some(now));
        } else {
            channel.viewers.expire(now);
        }
        let is_over = ended.is_some_and(|ended| now.saturating_duration_since(ended) > ENDED_FOR);
        let Some(channels) = channels.upgrade() else {
            return;
        };
        if is_over || channel.viewers.is_idle(now, LINGER) {
            return channels.close(&channel);
        }
    }
}
