//! Where listeners start, they can decode.

use media::Script;

use super::*;

/// What a listener gets from each join point on.
fn from_every_join(recorder: &Recorder) -> Vec<Demuxed> {
    let joins = recorder.joins().into_iter();
    joins
        .map(|join| demux(&recorder.bytes[join.begins..]))
        .collect()
}

#[test]
fn every_join_begins_with_a_picture_that_can_be_decoded() {
    let mut items = vec![announce(h264()), announce(aac())];
    items.extend(both(Timestamp::ZERO, 6));
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
    let generations: Vec<_> = recorder.joins().iter().map(|unit| unit.join).collect();
    assert!(generations[..15].iter().all(|join| *join == generations[0]));
    assert!(
        generations[15..]
            .iter()
            .all(|join| *join == generations[15])
    );
    assert_ne!(generations[0], generations[15]);
}

#[test]
fn sound_alone_is_joined_where_the_tables_are() {
    let items: Vec<_> = std::iter::once(announce(aac()))
        .chain((0..470).map(frame))
        .collect();
    let recorder = Recorder::of(&items);
    let heard = from_every_join(&recorder);
    assert!((23..=25).contains(&heard.len()), "{}", heard.len());
    assert!(heard.iter().all(|demuxed| demuxed.packets[0].random_access));
}

#[test]
fn sound_waits_for_an_announced_picture_but_not_for_ever() {
    // About 21 ms each.
    let sound = |count| (0..count).map(frame);
    let first = |items: Vec<Item>| Recorder::of(&items).units[0].at.millis();
    let metadata = Item::Metadata(Script {
        at: Timestamp::ZERO,
        body: b"\x02\x00\x0AonMetaData videocodecid"[..].into(),
    });
    let by_metadata = [metadata, announce(aac())].into_iter().chain(sound(300));
    assert_eq!(first(by_metadata.collect()), 2_005);
    let announced = [announce(h264()), announce(aac())];
    let by_track = announced.iter().cloned().chain(sound(600));
    assert_eq!(first(by_track.collect()), 10_005, "the camera stays off");
    let mut items: Vec<_> = announced.to_vec();
    items.extend((0..50).map(frame));
    items.extend([picture(1_000, false), picture(1_040, true)]);
    items.extend((51..60).map(frame));
    let demuxed = Recorder::of(&items).demux();
    assert_eq!(demuxed.packets[0].stream_type, H264);
    assert!(demuxed.packets[0].random_access);
}

#[test]
fn a_camera_that_is_off_does_not_hold_joiners_up() {
    let mut items = vec![announce(h264()), announce(aac()), picture(0, true)];
    items.extend((0..700).map(frame));
    items.push(picture(14_950, false));
    items.extend((701..720).map(frame));
    let recorder = Recorder::of(&items);
    let joins: Vec<_> = recorder
        .joins()
        .iter()
        .map(|unit| unit.at.millis())
        .collect();
    assert_eq!(joins[0], 0);
    assert!((10_000..10_500).contains(&joins[1]), "{joins:?}");
    assert!(joins[1..].windows(2).all(|pair| pair[1] - pair[0] < 500));
    assert!(
        joins.last().is_some_and(|last| *last < 14_950),
        "it is on again"
    );
    for demuxed in from_every_join(&recorder) {
        assert!(!demuxed.references.is_empty());
    }
}

#[test]
fn pictures_wait_for_a_keyframe_after_every_change() {
    let mut items = vec![announce(h264()), announce(aac()), picture(0, false)];
    items.extend([picture(40, true), picture(80, false)]);
    items.extend([
        Item::Epoch,
        announce(h264()),
        picture(120, false),
        picture(160, true),
    ]);
    let mut other = h264();
    let smaller = [SPS, &[0x80]].concat();
    other.config = AvcConfig::write(&[&smaller], &[PPS]).expect("sets").into();
    items.extend([
        announce(other),
        picture(200, false),
        picture(240, true),
        picture(280, false),
    ]);
    let demuxed = Recorder::of(&items).demux();
    let shown: Vec<_> = demuxed
        .of(H264)
        .iter()
        .map(|pes| pes.dts / 90 - 200)
        .collect();
    assert_eq!(shown, [40, 80, 160, 240, 280]);
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
