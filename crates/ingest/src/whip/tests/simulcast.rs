//! Publishers of several layers: each is a stream.

use super::offers::layers;
use super::*;

/// An offer of audio and of these layers.
fn offering(names: &[&str]) -> String {
    let more = layers(names) + FEEDBACK;
    offer(&[audio(), picture(PayloadFormat::Vp8, &more)])
}

/// Audio and three layers, the smallest first, as browsers have them by default. The larger, the later it
/// arrives.
fn lines() -> Vec<Line> {
    let mut all = vec![Line::audio()];
    for (at, (name, width)) in [("l", 160), ("m", 320), ("h", 640)].into_iter().enumerate() {
        let mut line = Line::layer(name, 1_000 * (at as u32 + 1), width);
        line.takes = Duration::from_millis(15 * at as u64);
        all.push(line);
    }
    all
}

fn rendition(label: &str) -> StreamName {
    name().rendition(label).expect("a label")
}

/// A trial of [`lines`], and recordings of the renditions `l` and `m`.
fn trial(link: Link) -> (Trial, [Recording; 2]) {
    let trial = Trial::new(&offering(&["l", "m", "h"]), lines(), link);
    let recordings = ["l", "m"].map(|label| {
        let stream = rendition(label);
        drop(live_at(&trial.context, &stream, KEY));
        Recording::of_stream(&trial.context, &stream)
    });
    (trial.with_reports(Duration::from_millis(500)), recordings)
}

fn phase(trial: &Trial, stream: &StreamName) -> Option<Phase> {
    let stream = trial.stream(stream);
    stream.map(|stream| stream.info().phase)
}

/// Returns the index of a sample among a line's samples.
fn place(line: &Line, sample: &Sample) -> Option<usize> {
    line.sent.iter().position(|sent| sent.data == sample.data)
}

/// Returns the numbers of a recording's frames; all must be of one line, in order, from a keyframe on.
fn numbers(recording: &Recording, line: &Line) -> Vec<usize> {
    let came = recording.samples(TrackId::VIDEO);
    assert!(came[0].keyframe);
    assert!(came.windows(2).all(|pair| pair[0].dts < pair[1].dts));
    let numbers = came.iter().map(|sample| place(line, sample));
    numbers.map(|number| number.expect("of the line")).collect()
}

#[test]
fn the_largest_layer_is_the_stream_and_the_others_are_renditions_with_the_same_audio() {
    let (mut trial, small) = trial(Link::default());
    trial.run(SECOND / 100);
    // Two have not begun.
    assert_eq!(phase(&trial, &name()), Some(Phase::Lingering));
    trial.run(6 * SECOND);
    for (recording, line) in small.iter().chain([&trial.recording]).zip(1..) {
        let numbers = numbers(recording, &trial.lines[line]);
        assert!(numbers.len() > 140, "{line}: {}", numbers.len());
        let mut pairs = numbers.windows(2);
        assert!(pairs.all(|pair| pair[0] + 1 == pair[1]), "{numbers:?}");
        assert_eq!(recording.tracks(TrackId::AUDIO).len(), 1);
        assert_eq!(recording.tracks(TrackId::VIDEO).len(), 1);
    }
    // What has waited for the choice comes in the order of its time.
    let items = trial.recording.items().into_iter();
    let times = items.filter_map(|item| match item {
        Item::Sample(sample) => Some(sample.dts),
        _ => None,
    });
    let times: Vec<_> = times.collect();
    let apart = times.windows(2).map(|pair| millis(pair[1], pair[0]));
    assert!(apart.fold(0.0, f64::max) < 60.0, "{times:?}");
    // The audio is shared, not copied.
    let audio_frames = trial.recording.samples(TrackId::AUDIO);
    assert!(audio_frames.len() > 280);
    for recording in &small {
        for sample in recording.samples(TrackId::AUDIO) {
            let same = audio_frames.iter().find(|other| other.data == sample.data);
            let same = same.expect("it is in the stream itself");
            assert_eq!(same.data.as_ptr(), sample.data.as_ptr());
            assert_eq!(same.pts, sample.pts);
        }
    }
    assert!(trial.stream(&rendition("h")).is_none());
    assert_eq!(trial.context.stats.publishers.value(Protocol::Whip), 1);
    trial.close();
    for stream in [name(), rendition("l"), rendition("m")] {
        assert_eq!(phase(&trial, &stream), Some(Phase::Lingering));
    }
    assert_eq!(trial.context.stats.publishers.value(Protocol::Whip), 0);
}

