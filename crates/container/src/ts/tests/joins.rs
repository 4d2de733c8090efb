//! Listeners can decode from every join point.

use media::Script;

use super::*;

/// Returns the stream that a listener receives from each join point on.
fn from_every_join(recorder: &Recorder) -> Vec<Demuxed> {
    let joins = recorder.joins().into_iter();
    let bytes = &recorder.bytes;
    joins.map(|join| demux(&bytes[join.begins..])).collect()
}

#[test]
fn every_join_begins_with_a_picture_that_can_be_decoded() {
    let mut items = film(6);
    items.extend([Item::Epoch, announce(aac()), announce(h264())]);
    items.extend(both(Timestamp::from_millis(6_000), 6));
    let recorder = Recorder::of(&items);
    let heard = from_every_join(&recorder);
    assert_eq!(heard.len(), 30, "each tenth of 25 pictures a second");
    for demuxed in heard {
        let first = &demuxed.packets[0];
        assert_eq!(first.stream_type, H264);
        assert!(first.random_access);
        let units = codecs::units(first);
        assert_eq!(units[1..3], [SPS, PPS]);
        assert_eq!(units[3][0], 0x65);
        let lead = first.dts * 300 - first.clock;
        assert_eq!(lead, 27_000 * 200, "the clock comes with it");
    }
}

#[test]
fn audio_alone_is_joined_where_the_tables_are() {
    let heard = from_every_join(&Recorder::of(&radio(470)));
    assert!((23..=25).contains(&heard.len()), "{}", heard.len());
    assert!(heard.iter().all(|demuxed| demuxed.packets[0].random_access));
}

#[test]
fn audio_waits_for_an_announced_picture_but_not_for_ever() {
    // About 21 ms each.
    let audio = |count| (0..count).map(frame);
    let first = |items: Vec<Item>| Recorder::of(&items).units[0].at.millis();
    let metadata = Item::Metadata(Script {
        at: Timestamp::ZERO,
        body: b"\x02\x00\x0AonMetaData videocodecid"[..].into(),
    });
    let by_metadata = [metadata, announce(aac())].into_iter().chain(audio(300));
    assert_eq!(first(by_metadata.collect()), 2_005);
    let by_track = announced().into_iter().chain(audio(600));
    assert_eq!(first(by_track.collect()), 10_005, "the camera stays off");
    let mut items = announced();
    items.extend((0..50).map(frame));
    items.extend([picture(1_000, false), picture(1_040, true)]);
    items.extend((51..60).map(frame));
    let demuxed = Recorder::demuxed(&items);
    assert_eq!(demuxed.packets[0].stream_type, H264);
    assert!(demuxed.packets[0].random_access);
}

#[test]
fn a_camera_that_is_off_does_not_hold_joiners_up() {
    let mut items = announced();
    items.push(picture(0, true));
    items.extend((0..700).map(frame));
    items.push(picture(14_950, false));
    items.extend((701..720).map(frame));
    let recorder = Recorder::of(&items);
    let joins = recorder.joins().into_iter();
    let joins: Vec<_> = joins.map(|unit| unit.at.millis()).collect();
    assert_eq!(joins[0], 0);
    assert!((10_000..10_500).contains(&joins[1]), "{joins:?}");
    assert!(joins[1..].windows(2).all(|pair| pair[1] - pair[0] < 500));
    // It is on again.
    assert!(joins.last().is_some_and(|last| *last < 14_950));
    for demuxed in from_every_join(&recorder) {
        assert!(!demuxed.references.is_empty());
    }
}

#[test]
fn pictures_wait_for_a_keyframe_after_every_change() {
    let mut items = announced();
    let pictures = |times: [(i64, bool); 3]| times.map(|(at, key)| picture(at, key));
    items.extend(pictures([(0, false), (40, true), (80, false)]));
    items.extend([Item::Epoch, announce(h264())]);
    items.extend([picture(120, false), picture(160, true)]);
    let smaller = [SPS, &[0x80]].concat();
    let other = AvcConfig::write(&[&smaller], &[PPS]).expect("sets");
    items.push(announce(track(Codec::H264, &other)));
    items.extend(pictures([(200, false), (240, true), (280, false)]));
    let demuxed = Recorder::demuxed(&items);
    let shown = demuxed.of(H264).into_iter().map(|pes| pes.dts / 90 - 200);
    assert_eq!(shown.collect::<Vec<_>>(), [40, 80, 160, 240, 280]);
}

#[test]
fn a_second_picture_track_is_carried_and_not_joined() {
    let second = Track {
        id: TrackId(3),
        ..h264()
    };
    let mut items = vec![announce(h264()), announce(second)];
    for millis in (0..400).step_by(40) {
        let data = prefixed(&[&slice(true, 300)]);
        let at = Timestamp::from_millis(millis + 20);
        items.push(picture(millis, millis == 200));
        items.push(sample(TrackId(3), at, true, data));
    }
    let recorder = Recorder::of(&items);
    assert_eq!(recorder.joins().len(), 1);
    let demuxed = recorder.demux();
    let counts = [0x101, 0x103].map(|pid| demuxed.packets.iter().filter(|p| p.pid == pid).count());
    assert_eq!(counts, [5, 5]);
}

#[test]
fn parameter_sets_alone_are_no_place_to_start() {
    let at = Timestamp::ZERO;
    let sets = sample(TrackId::VIDEO, at, true, prefixed(&[SPS, PPS]));
    let items = [announce(h264()), sets, picture(40, true)];
    let recorder = Recorder::of(&items);
    assert_eq!(recorder.units.len(), 1);
    assert_eq!(recorder.units[0].at.millis(), 40);
}
