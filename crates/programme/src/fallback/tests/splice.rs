//! The beginning of a feed, and the items of the fallback that it has.

use std::sync::Arc;

use bytes::Bytes;
use fanout::Tapped;
use media::{
    Codec, Container, Framing, Item, Kind, Sample, Span, Timestamp, Title, Track, TrackId,
};

use crate::fallback::splice::{Goes, Splice};

fn track(id: TrackId, kind: Kind) -> Tapped {
    let codec = match kind {
        Kind::Audio => Codec::Mp3,
        Kind::Video => Codec::H264,
    };
    let track = Track::new(id, kind, codec, Framing::SelfFramed);
    Tapped::Item(Item::Track(Arc::new(track)))
}

fn sample(id: TrackId, second: i64, keyframe: bool) -> Tapped {
    let at = Timestamp::from_millis(second * 1_000);
    let data = Bytes::from_static(b"x");
    Tapped::Item(Item::Sample(Sample {
        keyframe,
        ..Sample::frame(id, at, Span::from_millis(1_000), data)
    }))
}

/// The seconds of the samples among items.
fn seconds(items: &[Item]) -> Vec<i64> {
    let samples = items.iter().filter_map(|item| match item {
        Item::Sample(sample) => Some(sample.dts.millis() / 1_000),
        _ => None,
    });
    samples.collect()
}

fn push(splice: &mut Splice, tapped: Vec<Tapped>) -> (Vec<Item>, Goes) {
    let (mut tapped, mut items) = (tapped, Vec::new());
    let goes = splice.push(&mut tapped, &mut items);
    (items, goes)
}

#[test]
fn as_much_of_the_past_is_taken_as_was_missed() {
    for (missed, first) in [(0, 3), (1_000, 3), (1_001, 2), (2_500, 1), (9_000, 0)] {
        let mut splice = Splice::new(Container::Adts, Span::from_millis(missed));
        let mut past = vec![track(TrackId::AUDIO, Kind::Audio)];
        past.extend((0..4).map(|at| sample(TrackId::AUDIO, at, true)));
        let (items, goes) = push(&mut splice, past);
        assert!(matches!(items[0], Item::Track(_)));
        let expected: Vec<_> = (first..4).collect();
        assert_eq!((seconds(&items), goes), (expected, Goes::On), "{missed} ms");
        let (items, _) = push(&mut splice, vec![sample(TrackId::AUDIO, 4, true)]);
        assert_eq!(seconds(&items), [4], "and all that follows");
    }
}

#[test]
fn pictures_begin_at_a_keyframe_and_audio_with_them() {
    let mut splice = Splice::new(Container::Tracks, Span::ZERO);
    let past = vec![
        track(TrackId::AUDIO, Kind::Audio),
        track(TrackId::VIDEO, Kind::Video),
        sample(TrackId::AUDIO, 0, true),
        sample(TrackId::VIDEO, 1, false),
    ];
    let (items, _) = push(&mut splice, past);
    assert!(seconds(&items).is_empty() && !splice.has_begun());
    let next = vec![
        sample(TrackId::AUDIO, 2, true),
        sample(TrackId::VIDEO, 3, true),
        sample(TrackId::AUDIO, 4, true),
        sample(TrackId::VIDEO, 5, false),
    ];
    let (items, _) = push(&mut splice, next);
    assert_eq!(seconds(&items), [3, 4, 5]);
    let (behind, next) = (
        sample(TrackId::VIDEO, 6, false),
        sample(TrackId::VIDEO, 7, true),
    );
    let (items, _) = push(&mut splice, vec![Tapped::Lost(9), behind, next]);
    assert_eq!(seconds(&items), [7], "behind a gap at the next keyframe");
}

#[test]
fn a_fallback_with_another_publisher_ends_the_feed_behind_what_was_left() {
    let mut splice = Splice::new(Container::Adts, Span::ZERO);
    let all = vec![
        track(TrackId::AUDIO, Kind::Audio),
        sample(TrackId::AUDIO, 0, true),
        Tapped::Item(Item::Title(Arc::new(Title::default()))),
        Tapped::Item(Item::Epoch),
        sample(TrackId::AUDIO, 1, true),
    ];
    let (items, goes) = push(&mut splice, all);
    assert_eq!((seconds(&items), goes), (vec![0], Goes::Another));
    assert!(matches!(items.last(), Some(Item::Title(_))));
}

#[test]
fn frames_that_refer_to_what_was_left_out_are_silent() {
    let mut splice = Splice::new(Container::Mp3, Span::ZERO);
    // MPEG-1 layer III at 128 kb/s, whose first bytes of audio lie 255 before it; then a frame that has all of its own.
    let frame = |begins_before: u8| {
        let [high, low] = [begins_before >> 1, begins_before << 7];
        let mut frame = vec![0xFF, 0xFB, 0x90, 0x00, high, low];
        frame.resize(417, 0x55);
        Bytes::from(frame)
    };
    let with = |tapped: Tapped, data: Bytes| match tapped {
        Tapped::Item(Item::Sample(sample)) => Tapped::Item(Item::Sample(Sample { data, ..sample })),
        other => other,
    };
    let past = [255, 255, 255].map(frame);
    let tapped = past.iter().zip(0..);
    let tapped = tapped.map(|(data, at)| with(sample(TrackId::AUDIO, at, true), data.clone()));
    let mut all = vec![track(TrackId::AUDIO, Kind::Audio)];
    all.extend(tapped);
    let (items, _) = push(&mut splice, all);
    let sent = items.iter().filter_map(|item| match item {
        Item::Sample(sample) => Some(sample.data.clone()),
        _ => None,
    });
    let sent: Vec<_> = sent.collect();
    assert_eq!(sent.len(), 1, "one second was missed by nobody");
    let side = &sent[0][4..36];
    assert!(side.iter().all(|byte| *byte == 0), "{side:?}");
    assert_eq!(sent[0].len(), 417);
    let next = with(sample(TrackId::AUDIO, 3, true), frame(255));
    let (items, _) = push(&mut splice, vec![next]);
    let Item::Sample(second) = &items[0] else {
        panic!("a sample: {items:?}")
    };
    assert_eq!(second.data, frame(255), "what it refers to was sent");
}
