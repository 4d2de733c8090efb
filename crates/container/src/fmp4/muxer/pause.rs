//! What is written where media pauses: sound that waits, pictures that wait, and stand-ins for pictures.
//!
//! ```text
//! pictures  K P P P          K P P
//! sound     s s s s s s s s s s s s
//! written   K P P P────K──K──K P P     the keyframe again, in each part, until one comes
//!                 └ for as long as it is waited for
//! ```

use bytes::Bytes;
use media::{Kind, Sample, Span, Timestamp};

use super::super::PICTURE_TIMESCALE;
use super::super::clock::{to_time, to_units};
use super::super::fragment::Piece;
use super::super::sink::Sink;
use super::Muxer;

/// How long sound goes on without a picture before the last one ends, and a stand-in begins. Pictures that come every
/// two seconds, slower than any encoder's, need none.
const PICTURE_HELD_MAX: Span = Span::from_millis(2_000);

/// How long a stand-in lasts where fragments are no parts.
const STAND_IN_SPAN: Span = Span::from_millis(500);

/// A time without any media, after which it begins anew.
const REST_MIN: Span = Span::from_millis(2_000);

/// Bytes of pictures that wait for sound, and pictures: a group of ten seconds of six megabits.
const HELD_BYTES_MAX: usize = 8 << 20;
const HELD_MAX: usize = 1_024;

/// What stands for pictures that are away: the newest keyframe, which can be decoded whatever is missing.
#[derive(Debug, Default)]
pub(super) struct StandIn {
    /// The keyframe, and when it is presented after it is decoded.
    keyframe: Option<(Bytes, i32)>,
    /// It stands there now.
    is_shown: bool,
    /// Where the media was when the last picture came.
    since: Timestamp,
}

impl StandIn {
    /// A picture has come, when the media was at `now`.
    pub(super) fn picture(&mut self, now: Timestamp) {
        self.since = now;
    }

    /// The picture that is written is a keyframe.
    pub(super) fn keyframe(&mut self, data: &Bytes, composition: i32) {
        self.keyframe = Some((data.clone(), composition));
        self.is_shown = false;
    }
}

impl<P: Clone> Muxer<P> {
    /// Whether `picture` waits for sound, without which it would need another initialization segment soon. What waits
    /// begins with the newest keyframe.
    pub(super) fn holds(&mut self, picture: &Sample) -> bool {
        if !self.is_of_parts || !self.awaits_sound() {
            return false;
        }
        self.now = self.now.max(picture.dts);
        self.joins.picture(self.now);
        if !self.awaits_sound() {
            return false;
        }
        let held: usize = self.held.iter().map(|held| held.data.len()).sum();
        let is_too_much = held > HELD_BYTES_MAX || self.held.len() >= HELD_MAX;
        if picture.keyframe || is_too_much {
            self.held.clear();
        }
        if picture.keyframe || !self.held.is_empty() {
            self.held.push(picture.clone());
        }
        true
    }

    /// Collects the pictures that have waited.
    pub(super) fn release(&mut self, sink: &mut impl Sink<Preamble = P>) {
        for picture in std::mem::take(&mut self.held) {
            if let Some(index) = self.carried(Kind::Video) {
                self.collect(index, &picture, sink);
            }
        }
    }

    /// Begins anew if there was no media before `dts` for a while. Pictures that depend on others are not decoded then.
    pub(super) fn rest(&mut self, dts: Timestamp, sink: &mut impl Sink<Preamble = P>) {
        if self.is_for_files || !self.has_begun || dts - self.collected <= REST_MIN {
            return;
        }
        self.end_rest(sink);
        self.settle_as_before(sink);
        self.rested = Some(std::mem::take(&mut self.fragment));
        self.sound_clock.interrupt();
        self.stand_in = StandIn::default();
        self.joins.resume(dts);
        self.wants_keyframe = true;
        self.has_begun = false;
    }

    /// Writes what there was before a pause, which what follows does not continue.
    pub(super) fn end_rest(&mut self, sink: &mut impl Sink<Preamble = P>) {
        if let Some(rested) = self.rested.take() {
            let next = std::mem::replace(&mut self.fragment, rested);
            self.end_fragment(sink);
            self.fragment = next;
            sink.break_off();
        }
    }

    /// Ends the pending picture if sound has gone on without another until `now`. Returns whether it did.
    pub(super) fn cover_pause(
        &mut self,
        now: Timestamp,
        sink: &mut impl Sink<Preamble = P>,
    ) -> bool {
        let Some(pending) = &self.pending else {
            return false;
        };
        let (at, begin) = (pending.at, self.fragment.pictures());
        let begin = begin.map_or(at, |(begin, _)| begin);
        let room = sink.room(to_time(begin, PICTURE_TIMESCALE));
        let awaited = match self.stand_in.is_shown {
            true => room.unwrap_or(STAND_IN_SPAN),
            false => PICTURE_HELD_MAX,
        };
        if now - self.stand_in.since < awaited || now - to_time(at, PICTURE_TIMESCALE) < awaited {
            return false;
        }
        // Whole parts.
        let until = to_units(now, PICTURE_TIMESCALE);
        let step = room.map_or(1, |room| {
            to_units(Timestamp::ZERO + room, PICTURE_TIMESCALE)
        });
        let until = (begin + (until - begin) / step.max(1) * step.max(1)).max(at + 1);
        self.settle(until, sink);
        self.picture_clock.hold_until(until);
        self.end_fragment(sink);
        self.show_stand_in(until, sink);
        true
    }

    fn show_stand_in(&mut self, at: u64, sink: &mut impl Sink<Preamble = P>) {
        self.stand_in.since = to_time(at, PICTURE_TIMESCALE);
        let keyframe = self.stand_in.keyframe.clone();
        let Some((data, composition)) = keyframe.filter(|_| !self.is_for_files) else {
            return;
        };
        // What comes next may depend on pictures that the decoder no longer has.
        self.wants_keyframe = true;
        self.stand_in.is_shown = true;
        self.split_at_keyframe(at, sink);
        self.pending = Some(Piece {
            at,
            duration: 0,
            composition,
            is_sync: true,
            data,
        });
    }

    /// A keyframe has come at `at`: a stand-in that has only just begun there is not needed.
    pub(super) fn withdraw_stand_in(&mut self, at: u64) {
        if self.stand_in.is_shown {
            self.pending.take_if(|stand_in| stand_in.at >= at);
        }
    }

    /// The stand-in belongs to an epoch that has ended: it is written, and what follows comes after it.
    pub(super) fn keep_stand_in(&mut self) {
        if let Some(stand_in) = &self.pending {
            self.picture_clock.hold_until(stand_in.at + 1);
        }
    }
}
