//! Fragments by their times: the same while a file grows and after it was finalised.

use std::time::Duration;

use bytes::Bytes;
use media::{Kind, Sample};

use super::*;
use crate::mp4_file::index::Unpacker;
use crate::testing::samples;

/// Reads what a timeline wants.
fn read(timeline: &mut Timeline, file: &[u8]) {
    while let Some(Range { start, end }) = timeline.wants() {
        timeline.take(&file[start as usize..end as usize]);
    }
}

fn timeline(file: &[u8]) -> Timeline {
    let mut timeline = Timeline::new(file.len() as u64);
    read(&mut timeline, file);
    timeline
}

/// A clip of so many seconds, as a file.
fn recorded(seconds: u32) -> Vec<u8> {
    recording(of_flv(Clip::Flv, seconds), Span::ZERO)
}

#[test]
fn fragments_are_the_same_before_and_after_a_file_is_finalised() {
    let file = recorded(16);
    let fragments = scan(&file).fragments;
    let (plain, _) = finalised(&file);
    let (open, closed) = (timeline(&file), timeline(&plain));
    assert_eq!(open.points().len(), fragments.len());
    assert!(!is_finalised(&file[..PLACEHOLDER_END_MAX]));
    assert!(is_finalised(&plain[..PLACEHOLDER_END_MAX]));
    let rest = PLACEHOLDER_END_MAX..file.len();
    // No other byte is changed.
    assert!(file[rest.clone()] == plain[rest]);
    assert_eq!(open.points(), closed.points());
    assert_eq!(open.init_segment(), closed.init_segment());
    let tracks = |init: Option<&Init>| init.map(|init| init.tracks().to_vec());
    let of_segment = Init::of_segment(open.init_segment());
    assert_eq!(tracks(open.init()), tracks(of_segment.as_ref()));
    for (point, fragment) in open.points().iter().zip(&fragments) {
        assert_eq!(point.range(), fragment.range);
    }
    // A player that followed the growing file continues with the same numbers.
    let segments = closed.segments(0, true);
    let last = segments.last().expect("segments").clone();
    assert_eq!(open.segments(0, false), segments[..segments.len() - 1]);
    assert_eq!((segments[0].start, last.end), (0, fragments.len()));
    for pair in segments.windows(2) {
        assert_eq!(pair[0].end, pair[1].start);
        let lasts = open.lasts(&pair[0]);
        assert!((6..=8).contains(&lasts.as_secs()), "{lasts:?}");
        assert!(open.points()[pair[1].start].is_sync());
    }
    assert_eq!(open.range(&(0..fragments.len() + 1)), None);
    assert_eq!(open.range(&(3..3)), None);
}

#[test]
fn a_growing_file_is_read_once() {
    let file = recorded(16);
    let whole = timeline(&file);
    let mut growing = Timeline::new(0);
    for point in whole.points() {
        growing.grow(point.range().end);
        read(&mut growing, &file[..point.range().end as usize]);
    }
    assert_eq!(growing.points(), whole.points());
    // It is finalised meanwhile: what is appended is no fragment.
    let (plain, _) = finalised(&file);
    growing.grow(plain.len() as u64);
    read(&mut growing, &plain);
    assert_eq!(growing.points(), whole.points());
}

#[test]
fn a_time_is_found_at_the_keyframe_before_it() {
    let timeline = timeline(&recorded(16));
    for millis in [0, 500, 1_000, 3_999, 7_500, 60_000] {
        let asked = Duration::from_millis(millis);
        let point = timeline.points()[timeline.at(asked)];
        let last = timeline.points().last().expect("fragments").at();
        let late = asked.min(last).saturating_sub(point.at());
        // Video begins somewhat later than audio.
        let first = timeline.points()[0].at();
        assert!(point.is_sync() && point.at() <= asked.max(first));
        // The clip has a keyframe every second.
        assert!(late <= Duration::from_millis(1_050), "{asked:?} {late:?}");
    }
}

#[test]
fn fragments_are_unpacked_into_the_samples_they_are_made_of() {
    let items = of_flv(Clip::FlvBframes, 4);
    let file = recording(items.clone(), Span::from_millis(5_000));
    let timeline = timeline(&file);
    let unpacker = Unpacker::new(timeline.init().expect("tracks"));
    let units = timeline.points().iter().map(|point| {
        let Range { start, end } = point.range();
        Bytes::copy_from_slice(&file[start as usize..end as usize])
    });
    let got = units.flat_map(|unit| unpacker.samples(&unit).expect("samples"));
    let got: Vec<Sample> = got.collect();
    assert_eq!(unpacker.tracks().count(), 2);
    for track in unpacker.tracks() {
        let mut made_of = samples(&items);
        made_of.retain(|sample| sample.track == track.id);
        let got: Vec<_> = got.iter().filter(|it| it.track == track.id).collect();
        // Audio before the first video frame is in no file.
        let made_of = &made_of[made_of.len() - got.len()..];
        for (got, made_of) in got.iter().zip(made_of) {
            assert_eq!((&got.data, got.keyframe), (&made_of.data, made_of.keyframe));
            let late = |it: &Sample| (it.pts - it.dts).millis();
            assert!(track.kind == Kind::Audio || late(got) == late(made_of));
        }
        assert!(got.len() > 90 && got.is_sorted_by_key(|it| it.dts));
        assert!(got[0].dts.millis() < 100, "times begin with the file");
    }
    assert_eq!(unpacker.samples(&Bytes::from_static(b"none")), None);
}

#[test]
fn what_is_no_recording_has_no_fragments() {
    let file = recorded(16);
    let mut other = Timeline::new(3);
    read(&mut other, &file[..3]);
    assert!(other.points().is_empty() && other.init().is_none());
    assert!(other.segments(0, true).is_empty() && other.segments(9, true).is_empty());
    assert_eq!(other.at(Duration::ZERO), 0);
}
