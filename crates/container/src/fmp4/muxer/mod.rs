//! Items to fragments: what is carried, where a fragment ends, and where listeners may join.
//!
//! The duration of a picture is known when the next one comes, so one picture is pending, and fragments end
//! when it is settled: before each keyframe, and once the pictures span as much as they should. Sound goes
//! along, in the order of arrival. Sound alone is written as soon as it spans as much.
//!
//! Live media has no holes, because players stop at them, and browsers show nothing behind them before the next
//! keyframe, of either track. Where one track pauses, its last sample lasts until it goes on; pictures that are away
//! for longer are replaced by the newest keyframe (`pause`). Where both pause, media begins anew. Files have what
//! there was.

mod collect;
mod pause;
mod write;

use bytes::Bytes;
use media::{Item, Kind, Sample, Span, Timestamp, Track, TrackId};

use self::pause::StandIn;
use super::PICTURE_TIMESCALE;
use super::carried::Carried;
use super::clock::{PictureClock, SoundClock, to_time};
use super::fragment::{Fragment, Piece};
use super::sink::{Fragmentation, Init, Sink};
use crate::joins::Joins;

/// Tracks remembered at the most: as many as a stream announces.
const TRACKS_MAX: usize = 16;

/// How long the only picture of an epoch lasts: one of 25 a second.
const PICTURE_SPAN_ASSUMED: u32 = PICTURE_TIMESCALE / 25;

/// Turns a stream's items into fragments.
///
/// Where there are pictures, listeners join at their keyframes; else at every fragment. Nothing is
/// written before the first join point: no listener could decode it.
///
/// `P` is the [`Sink::Preamble`] of the sink that is written to.
#[derive(Debug)]
pub struct Muxer<P> {
    span: Span,
    /// It carries what players take from files alone, and leaves pauses as they are.
    is_for_files: bool,
    /// Its fragments are parts.
    is_of_parts: bool,
    /// Of each kind the first one is carried.
    tracks: Vec<Carried>,
    joins: Joins,
    has_begun: bool,
    /// No fragment of this epoch has been written.
    is_first: bool,
    /// Whether the collected and pending samples belong to the last epoch, described by the segment in force.
    is_closing: bool,
    /// The tracks of that epoch.
    closing_tracks: Vec<Carried>,
    /// No fragment of that epoch has been written.
    is_closing_first: bool,
    /// Whether no picture can be decoded before the next keyframe.
    wants_keyframe: bool,
    /// The configuration of the pictures so far.
    picture_config: Option<Bytes>,
    picture_clock: PictureClock,
    sound_clock: SoundClock,
    fragment: Fragment,
    /// What there was before a pause of all media. It is written with what comes after that, so that readers are told of
    /// both at once.
    rested: Option<Fragment>,
    /// The picture that lasts until the next one comes.
    pending: Option<Piece>,
    /// How long the one before it lasted.
    picture_span: u32,
    /// What stands for pictures that are away.
    stand_in: StandIn,
    /// Pictures that wait for sound, from a keyframe on.
    held: Vec<Sample>,
    /// The track of sound that has come in mid-group, and waits for a keyframe.
    is_sound_late: bool,
    /// When the first sound of the fragment should be decoded.
    sound_since: u64,
    /// A listener may start at the sound that the fragment begins with.
    joins_at_sound: bool,
    init: Option<Init>,
    is_init_stale: bool,
    preamble: Option<P>,
    /// Fragments so far.
    number: u32,
    /// The latest time of all samples, and of those that were collected.
    now: Timestamp,
    collected: Timestamp,
    /// The time of the latest unit.
    at: Timestamp,
}

impl<P: Clone> Muxer<P> {
    /// A muxer for a new stream, without tracks.
    pub fn new(fragmentation: Fragmentation) -> Self {
        Self {
            span: fragmentation.bounded(),
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
            sound_clock: SoundClock::default(),
            fragment: Fragment::default(),
            rested: None,
            pending: None,
            picture_span: PICTURE_SPAN_ASSUMED,
            stand_in: StandIn::default(),
            held: Vec::new(),
            is_sound_late: false,
            sound_since: 0,
            joins_at_sound: false,
            init: None,
            is_init_stale: true,
            preamble: None,
            number: 0,
            now: Timestamp::ZERO,
            collected: Timestamp::ZERO,
            at: Timestamp::ZERO,
        }
    }

    /// The same, whose fragments are parts: they end by their sink's [`room`](Sink::room) of `room_max`, and never
    /// before they are as long as that.
    pub fn of_parts(room_max: Span) -> Self {
        let span = room_max + room_max;
        Self {
            is_of_parts: true,
            joins: Joins::patient(),
            ..Self::new(Fragmentation { span })
        }
    }

