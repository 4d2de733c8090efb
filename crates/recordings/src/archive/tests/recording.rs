//! Tests that published media is in the file, and of where one file ends and the next begins.

use super::*;

#[test]
fn a_stream_is_recorded_whole() {
    let mut archive = TestArchive::new();
    let mut publisher = archive.publish(Container::Tracks);
    let mut left = items(Clip::FlvBframes);
    write(&mut publisher, until(&mut left, 700));
    let mut recorder = archive.record(publisher.stream());
    archive.visit(&mut recorder, TURN);
    for millis in [1_700, 2_500, 9_999] {
        write(&mut publisher, until(&mut left, millis));
        assert_eq!(archive.visit(&mut recorder, TURN), Next::Turn);
    }
    let open = archive.only();
    assert_eq!((open.state, open.stream.as_str()), (State::Open, NAME));
    assert_eq!(archive.files(), std::slice::from_ref(&open.path));
    assert!(open.path.to_string_lossy().ends_with("Z-0.mp4.part"));
    let length = |one: &Recording| std::fs::metadata(&one.path).expect("a file").len();
    assert_eq!(length(&open), open.bytes);
    // What there is plays already.
    assert!(pictures(&open.path).len() >= 50);
    drop(publisher);
    archive.visit(&mut recorder, TURN);
    assert_eq!(archive.recordings()[0].state, State::Open, "it may return");
    archive.visit(&mut recorder, 10 * TURN);
    let closed = archive.only();
    assert_eq!(closed.state, State::Finalised);
    assert_eq!(archive.files(), std::slice::from_ref(&closed.path));
    assert_eq!(length(&closed), closed.bytes);
    let duration = closed.duration.as_secs_f64();
    assert!((3.9..4.15).contains(&duration), "{duration}");
    let wanted = pictures(&Clip::FlvBframes.seconds(4));
    assert_eq!(pictures(&closed.path), wanted);
    assert_eq!(archive.shared.counts.gaps.all(), [0; 3]);
}

#[test]
fn a_publisher_that_returns_soon_continues_in_the_same_file() {
    for (away, files) in [(5, 1), (11, 2)] {
        let mut archive = TestArchive::new();
        let mut publisher = archive.publish(Container::Tracks);
        write(&mut publisher, items(Clip::Flv));
        let mut recorder = archive.record(publisher.stream());
        archive.visit(&mut recorder, TURN);
        drop(publisher);
        archive.visit(&mut recorder, TURN);
        archive.visit(&mut recorder, away * TURN);
        let mut publisher = archive.publish(Container::Tracks);
        archive.turn(&mut publisher, items(Clip::Flv), &mut recorder);
        publisher.stream().end(fanout::events::EndReason::Operator);
        assert_eq!(archive.visit(&mut recorder, TURN), Next::Ended);
        let recorded = archive.recordings();
        assert_eq!(recorded.len(), files, "{away}");
        // A stream opens a lane with its newest group.
        let wanted = pictures(&Clip::Flv.seconds(4));
        let got: Vec<_> = recorded.iter().flat_map(|it| pictures(&it.path)).collect();
        let (before, whole) = got.split_at(got.len() - 100);
        assert_eq!(whole, wanted);
        assert_eq!(before, &wanted[wanted.len() - before.len()..]);
        assert!(got.len() >= 125);
    }
}

#[test]
fn other_codecs_are_another_file() {
    let mut archive = TestArchive::new();
    let turns = [Clip::Flv, Clip::FlvLarger].map(items);
    archive.record_turns(Container::Tracks, turns.into(), 40);
    let recorded = archive.recordings();
    assert_eq!(recorded.len(), 2);
    for (recording, clip) in recorded.iter().zip([Clip::Flv, Clip::FlvLarger]) {
        assert_eq!(recording.state, State::Finalised);
        assert_eq!(pictures(&recording.path), pictures(&clip.seconds(4)));
    }
    assert_eq!(archive.shared.counts.gaps.all(), [0; 3]);
}

#[test]
fn files_are_split_at_keyframes_and_nothing_is_between_them() {
    let mut archive = TestArchive::with(Duration::from_millis(1_500), Keep::default(), 0);
    let (mut left, mut publisher, mut recorder) = archive.begin_flv();
    archive.turn(&mut publisher, until(&mut left, 3_500), &mut recorder);
    recorder.split();
    write(&mut publisher, left);
    archive.end(publisher, &mut recorder);
    let recorded = archive.recordings();
    let counts: Vec<_> = recorded.iter().map(|it| pictures(&it.path).len()).collect();
    // The third is the operator's.
    assert_eq!(counts, [50, 25, 25]);
    let got: Vec<_> = recorded.iter().flat_map(|it| pictures(&it.path)).collect();
    assert_eq!(got, pictures(&Clip::Flv.seconds(4)));
}

