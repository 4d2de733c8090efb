//! Written streams are read again, from the beginning and from any time.

use media::codec::opus;
use proptest::prelude::*;

use super::super::Demuxer;
use super::super::file::PacketSearch;
use super::*;
use crate::search::Place;
use crate::search::tests::searched;
use crate::testing::tracks;

fn samples(items: &[Item], id: TrackId) -> Vec<&Sample> {
    let mut samples = testing::samples(items);
    samples.retain(|sample| sample.track == id);
    samples
}

/// Beginning of times, which is not zero wherever a stream is joined.
const BEGAN: Timestamp = Timestamp::from_millis(3_600_000);

fn read(bytes: &[u8]) -> Vec<Item> {
    let mut demuxer = Demuxer::default();
    let mut items = Vec::new();
    demuxer.push(bytes, &mut items);
    demuxer.finish(&mut items);
    items
}

fn film(seconds: i64) -> (Vec<Item>, Recorder) {
    let items = [announced(), both(BEGAN, seconds)].concat();
    let recorder = Recorder::of(&items);
    (items, recorder)
}

fn find(file: &[u8], millis: i64) -> (Option<Place>, usize) {
    let to = Span::from_millis(millis);
    searched(&mut PacketSearch::new(to, file.len() as u64), file)
}

#[test]
fn samples_come_out_as_they_went_in() {
    let (items, recorder) = film(8);
    let got = read(&recorder.bytes);
    let found = tracks(&got);
    assert_eq!(found.len(), 2);
    for track in found {
        let is_picture = track.kind == Kind::Video;
        let sent = if is_picture { h264() } else { aac() };
        assert_eq!((track.codec, &track.config), (sent.codec, &sent.config));
        assert_eq!(track.framing, Framing::Bare);
    }
    for id in [TrackId::VIDEO, TrackId::AUDIO] {
        let (got, sent) = (samples(&got, id), samples(&items, id));
        // Audio that precedes the first video frame was never written.
        let sent = &sent[sent.len() - got.len()..];
        assert!(!got.is_empty() && sent.len() + 2 > got.len());
        for (got, sent) in got.iter().zip(sent) {
            assert_eq!((&got.data, got.keyframe), (&sent.data, sent.keyframe));
            let apart = (got.dts - Timestamp::ZERO).millis() - (sent.dts - BEGAN).millis();
            assert!(apart.abs() <= 1, "{id:?} {apart}");
        }
    }
    // Cut anywhere, it is the same.
    let mut demuxer = Demuxer::default();
    let mut pieces = Vec::new();
    for piece in recorder.bytes.chunks(101) {
        demuxer.push(piece, &mut pieces);
    }
    demuxer.finish(&mut pieces);
    assert_eq!(format!("{pieces:?}"), format!("{got:?}"));
    assert!(demuxer.is_complete() && !demuxer.leaves_out());
}

#[test]
fn audio_of_every_kind_is_distinguished() {
    let mp3 = [&[0xFF, 0xFB, 0x90, 0x64][..], &[0; 413]].concat();
    let packet = [&[0xFC][..], &[7; 300]].concat();
    let opus = track(Codec::Opus, &opus::head(2));
    for (track, data) in [(framed(Codec::Mp3), mp3), (opus, packet)] {
        let mut items = vec![announce(track.clone())];
        for number in 0..50 {
            let at = BEGAN + Span::from_millis(20 * number);
            items.push(sample(TrackId::AUDIO, at, true, data.clone()));
        }
        let got = read(&Recorder::of(&items).bytes);
        let found = tracks(&got);
        assert_eq!(found[0].codec, track.codec);
        assert_eq!(found[0].framing, track.framing);
        assert_eq!(found[0].config, track.config);
        let got = samples(&got, TrackId::AUDIO);
        assert_eq!(got.len(), 50, "{}", track.codec);
        assert!(got.iter().all(|it| it.data == data && it.keyframe));
    }
}

