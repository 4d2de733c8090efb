//! Join points of listeners, and the data that listeners are sent first.

use media::{Codec, Framing, Track, TrackId};

use super::*;

const WITH_PICTURES: &[u8] = b"\x02\0\x0aonMetaData\x03\0\x05width\0";

#[test]
fn listeners_join_at_keyframes_and_share_a_preamble() {
    let log = Log::of(&broadcast(4, (25, 1), 25));
    let joins: Vec<_> = log.shape().into_iter().filter(|it| it.2).collect();
    let times: Vec<_> = joins.iter().map(|join| join.0).collect();
    assert_eq!(times, [0, 1_000, 2_000, 3_000]);
    assert_eq!(log.preambles, 1);
    for nth in 0..4 {
        let file = File::parse(&log.joined(nth));
        let first = &file.rows(1).next().expect("a picture");
        assert!(first.is_sync);
        assert_eq!(first.at, 90_000 * nth as u64);
        assert_eq!(file.moovs.len(), 1);
    }
}

#[test]
fn audio_waits_two_seconds_for_a_picture_that_is_announced() {
    let announced = [metadata(WITH_PICTURES), aac()];
    let audio_frames = (0..200).map(|n| audio(n * 64 / 3));
    let items: Vec<_> = announced.into_iter().chain(audio_frames).collect();
    let log = Log::of(&items);
    assert!((2_000..2_022).contains(&log.shape()[0].0));
    let with_picture = [&items[..], &[h264(), picture(4_300, true)]].concat();
    let log = Log::of(&with_picture);
    // Another segment when the picture comes after all.
    assert_eq!(log.inits(), 1);
}

#[test]
fn the_first_of_each_kind_is_carried() {
    let other = |id, codec, config: &[u8]| {
        let mut track = track(codec, config);
        track.id = TrackId(id);
        Item::Track(track.into())
    };
    let mut items = vec![
        other(7, Codec::Speex, b""),
        other(9, Codec::Vp8, b""),
        other(3, Codec::Hevc, &hevc_record()),
        h264(),
        other(4, Codec::Opus, b""),
        aac(),
    ];
    for n in 0..10 {
        let at = Timestamp::from_millis(n * 40);
        items.push(picture(n * 40, true));
        items.push(sample(TrackId(3), at, n == 0, b"hevc"));
        items.push(audio(n * 40));
        items.push(sample(TrackId(4), at, true, b"\xF8opus"));
    }
    let file = Log::of(&items).file();
    let entries: Vec<_> = file.moovs[0].tracks.iter().map(|it| it.entry).collect();
    assert_eq!(entries, [*b"hvc1", *b"Opus"]);
    assert!(file.rows(1).all(|row| row.data == b"hevc"));
    assert!(file.rows(2).all(|row| row.data == b"\xF8opus"));
}

#[test]
fn tracks_that_come_with_the_first_fragment_are_in_its_segment() {
    // MP3 is announced by its first frame, which comes after the first video frame.
    let mp3 = Item::Track(track(Codec::Mp3, b"").into());
    let frame = mp3_frame();
    let mut items = vec![h264(), picture(0, true), mp3];
    for n in 1..30 {
        items.push(audio_of(&frame, n * 26 - 26));
        items.push(picture(n * 33, false));
    }
    let log = Log::of(&items);
    let file = log.file();
    assert_eq!((file.moovs.len(), file.moovs[0].tracks.len()), (1, 2));
    assert_eq!(log.inits(), 0);
}

#[test]
fn the_first_pictures_wait_for_audio_that_is_announced() {
    let mp3 = || Item::Track(track(Codec::Mp3, b"").into());
    let frame = mp3_frame();
    let announced = metadata(b"\x02\0\x0aonMetaData\x03\0\x0caudiocodecid\0");
    for (announcement, late, segments) in [
        (announced.clone(), 1_500, 1),
        (mp3(), 1_500, 1),
        (metadata(b"onMetaData"), 1_500, 2),
        (announced, 2_500, 2),
    ] {
        let mut items = vec![h264(), announcement];
        items.extend((0..late / 40).map(|n| picture(n * 40, n % 50 == 0)));
        items.push(mp3());
        items.push(audio_of(&frame, late));
        for n in late / 40..125 {
            items.push(picture(n * 40, n % 50 == 0));
            items.push(audio_of(&frame, n * 40));
        }
        let log = Log::of(&items);
        let file = log.file();
        assert_eq!(file.moovs.len(), segments, "{late} ms");
        // Media after another segment can be decoded.
        let mut others = file.fragments.iter().filter(|it| it.moov == 2);
        assert!(others.next().is_none_or(|first| first.rows(1)[0].is_sync));
        assert_eq!(file.rows(1).count(), 125);
        assert!(log.longest() <= Some(Span::from_millis(2_000)));
    }
}

