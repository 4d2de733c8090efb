//! Items to fragments: what is carried, where a fragment ends, and where one may join.
//!
//! How long a picture lasts is known when the next one comes, so one picture waits for that, and all
//! that ends a fragment happens then: it ends before each keyframe, and once its pictures span as
//! much as they should. Sound goes along, in the order of arrival. Where there is sound alone, it is
//! written as soon as it spans as much.

use bytes::Bytes;
use media::{Item, Kind, Sample, Span, Timestamp, Track};

use super::carried::Carried;
use super::clock::{PictureClock, Place, SoundClock, to_time, to_units};
use super::fragment::{Fragment, Piece};
use super::joins::Joins;
use super::sink::{Content, Fragmentation, Init, Sink, Unit};
use super::{PICTURE_TIMESCALE, init};

/// Tracks remembered at the most: as many as a stream announces.
const TRACKS_MAX: usize = 16;

/// Sound waits for its fragment's pictures so much longer than the fragment should span: long enough
/// for two pictures a second, and for publishers that send sound ahead.
const SOUND_HELD_MAX: Span = Span::from_millis(500);

/// A picture waits so long for the next one. Then it lasts as long as it waited; what comes later
/// leaves a gap, behind which some players want a keyframe. Half a picture a second has none.
const PICTURE_HELD_MAX: Span = Span::from_millis(2_000);

/// How long the only picture of an epoch lasts: one of 25 a second.
const PICTURE_SPAN_ASSUMED: u32 = PICTURE_TIMESCALE / 25;

/// Turns a stream's items into fragments.
///
/// Where there are pictures, listeners join at their keyframes; else at every fragment. Nothing is
/// written before the first join point, because nobody could read it.
///
/// `P` is the [`Sink::Preamble`] of the sink that is written to.
#[derive(Debug)]
pub struct Muxer<P> {
    span: Span,
    /// Of each kind the first one is carried.
    tracks: Vec<Carried>,
    joins: Joins,
    has_begun: bool,
    /// No fragment of this epoch has been written.
    is_first: bool,
    /// No picture makes sense before the next keyframe.
    wants_keyframe: bool,
    picture_clock: PictureClock,
    sound_clock: SoundClock,
    fragment: Fragment,
    /// The picture that lasts until the next one comes.
    pending: Option<Piece>,
    /// How long the one before it lasted.
    picture_span: u32,
    /// A listener may start at the sound that the fragment begins with.
    joins_at_sound: bool,
    init: Option<Init>,
    is_init_stale: bool,
    preamble: Option<P>,
    /// Fragments so far.
    number: u32,
    /// The latest time of all samples.
    now: Timestamp,
    /// The time of the latest unit.
    at: Timestamp,
}

impl<P: Clone> Muxer<P> {
    /// A muxer of a stream of which nothing is known.
    pub fn new(fragmentation: Fragmentation) -> Self {
        Self {
            span: fragmentation.bounded(),
            tracks: Vec::new(),
            joins: Joins::default(),
            has_begun: false,
            is_first: true,
            wants_keyframe: true,
            picture_clock: PictureClock::default(),
            sound_clock: SoundClock::default(),
            fragment: Fragment::default(),
            pending: None,
            picture_span: PICTURE_SPAN_ASSUMED,
            joins_at_sound: false,
            init: None,
            is_init_stale: true,
            preamble: None,
            number: 0,
            now: Timestamp::ZERO,
            at: Timestamp::ZERO,
        }
    }

    /// Appends what `item` means.
    pub fn push(&mut self, item: &Item, sink: &mut impl Sink<Preamble = P>) {
        match item {
            Item::Track(track) => self.track(track, sink),
            Item::Metadata(script) => self.joins.metadata(&script.body),
            Item::Sample(sample) => self.sample(sample, sink),
            Item::Epoch => self.begin_epoch(sink),
            Item::Script(_) | Item::Header(_) | Item::Title(_) => {}
        }
    }

    /// Writes what has been collected, because nothing follows: the last picture lasts as long as the
    /// one before it.
    pub fn finish(&mut self, sink: &mut impl Sink<Preamble = P>) {
        self.close(Kind::Video, sink);
    }

    fn track(&mut self, track: &Track, sink: &mut impl Sink<Preamble = P>) {
        let known = self.tracks.iter().position(|known| known.id == track.id);
        let carried = Carried::new(track);
        if let Some(index) = known {
            let known = &self.tracks[index];
            if carried.as_ref().is_some_and(|new| new.is_like(known)) {
                return;
            }
            let kind = known.kind;
            if self.carried(kind) == Some(index) {
                self.close(kind, sink);
            }
            self.is_init_stale = true;
            match carried {
                Some(carried) if carried.kind == kind => {
                    self.tracks[index] = carried;
                    return;
                }
                _ => drop(self.tracks.remove(index)),
            }
        }
        if let Some(carried) = carried.filter(|_| self.tracks.len() < TRACKS_MAX) {
            self.tracks.push(carried);
            self.is_init_stale = true;
        }
    }