#[test]
fn pictures_of_one_moment_have_one_time_in_all_streams() {
    let (mut trial, small) = trial(Link::default());
    trial.run(8 * SECOND);
    let of = |recording: &Recording, line: usize| {
        let late = recording.samples(TrackId::VIDEO).into_iter();
        let late = late.filter(|sample| sample.dts.millis() > 5_000);
        let line = &trial.lines[line];
        late.map(|sample| (place(line, &sample).expect("of the line"), sample.pts))
            .collect::<Vec<_>>()
    };
    let whole = of(&trial.recording, 3);
    for (recording, line) in small.iter().zip(1..) {
        let mut compared = 0;
        for (number, pts) in of(recording, line) {
            if let Some((_, other)) = whole.iter().find(|(other, _)| *other == number) {
                // Reports are in whole ticks, and by the sender's clock all are sampled at once.
                assert!(millis(*other, pts).abs() < 1.0, "{line}: {pts:?} {other:?}");
                compared += 1;
            }
        }
        assert!(compared > 50, "{compared}");
    }
}

#[test]
fn each_layer_s_losses_are_repaired_by_its_own_repetitions() {
    let link = Link {
        delay: Duration::from_millis(20),
        jitter: Duration::from_millis(8),
        lost: 40,
        doubled: 20,
    };
    let (mut trial, small) = trial(link);
    trial.run(10 * SECOND);
    let counts = trial.counts();
    assert!(counts.recovered.value() > 20, "{counts:?}");
    for (recording, line) in small.iter().chain([&trial.recording]).zip(1..) {
        let numbers = numbers(recording, &trial.lines[line]);
        assert!(numbers.len() > 220, "{line}: {}", numbers.len());
    }
    assert!(trial.closed.is_empty());
}

#[test]
fn packets_without_a_name_are_dropped_until_there_is_one() {
    let (mut trial, small) = trial(Link::default());
    trial.lines[2].layer = None;
    trial.run(SECOND);
    assert!(small[1].samples(TrackId::VIDEO).is_empty());
    assert!(trial.counts().refused.value() > 20);
    trial.lines[2].layer = Some("m");
    trial.run(4 * SECOND);
    // It is asked for a keyframe, because its first one is gone.
    let asked = &trial.pli_sources;
    assert!(asked.contains(&2_000), "{asked:?}");
    assert!(numbers(&small[1], &trial.lines[2]).len() > 50);
}

#[test]
fn a_layer_that_pauses_keeps_its_stream_and_continues_in_its_epoch() {
    let (mut trial, small) = trial(Link::default());
    trial.run(2 * SECOND);
    let epoch = |trial: &Trial| {
        let stream = trial.stream(&rendition("m"));
        stream.expect("it is there").info().epoch
    };
    let before = (epoch(&trial), small[1].samples(TrackId::VIDEO).len());
    trial.lines[2].stop();
    // Longer than a publisher may be silent.
    trial.run(15 * SECOND);
    assert_eq!(phase(&trial, &rendition("m")), Some(Phase::Live));
    assert!(trial.closed.is_empty());
    let paused = small[1].samples(TrackId::VIDEO);
    assert!(paused.len() <= before.1 + 1);
    trial.proceed(2);
    trial.run(18 * SECOND);
    assert_eq!(epoch(&trial), before.0);
    let numbers = numbers(&small[1], &trial.lines[2]);
    assert!(numbers.len() > paused.len() + 60);
    // Its frames are where the stream itself has them.
    let last = |recording: &Recording| recording.samples(TrackId::VIDEO).pop().expect("one").pts;
    let apart = millis(last(&small[1]), last(&trial.recording));
    assert!(apart.abs() < 60.0, "{apart}");
}