#[test]
fn mp3_is_kept_as_it_is() {
    let source = Clip::Mp3.seconds(4);
    let file = std::fs::read(&source).expect("the clip was made");
    let mut items = Vec::new();
    let mut demuxer = container::frames::Demuxer::new(container::frames::Syntax::MpegAudio);
    demuxer.push(&file, &mut items);
    demuxer.finish(&mut items);
    let mut archive = TestArchive::new();
    let mut publisher = archive.publish(Container::Mp3);
    write(&mut publisher, until(&mut items, 500));
    let mut recorder = archive.record(publisher.stream());
    write(&mut publisher, items);
    archive.end(publisher, &mut recorder);
    let closed = archive.only();
    assert_eq!(closed.state, State::Finalised);
    assert!(closed.path.to_string_lossy().ends_with("Z-0.mp3"));
    let sent = std::fs::read(&source).expect("read");
    let got = std::fs::read(&closed.path).expect("read");
    assert!(!got.is_empty() && sent.ends_with(&got[got.len() - 1_000..]));
    let [sent, got] = [&source, &closed.path].map(framemd5::decoded);
    let join = framemd5::join(&sent, &got, 2);
    assert_eq!(join.expect("the same sound").missing, 0);
}

#[test]
fn what_a_thread_comes_too_late_for_is_a_gap_and_the_next_file_begins_at_a_keyframe() {
    let mut archive = TestArchive::with_memory(100_000, Duration::MAX, Keep::default(), 0);
    let (mut left, mut publisher, mut recorder) = archive.begin_flv();
    for millis in [2_000, 9_999] {
        archive.turn(&mut publisher, until(&mut left, millis), &mut recorder);
    }
    assert_eq!(archive.shared.counts.gaps.all(), [0; 3]);
    for _ in 0..3 {
        drop(publisher);
        publisher = archive.publish(Container::Tracks);
        write(&mut publisher, items(Clip::Flv));
    }
    archive.visit(&mut recorder, TURN);
    assert_eq!(archive.shared.counts.gaps.all(), [1, 0, 0]);
    archive.end(publisher, &mut recorder);
    let gap = archive.reported.try_iter().find_map(|event| match event {
        Event::Gap { seconds, .. } => seconds,
        _ => None,
    });
    // Of twelve seconds the last three are there, from a keyframe on.
    let gap = gap.expect("it is told how much");
    assert!((8.5..11.0).contains(&gap), "{gap}");
    let wanted = pictures(&Clip::Flv.seconds(4));
    let [before, after] = &archive.recordings()[..] else {
        panic!("{:?}", archive.recordings());
    };
    assert_eq!(pictures(&before.path), wanted);
    let got = pictures(&after.path);
    assert!((25..=75).contains(&got.len()), "{}", got.len());
    assert_eq!(got, wanted[wanted.len() - got.len()..]);
    let lasts = (gap + before.duration.as_secs_f64() + after.duration.as_secs_f64() - 16.0).abs();
    assert!(lasts < 0.5, "what is missing is told exactly: {lasts}");
    assert_eq!(archive.shared.counts.gaps.all(), [1, 0, 0]);
}

#[test]
fn a_recorder_alone_is_no_reason_for_haste_and_wants_keyframes() {
    let mut archive = TestArchive::new();
    let (mut left, mut publisher, mut recorder) = archive.begin_flv();
    left.retain(|item| !matches!(item, Item::Sample(sample) if sample.track == TrackId::VIDEO && sample.keyframe));
    write(&mut publisher, until(&mut left, 2_500));
    assert!(publisher.stream().is_read() && publisher.is_followed());
    assert!(!publisher.is_awaited());
    assert!(!publisher.takes_keyframe_request(archive.now));
    write(&mut publisher, until(&mut left, 3_500));
    assert!(publisher.takes_keyframe_request(archive.now), "it is old");
    archive.visit(&mut recorder, TURN);
    drop(recorder);
    write(&mut publisher, left);
    assert!(!publisher.stream().is_read());
    assert!(!publisher.takes_keyframe_request(archive.now + 10 * TURN));
}
