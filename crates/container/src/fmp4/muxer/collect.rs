//! Samples to fragments: how long each sample lasts, and when a fragment is complete.

use bytes::Bytes;
use media::{Kind, Sample, Span, Timestamp};

use super::super::PICTURE_TIMESCALE;
use super::super::clock::{FramePosition, to_time, to_units};
use super::super::fragment::Piece;
use super::super::sink::{FragmentCandidate, Sink};
use super::{Muxer, picture_span};

/// Sound waits for its fragment's pictures this much longer than the fragment should span: long enough for
/// two pictures a second, and for publishers that send sound ahead.
const SOUND_HELD_MAX: Span = Span::from_millis(500);

/// The longest wait of a picture for the next one while there is sound. Then it lasts as long as it waited,
/// and what comes later leaves a gap, after which some players need a keyframe. Pictures that come every two
/// seconds, slower than any encoder's, leave none.
const PICTURE_HELD_MAX: Span = Span::from_millis(2_000);

/// How much longer than the one before it a picture seems to be, or shorter, where its times are rounded to
/// milliseconds.
const ROUNDING_MAX: Span = Span::from_millis(1);

/// The most by which the last picture and sound of an epoch are extended, until the next epoch's begin. The
/// stream's time hardly advances in between.
const EPOCH_GAP_MAX: Span = Span::from_millis(500);

impl<P: Clone> Muxer<P> {
    pub(super) fn picture(
        &mut self,
        index: usize,
        sample: &Sample,
        mut data: Bytes,
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
        if std::mem::take(&mut self.wants_keyframe) {
            data = self.introduce(index, data);
        }
        self.has_begun = true;
        let at = self.picture_clock.place(sample.dts);
        if self.is_closing {
            self.bridge_epochs(at, sink);
        }
        self.settle(at, sink);
        let spans = self.fragment.pictures().map(picture_span);
        let is_due = spans.is_some_and(|span| span >= self.span) && !self.awaits_sound();
        if is_due || self.fragment.is_full() {
            self.end_fragment(sink);
        }
        let next = FragmentCandidate {
            at: to_time(at, PICTURE_TIMESCALE),
            is_picture: true,
            is_independent: sample.keyframe,
        };
        self.split_at(next, sink);
        if !self.has_room_for_picture(at, sink) {
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

    /// The first keyframe after a change carries its parameter sets: ffmpeg and VLC ignore all segments but
    /// the first.
    fn introduce(&mut self, index: usize, data: Bytes) -> Bytes {
        let track = &self.tracks[index];
        let known = self.picture_config.replace(track.config().clone());
        if known.is_some_and(|known| known != track.config()) {
            track.with_parameter_sets(data)
        } else {
            data
        }
    }

    /// The next epoch's pictures begin at `at`. The last one's picture and sound last until then, so that
    /// players that stop at gaps play on; unless that is too long.
    fn bridge_epochs(&mut self, at: u64, sink: &mut impl Sink<Preamble = P>) {
        let now = to_time(at, PICTURE_TIMESCALE);
        let pending = self.pending.as_ref();
        let paused = pending.map(|it| now - to_time(it.at, PICTURE_TIMESCALE));
        if paused.is_some_and(|paused| paused <= EPOCH_GAP_MAX) {
            self.settle(at, sink);
            let end = to_units(now, self.sound_clock.rate());
            self.fragment.stretch_sound(end);
            self.sound_clock.hold_until(end);
        }
        self.close_epoch(sink);
    }

    pub(super) fn sound(
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
        self.close_epoch(sink);
        if self.pending.is_none() && self.fragment.pictures().is_none() {
            let next = FragmentCandidate {
                at: dts,
                is_picture: false,
                is_independent: may_join,
            };
            self.split_at(next, sink);
        }
        self.sound_clock.set_rate(rate);
        let at = match self.sound_clock.place(dts, duration) {
            FramePosition::Next(at) => at,
            FramePosition::Jump(at) => {
                // A fragment has one time for all its sound.
                self.end_fragment_with_sound(sink);
                at
            }
            FramePosition::Behind => return,
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

    /// Ends the fragment if another one has to begin with `next`.
    fn split_at(&mut self, next: FragmentCandidate, sink: &mut impl Sink<Preamble = P>) {
        if sink.splits_at(next) {
            self.end_fragment(sink);
            sink.split(next);
        }
    }

    /// Ends the fragment if the sound that ends at `end` must not wait any longer.
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

    /// Whether the picture that begins at `at` can be expected to fit into the fragment. What is certain not to gain
    /// another picture need not wait for the end of this one.
    fn has_room_for_picture(&self, at: u64, sink: &impl Sink<Preamble = P>) -> bool {
        let Some((begin, _)) = self.fragment.pictures() else {
            return true;
        };
        let room = sink.room(to_time(begin, PICTURE_TIMESCALE));
        let end = at + u64::from(self.picture_span);
        room.is_none_or(|room| picture_span((begin, end)) <= room + ROUNDING_MAX)
    }

    fn awaits_sound(&self) -> bool {
        let sound = self.carried(Kind::Audio);
        let is_known = sound.is_some_and(|index| self.tracks[index].is_known());
        self.is_first && !is_known && self.joins.awaits_sound(self.now, sound.is_some())
    }

    /// The pending picture lasts until `end` and goes into this fragment, or into the next if this one has no
    /// space for it.
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

    /// The pending picture lasts as long as the one before it.
    pub(super) fn settle_as_before(&mut self, sink: &mut impl Sink<Preamble = P>) {
        if let Some(pending) = &self.pending {
            let end = pending.at + u64::from(self.picture_span);
            self.settle(end, sink);
            self.picture_clock.hold_until(end);
        }
    }
}
