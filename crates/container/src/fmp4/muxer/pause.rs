//! Handling of pauses: audio that waits, video that waits, and stand-ins for video.
//!
//! ```text
//! video     K P P P          K P P
//! audio     s s s s s s s s s s s s
//! written   K P P P────K──K──K P P     the keyframe again, in each part, until one comes
//!                 └ for as long as it is waited for
//! ```

use bytes::Bytes;
use media::{Kind, Sample, Span, Timestamp};

use super::super::PICTURE_TIMESCALE;
use super::super::clock::{to_time, to_units};
use super::super::fragment::Piece;
use super::super::sink::FragmentSink;
use super::Muxer;

/// Longest audio without a new video frame before the last frame ends and a stand-in begins. Video with a frame every
/// two seconds, slower than any encoder's, needs no stand-in.
const PICTURE_HELD_MAX: Span = Span::from_millis(2_000);

/// Duration of a stand-in if fragments are not parts.
const STAND_IN_SPAN: Span = Span::from_millis(500);

/// Time without any media after which media begins anew.
const REST_MIN: Span = Span::from_millis(2_000);

/// Upper bounds on the video that waits for audio, in bytes and in frames: a group of ten seconds at six megabits.
const HELD_BYTES_MAX: usize = 8 << 20;
const HELD_MAX: usize = 1_024;

/// Stand-in for missing video: the newest keyframe, which can be decoded whatever is missing.
#[derive(Debug, Default)]
pub(super) struct StandIn {
    /// The keyframe, and its presentation time minus its decoding time.
    keyframe: Option<(Bytes, i32)>,
    /// The stand-in is shown now.
    is_shown: bool,
    /// Media time at which the last video frame arrived.
    since: Timestamp,
}

impl StandIn {
    /// Records the arrival of a video frame at media time `now`.
    pub(super) fn picture(&mut self, now: Timestamp) {
        self.since = now;
    }

    /// Records that a keyframe is written.
    pub(super) fn keyframe(&mut self, data: &Bytes, composition: i32) {
        self.keyframe = Some((data.clone(), composition));
        self.is_shown = false;
    }
}

impl<P: Clone> Muxer<P> {
    /// Holds `picture` if it has to wait for audio, without which another initialization segment would soon be needed;
    /// returns whether it does. The waiting video begins with the newest keyframe.
    pub(super) fn holds(&mut self, picture: &Sample) -> bool {
        if !self.is_of_parts || !self.awaits_audio() {
            return false;
        }
        self.now = self.now.max(picture.dts);
        self.joins.picture(self.now);
        if !self.awaits_audio() {
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

    /// Collects the video that has waited.
    pub(super) fn release(&mut self, sink: &mut impl FragmentSink<Preamble = P>) {
        for picture in std::mem::take(&mut self.held) {
            if let Some(index) = self.carried(Kind::Video) {
                self.collect(index, &picture, sink);
            }
        }
    }

    /// Begins anew if there was no media before `dts` for a while. Video frames that depend on others are then not
    /// decoded.
    pub(super) fn rest(&mut self, dts: Timestamp, sink: &mut impl FragmentSink<Preamble = P>) {
        if self.is_for_files || !self.has_begun || dts - self.collected <= REST_MIN {
            return;
        }
        self.end_rest(sink);
        self.settle_as_before(sink);
        self.rested = Some(std::mem::take(&mut self.fragment));
        self.audio_clock.interrupt();
        self.stand_in = StandIn::default();
        self.joins.resume(dts);
        self.wants_keyframe = true;
        self.has_begun = false;
    }

    /// Writes the media before a pause, which the following media does not continue.
    pub(super) fn end_rest(&mut self, sink: &mut impl FragmentSink<Preamble = P>) {
        if let Some(rested) = self.rested.take() {
            let next = std::mem::replace(&mut self.fragment, rested);
            self.end_fragment(sink);
            self.fragment = next;
            sink.break_off();
        }
    }

    /// Ends the pending frame if audio has continued without another until `now`. Returns whether the frame was ended.
    pub(super) fn cover_pause(
        &mut self,
        now: Timestamp,
        sink: &mut impl FragmentSink<Preamble = P>,
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
        // Only whole parts are covered.
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

    fn show_stand_in(&mut self, at: u64, sink: &mut impl FragmentSink<Preamble = P>) {
        self.stand_in.since = to_time(at, PICTURE_TIMESCALE);
        let keyframe = self.stand_in.keyframe.clone();
        let Some((data, composition)) = keyframe.filter(|_| !self.is_for_files) else {
            return;
        };
        // The following frames may depend on frames that the decoder no longer has.
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

    /// Withdraws a stand-in that begins no earlier than `at`, where a keyframe has arrived.
    pub(super) fn withdraw_stand_in(&mut self, at: u64) {
        if self.stand_in.is_shown {
            self.pending.take_if(|stand_in| stand_in.at >= at);
        }
    }

    /// Keeps the stand-in of an epoch that has ended: it is written, and the following media comes after it.
    pub(super) fn keep_stand_in(&mut self) {
        if let Some(stand_in) = &self.pending {
            self.picture_clock.hold_until(stand_in.at + 1);
        }
    }
}