    /// The next publisher announces its own. Joiners wait for its pictures, if it has any, and for
    /// nothing of the last one's.
    fn begin_epoch(&mut self, sink: &mut impl Sink<Preamble = P>) {
        self.close(Kind::Video, sink);
        self.tracks.clear();
        self.joins = Joins::default();
        self.has_begun = false;
        self.is_first = true;
        self.picture_span = PICTURE_SPAN_ASSUMED;
        self.is_init_stale = true;
    }

    fn sample(&mut self, sample: &Sample, sink: &mut impl Sink<Preamble = P>) {
        let index = self.tracks.iter().position(|it| it.id == sample.track);
        let index = index.filter(|index| self.carried(self.tracks[*index].kind) == Some(*index));
        let Some(index) = index else {
            return;
        };
        let Some(data) = self.tracks[index].payload(sample) else {
            return;
        };
        self.now = self.now.max(sample.dts);
        match self.tracks[index].kind {
            Kind::Video => self.picture(index, sample, data, sink),
            Kind::Audio => self.sound(index, sample.dts, data, sink),
        }
    }

    fn picture(
        &mut self,
        index: usize,
        sample: &Sample,
        data: Bytes,
        sink: &mut impl Sink<Preamble = P>,
    ) {
        self.joins.picture(self.now);
        if sample.keyframe {
            self.learn(index, &data, sink);
        }
        let is_wanted = sample.keyframe || !self.wants_keyframe;
        if !is_wanted || !self.tracks[index].is_known() {
            return;
        }
        self.wants_keyframe = false;
        self.has_begun = true;
        let at = self.picture_clock.place(sample.dts);
        self.settle(at, sink);
        let spans = self.fragment.pictures().map(picture_span);
        let is_due = spans.is_some_and(|span| span >= self.span) && !self.awaits_sound();
        if sample.keyframe || is_due || self.fragment.is_full() {
            self.end_fragment(sink);
        }
        let shown = to_units(sample.pts, PICTURE_TIMESCALE) as i64;
        let composition = (shown - at as i64).clamp(i32::MIN.into(), i32::MAX.into());
        self.pending = Some(Piece {
            at,
            duration: 0,
            composition: composition as i32,
            is_sync: sample.keyframe,
            data,
        });
    }

    fn sound(
        &mut self,
        index: usize,
        dts: Timestamp,
        data: Bytes,
        sink: &mut impl Sink<Preamble = P>,
    ) {
        self.learn(index, &data, sink);
        let track = &self.tracks[index];
        let Some(duration) = track.frame_samples(&data).filter(|_| track.is_known()) else {
            return;
        };
        let rate = track.timescale();
        let has_pictures = self.carried(Kind::Video).is_some();
        let may_join = self.joins.at_sound(self.now, has_pictures);
        self.has_begun |= may_join;
        if !self.has_begun {
            return;
        }
        self.sound_clock.set_rate(rate);
        let at = match self.sound_clock.place(dts, duration) {
            Place::Next(at) => at,
            Place::Jump(at) => {
                // A fragment has one time for all its sound.
                self.end_fragment_with_sound(sink);
                at
            }
            Place::Behind => return,
        };
        let sound = Piece {
            at,
            duration,
            composition: 0,
            is_sync: true,
            data,
        };
        if self.pending.is_none() && !self.has_room_for(&sound, sink) {
            self.end_fragment(sink);
        }
        if self.fragment.sound().is_none() {
            self.joins_at_sound = may_join;
        }
        let end = sound.end();
        self.fragment.push_sound(sound);
        self.end_fragment_after_sound(end, sink);
    }

    /// Ends the fragment if sound must not wait any longer that ends at `end`.
    fn end_fragment_after_sound(&mut self, end: u64, sink: &mut impl Sink<Preamble = P>) {
        let rate = self.sound_clock.rate();
        let now = to_time(end, rate);
        let mut patience = self.span;
        if let Some(pending) = &self.pending {
            if now - to_time(pending.at, PICTURE_TIMESCALE) >= PICTURE_HELD_MAX {
                let until = to_units(now, PICTURE_TIMESCALE);
                self.settle(until, sink);
                self.picture_clock.hold_until(until);
                self.end_fragment(sink);
                return;
            }
            patience = patience + SOUND_HELD_MAX;
        }
        let begin = self.fragment.sound().map_or(end, |(begin, _)| begin);
        if now - to_time(begin, rate) >= patience || self.fragment.is_full() {
            self.end_fragment(sink);
        }
    }

    fn end_fragment_with_sound(&mut self, sink: &mut impl Sink<Preamble = P>) {
        if self.fragment.sound().is_some() {
            self.end_fragment(sink);
        }
    }

    fn has_room_for(&self, sound: &Piece, sink: &impl Sink<Preamble = P>) -> bool {
        let Some((begin, _)) = self.fragment.sound() else {
            return true;
        };
        let begin = to_time(begin, self.sound_clock.rate());
        let span = to_time(sound.end(), self.sound_clock.rate()) - begin;
        sink.room(begin).is_none_or(|room| span <= room)
    }

