//! Collection of samples into fragments: determines each sample's duration, and when a fragment is complete.

use bytes::Bytes;
use media::{Item, Kind, Sample, Span, Timestamp};

use super::super::PICTURE_TIMESCALE;
use super::super::clock::{FramePosition, to_time, to_units};
use super::super::fragment::Piece;
use super::super::sink::{FragmentCandidate, FragmentSink, Turn};
use super::{Muxer, picture_span};

/// Extra time, beyond a fragment's span, that audio waits for the fragment's video: long enough for two frames a
/// second, and for publishers that send audio ahead.
const AUDIO_HELD_MAX: Span = Span::from_millis(500);

/// Largest apparent difference between the durations of consecutive frames that is due to times rounded to
/// milliseconds.
const ROUNDING_MAX: Span = Span::from_millis(1);

/// Minimum fill of a fragment, in per cent of its room, before it ends because the next frame does not fit: the minimum
/// for HLS parts (RFC 8216bis §4.4.4.9). Below it, the fragment takes its last frame, which lasts into the next
/// fragment.
const ROOM_TAKEN_MIN: i64 = 85;

/// Longest extension of an epoch's last video and audio frame until the next epoch begins. The stream's time hardly
/// advances in between.
const EPOCH_GAP_MAX: Span = Span::from_millis(500);

impl<P: Clone> Muxer<P> {
    /// Appends the fragments of `item`.
    pub fn push(&mut self, item: &Item, sink: &mut impl FragmentSink<Preamble = P>) {
        match item {
            Item::Track(track) => self.track(track, sink),
            Item::Metadata(script) => self.joins.metadata(&script.body),
            Item::Sample(sample) => self.sample(sample, sink),
            Item::Epoch => self.begin_epoch(sink),
            Item::Script(_) | Item::Header(_) | Item::Title(_) | Item::Event(_) => {}
        }
    }

    fn sample(&mut self, sample: &Sample, sink: &mut impl FragmentSink<Preamble = P>) {
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
        if !self.awaits_audio() {
            self.release(sink);
        }
        self.collect(index, sample, sink);
    }

    /// Collects a sample of a carried track.
    pub(super) fn collect(
        &mut self,
        index: usize,
        sample: &Sample,
        sink: &mut impl FragmentSink<Preamble = P>,
    ) {
        let Some(data) = self.tracks[index].payload(sample) else {
            return;
        };
        self.rest(sample.dts, sink);
        self.now = self.now.max(sample.dts);
        match self.kind(index) {
            Kind::Video => self.picture(index, sample, data, sink),
            Kind::Audio => self.audio(index, sample.dts, data, sink),
        }
    }

    pub(super) fn picture(
        &mut self,
        index: usize,
        sample: &Sample,
        mut data: Bytes,
        sink: &mut impl FragmentSink<Preamble = P>,
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
        self.stand_in.picture(self.now);
        self.collected = self.collected.max(sample.dts);
        self.has_begun = true;
        let at = self.picture_clock.place(sample.dts);
        self.withdraw_stand_in(at);
        if self.is_closing {
            self.bridge_epochs(at, sink);
        }
        self.settle(at, sink);
        let spans = self.fragment.pictures().map(picture_span);
        let is_due = spans.is_some_and(|span| span >= self.span) && !self.awaits_audio();
        if is_due || self.fragment.is_full() {
            self.end_fragment(sink);
        }
        if sample.keyframe {
            self.admit_audio(sink);
            self.split_at_keyframe(at, sink);
        }
        if !self.has_room_for_picture(at, sink) && !self.may_split_at(at, sink) {
            self.end_fragment(sink);
        }
        let shown = to_units(sample.pts, PICTURE_TIMESCALE) as i64;
        let composition = (shown - at as i64).clamp(i32::MIN.into(), i32::MAX.into()) as i32;
        if sample.keyframe {
            self.stand_in.keyframe(&data, composition);
        }
        self.pending = Some(Piece {
            at,
            duration: 0,
            composition,
            is_sync: sample.keyframe,
            data,
        });
    }

    /// Admits audio that has waited for a keyframe, with an initialization segment that describes it.
    fn admit_audio(&mut self, sink: &mut impl FragmentSink<Preamble = P>) {
        let audio = self.carried(Kind::Audio);
        let is_known = audio.is_some_and(|index| self.tracks[index].is_known());
        if self.is_audio_late && is_known {
            self.end_fragment(sink);
            self.is_audio_late = false;
            self.is_init_stale = true;
        }
    }

    /// Adds parameter sets to the first keyframe after a change: ffmpeg and VLC ignore all segments but the first.
    fn introduce(&mut self, index: usize, data: Bytes) -> Bytes {
        let track = &self.tracks[index];
        let known = self.picture_config.replace(track.config().clone());
        if known.is_some_and(|known| known != track.config()) {
            track.with_parameter_sets(data)
        } else {
            data
        }
    }

