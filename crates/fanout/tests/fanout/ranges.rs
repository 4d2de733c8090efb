//! A lane that is made of segments is read by ranges.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use crate::support::{Alarm, Encoder, FORMAT, TestFanout, frames};
use fanout::{
    Entry, Format, LaneSink, Packager, Part, PartState, Preamble, RangeReader, Retention,
    SegmentStart, Segmentation, Settings,
};
use media::{Item, Span};

/// Each frame is a part, and each keyframe begins a segment.
#[derive(Default)]
struct Parts {
    segments: u64,
}

impl Packager for Parts {
    fn push(&mut self, item: &Item, sink: &mut LaneSink<'_>) {
        let Item::Sample(sample) = item else {
            return;
        };
        sink.put(&sample.data);
        let starts = sample.keyframe.then(|| {
            self.segments += 1;
            SegmentStart {
                number: self.segments,
                is_whole: true,
                is_discontinuous: false,
                preamble: Arc::default(),
            }
        });
        let entry = match &starts {
            Some(_) => Entry::Join(Arc::new(Preamble::default())),
            None => Entry::None,
        };
        let part = Part {
            duration: sample.duration,
            is_independent: sample.keyframe,
            starts,
        };
        sink.end_part(sample.dts, entry, part);
    }

    fn segmentation(&self) -> Option<Segmentation> {
        Some(Segmentation::DEFAULT)
    }
}

/// A stream with segments of five frames, of a second and 10,000 bytes each.
struct Scene {
    setup: TestFanout,
    encoder: Encoder,
    reader: RangeReader,
}

fn scene(retention: Retention) -> Scene {
    let setup = TestFanout::new(Settings::default());
    let mut encoder = Encoder::audio(setup.publish("show", 1).unwrap());
    encoder.size = 10_000;
    encoder.frame_millis = 1_000;
    encoder.key_every = 5;
    let (stream, permission) = (setup.stream("show"), setup.may_play("show"));
    let format = Format {
        name: "parts",
        retention,
        ..FORMAT
    };
    let make = || Box::new(Parts::default()) as _;
    let reader = stream.ranges(&permission, format, make, Instant::now());
    Scene {
        setup,
        encoder,
        reader: reader.unwrap(),
    }
}

#[test]
fn segments_and_parts_are_ranges_of_the_log() {
    let mut scene = scene(Retention::Live);
    assert!(scene.reader.index().segments.is_empty());
    scene.encoder.write(13).unwrap();
    let index = scene.reader.index();
    assert_eq!(index.segmentation, Some(Segmentation::DEFAULT));
    let numbers: Vec<_> = index.segments.iter().map(|it| it.number).collect();
    assert_eq!(numbers, [1, 2, 3]);
    let read = |range| frames(&scene.reader.range(range).expect("it is there").concat());
    let mut next = 0;
    for segment in &index.segments {
        let whole = read(segment.range.clone()).into_iter();
        assert!(whole.eq(next..next + segment.parts.len() as u64));
        for part in &segment.parts {
            assert_eq!(read(part.range.clone()), [next]);
            assert_eq!(part.start.millis(), 1_000 * next as i64);
            next += 1;
        }
        let seconds = Span::from_millis(1_000 * segment.parts.len() as i64);
        assert_eq!(segment.duration, seconds);
    }
    assert_eq!(next, 13);
    assert_eq!(scene.reader.range(0..130_001), None, "not written yet");
    assert_eq!(scene.reader.range(7..7), Some(vec![]));
}

#[test]
fn the_index_goes_with_the_log() {
    let window = Retention::Window {
        time: Span::from_millis(120_000),
        bytes_max: 0,
    };
    for (retention, seconds) in [(Retention::Live, 32), (window, 120)] {
        let mut scene = scene(retention);
        scene.encoder.write(5).unwrap();
        let first = Arc::clone(&scene.reader.index().segments[0]);
        let held = scene.reader.range(first.range.clone());
        let held = held.expect("it is there");
        scene.encoder.write(995).unwrap();
        let index = scene.reader.index();
        let oldest = &index.segments[0];
        assert!(scene.reader.range(oldest.range.clone()).is_some());
        assert!(scene.reader.range(first.range.clone()).is_none());
        let kept = 1_000 - oldest.start.millis() / 1_000;
        // Less the beginning of a segment, plus two pages of six frames and a half.
        assert!(
            (seconds - 5..seconds + 14).contains(&kept),
            "{kept} s of {seconds}"
        );
        let (number, part) = (oldest.number, 0);
        assert!(number > 1);
        let gone = scene.reader.place(number - 1, 0);
        assert_eq!(gone, Some(PartState::Gone));
        let there = PartState::There { number, part };
        assert_eq!(scene.reader.place(number, 0), Some(there));
        let numbers = index.segments.iter().map(|segment| segment.number);
        assert!(numbers.eq(oldest.number..=200));
        // A piece that a reader holds outlives its page.
        assert_eq!(frames(&held.concat()), [0, 1, 2, 3, 4]);
    }
}