    /// Takes what a frame says of its track. If that changes how the track is described, what was
    /// collected of it is written first.
    fn learn(&mut self, index: usize, frame: &[u8], sink: &mut impl Sink<Preamble = P>) {
        if let Some(news) = self.tracks[index].news(frame) {
            if self.tracks[index].is_known() {
                self.close(self.tracks[index].kind, sink);
            }
            self.tracks[index].learn(news);
            self.is_init_stale = true;
        }
    }

    fn awaits_sound(&self) -> bool {
        let sound = self.carried(Kind::Audio);
        let is_known = sound.is_some_and(|index| self.tracks[index].is_known());
        self.is_first && !is_known && self.joins.awaits_sound(self.now, sound.is_some())
    }

    /// The place of the track that is carried of a kind.
    fn carried(&self, kind: Kind) -> Option<usize> {
        self.tracks.iter().position(|track| track.kind == kind)
    }

    /// The pending picture lasts until `end` and belongs to the fragment; to the next one if this one
    /// has no room for it.
    fn settle(&mut self, end: u64, sink: &mut impl Sink<Preamble = P>) {
        let Some(mut picture) = self.pending.take() else {
            return;
        };
        let duration = end.saturating_sub(picture.at).max(1);
        picture.duration = u32::try_from(duration).unwrap_or(u32::MAX);
        self.picture_span = picture.duration;
        if let Some((begin, _)) = self.fragment.pictures() {
            let room = sink.room(to_time(begin, PICTURE_TIMESCALE));
            if room.is_some_and(|room| picture_span((begin, end)) > room) {
                self.end_fragment(sink);
            }
        }
        self.fragment.push_picture(picture);
    }

    /// What has been collected of a kind is written, because what follows is described in another way
    /// or does not follow at all.
    fn close(&mut self, kind: Kind, sink: &mut impl Sink<Preamble = P>) {
        if kind == Kind::Video {
            if let Some(pending) = &self.pending {
                let end = pending.at + u64::from(self.picture_span);
                self.settle(end, sink);
                self.picture_clock.hold_until(end);
            }
            self.wants_keyframe = true;
        }
        self.end_fragment(sink);
    }

    /// Writes the fragment, but for the picture that is pending; and before it the segment that
    /// describes it, if that is another one than listeners have.
    fn end_fragment(&mut self, sink: &mut impl Sink<Preamble = P>) {
        let rate = self.sound_clock.rate();
        let (begin, duration) = match (self.fragment.pictures(), self.fragment.sound()) {
            (Some(range), _) => (to_time(range.0, PICTURE_TIMESCALE), picture_span(range)),
            (None, Some((begin, end))) => {
                let begin = to_time(begin, rate);
                (begin, to_time(end, rate) - begin)
            }
            (None, None) => return,
        };
        self.at = self.at.max(begin);
        self.renew_init(sink);
        let is_sound = self.fragment.pictures().is_none();
        let may_join = self.fragment.begins_with_keyframe() || is_sound && self.joins_at_sound;
        let join = may_join.then(|| self.preamble(sink)).flatten();
        self.is_first = false;
        self.number = self.number.wrapping_add(1);
        self.fragment
            .write(self.number, &mut |bytes| sink.put(bytes));
        let unit = Unit {
            content: Content::Fragment,
            at: self.at,
            duration,
        };
        sink.end_unit(unit, join);
    }

    /// Puts the segment in force that describes the tracks as they are known now. Those who join are
    /// given it first, so in the log it stands only where it changes.
    fn renew_init(&mut self, sink: &mut impl Sink<Preamble = P>) {
        if !std::mem::take(&mut self.is_init_stale) {
            return;
        }
        let describe = |index: usize| self.tracks[index].describe();
        let picture = self.carried(Kind::Video).and_then(describe);
        let sound = self.carried(Kind::Audio).and_then(describe);
        let bytes = init::write(picture.as_ref(), sound.as_ref());
        let generation = match &self.init {
            Some(known) if known.bytes == bytes => return,
            Some(known) => {
                sink.put(&bytes);
                let unit = Unit {
                    content: Content::Init,
                    at: self.at,
                    duration: Span::ZERO,
                };
                sink.end_unit(unit, None);
                known.generation.wrapping_add(1)
            }
            None => 0,
        };
        self.init = Some(Init {
            bytes: bytes.into(),
            generation,
        });
        self.preamble = None;
    }

    fn preamble(&mut self, sink: &mut impl Sink<Preamble = P>) -> Option<P> {
        if self.preamble.is_none() {
            self.preamble = self.init.as_ref().map(|init| sink.preamble(init));
        }
        self.preamble.clone()
    }
}

fn picture_span((begin, end): (u64, u64)) -> Span {
    to_time(end, PICTURE_TIMESCALE) - to_time(begin, PICTURE_TIMESCALE)
}