    /// Bridges the gap to the next epoch, whose video begins at `at`: unless that is too long, the last epoch's video
    /// and audio are extended until then, so that players that stop at gaps continue to play.
    fn bridge_epochs(&mut self, at: u64, sink: &mut impl FragmentSink<Preamble = P>) {
        let now = to_time(at, PICTURE_TIMESCALE);
        let pending = self.pending.as_ref();
        let paused = pending.map(|it| now - to_time(it.at, PICTURE_TIMESCALE));
        if paused.is_some_and(|paused| paused <= EPOCH_GAP_MAX) {
            self.settle(at, sink);
            let end = to_units(now, self.audio_clock.rate());
            self.fragment.stretch_audio(end);
            self.audio_clock.hold_until(end);
        }
        self.close_epoch(sink);
    }

    pub(super) fn audio(
        &mut self,
        index: usize,
        dts: Timestamp,
        data: Bytes,
        sink: &mut impl FragmentSink<Preamble = P>,
    ) {
        let track = &self.tracks[index];
        let Some(duration) = track.frame_samples(&data).filter(|_| track.is_known()) else {
            return;
        };
        if self.is_audio_late {
            return;
        }
        let rate = track.timescale();
        let has_pictures = self.carried(Kind::Video).is_some();
        let may_join = self.joins.at_audio(self.now, has_pictures);
        self.has_begun |= may_join;
        if !self.has_begun {
            return;
        }
        self.collected = self.collected.max(dts);
        self.close_epoch(sink);
        if self.pending.is_none() && self.fragment.pictures().is_none() {
            let next = FragmentCandidate {
                at: dts,
                until: Some(dts + Span::from_samples(duration.into(), rate)),
                is_picture: false,
                is_independent: may_join,
                turn: Turn::InTime,
            };
            self.split_at(next, sink);
        }
        self.audio_clock.set_rate(rate);
        let lasts = self.pending.is_some() && !self.is_for_files;
        let (at, longer) = match self.audio_clock.place(dts, duration) {
            FramePosition::Next { at, longer } => (at, longer),
            // A pause of audio alone: the first frame after it begins where the pause began, and lasts for as long.
            FramePosition::Jump {
                from: Some(from),
                at,
            } if lasts => (from, u32::try_from(at - from).unwrap_or(u32::MAX)),
            FramePosition::Jump { at, .. } => {
                // A fragment has one time for all its audio.
                self.end_fragment_with_audio(sink);
                (at, 0)
            }
            FramePosition::Behind => return,
        };
        let audio = Piece {
            at,
            duration: duration.saturating_add(longer),
            composition: 0,
            is_sync: true,
            data,
        };
        if self.pending.is_none() && !self.has_room_for(&audio, sink) {
            self.end_fragment(sink);
        }
        if self.fragment.audio().is_none() {
            self.joins_at_audio = may_join;
            self.audio_since = audio.at + u64::from(longer);
        }
        let end = audio.end();
        self.fragment.push_audio(audio);
        self.end_fragment_after_audio(end, sink);
    }

    /// Ends the fragment if another one has to begin with `next`.
    pub(super) fn split_at(
        &mut self,
        next: FragmentCandidate,
        sink: &mut impl FragmentSink<Preamble = P>,
    ) {
        if self.splits_at(next, sink) {
            self.end_fragment(sink);
            sink.split(next);
        }
    }

    /// Ends the fragment if another one has to begin with a keyframe at `at` in the current epoch.
    pub(super) fn split_at_keyframe(
        &mut self,
        at: u64,
        sink: &mut impl FragmentSink<Preamble = P>,
    ) {
        self.split_at(picture_candidate(at, None, true, Turn::InTime), sink);
    }

    /// Ends the fragment if the audio that ends at `end` must not wait any longer.
    fn end_fragment_after_audio(&mut self, end: u64, sink: &mut impl FragmentSink<Preamble = P>) {
        let rate = self.audio_clock.rate();
        let now = to_time(end, rate);
        if self.cover_pause(now, sink) {
            return;
        }
        let patience = match self.pending {
            Some(_) => self.span + AUDIO_HELD_MAX,
            None => self.span,
        };
        // Parts are as long as their video.
        let may_end = !self.is_of_parts || self.pending.is_none();
        let is_due = may_end && now - to_time(self.audio_since, rate) >= patience;
        if is_due || self.fragment.is_full() {
            self.end_fragment(sink);
        }
    }

    fn end_fragment_with_audio(&mut self, sink: &mut impl FragmentSink<Preamble = P>) {
        if self.fragment.audio().is_some() {
            self.end_fragment(sink);
        }
    }

