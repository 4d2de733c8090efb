//! Placement of samples, whatever their publisher's clock does.

use std::sync::LazyLock;

use bytes::Bytes;

use super::*;

fn sample(track: TrackId, millis: i64, duration: i64) -> Sample {
    Sample {
        pts: Timestamp::from_millis(millis + 80),
        duration: Span::from_millis(duration),
        ..crate::testing::sample(track, millis, "")
    }
}

fn place(timeline: &mut Timeline, track: TrackId, millis: i64) -> i64 {
    static NOW: LazyLock<Instant> = LazyLock::new(Instant::now);
    let mut sample = sample(track, millis, 40);
    timeline.place(&mut sample, *NOW);
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
    timeline.place(&mut picture, Instant::now());
    let mut early = sample(V, 1_120, 40);
    early.pts = Timestamp::from_millis(1_040);
    timeline.place(&mut early, Instant::now());
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
        timeline.place(&mut sample, Instant::now());
    }
}

/// A publisher of video at 25 frames a second, and of audio.
#[derive(Default)]
struct Broadcast {
    timeline: Timeline,
    /// Time that has passed, in milliseconds.
    now: i64,
    /// Samples placed so far, as track and time.
    placed: Vec<(TrackId, i64)>,
}

impl Broadcast {
    /// Sends for `millis`; `clock` maps the time to the publisher's own. Samples have no durations, as over RTMP.
    fn send(&mut self, millis: i64, mut clock: impl FnMut(TrackId, i64) -> Option<i64>) {
        static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);
        for now in self.now..self.now + millis {
            let arrival = *BEGAN + Duration::from_millis(now as u64);
            for (track, step) in [(V, 40), (A, 20)] {
                if now % step == 0
                    && let Some(own) = clock(track, now)
                {
                    let mut sample = sample(track, own, 0);
                    self.timeline.place(&mut sample, arrival);
                    self.placed.push((track, sample.dts.millis()));
                }
            }
        }
        self.now += millis;
    }

    /// Returns the longest step of a track.
    fn longest(&self, track: TrackId) -> i64 {
        let times = self.placed.iter().filter(|(id, _)| *id == track);
        let times: Vec<_> = times.map(|(_, at)| *at).collect();
        assert!(times.is_sorted());
        let steps = times.windows(2).map(|pair| pair[1] - pair[0]);
        steps.max().unwrap_or_default()
    }

    fn apart(&self) -> i64 {
        let last = |track| self.placed.iter().rfind(|(id, _)| *id == track);
        let of = |track| last(track).map_or(0, |(_, at)| *at);
        (of(V) - of(A)).abs()
    }

    fn end(&self) -> i64 {
        self.placed.iter().map(|(_, at)| *at).max().unwrap_or(0)
    }

    /// Demands that the steps of these tracks are no longer than `step`, and that both tracks stay within `apart`.
    #[track_caller]
    fn assert_even(&self, case: i64, tracks: &[TrackId], step: i64, apart: i64) {
        for track in tracks {
            let longest = self.longest(*track);
            assert!(longest <= step, "{case}: {longest} of {track:?}");
        }
        assert!(self.apart() <= apart, "{case}: {} ms apart", self.apart());
    }

    #[track_caller]
    fn assert_end(&self, case: i64, end: i64) {
        assert!((self.end() - end).abs() <= 200, "{case}: {}", self.end());
    }
}

const LEAPS: [i64; 4] = [1_000, 5_000, 60_000, 3_600_000];

#[test]
fn a_clock_that_leaps_leaves_no_pause_and_moves_both_tracks_alike() {
    for leap in LEAPS.into_iter().chain(LEAPS.map(|leap| -leap)) {
        let mut broadcast = Broadcast::default();
        broadcast.send(10_000, |_, now| Some(now));
        broadcast.send(10_000, |_, now| Some(now + leap));
        broadcast.send(10_000, |_, now| Some(now));
        broadcast.assert_even(leap, &[V, A], 80, 20);
        broadcast.assert_end(leap, 30_000);

        // Of audio alone.
        let mut broadcast = Broadcast::default();
        broadcast.send(10_000, |_, now| Some(now));
        broadcast.send(10_000, |track, now| {
            Some(if track == A { now + leap } else { now })
        });
        broadcast.assert_even(leap, &[V, A], 80, 60);
    }
}

#[test]
fn a_pause_in_which_nothing_came_stays_one() {
    let mut broadcast = Broadcast::default();
    broadcast.send(10_000, |_, now| Some(now));
    broadcast.send(7_000, |_, _| None);
    broadcast.send(3_000, |_, now| Some(now));
    assert!((6_900..=7_100).contains(&broadcast.longest(V)));
    // Video alone that pauses, too, and samples held up by the network.
    broadcast.send(5_000, |track, now| (track == A).then_some(now));
    broadcast.send(5_000, |_, now| Some(now));
    assert!((6_900..=7_100).contains(&broadcast.longest(V)));
    assert_eq!(broadcast.end(), 29_980);
}

#[test]
fn what_is_delivered_late_keeps_its_times_and_its_holes() {
    let mut broadcast = Broadcast::default();
    broadcast.send(10_000, |_, now| Some(now));
    // For six seconds nothing arrives, and then everything at once, without the samples that the encoder has skipped.
    broadcast.send(6_000, |_, _| None);
    let arrival = broadcast.now;
    for own in (10_000..16_000)
        .step_by(20)
        .filter(|own| !(12_000..15_000).contains(own))
    {
        broadcast.now = arrival;
        broadcast.send(1, |track, _| (track == A || own % 40 == 0).then_some(own));
    }
    assert_eq!(broadcast.end(), 15_980);
    assert_eq!(broadcast.longest(A), 3_020);
}

#[test]
fn times_that_stand_still_are_those_of_arrival() {
    for stalled in LEAPS.into_iter().filter(|stalled| *stalled <= 60_000) {
        let mut broadcast = Broadcast::default();
        broadcast.send(10_000, |_, now| Some(now));
        broadcast.send(stalled, |_, _| Some(9_980));
        broadcast.send(10_000, |_, now| Some(now - stalled));
        broadcast.assert_even(stalled, &[V], 1_080, 100);
        broadcast.assert_end(stalled, 20_000 + stalled);
    }
    let mut broadcast = Broadcast::default();
    broadcast.send(10_000, |_, _| Some(0));
    assert!(broadcast.end() >= 9_900, "{}", broadcast.end());
}

#[test]
fn rare_pictures_may_come_faster_than_they_play() {
    let mut timeline = Timeline::default();
    for second in 0..20 {
        assert_eq!(place(&mut timeline, V, 3_000 * second), 3_000 * second);
    }
}

#[test]
fn a_track_that_begins_late_and_counts_from_zero_begins_now() {
    for own_zero in [0, 10_000] {
        let mut broadcast = Broadcast::default();
        broadcast.send(10_000, |track, now| (track == V).then_some(now));
        broadcast.send(5_000, |track, now| {
            Some(if track == A { now - own_zero } else { now })
        });
        broadcast.assert_even(own_zero, &[], 0, 60);
        assert_eq!(broadcast.end(), 14_980);
    }
}

#[test]
fn what_follows_another_stream_keeps_its_times() {
    let mut timeline = Timeline::default();
    timeline.begin_epoch();
    timeline.follow();
    for millis in [0, 40, 60_000, 60_040] {
        assert_eq!(place(&mut timeline, V, millis), millis);
    }
}
