//! The content of the tables, and their frequency.

use super::super::TRACKS_MAX;
use super::super::tables::TABLES_EVERY;
use super::*;

/// Which units have tables.
fn with_tables(recorder: &Recorder) -> Vec<bool> {
    let units = recorder.units.iter();
    units
        .map(|unit| recorder.bytes[unit.begins + 1..unit.begins + 3] == [0x40, 0])
        .collect()
}

#[test]
fn tables_stand_at_every_join_and_often() {
    for tracks in [vec![h264(), aac()], vec![aac()], vec![h264()]] {
        let mut items: Vec<_> = tracks.into_iter().map(announce).collect();
        items.extend(both(Timestamp::ZERO, 10));
        let recorder = Recorder::of(&items);
        let mut last = None;
        for (unit, has_tables) in recorder.units.iter().zip(with_tables(&recorder)) {
            assert!(has_tables || unit.join.is_none());
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
    // What cannot be carried changes nothing.
    let av1 = track(TrackId(5), Codec::Av1, Framing::Bare, Bytes::new());
    items.extend([announce(av1), frame(11), frame(12)]);
    let demuxed = Recorder::of(&items).demux();
    let maps: Vec<_> = demuxed
        .maps
        .iter()
        .map(|map| (map.version, map.clock_pid, map.streams.len()))
        .collect();
    assert_eq!(maps, [(0, 0x300, 1), (1, 0x101, 2), (2, 0x300, 1)]);
}

#[test]
fn versions_wrap() {
    let mut items = Vec::new();
    for number in 0..70 {
        items.extend([Item::Epoch, announce(aac()), frame(number)]);
    }
    let demuxed = Recorder::of(&items).demux();
    assert_eq!(demuxed.maps.len(), 70);
    assert_eq!(demuxed.maps[69].version, 5);
}

#[test]
fn another_codec_has_another_pid() {
    let mp3 = track(
        TrackId::AUDIO,
        Codec::Mp3,
        Framing::SelfFramed,
        Bytes::new(),
    );
    let data = [&0xFFFB_9064_u32.to_be_bytes()[..], &fill(400)].concat();
    let mp3_frame = sample(TrackId::AUDIO, Timestamp::from_millis(500), true, data);
    let items = [announce(aac()), frame(0), announce(mp3), mp3_frame];
    let demuxed = Recorder::of(&items).demux();
    let pids: Vec<_> = demuxed.packets.iter().map(|pes| pes.pid).collect();
    assert_eq!(pids, [0x300, 0x400]);
}

#[test]
fn sixteen_tracks_need_a_map_of_two_packets_and_more_are_left_out() {
    let ids: Vec<_> = (0..20).map(TrackId).collect();
    let mut items: Vec<_> = ids
        .iter()
        .map(|id| announce(track(*id, Codec::Opus, Framing::Bare, Bytes::new())))
        .collect();
    for id in &ids {
        items.push(sample(*id, Timestamp::ZERO, true, fill(90)));
    }
    let demuxed = Recorder::of(&items).demux();
    assert_eq!(demuxed.maps[0].streams.len(), TRACKS_MAX);
    assert_eq!(demuxed.packets.len(), TRACKS_MAX);
}

#[test]
fn a_track_that_turns_into_something_else_goes() {
    let av1 = track(TrackId::VIDEO, Codec::Av1, Framing::Bare, Bytes::new());
    let items = [
        announce(h264()),
        announce(aac()),
        picture(0, true),
        announce(av1),
    ];
    let more = [picture(40, true), frame(2), frame(3)];
    let demuxed = Recorder::of(&[&items[..], &more].concat()).demux();
    assert_eq!(demuxed.of(H264).len(), 1);
    let last = demuxed.maps.last().expect("two maps");
    assert_eq!((last.clock_pid, last.streams.len()), (0x300, 1));
}
