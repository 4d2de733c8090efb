//! Tests of the samples that the recent past keeps and drops.

use super::*;

const VIDEO: Option<TrackId> = Some(TrackId::VIDEO);

fn extent(burst: Span) -> Extent {
    let segment = Span::from_millis(3_000);
    Extent {
        burst,
        burst_bytes: 0,
        segment,
    }
}

fn sample(track: TrackId, millis: i64, keyframe: bool, len: usize) -> Sample {
    Sample {
        keyframe,
        ..crate::testing::sample(track, millis, vec![0; len])
    }
}

/// Adds video to a stream without a burst.
fn show(backlog: &mut Backlog, millis: i64, keyframe: bool, len: usize) {
    let picture = sample(TrackId::VIDEO, millis, keyframe, len);
    backlog.push(picture, VIDEO, extent(Span::ZERO));
}

/// Adds audio to a stream with a burst of so many milliseconds.
fn play(backlog: &mut Backlog, millis: i64, len: usize, burst: i64) {
    let audio = sample(TrackId::AUDIO, millis, true, len);
    backlog.push(audio, None, extent(Span::from_millis(burst)));
}

fn millis(backlog: &Backlog) -> Vec<i64> {
    backlog
        .samples()
        .map(|sample| sample.dts.millis())
        .collect()
}

#[test]
fn joiners_begin_at_the_last_keyframe() {
    let mut backlog = Backlog::default();
    let extent = extent(Span::from_millis(4_000));
    for step in 0..5 {
        let (at, is_key) = (40 * step, step % 2 == 1);
        backlog.push(sample(TrackId::VIDEO, at, is_key, 10), VIDEO, extent);
        backlog.push(sample(TrackId::AUDIO, at + 5, true, 1), VIDEO, extent);
    }
    let newest = backlog.newest_group().map(|sample| sample.dts.millis());
    let newest: Vec<_> = newest.collect();
    assert_eq!(newest, [120, 125, 160, 165]);
    assert_eq!(millis(&backlog), [40, 45, 80, 85, 120, 125, 160, 165]);
    assert_eq!(backlog.bytes, 44);
}

/// Returns the beginning of the backlog at each frame, of four a second, with the time of the frame, in milliseconds.
fn begins(group: i64, until: i64) -> Vec<(i64, i64)> {
    let mut backlog = Backlog::default();
    let pictures = (0..until).step_by(250);
    let begins = pictures.map(|at| {
        show(&mut backlog, at, at % group == 0, 10);
        (at, millis(&backlog)[0])
    });
    begins.collect()
}

#[test]
fn it_begins_with_the_newest_segment_that_is_complete() {
    // Segments begin at 0, 4, 6, 10, 12, ... s.
    for (at, begins) in begins(2_000, 20_000) {
        let expected = match at {
            ..6_000 => [0, 2_000][usize::from(at >= 4_000)],
            6_000..10_000 => 4_000,
            10_000..12_000 => 8_000,
            12_000..16_000 => 10_000,
            16_000..18_000 => 14_000,
            _ => 16_000,
        };
        assert_eq!(begins, expected, "{at}");
    }
}

#[test]
fn a_long_picture_group_is_enough_once_a_segment_is_complete() {
    for (at, begins) in begins(10_000, 40_000) {
        let group = at / 10_000 * 10_000;
        let is_enough = at - group >= 6_000 || group == 0;
        assert_eq!(
            begins,
            if is_enough { group } else { group - 10_000 },
            "{at}"
        );
    }
}

#[test]
fn streams_share_the_memory_of_older_picture_groups() {
    let all = Arc::new(AtomicUsize::new(0));
    let mut backlogs: Vec<_> = (0..20).map(|_| Backlog::new(Arc::clone(&all))).collect();
    for at in [0, 1_000, 2_000] {
        for backlog in &mut backlogs {
            show(backlog, at, true, 4 << 20);
            assert!(all.load(Ordering::Relaxed) <= OLDER_BYTES_MAX);
        }
    }
    let kept = |count| {
        let has = |backlog: &&Backlog| backlog.groups.len() == count;
        backlogs.iter().filter(has).count()
    };
    // Earlier streams have taken it.
    assert_eq!((kept(1), kept(2)), (4, 16));
    drop(backlogs);
    assert_eq!(all.load(Ordering::Relaxed), 0);
}

#[test]
fn older_picture_groups_are_given_up_first() {
    let mut backlog = Backlog::default();
    for (at, key) in [(0, true), (1_000, true), (1_250, false), (1_500, false)] {
        show(&mut backlog, at, key, 5 << 20);
    }
    assert_eq!(millis(&backlog), [1_000, 1_250, 1_500]);
    assert_eq!(backlog.newest_group().count(), 3);
}

#[test]
fn audio_keeps_the_burst() {
    let mut backlog = Backlog::default();
    for step in 0..100 {
        play(&mut backlog, step * 100, 1, 450);
    }
    assert_eq!(millis(&backlog), [9_400, 9_500, 9_600, 9_700, 9_800, 9_900]);
    assert_eq!(backlog.bitrate(), None);
}

#[test]
fn audio_keeps_the_bytes_of_a_burst_while_they_are_young() {
    let kept = |sample_bytes, burst_bytes| {
        let mut backlog = Backlog::default();
        for step in 0..1_000 {
            let extent = Extent {
                burst_bytes,
                ..extent(Span::from_millis(450))
            };
            let audio = sample(TrackId::AUDIO, step * 100, true, sample_bytes);
            backlog.push(audio, None, extent);
        }
        99_900 - millis(&backlog)[0]
    };
    assert_eq!(kept(100, 2_000), 1_900, "twenty samples");
    assert_eq!(kept(1_000, 2_000), 500, "the time is longer");
    assert_eq!(kept(1, 2_000), 80_000);
}

#[test]
fn a_bit_rate_is_what_there_was_of_late() {
    let mut backlog = Backlog::default();
    for step in 0..100 {
        let mut sample = sample(TrackId::AUDIO, step * 100, true, 1_600);
        sample.duration = Span::from_millis(100);
        backlog.push(sample, None, extent(Span::from_millis(4_000)));
    }
    assert_eq!(backlog.bitrate(), Some(128_000));
}

#[test]
fn audio_whose_clock_stands_still_is_bounded_too() {
    let mut backlog = Backlog::default();
    for _ in 0..SAMPLES_MAX {
        play(&mut backlog, 0, 1, 4_000);
    }
    for _ in 0..20 {
        play(&mut backlog, 0, 8 << 20, 4_000);
        assert!(backlog.bytes <= BYTES_MAX);
    }
}

#[test]
fn a_picture_group_without_end_is_given_up() {
    let mut backlog = Backlog::default();
    show(&mut backlog, 0, true, 1);
    for step in 0..20 {
        show(&mut backlog, step, false, 1024 * 1024);
        assert!(backlog.bytes <= BYTES_MAX);
    }
    assert!(millis(&backlog).is_empty());
}

#[test]
fn a_keyframe_too_old_to_start_at_is_given_up() {
    let mut backlog = Backlog::default();
    let mut kept = Vec::new();
    for step in 0..40 {
        show(&mut backlog, step * 1_000, step == 0, 10);
        kept.push(millis(&backlog).len());
    }
    assert_eq!((kept[30], kept[31], kept[39]), (31, 0, 0));
}
