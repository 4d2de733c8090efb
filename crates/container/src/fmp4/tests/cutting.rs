//! Beginning, end and content of fragments.

use media::Span;

use super::*;

#[test]
fn a_fragment_spans_a_tenth_of_a_second_and_ends_before_each_keyframe() {
    let log = Log::of(&broadcast(2, (25, 1), 7));
    let expected = [
        (0, 120, true),
        (120, 120, false),
        (240, 40, false),
        (280, 120, true),
        (400, 120, false),
    ];
    assert_eq!(log.shape()[..5], expected);
    for fragment in &log.file().fragments {
        let pictures = fragment.rows(1);
        let keyframes = pictures.iter().filter(|row| row.is_sync).count();
        assert_eq!(keyframes, usize::from(pictures[0].is_sync));
    }
}

fn lasts_each(log: &Log, millis: i64) -> bool {
    let mut all = log.fragments();
    all.all(|it| it.unit.duration == Span::from_millis(millis))
}

#[test]
fn a_span_of_nothing_makes_a_fragment_of_each_picture() {
    let items = broadcast(1, (25, 1), 25);
    let log = Log::cut(&items, span(0));
    assert_eq!(log.shape().len(), 25);
    assert!(lasts_each(&log, 40));
    let file = log.file();
    assert!(file.fragments.iter().all(|it| it.rows(1).len() == 1));
    let audio_frames = items.into_iter().filter(is_audio);
    let alone: Vec<_> = std::iter::once(aac()).chain(audio_frames).collect();
    let log = Log::cut(&alone, span(0));
    assert_eq!(log.shape().len(), alone.len() - 1);
    assert!(log.shape().iter().all(|(_, _, join)| *join), "anywhere");
}

fn is_audio(item: &Item) -> bool {
    matches!(item, Item::Sample(sample) if sample.track == media::TrackId::AUDIO)
}

#[test]
fn fragments_are_numbered_and_audio_can_begin_anywhere() {
    let file = Log::of(&broadcast(2, (30, 1), 30)).file();
    let numbers = file.fragments.iter().map(|it| it.number);
    assert!(numbers.eq(1..=file.fragments.len() as u32));
    assert!(file.rows(2).all(|row| row.is_sync && row.duration == 1_024));
}

#[test]
fn one_picture_waits_for_the_next_and_nothing_longer() {
    let mut log = Log::default();
    let mut muxer = Muxer::new(span(0));
    let items = [h264(), picture(0, true), picture(40, false)];
    items.iter().for_each(|item| muxer.push(item, &mut log));
    assert_eq!(log.shape(), [(0, 40, true)]);
    muxer.push(&picture(90, false), &mut log);
    assert_eq!(log.shape(), [(0, 40, true), (40, 50, false)]);
    // The last one is as long as the one before it.
    muxer.finish(&mut log);
    assert_eq!(log.shape()[2], (90, 50, false));
}

#[test]
fn two_pictures_a_second_keep_their_audio() {
    let log = Log::of(&broadcast(10, (2, 1), 4));
    assert!(lasts_each(&log, 500));
    let file = log.file();
    assert!(file.fragments.iter().all(|it| !it.rows(1).is_empty()));
}

#[test]
fn a_fragment_ends_before_it_would_have_no_room() {
    for millis in [(24_000, 1_001), (25, 1), (30, 1), (60, 1)] {
        let items = broadcast(4, millis, 60);
        for room in [1, 50, 100, 120, 333] {
            let mut log = Log {
                room: Some(Span::from_millis(room)),
                ..Log::default()
            };
            log.fill(&items, span(1_000));
            let file = log.file();
            let longest = log.longest().expect("fragments");
            assert!(longest.millis() <= room, "{longest:?} of {room}");
            let least = Span::from_millis(room - room.min(50));
            assert!(longest >= least, "{longest:?} of {room}");
            let sent = data_of(&items, |it| it.track.0 == 1).len();
            assert_eq!(file.rows(1).count(), sent);
        }
    }
}

#[test]
fn audio_alone_ends_before_it_would_have_no_room() {
    let audio_frames = programme(0, 4, (25, 1), 25).into_iter().filter(is_audio);
    let items: Vec<_> = std::iter::once(aac()).chain(audio_frames).collect();
    let mut log = Log {
        room: Some(Span::from_millis(70)),
        ..Log::default()
    };
    log.fill(&items, span(1_000));
    // Three frames of 21.3 ms.
    let (last, others) = log.units.split_last().expect("some units");
    let three = Span::from_samples(3 * 1_024, 48_000);
    assert!(others.iter().all(|unit| unit.unit.duration == three));
    assert!(last.unit.duration <= three);
}

#[test]
fn what_a_fragment_holds_is_bounded() {
    // Video frames that take no time, audio without video, and large video frames.
    let mut items = vec![h264(), aac(), picture(0, true)];
    items.extend((0..10_000).map(|_| picture(0, false)));
    let log = Log::cut(&items, span(10_000));
    assert!(log.shape().len() >= 2);
    let most = log.file().fragments.iter().map(|it| it.rows(1).len()).max();
    assert!(most.is_some_and(|most| most <= 4_096));

    let heavy = vec![7; 3 << 20];
    let mut items = vec![h264()];
    items.extend((0..12).map(|n| picture_of(&heavy, n * 10, n == 0)));
    let log = Log::cut(&items, span(10_000));
    let heaviest = log.units.iter().map(|unit| unit.bytes.len()).max();
    assert!(heaviest.is_some_and(|bytes| bytes < 12 << 20));
}