#[test]
fn while_the_largest_layer_pauses_another_one_stands_in() {
    let (mut trial, small) = trial(Link::default());
    trial.run(3 * SECOND);
    trial.lines[3].stop();
    trial.run(10 * SECOND);
    // It is the larger one of the two, and has been asked for a keyframe.
    assert_eq!(trial.pli_sources.first(), Some(&2_000));
    trial.proceed(3);
    trial.run(13 * SECOND);
    let came = trial.pictures();
    assert!(came.windows(2).all(|pair| pair[0].dts <= pair[1].dts));
    let is_of = |sample: &Sample, line: usize| place(&trial.lines[line], sample).is_some();
    let runs: Vec<_> = came
        .chunk_by(|one, other| is_of(one, 3) == is_of(other, 3))
        .collect();
    assert_eq!(runs.len(), 3);
    for (run, line) in runs.into_iter().zip([3, 2, 3]) {
        assert!(run[0].keyframe && run.len() > 60, "{line}: {}", run.len());
        assert!(run.iter().all(|sample| is_of(sample, line)));
    }
    assert_eq!(trial.recording.tracks(TrackId::VIDEO).len(), 3);
    // The rendition has all of its own.
    assert!(numbers(&small[1], &trial.lines[2]).len() > 310);
}

#[test]
fn a_layer_that_never_sends_has_no_stream_and_holds_the_others_up_for_a_moment_only() {
    let mut some = lines();
    // The largest is left out.
    some.pop();
    let mut trial = Trial::new(&offering(&["l", "m", "h"]), some, Link::default());
    trial.run(SECOND / 2);
    assert_eq!(phase(&trial, &name()), Some(Phase::Lingering));
    trial.run(3 * SECOND);
    assert_eq!(phase(&trial, &name()), Some(Phase::Live));
    // Of what came, the larger one is the stream itself, from its beginning.
    let numbers = numbers(&trial.recording, &trial.lines[2]);
    assert!(numbers.len() > 70 && numbers[0] == 0, "{numbers:?}");
    assert!(trial.stream(&rendition("l")).is_some());
    assert!(trial.stream(&rendition("h")).is_none());
}

/// As browsers send them that know little of their network yet.
#[test]
fn the_largest_layer_takes_the_stream_over_when_it_begins_late() {
    let mut some = lines();
    let late = [some.remove(1), some.remove(2)];
    let mut trial = Trial::new(&offering(&["l", "m", "h"]), some, Link::default());
    let medium = rendition("m");
    drop(live_at(&trial.context, &medium, KEY));
    let medium = Recording::of_stream(&trial.context, &medium);
    trial.run(3 * SECOND);
    for (line, place) in late.into_iter().zip(2..) {
        trial.lines.push(line);
        trial.proceed(place);
    }
    trial.run(6 * SECOND);
    let came = trial.pictures();
    let is_late = |sample: &Sample| place(&trial.lines[3], sample).is_some();
    let (before, after) = came.split_at(came.partition_point(|sample| !is_late(sample)));
    assert!(before.len() > 60 && after.len() > 60);
    assert!(after[0].keyframe && after.iter().all(is_late));
    assert!(came.windows(2).all(|pair| pair[0].dts <= pair[1].dts));
    // The one that was the stream until then was asked for a keyframe to begin with.
    assert_eq!(trial.pli_sources, [2_000]);
    assert!(numbers(&medium, &trial.lines[1]).len() > 60);
    assert_eq!(medium.tracks(TrackId::VIDEO).len(), 1);
    assert!(trial.stream(&rendition("h")).is_none());
    // The smallest has a stream of its own, as ever.
    assert_eq!(phase(&trial, &rendition("l")), Some(Phase::Live));
}

#[test]
fn audio_alone_takes_the_stream_after_a_moment() {
    let mut trial = Trial::new(&offering(&["h", "l"]), vec![Line::audio()], Link::default());
    trial.run(SECOND / 2);
    assert_eq!(phase(&trial, &name()), Some(Phase::Lingering));
    trial.run(2 * SECOND);
    assert_eq!(phase(&trial, &name()), Some(Phase::Live));
    assert!(trial.recording.samples(TrackId::AUDIO).len() > 90);
    // The camera is switched on.
    for (name, ssrc, width) in [("l", 1_000, 160), ("h", 3_000, 640)] {
        let mut line = Line::layer(name, ssrc, width);
        line.proceed(trial.now);
        trial.lines.push(line);
        trial.wake(trial.lines.len() - 1);
    }
    trial.run(4 * SECOND);
    assert!(numbers(&trial.recording, &trial.lines[2]).len() > 40);
    assert_eq!(phase(&trial, &rendition("l")), Some(Phase::Live));
}

