//! Writing of fragments as units: decides where listeners may join, and which segment is in force.

use media::{Kind, Span, Timestamp};

use super::super::clock::{to_time, to_units};
use super::super::collected::Collected;
use super::super::sink::{Content, FragmentSink, Init, Turn, Unit};
use super::super::{PICTURE_TIMESCALE, init};
use super::{Muxer, picture_span};

impl<P: Clone> Muxer<P> {
    /// Writes the fragment, without the pending frame.
    pub(super) fn end_fragment(&mut self, sink: &mut impl FragmentSink<Preamble = P>) {
        let rate = self.audio_clock.rate();
        let (begin, duration) = match (self.fragment.pictures(), self.fragment.audio()) {
            (Some(range), _) => (to_time(range.0, PICTURE_TIMESCALE), picture_span(range)),
            (None, Some((begin, end))) => {
                let begin = to_time(begin, rate);
                (begin, to_time(end, rate) - begin)
            }
            (None, None) => return,
        };
        self.end_rest(sink);
        self.write_fragment(begin, duration, sink);
    }

    /// Writes everything that exceeds one fragment because the last frame lasts long. That frame lasts into the
    /// remaining fragment.
    pub(super) fn end_whole_fragments(&mut self, sink: &mut impl FragmentSink<Preamble = P>) {
        while let Some((begin, end)) = self.fragment.pictures() {
            let at = to_time(begin, PICTURE_TIMESCALE);
            let Some(room) = sink.room(at).filter(|room| *room > Span::ZERO) else {
                return;
            };
            let until = begin + to_units(Timestamp::ZERO + room, PICTURE_TIMESCALE).max(1);
            if until >= end {
                return;
            }
            let until_time = to_time(until, PICTURE_TIMESCALE);
            let from = to_units(until_time, self.audio_clock.rate());
            let audio_frames = self.fragment.split_audio(from);
            self.end_rest(sink);
            self.write_fragment(at, until_time - at, sink);
            self.fragment.begin_within((until, end), audio_frames);
        }
    }

    /// Writes the fragment, preceded by its segment if listeners do not have that yet.
    fn write_fragment(
        &mut self,
        begin: Timestamp,
        duration: Span,
        sink: &mut impl FragmentSink<Preamble = P>,
    ) {
        let rate = self.audio_clock.rate();
        let is_audio = self.fragment.pictures().is_none();
        let may_join = self.fragment.begins_with_keyframe() || is_audio && self.joins_at_audio;
        if self.number == 0 && !may_join {
            self.fragment.clear();
            return;
        }
        self.at = self.at.max(begin);
        let turn = self.turn();
        let begins_epoch = match turn {
            Turn::Late => std::mem::take(&mut self.is_closing_first),
            Turn::InTime => {
                self.renew_init(sink);
                std::mem::take(&mut self.is_first)
            }
        };
        let join = may_join.then(|| self.preamble(sink)).flatten();
        self.number = self.number.wrapping_add(1);
        let is_independent = self.fragment.has_keyframe() || is_audio && self.joins_at_audio;
        let unit = Unit {
            content: Content::Fragment,
            at: self.at,
            duration,
            is_independent,
            turn,
            begins_epoch,
        };
        let tracks = match turn {
            Turn::Late => &self.closing_tracks,
            Turn::InTime => &self.tracks,
        };
        sink.fragment(Collected {
            unit,
            number: self.number,
            audio_rate: rate,
            fragment: &mut self.fragment,
            tracks,
        });
        self.fragment.clear();
        sink.end_unit(unit, join);
    }

    /// Returns whether the next unit belongs to the current epoch or to the last one.
    pub(super) fn turn(&self) -> Turn {
        match self.is_closing {
            true => Turn::Late,
            false => Turn::InTime,
        }
    }

    /// Puts the segment in force that describes the tracks as they are known now. Joiners receive it first, so the log
    /// contains it only where it changes.
    pub(super) fn renew_init(&mut self, sink: &mut impl FragmentSink<Preamble = P>) {
        if !std::mem::take(&mut self.is_init_stale) {
            return;
        }
        let describe = |index: usize| self.tracks[index].describe();
        let picture = self.carried(Kind::Video).and_then(describe);
        let audio = self.carried(Kind::Audio).filter(|_| !self.is_audio_late);
        let audio = audio.and_then(describe);
        let bytes = init::write(picture.as_ref(), audio.as_ref());
        let generation = match &self.init {
            Some(known) if known.bytes == bytes => return,
            Some(known) => {
                sink.put(&bytes);
                let unit = Unit {
                    content: Content::Init,
                    at: self.at,
                    duration: Span::ZERO,
                    is_independent: false,
                    turn: Turn::InTime,
                    begins_epoch: false,
                };
                sink.end_unit(unit, None);
                known.generation.wrapping_add(1)
            }
            None => 0,
        };
        let init = Init {
            bytes: bytes.into(),
            generation,
        };
        sink.init(&init);
        self.init = Some(init);
        self.preamble = None;
    }

    fn preamble(&mut self, sink: &mut impl FragmentSink<Preamble = P>) -> Option<P> {
        if self.preamble.is_none() {
            self.preamble = self.init.as_ref().map(|init| sink.preamble(init));
        }
        self.preamble.clone()
    }
}