#[test]
fn a_reader_that_waits_for_a_part_is_woken_once_when_it_is_complete() {
    let mut scene = scene(Retention::Live);
    scene.encoder.write(7).unwrap();
    let (alarm, waker) = Alarm::with_waker();
    let mut cx = Context::from_waker(&waker);
    let there = |number, part| Poll::Ready(PartState::There { number, part });
    let gone = pin!(scene.reader.wait_for(0, 0));
    assert_eq!(gone.poll(&mut cx), Poll::Ready(PartState::Gone));
    let present = pin!(scene.reader.wait_for(2, 1));
    assert_eq!(present.poll(&mut cx), there(2, 1));
    let far = pin!(scene.reader.wait_for(9, 0));
    assert_eq!(far.poll(&mut cx), Poll::Ready(PartState::TooFarAhead));

    let mut next = pin!(scene.reader.wait_for(2, 2));
    let mut later = pin!(scene.reader.wait_for(3, 0));
    assert!(next.as_mut().poll(&mut cx).is_pending());
    assert!(later.as_mut().poll(&mut cx).is_pending());
    assert_eq!(alarm.count(), 0);
    scene.encoder.write(1).unwrap();
    assert_eq!(alarm.count(), 2);
    assert_eq!(next.poll(&mut cx), there(2, 2));
    assert!(later.as_mut().poll(&mut cx).is_pending());
    scene.encoder.write(3).unwrap();
    assert_eq!(alarm.count(), 3, "once in a wait");
    assert_eq!(later.poll(&mut cx), there(3, 0));
    // A part that its segment turned out not to have is the first of the next.
    let beyond = pin!(scene.reader.wait_for(2, 5));
    assert_eq!(beyond.poll(&mut cx), there(3, 0));

    let mut never = pin!(scene.reader.wait_for(3, 3));
    assert!(never.as_mut().poll(&mut cx).is_pending());
    scene.setup.registry.end_all();
    assert_eq!(never.poll(&mut cx), Poll::Ready(PartState::Ended));
    assert!(scene.reader.index().is_ended);
    let last = pin!(scene.reader.wait_for(3, 0));
    assert_eq!(last.poll(&mut cx), there(3, 0), "what there is can be had");
}

#[test]
fn a_reader_in_another_thread_is_woken() {
    let mut scene = scene(Retention::Live);
    let reader = scene.reader.clone();
    let thread = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime.unwrap().block_on(async {
            let mut places = Vec::new();
            for part in 0..20 {
                places.push(reader.wait_for(1 + part / 5, part as usize % 5).await);
            }
            places
        })
    });
    for _ in 0..20 {
        scene.encoder.write(1).unwrap();
        std::thread::yield_now();
    }
    let there = |part: u64| PartState::There {
        number: 1 + part / 5,
        part: part as usize % 5,
    };
    assert!(thread.join().unwrap().into_iter().eq((0..20).map(there)));
}

#[test]
fn readers_of_ranges_are_no_listeners_and_keep_the_lane_open() {
    let mut scene = scene(Retention::Live);
    let info = scene.setup.stream("show").info();
    assert_eq!((info.listeners, info.listeners_peak), (0, 0));
    let copy = scene.reader.clone();
    drop(scene.reader);
    let mut now = Instant::now();
    let (setup, encoder) = (&scene.setup, &mut scene.encoder);
    assert!(setup.is_followed_after(encoder, &mut now));
    drop(copy);
    assert!(!setup.is_followed_after(encoder, &mut now));
}