#[test]
fn of_equal_layers_the_first_of_the_offer_is_the_stream() {
    let same = [("b", 1_000), ("a", 2_000)].map(|(name, ssrc)| Line::layer(name, ssrc, 320));
    let mut trial = Trial::new(&offering(&["a", "b"]), same.into(), Link::default());
    trial.run(2 * SECOND);
    assert!(numbers(&trial.recording, &trial.lines[1]).len() > 40);
    assert!(trial.stream(&rendition("b")).is_some());
    assert!(trial.stream(&rendition("a")).is_none());
}

#[test]
fn a_listener_of_one_layer_has_that_layer_asked_for_a_keyframe() {
    let (mut trial, _small) = trial(Link::default());
    trial.run(2 * SECOND);
    assert!(trial.pli_sources.is_empty());
    let stream = trial.stream(&rendition("m"));
    stream.expect("it is there").request_keyframe();
    trial.run(3 * SECOND);
    assert_eq!(trial.pli_sources, [2_000]);
    trial.stream(&name()).expect("there").request_keyframe();
    trial.run(4 * SECOND);
    assert_eq!(trial.pli_sources, [2_000, 3_000]);
}

#[test]
fn a_rendition_that_another_publisher_takes_is_given_up_alone() {
    let log = Log::default();
    let _listening = log.capture();
    let (mut trial, small) = trial(Link::default());
    trial.run(2 * SECOND);
    // With the same key it takes over.
    let other = live_at(&trial.context, &rendition("m"), KEY);
    let before = small[1].samples(TrackId::VIDEO).len();
    trial.run(5 * SECOND);
    assert_eq!(small[1].samples(TrackId::VIDEO).len(), before);
    assert!(trial.closed.is_empty());
    assert_eq!(phase(&trial, &name()), Some(Phase::Live));
    assert!(small[0].samples(TrackId::VIDEO).len() > 110);
    drop(other);
    trial.run(10 * SECOND);
    assert_eq!(phase(&trial, &rendition("m")), Some(Phase::Lingering));
}

#[test]
fn a_rendition_that_is_refused_holds_up_nothing() {
    let log = Log::default();
    let _listening = log.capture();
    let mut trial = Trial::new(&offering(&["l", "m", "h"]), lines(), Link::default());
    let other = live_at(&trial.context, &rendition("m"), OTHER_KEY);
    trial.run(2 * SECOND);
    assert_eq!(phase(&trial, &name()), Some(Phase::Live));
    assert_eq!(phase(&trial, &rendition("l")), Some(Phase::Live));
    drop(other);
    trial.run(4 * SECOND);
    assert_eq!(phase(&trial, &rendition("m")), Some(Phase::Lingering));
    let said = log.lines().concat();
    assert_eq!(said.matches("a rendition is dropped").count(), 1, "{said}");
}

#[test]
fn the_next_publisher_takes_all_streams() {
    let (mut trial, small) = trial(Link::default());
    trial.run(2 * SECOND);
    let context = Arc::clone(&trial.context);
    let text = offering(&["l", "m", "h"]);
    let agreed = agree(&webrtc::sdp::Offer::parse(&text).expect("good")).expect("usable");
    let ticket = ticket(&context, agreed);
    let mut next = Connected::new(&context, ticket);
    let mut sent = lines();
    for step in 1..=40 {
        for packet in sent.iter_mut().flat_map(Line::send) {
            next.rtp(&packet, 2 * SECOND + Duration::from_millis(40 * step));
        }
    }
    assert!(next.said.closed.is_empty());
    let mut all: Vec<_> = context.registry.list();
    all.retain(|stream| stream.info().phase == Phase::Live);
    assert_eq!(all.len(), 3);
    let before = small[1].samples(TrackId::VIDEO).len();
    // The former one is ended as a whole, by its next packet.
    trial.run(4 * SECOND);
    assert_eq!(trial.closed, [handle(7)]);
    assert_eq!(small[1].samples(TrackId::VIDEO).len(), before);
    assert_eq!(context.stats.publishers.value(Protocol::Whip), 1);
}
