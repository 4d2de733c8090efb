//! Muxer of items into fragments: decides which tracks are carried, where a fragment ends, and where listeners may
//! join.
//!
//! The duration of a video frame is known when the next one arrives, so one frame is pending, and fragments end when it
//! is settled: before each keyframe, and once the video spans as much as it should. Audio is added in the order of
//! arrival. Audio without video is written as soon as it spans as much.
//!
//! Live media has no gaps, because players stop at them, and browsers show nothing after them before the next keyframe,
//! of either track. Where one track pauses, its last sample lasts until the track continues; video that is missing for
//! longer is replaced by the newest keyframe (`pause`). Where both pause, media begins anew. Files keep the gaps.

mod collect;
mod pause;
mod write;

use bytes::Bytes;
use media::{Kind, Sample, Span, Timestamp, Track, TrackId};

use self::pause::StandIn;
use super::PICTURE_TIMESCALE;
use super::carried::Carried;
use super::clock::{AudioClock, PictureClock, to_time};
use super::fragment::{Fragment, Piece};
use super::sink::{FragmentSink, Init};
use crate::joins::Joins;

/// Upper bound on the tracks remembered: as many as a stream announces.
const TRACKS_MAX: usize = 16;

/// Longest fragment that may be configured. Longer ones serve no live listener, and no frame's duration overflows its
/// field within this span.
const FRAGMENT_SPAN_MAX: Span = Span::from_millis(10_000);

/// Assumed duration of the only frame of an epoch: one of 25 a second.
const PICTURE_SPAN_ASSUMED: u32 = PICTURE_TIMESCALE / 25;

/// Muxer of a stream's items into fragments; call [`push`](Self::push) for each item, then [`finish`](Self::finish).
///
/// If there is video, listeners join at its keyframes; else at every fragment. Nothing is written before the first
/// join point, because no listener could decode it.
///
/// `P` is the [`FragmentSink::Preamble`] of the sink that is written to.
#[derive(Debug)]
pub struct Muxer<P> {
    span: Span,
    /// The muxer carries codecs that players accept only in files, and leaves pauses as they are.
    is_for_files: bool,
    /// Fragments are parts.
    is_of_parts: bool,
    /// Announced tracks; the first of each kind is carried.
    tracks: Vec<Carried>,
    joins: Joins,
    has_begun: bool,
    /// No fragment of this epoch has been written.
    is_first: bool,
    /// The collected and pending samples belong to the last epoch, described by the segment in force.
    is_closing: bool,
    /// Tracks of the last epoch.
    closing_tracks: Vec<Carried>,
    /// No fragment of the last epoch has been written.
    is_closing_first: bool,
    /// No video frame can be decoded before the next keyframe.
    wants_keyframe: bool,
    /// Configuration of the video so far.
    picture_config: Option<Bytes>,
    picture_clock: PictureClock,
    audio_clock: AudioClock,
    fragment: Fragment,
    /// Media before a pause of all media. It is written together with the media after the pause, so that readers learn
    /// of both at once.
    rested: Option<Fragment>,
    /// Frame that lasts until the next one arrives.
    pending: Option<Piece>,
    /// Duration of the frame before it.
    picture_span: u32,
    /// Stand-in for missing video.
    stand_in: StandIn,
    /// Video that waits for audio, from a keyframe on.
    held: Vec<Sample>,
    /// The audio track arrived in mid-group, and waits for a keyframe.
    is_audio_late: bool,
    /// Decoding time of the fragment's first audio frame.
    audio_since: u64,
    /// A listener may start at the audio with which the fragment begins.
    joins_at_audio: bool,
    init: Option<Init>,
    is_init_stale: bool,
    preamble: Option<P>,
    /// Number of fragments so far.
    number: u32,
    /// Latest time of all samples, and of those that were collected.
    now: Timestamp,
    collected: Timestamp,
    /// Time of the latest unit.
    at: Timestamp,
}

impl<P: Clone> Muxer<P> {
    /// Creates a muxer for a new stream, without tracks. A fragment ends at `span`, usually [`FRAGMENT_SPAN`]; zero makes
    /// each video frame a fragment, or each audio frame where there is no video. More than ten seconds counts as ten.
    ///
    /// A fragment delays its first sample by its span. Its headers take 32 bytes, 64 for each track in it, 16 for each
    /// video frame and 8 for each audio frame.
    ///
    /// [`FRAGMENT_SPAN`]: super::FRAGMENT_SPAN
    pub fn new(span: Span) -> Self {
        Self {
            span: span.min(FRAGMENT_SPAN_MAX),
            is_for_files: false,
            is_of_parts: false,
            tracks: Vec::new(),
            joins: Joins::default(),
            has_begun: false,
            is_first: true,
            is_closing: false,
            closing_tracks: Vec::new(),
            is_closing_first: false,
            wants_keyframe: true,
            picture_config: None,
            picture_clock: PictureClock::default(),
            audio_clock: AudioClock::default(),
            fragment: Fragment::default(),
            rested: None,
            pending: None,
            picture_span: PICTURE_SPAN_ASSUMED,
            stand_in: StandIn::default(),
            held: Vec::new(),
            is_audio_late: false,
            audio_since: 0,
            joins_at_audio: false,
            init: None,
            is_init_stale: true,
            preamble: None,
            number: 0,
            now: Timestamp::ZERO,
            collected: Timestamp::ZERO,
            at: Timestamp::ZERO,
        }
    }

