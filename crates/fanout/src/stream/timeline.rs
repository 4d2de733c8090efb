//! One monotonic timeline over all epochs of a stream.
//!
//! Each publisher counts from any origin. The first sample of an epoch is placed where the epoch before ended,
//! and all tracks of the epoch move by the same distance, so that audio and video keep their offset. A
//! publisher that restarts its clock in mid-epoch is treated the same way, track by track as each of them
//! jumps.

use media::{Sample, Script, Span, TimedEvent, Timestamp, TrackId};

/// A step back by more than this is a restarted clock; less is jitter and is held at the last
/// value.
const BACKWARD_MAX: Span = Span::from_millis(1_000);

/// A step forward by more than this, relative to the track's last sample, is a restarted clock: no
/// encoder is silent for a quarter of an hour without its connection being given up.
const FORWARD_MAX: Span = Span::from_millis(900_000);

/// An event further from the newest sample takes effect now: many publishers give data messages the time zero.
const EVENT_SKEW_MAX: Span = Span::from_millis(10_000);

/// Tracks remembered; others share the last one's state, which only matters at a jump.
const TRACKS_MAX: usize = 16;

/// See the module's description.
#[derive(Debug, Default)]
pub(super) struct Timeline {
    /// End of the newest sample of all tracks, on the stream's timeline.
    end: Timestamp,
    /// The same of those that lanes have been given: less while the rest of a batch is.
    written: Timestamp,
    /// Where the epoch began; none of it lies before.
    epoch_start: Timestamp,
    /// Distance from the publisher's clock to the stream's, as of the last (re)start.
    shift: Option<Span>,
    tracks: Vec<TrackTime>,
}

#[derive(Debug)]
struct TrackTime {
    id: TrackId,
    shift: Span,
    last_dts: Timestamp,
}

impl Timeline {
    /// The time of a stream that has no sample yet begins here.
    pub(super) fn begin_at(&mut self, start: Timestamp) {
        self.end = start;
        self.written = start;
    }

    /// The samples that follow come from another publisher.
    pub(super) fn begin_epoch(&mut self) {
        self.epoch_start = self.end;
        self.shift = None;
        self.tracks.clear();
    }

    /// The samples of the epoch that has just begun come with times on this timeline, and keep them.
    pub(super) fn follow(&mut self) {
        self.shift = Some(Span::ZERO);
    }

    /// End of the newest sample of all tracks.
    pub(super) fn end(&self) -> Timestamp {
        self.end
    }

    /// End of the newest sample that was [written](Self::wrote). It does not depend on how samples came together.
    pub(super) fn written(&self) -> Timestamp {
        self.written
    }

    /// A sample that has been placed goes to the lanes.
    pub(super) fn wrote(&mut self, sample: &Sample) {
        self.written = self.written.max(sample.dts + sample.duration);
    }

    /// Moves a sample onto the stream's timeline.
    pub(super) fn place(&mut self, sample: &mut Sample) {
        let dts = self.place_dts(sample.track, sample.dts);
        sample.pts = dts + (sample.pts - sample.dts);
        sample.dts = dts;
        self.end = self.end.max(dts + sample.duration);
    }

    /// Moves a data message onto the stream's timeline.
    pub(super) fn place_script(&self, script: &mut Script) {
        script.at = match self.shift {
            Some(shift) => (script.at + shift).max(Timestamp::ZERO),
            None => self.end,
        };
    }

    /// Moves an event onto the stream's timeline.
    pub(super) fn place_event(&self, event: &mut TimedEvent) {
        let at = self.shift.map_or(self.end, |shift| event.at + shift);
        let is_near = at - self.end <= EVENT_SKEW_MAX && self.end - at <= EVENT_SKEW_MAX;
        event.at = if is_near { at } else { self.end }.max(Timestamp::ZERO);
    }

    fn place_dts(&mut self, id: TrackId, dts: Timestamp) -> Timestamp {
        let end = self.end;
        let current = *self.shift.get_or_insert(end - dts);
        let index = match self.tracks.iter().position(|track| track.id == id) {
            Some(index) => index,
            None if self.tracks.len() < TRACKS_MAX => {
                // A track's first sample may lie a little before the epoch's first one.
                let last_dts = (dts + current).max(self.epoch_start);
                self.tracks.push(TrackTime {
                    id,
                    shift: current,
                    last_dts,
                });
                self.tracks.len() - 1
            }
            None => TRACKS_MAX - 1,
        };
        let track = &mut self.tracks[index];
        if jumped(track.last_dts, dts + track.shift) {
            // Another track may have jumped by the same distance already.
            if jumped(track.last_dts, dts + current) {
                self.shift = Some(end - dts);
            }
            track.shift = self.shift.unwrap_or(current);
        }
        track.last_dts = (dts + track.shift).max(track.last_dts);
        track.last_dts
    }
}