#[test]
fn other_headers_make_another_segment_and_wait_for_a_keyframe() {
    let mut items = broadcast(1, (25, 1), 25);
    let other = track(Codec::H264, &avc_record(SPS_180P));
    items.push(Item::Track(other.into()));
    items.extend([picture(1_000, false), audio(1_003)]);
    items.extend((0..50).map(|n| picture(1_040 + n * 40, n % 25 == 0)));
    let log = Log::of(&items);
    let file = log.file();
    let sizes: Vec<_> = file.moovs.iter().map(|moov| moov.tracks[0].sizes).collect();
    assert_eq!(sizes, [[(1_280, 720); 2], [(320, 180); 2]]);
    let generations = log.units.iter().filter_map(|unit| unit.join.as_ref());
    let generations: Vec<_> = generations.map(|init| init.generation).collect();
    assert_eq!(generations, [0, 1, 1]);
    let first = file.fragments.iter().filter(|it| it.moov == 2);
    let first = first.flat_map(|it| it.rows(1)).next().expect("a picture");
    assert!(first.is_sync);
    // The first keyframe brings its parameter sets along, for players that pass over the segment.
    let (_, picture) = first.data.split_at(first.data.len() - 12);
    assert_eq!(picture, b"picture 1040");
    let sets = [&[0, 0, 0, 25], SPS_180P].concat();
    assert!(first.data.starts_with(&sets));
    let mut others = file.rows(1).skip(26);
    assert!(others.all(|row| row.data.starts_with(b"picture")));
    // The media before lasted until the change.
    let before = file.fragments.iter().filter(|it| it.moov == 1);
    assert_eq!(before.flat_map(|it| it.rows(1)).count(), 25);
    assert_eq!(log.preambles, 2);
}

#[test]
fn the_same_headers_again_change_nothing() {
    let mut items = broadcast(1, (25, 1), 25);
    items.extend([h264(), aac(), Item::Epoch, h264(), aac()]);
    items.extend(programme(1_000, 1, (25, 1), 25));
    let log = Log::of(&items);
    assert_eq!(log.file().moovs.len(), 1);
    assert_eq!(log.preambles, 1);
    let joins: Vec<_> = log.shape().into_iter().filter(|it| it.2).collect();
    assert_eq!(joins.len(), 2);
}

#[test]
fn another_epoch_begins_with_a_keyframe_and_its_own_tracks() {
    let mut items = broadcast(1, (25, 1), 25);
    items.push(Item::Epoch);
    items.push(Item::Track(track(Codec::Aac, AAC_44).into()));
    items.push(Item::Track(track(Codec::Hevc, &hevc_record()).into()));
    items.extend([picture(1_010, false), audio(1_010)]);
    items.extend(programme(1_050, 1, (30, 1), 15));
    let log = Log::of(&items);
    let file = log.file();
    assert_eq!(file.moovs.len(), 2);
    let entries: Vec<_> = file.moovs[1].tracks.iter().map(|it| it.entry).collect();
    assert_eq!(entries, [*b"hvc1", *b"mp4a"]);
    let next = file.fragments.iter().find(|it| it.moov == 2).expect("more");
    assert!(next.rows(1)[0].data.ends_with(b"picture 1050"));
    assert_eq!(next.rows(2)[0].data, b"sound 1050");
    // The epoch before lost nothing, and its video and audio last until the next one's.
    assert_eq!(file.rows(1).filter(|row| row.at < 90_000).count(), 25);
    let ends = [1, 2].map(|id| {
        let before = file.fragments.iter().filter(|it| it.moov == 1);
        let last = before.flat_map(|it| it.rows(id)).last();
        last.map(|row| row.at + u64::from(row.duration))
    });
    assert_eq!(ends, [Some(1_050 * 90), Some(1_050 * 48)]);
}

#[test]
fn an_epoch_that_comes_late_leaves_a_gap() {
    let mut items = broadcast(1, (25, 1), 25);
    items.extend([Item::Epoch, h264(), aac()]);
    items.extend(programme(2_000, 1, (25, 1), 25));
    let log = Log::of(&items);
    let file = log.file();
    let last = file.rows(1).nth(24).expect("a picture");
    assert_eq!((last.at, last.duration), (960 * 90, 40 * 90));
    assert_eq!(file.rows(1).nth(25).map(|row| row.at), Some(2_000 * 90));
}

#[test]
fn an_epoch_without_pictures_is_audio() {
    let mut items = broadcast(1, (25, 1), 25);
    items.extend([Item::Epoch, aac()]);
    items.extend((0..20).map(|n| audio(1_010 + n * 64 / 3)));
    let log = Log::of(&items);
    let file = log.file();
    assert_eq!(file.moovs[1].tracks.len(), 1);
    let mut after = log.units.iter();
    assert!(after.any(|unit| unit.unit.content == Content::Init));
    assert!(after.all(|unit| unit.join.is_some()));
}

#[test]
fn a_track_that_goes_leaves_its_place_to_the_next() {
    let second = Track {
        id: TrackId(5),
        ..track(Codec::H264, &avc_record(SPS_180P))
    };
    let gone = Track {
        id: TrackId(5),
        framing: Framing::SelfFramed,
        ..track(Codec::H264, b"")
    };
    let mut items = vec![Item::Track(second.into()), h264()];
    let at = Timestamp::from_millis;
    items.extend((0..10).map(|n| sample(TrackId(5), at(n * 40), n == 0, b"second")));
    items.push(Item::Track(gone.into()));
    items.extend((10..20).map(|n| picture(n * 40, n == 12)));
    let file = Log::of(&items).file();
    assert_eq!(file.moovs.len(), 2);
    let data: Vec<_> = file.rows(1).map(|row| row.data.clone()).collect();
    assert_eq!(data.len(), 10 + 8);
    assert!(data[10].ends_with(b"picture 480"));
}