    /// Creates a muxer whose fragments are parts: they end by their sink's [`room`](FragmentSink::room) of `room_max`, and
    /// never before they are as long as that.
    pub fn of_parts(room_max: Span) -> Self {
        Self {
            is_of_parts: true,
            joins: Joins::patient(),
            ..Self::new(room_max + room_max)
        }
    }

    /// Creates a muxer whose fragments become a file: it carries everything that [`can_file`](super::can_file) admits.
    pub fn for_files(span: Span) -> Self {
        Self {
            is_for_files: true,
            ..Self::new(span)
        }
    }

    /// Writes the collected media, because nothing follows: the last frame lasts as long as the one before it.
    pub fn finish(&mut self, sink: &mut impl FragmentSink<Preamble = P>) {
        self.release(sink);
        self.close(Kind::Video, sink);
        self.is_closing = false;
    }

    fn track(&mut self, track: &Track, sink: &mut impl FragmentSink<Preamble = P>) {
        self.end_rest(sink);
        let known = self.index_of(track.id);
        let carried = Carried::new(track);
        let carried = carried.filter(|it| self.is_for_files || it.is_live());
        if let Some(index) = known {
            let known = &mut self.tracks[index];
            if carried.as_ref().is_some_and(|new| new.is_like(known)) {
                known.track = track.clone();
                return;
            }
            let kind = known.track.kind;
            if self.carried(kind) == Some(index) {
                self.release(sink);
                self.close(kind, sink);
            }
            self.is_init_stale = true;
            match carried {
                Some(carried) if carried.track.kind == kind => {
                    self.tracks[index] = carried;
                    return;
                }
                _ => drop(self.tracks.remove(index)),
            }
        }
        if carried.is_none() {
            self.joins.expect_none(track.kind);
        }
        if let Some(carried) = carried.filter(|_| self.tracks.len() < TRACKS_MAX) {
            self.is_audio_late |= self.comes_late(carried.track.kind);
            self.tracks.push(carried);
            self.is_init_stale = true;
        }
    }

    /// Returns whether a first track of that kind arrives in mid-group: the video after it could not be decoded.
    fn comes_late(&self, kind: Kind) -> bool {
        let is_live = !self.is_for_files && !self.is_first && !self.wants_keyframe;
        let has_pictures = self.carried(Kind::Video).is_some();
        is_live && has_pictures && kind == Kind::Audio && self.carried(kind).is_none()
    }

    /// Begins an epoch, since the next publisher announces its own tracks. Joiners wait for its video, if it has any,
    /// and for nothing of the last publisher, whose last frame lasts until then. The rest of the last epoch is written
    /// with what follows, so that readers learn of both at once.
    fn begin_epoch(&mut self, sink: &mut impl FragmentSink<Preamble = P>) {
        self.release(sink);
        self.end_rest(sink);
        self.close_epoch(sink);
        if self.pending.is_some() || !self.fragment.is_empty() {
            self.renew_init(sink);
            self.is_closing = true;
            self.is_closing_first = self.is_first;
            self.keep_stand_in();
            self.closing_tracks = std::mem::take(&mut self.tracks);
        } else {
            self.tracks.clear();
        }
        self.joins = self.joins.anew();
        self.audio_clock.interrupt();
        self.stand_in = StandIn::default();
        self.is_audio_late = false;
        self.has_begun = false;
        self.is_first = true;
        self.wants_keyframe = true;
        self.is_init_stale = true;
    }

    /// Writes the rest of the last epoch.
    fn close_epoch(&mut self, sink: &mut impl FragmentSink<Preamble = P>) {
        if self.is_closing {
            self.settle_as_before(sink);
            self.end_fragment(sink);
            self.picture_span = PICTURE_SPAN_ASSUMED;
            self.is_closing = false;
            self.closing_tracks.clear();
        }
    }

    /// Takes a frame's facts about its track. If they change the description, the samples collected so far are written
    /// first.
    fn learn(&mut self, index: usize, frame: &[u8], sink: &mut impl FragmentSink<Preamble = P>) {
        if let Some(news) = self.tracks[index].news(frame) {
            if self.tracks[index].is_known() {
                self.close(self.kind(index), sink);
            }
            self.tracks[index].learn(news);
            self.is_init_stale = true;
        }
    }

    /// Returns the index of the carried track of a kind.
    fn carried(&self, kind: Kind) -> Option<usize> {
        let mut tracks = self.tracks.iter();
        tracks.position(|carried| carried.track.kind == kind)
    }

    fn index_of(&self, id: TrackId) -> Option<usize> {
        let mut tracks = self.tracks.iter();
        tracks.position(|carried| carried.track.id == id)
    }

    fn kind(&self, index: usize) -> Kind {
        self.tracks[index].track.kind
    }

    /// Writes the collected media of a kind, because the following media has another description or none.
    fn close(&mut self, kind: Kind, sink: &mut impl FragmentSink<Preamble = P>) {
        self.end_rest(sink);
        if kind == Kind::Video {
            self.settle_as_before(sink);
            self.wants_keyframe = true;
            self.stand_in = StandIn::default();
        }
        self.end_fragment(sink);
    }
}

fn picture_span((begin, end): (u64, u64)) -> Span {
    to_time(end, PICTURE_TIMESCALE) - to_time(begin, PICTURE_TIMESCALE)
}