    fn has_room_for(&self, audio: &Piece, sink: &impl FragmentSink<Preamble = P>) -> bool {
        let Some((begin, _)) = self.fragment.audio() else {
            return true;
        };
        let begin = to_time(begin, self.audio_clock.rate());
        let span = to_time(audio.end(), self.audio_clock.rate()) - begin;
        sink.room(begin).is_none_or(|room| span <= room)
    }

    /// Returns whether the frame that begins at `at` can be expected to fit into the fragment. A fragment that
    /// certainly gains no other frame need not wait for the end of this one.
    fn has_room_for_picture(&self, at: u64, sink: &impl FragmentSink<Preamble = P>) -> bool {
        let Some((begin, _)) = self.fragment.pictures() else {
            return true;
        };
        let room = sink.room(to_time(begin, PICTURE_TIMESCALE));
        let end = at + u64::from(self.picture_span);
        let ends_before = |room: Span| ends_before((begin, at, end), room, ROUNDING_MAX);
        !room.is_some_and(ends_before)
    }

    /// Returns whether another fragment may have to begin with the frame that begins at `at`, and not only after it:
    /// then the fragment before is written together with it, so that readers learn of both at once.
    fn may_split_at(&self, at: u64, sink: &impl FragmentSink<Preamble = P>) -> bool {
        let until = at + 2 * u64::from(self.picture_span);
        let candidate = picture_candidate(at, Some(until), false, Turn::InTime);
        self.splits_at(candidate, sink)
    }

    /// Returns whether a fragment has to begin with `next`. After a pause of all media nothing is split until the media
    /// before it is written.
    fn splits_at(&self, next: FragmentCandidate, sink: &impl FragmentSink<Preamble = P>) -> bool {
        self.rested.is_none() && sink.splits_at(next)
    }

    pub(super) fn awaits_audio(&self) -> bool {
        let audio = self.carried(Kind::Audio);
        let is_known = audio.is_some_and(|index| self.tracks[index].is_known());
        self.is_first && !is_known && self.joins.awaits_audio(self.now, audio.is_some())
    }

    /// Ends the pending frame at `end` and puts it into this fragment, or into the next if this one has no space for
    /// it. A frame that would leave too much of the space unused, or that fits nowhere, goes into this fragment and
    /// lasts into those that follow.
    pub(super) fn settle(&mut self, end: u64, sink: &mut impl FragmentSink<Preamble = P>) {
        let Some(mut picture) = self.pending.take() else {
            return;
        };
        let duration = end.saturating_sub(picture.at).max(1);
        picture.duration = u32::try_from(duration).unwrap_or(u32::MAX);
        self.picture_span = picture.duration;
        let (at, until) = (picture.at, picture.end());
        let candidate = picture_candidate(at, Some(until), picture.is_sync, self.turn());
        let pictures = self.fragment.pictures();
        let begin = pictures.map_or(at, |(begin, _)| begin);
        let room = sink.room(to_time(begin, PICTURE_TIMESCALE));
        let is_long = room.is_some_and(|room| picture_span((at, until)) > room);
        // Readers already know what follows a fragment that is written.
        let may_split = pictures.is_some() || is_long;
        let is_split = may_split && self.splits_at(candidate, sink);
        let ends_before = |room| ends_before((begin, at, until), room, Span::ZERO);
        if pictures.is_some() && (is_split || room.is_some_and(ends_before)) {
            self.end_fragment(sink);
        }
        if is_split {
            sink.split(candidate);
        }
        self.fragment.push_picture(picture);
        self.end_whole_fragments(sink);
    }

    /// Ends the pending frame, with the duration of the one before it.
    pub(super) fn settle_as_before(&mut self, sink: &mut impl FragmentSink<Preamble = P>) {
        if let Some(pending) = &self.pending {
            let end = pending.at + u64::from(self.picture_span);
            self.settle(end, sink);
            self.picture_clock.hold_until(end);
        }
    }
}

/// Creates the candidate for a frame that may begin a fragment; its times are in units of [`PICTURE_TIMESCALE`].
fn picture_candidate(
    at: u64,
    until: Option<u64>,
    is_independent: bool,
    turn: Turn,
) -> FragmentCandidate {
    FragmentCandidate {
        at: to_time(at, PICTURE_TIMESCALE),
        until: until.map(|until| to_time(until, PICTURE_TIMESCALE)),
        is_picture: true,
        is_independent,
        turn,
    }
}

/// Returns whether a fragment that began at `begin` ends before the frame from `at` to `end`, within some `tolerance`.
fn ends_before((begin, at, end): (u64, u64, u64), room: Span, tolerance: Span) -> bool {
    let is_full = picture_span((begin, end)) > room + tolerance;
    let is_long = picture_span((at, end)) > room + tolerance;
    let taken = picture_span((begin, at)).ticks();
    is_full && !is_long && taken >= room.ticks() / 100 * ROOM_TAKEN_MIN
}
