//! The content of the tables, and their frequency.

use super::super::TRACKS_MAX;
use super::super::tables::TABLES_EVERY;
use super::*;

/// Returns a flag for each unit that is true if it has tables.
fn with_tables(recorder: &Recorder) -> Vec<bool> {
    let heads = recorder
        .units
        .iter()
        .map(|unit| &recorder.bytes[unit.begins..]);
    heads.map(|head| head[1..3] == [0x40, 0]).collect()
}

#[test]
fn tables_stand_at_every_join_and_often() {
    for tracks in [vec![h264(), aac()], vec![aac()], vec![h264()]] {
        let mut items: Vec<_> = tracks.into_iter().map(announce).collect();
        items.extend(both(Timestamp::ZERO, 10));
        let recorder = Recorder::of(&items);
        let mut last = None;
        for (unit, has_tables) in recorder.units.iter().zip(with_tables(&recorder)) {
            assert!(has_tables || !unit.is_join);
            if let Some(last) = last {
                assert!(has_tables || unit.at - last < TABLES_EVERY);
            }
            last = if has_tables { Some(unit.at) } else { last };
        }
    }
}

#[test]
fn versions_rise_with_the_tracks_and_at_an_epoch() {
    let mut items = vec![announce(aac())];
    items.extend((0..5).map(frame));
    items.extend([announce(h264()), picture(150, true), announce(h264())]);
    items.extend([picture(190, false), Item::Epoch, announce(aac()), frame(10)]);
    // A track that cannot be carried changes nothing.
    let av1 = Track {
        id: TrackId(5),
        ..track(Codec::Av1, b"")
    };
    items.extend([announce(av1), frame(11), frame(12)]);
    let maps = Recorder::demuxed(&items).maps.into_iter();
    let maps = maps.map(|map| (map.version, map.clock_pid, map.streams.len()));
    let expected = [(0, 0x300, 1), (1, 0x101, 2), (2, 0x300, 1)];
    assert_eq!(maps.collect::<Vec<_>>(), expected);
}

#[test]
fn another_codec_has_another_pid() {
    let mp3 = announce(framed(Codec::Mp3));
    let data = [&0xFFFB_9064_u32.to_be_bytes()[..], &fill(400)].concat();
    let mp3_frame = sample(TrackId::AUDIO, Timestamp::from_millis(500), true, data);
    let items = [announce(aac()), frame(0), mp3, mp3_frame];
    let packets = Recorder::demuxed(&items).packets.into_iter();
    assert!(packets.map(|pes| pes.pid).eq([0x300, 0x400]));
}

#[test]
fn sixteen_tracks_need_a_map_of_two_packets_and_more_are_left_out() {
    let opus = |id| Track {
        id: TrackId(id),
        ..track(Codec::Opus, b"")
    };
    let mut items: Vec<_> = (0..20).map(|id| announce(opus(id))).collect();
    let frames = (0..20).map(|id| sample(TrackId(id), Timestamp::ZERO, true, fill(90)));
    items.extend(frames);
    let demuxed = Recorder::demuxed(&items);
    assert_eq!(demuxed.maps[0].streams.len(), TRACKS_MAX);
    assert_eq!(demuxed.packets.len(), TRACKS_MAX);
}

#[test]
fn a_track_that_turns_into_something_else_goes() {
    let mut items = announced();
    items.extend([picture(0, true), announce(track(Codec::Av1, b""))]);
    items.extend([picture(40, true), frame(2), frame(3)]);
    let demuxed = Recorder::demuxed(&items);
    assert_eq!(demuxed.of(H264).len(), 1);
    let last = demuxed.maps.last().expect("two maps");
    assert_eq!((last.clock_pid, last.streams.len()), (0x300, 1));
}