#[test]
fn what_cannot_be_taken_out_is_reported() {
    let ac3 = [&[0x0B, 0x77, 0, 0, 0x14, 0x40][..], &[0; 762]].concat();
    let dolby = track(Codec::Ac3, b"");
    let items = [announce(dolby), sample(TrackId::AUDIO, BEGAN, true, ac3)];
    let mut demuxer = Demuxer::default();
    let mut got = Vec::new();
    demuxer.push(&Recorder::of(&items).bytes, &mut got);
    assert!(demuxer.leaves_out() && !demuxer.is_complete() && got.is_empty());
}

#[test]
fn stamps_begin_again_after_a_day() {
    let before = Timestamp::from_millis(((1_i64 << 33) / 90) - 1_200);
    let mut items = vec![announce(h264())];
    let times = (0..60).map(|n| before + Span::from_millis(40 * n));
    items.extend(times.enumerate().map(|(n, at)| picture_at(at, n % 10 == 0)));
    let bytes = Recorder::of(&items).bytes;
    let got = read(&bytes);
    for pair in samples(&got, TrackId::VIDEO).windows(2) {
        let apart = (pair[1].dts - pair[0].dts).millis();
        assert!((39..=41).contains(&apart), "{apart}");
    }
    let place = find(&bytes, 2_000).0.expect("a place");
    assert!((1_999..=2_001).contains(&place.began.millis()), "{place:?}");
}

#[test]
fn the_keyframe_before_a_time_is_found_with_its_tables() {
    let (_, recorder) = film(60);
    let joins = recorder.joins();
    // A keyframe each 400 ms.
    for (millis, number) in [
        (0, 0),
        (399, 0),
        (400, 1),
        (30_100, 75),
        (59_990, 149),
        (600_000, 149),
    ] {
        let (place, looks) = find(&recorder.bytes, millis);
        let place = place.expect("a place");
        assert_eq!(place.at, joins[number].begins as u64, "{millis}");
        let off = place.began.millis() - 400 * number as i64;
        assert!(off.abs() <= 1, "{place:?}");
        assert!(looks < 40, "{looks}");
        let items = read(&recorder.bytes[place.at as usize..]);
        let first = samples(&items, TrackId::VIDEO)[0];
        assert!(first.keyframe && tracks(&items).len() == 2);
    }
}

#[test]
fn audio_alone_begins_where_tables_are() {
    let recorder = Recorder::of(&radio(3_000));
    let place = find(&recorder.bytes, 30_000).0.expect("a place");
    let began = place.began.millis();
    assert!((29_400..=30_000).contains(&began), "{began}");
    let mut joins = recorder.joins().into_iter();
    assert!(joins.any(|it| it.begins as u64 == place.at));
}

#[test]
fn garbage_is_passed_over() {
    let (_, recorder) = film(20);
    let joins = recorder.joins();
    let at = joins[25].begins;
    let mut file = recorder.bytes.clone();
    file.splice(at - 188..at, [0x47_u8; 999]);
    let place = find(&file, 10_100).0.expect("a place");
    assert_eq!(place.at as usize, at - 188 + 999);
    assert_eq!(find(&[], 5).0, None);
    assert_eq!(find(&[0x47; 300_000], 5).0, None);
    assert_eq!(find(&[0; 300_000], 5).0, None);
    let place = find(&recorder.bytes[..at + 50], 15_000).0;
    assert_eq!(place.expect("a place").at, joins[24].begins as u64);
}

proptest! {
    #[test]
    fn any_bytes_are_read(
        bytes in prop::collection::vec(any::<u8>(), 0..600),
        at in 0..60_000_usize,
        millis in 0..9_000_i64,
    ) {
        let (_, recorder) = film(2);
        let mut file = recorder.bytes;
        let at = at.min(file.len());
        let end = (at + bytes.len()).min(file.len());
        file.splice(at..end, bytes);
        let items = read(&file);
        let samples = testing::samples(&items).into_iter();
        let read: usize = samples.map(|sample| sample.data.len()).sum();
        prop_assert!(read <= file.len());
        if let Some(place) = find(&file, millis).0 {
            prop_assert!(place.at < file.len() as u64);
        }
    }
}