    /// The same, whose fragments become a file: what [`can_file`](super::can_file) admits is in it.
    pub fn for_files(fragmentation: Fragmentation) -> Self {
        Self {
            is_for_files: true,
            ..Self::new(fragmentation)
        }
    }

    /// Appends the fragments of `item`.
    pub fn push(&mut self, item: &Item, sink: &mut impl Sink<Preamble = P>) {
        match item {
            Item::Track(track) => self.track(track, sink),
            Item::Metadata(script) => self.joins.metadata(&script.body),
            Item::Sample(sample) => self.sample(sample, sink),
            Item::Epoch => self.begin_epoch(sink),
            Item::Script(_) | Item::Header(_) | Item::Title(_) | Item::Event(_) => {}
        }
    }

    /// Writes what has been collected, because nothing follows: the last picture lasts as long as the one
    /// before it.
    pub fn finish(&mut self, sink: &mut impl Sink<Preamble = P>) {
        self.release(sink);
        self.close(Kind::Video, sink);
        self.is_closing = false;
    }

    fn track(&mut self, track: &Track, sink: &mut impl Sink<Preamble = P>) {
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
            self.is_sound_late |= self.comes_late(carried.track.kind);
            self.tracks.push(carried);
            self.is_init_stale = true;
        }
    }

    /// Whether a first track of that kind comes in mid-group: the pictures after it could not be decoded.
    fn comes_late(&self, kind: Kind) -> bool {
        let is_live = !self.is_for_files && !self.is_first && !self.wants_keyframe;
        let has_pictures = self.carried(Kind::Video).is_some();
        is_live && has_pictures && kind == Kind::Audio && self.carried(kind).is_none()
    }

    /// The next publisher announces its own tracks. Joiners wait for its pictures, if it has any, and for
    /// nothing of the last one's, whose last picture lasts until then. What it has left is written with what follows, so
    /// that readers are told of both at once.
    fn begin_epoch(&mut self, sink: &mut impl Sink<Preamble = P>) {
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
        self.sound_clock.interrupt();
        self.stand_in = StandIn::default();
        self.is_sound_late = false;
        self.has_begun = false;
        self.is_first = true;
        self.wants_keyframe = true;
        self.is_init_stale = true;
    }

    /// Writes what the last epoch left.
    fn close_epoch(&mut self, sink: &mut impl Sink<Preamble = P>) {
        if self.is_closing {
            self.settle_as_before(sink);
            self.end_fragment(sink);
            self.picture_span = PICTURE_SPAN_ASSUMED;
            self.is_closing = false;
            self.closing_tracks.clear();
        }
    }

    fn sample(&mut self, sample: &Sample, sink: &mut impl Sink<Preamble = P>) {
        let index = self.index_of(sample.track);
        let index = index.filter(|index| self.carried(self.kind(*index)) == Some(*index));
        let Some(index) = index else {
            return;
        };
        let kind = self.kind(index);
        if kind == Kind::Video && self.holds(sample) {
            return;
        }
        if kind == Kind::Audio
            && let Some(frame) = self.tracks[index].payload(sample)
        {
            self.learn(index, &frame, sink);
        }
        if !self.awaits_sound() {
            self.release(sink);
        }
        self.collect(index, sample, sink);
    }

    /// Collects a sample of a track that is carried.
    fn collect(&mut self, index: usize, sample: &Sample, sink: &mut impl Sink<Preamble = P>) {
        let Some(data) = self.tracks[index].payload(sample) else {
            return;
        };
        self.rest(sample.dts, sink);
        self.now = self.now.max(sample.dts);
        match self.kind(index) {
            Kind::Video => self.picture(index, sample, data, sink),
            Kind::Audio => self.sound(index, sample.dts, data, sink),
        }
    }

    /// Takes a frame's facts about its track. If they change the description, the samples collected so far
    /// are written first.
    fn learn(&mut self, index: usize, frame: &[u8], sink: &mut impl Sink<Preamble = P>) {
        if let Some(news) = self.tracks[index].news(frame) {
            if self.tracks[index].is_known() {
                self.close(self.kind(index), sink);
            }
            self.tracks[index].learn(news);
            self.is_init_stale = true;
        }
    }

    /// The index of the carried track of a kind.
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

    /// Writes what has been collected of a kind, because what follows has another description or none.
    fn close(&mut self, kind: Kind, sink: &mut impl Sink<Preamble = P>) {
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