fn jumped(last: Timestamp, next: Timestamp) -> bool {
    last - next > BACKWARD_MAX || next - last > FORWARD_MAX
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn sample(track: TrackId, millis: i64, duration: i64) -> Sample {
        Sample {
            track,
            dts: Timestamp::from_millis(millis),
            pts: Timestamp::from_millis(millis + 80),
            duration: Span::from_millis(duration),
            keyframe: true,
            data: Bytes::new(),
            flv: None,
        }
    }

    fn place(timeline: &mut Timeline, track: TrackId, millis: i64) -> i64 {
        let mut sample = sample(track, millis, 40);
        timeline.place(&mut sample);
        assert_eq!(
            (sample.pts - sample.dts).millis(),
            80,
            "composition time survives"
        );
        sample.dts.millis()
    }

    const A: TrackId = TrackId::AUDIO;
    const V: TrackId = TrackId::VIDEO;

    #[test]
    fn a_picture_may_be_presented_before_it_is_decoded() {
        let mut timeline = Timeline::default();
        let mut picture = sample(V, 1_000, 40);
        picture.pts = Timestamp::from_millis(1_120);
        timeline.place(&mut picture);
        let mut early = sample(V, 1_120, 40);
        early.pts = Timestamp::from_millis(1_040);
        timeline.place(&mut early);
        assert_eq!((early.dts.millis(), early.pts.millis()), (120, 40));
    }

    #[test]
    fn the_first_sample_is_at_zero_wherever_the_publisher_began() {
        let mut timeline = Timeline::default();
        assert_eq!(place(&mut timeline, V, 4_000_000), 0);
        assert_eq!(place(&mut timeline, A, 4_000_021), 21);
    }

    #[test]
    fn an_epoch_continues_where_the_last_one_ended() {
        let mut timeline = Timeline::default();
        place(&mut timeline, V, 0);
        place(&mut timeline, A, 10);
        assert_eq!(place(&mut timeline, V, 40), 40);
        timeline.begin_epoch();
        assert_eq!(
            place(&mut timeline, A, 900),
            80,
            "at the end of the last sample"
        );
        assert_eq!(
            place(&mut timeline, V, 923),
            103,
            "with the new epoch's own offset"
        );
    }

    #[test]
    fn no_track_of_an_epoch_begins_before_it() {
        let mut timeline = Timeline::default();
        place(&mut timeline, V, 0);
        place(&mut timeline, V, 40);
        timeline.begin_epoch();
        assert_eq!(place(&mut timeline, A, 3_600_000), 80);
        assert_eq!(place(&mut timeline, V, 3_599_960), 80);
        assert_eq!(place(&mut timeline, V, 3_600_040), 120);
    }

    #[test]
    fn a_restarted_clock_moves_both_tracks_alike() {
        let mut timeline = Timeline::default();
        for step in 0..100 {
            place(&mut timeline, V, 50_000 + step * 40);
            place(&mut timeline, A, 50_000 + step * 40 + 15);
        }
        let video = place(&mut timeline, V, 0);
        let audio = place(&mut timeline, A, 15);
        assert!(video >= 4_000, "{video}");
        assert_eq!(audio - video, 15);
        assert_eq!(place(&mut timeline, V, 40) - video, 40);
    }

    #[test]
    fn jitter_is_held_and_never_steps_back() {
        let mut timeline = Timeline::default();
        place(&mut timeline, A, 0);
        place(&mut timeline, A, 500);
        assert_eq!(place(&mut timeline, A, 480), 500);
        assert_eq!(place(&mut timeline, A, 520), 520);
    }

    #[test]
    fn a_leap_into_the_far_future_is_a_restart() {
        let mut timeline = Timeline::default();
        place(&mut timeline, A, 0);
        assert_eq!(place(&mut timeline, A, 3_000_000_000), 40);
    }

    #[test]
    fn an_event_far_from_the_media_is_now() {
        let mut timeline = Timeline::default();
        let placed = |timeline: &Timeline, millis| {
            let mut event = TimedEvent {
                at: Timestamp::from_millis(millis),
                content: media::EventContent::Id3(Bytes::new()),
                is_scripted: true,
            };
            timeline.place_event(&mut event);
            event.at.millis()
        };
        assert_eq!(placed(&timeline, 7_000), 0);
        place(&mut timeline, A, 1_000_000);
        place(&mut timeline, A, 1_000_500);
        for (millis, expected) in [
            (1_000_200, 200),
            (1_004_000, 4_000),
            (0, 540),
            (2_000_000, 540),
        ] {
            assert_eq!(placed(&timeline, millis), expected, "{millis}");
        }
    }

    #[test]
    fn hostile_clocks_do_not_overflow() {
        let mut timeline = Timeline::default();
        for ticks in [i64::MAX, i64::MIN, 0, i64::MAX, -1] {
            let mut sample = sample(A, 0, 0);
            sample.dts = Timestamp::from_ticks(ticks);
            timeline.place(&mut sample);
        }
    }
}
