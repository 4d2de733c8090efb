//! Media that pauses, one track or both, and pictures that last long.

use super::reader::Row;
use super::*;

/// The longest part.
const ROOM: Span = Span::from_millis(500);

/// As the lane of segments has it.
fn parts_of(items: &[Item]) -> Log {
    let mut log = Log {
        room: Some(ROOM),
        ..Log::default()
    };
    let mut muxer = Muxer::of_parts(ROOM);
    items.iter().for_each(|item| muxer.push(item, &mut log));
    muxer.finish(&mut log);
    log
}

/// Ten seconds with a keyframe every second, without what `is_there` leaves out.
fn programme_with(is_there: impl Fn(&Sample) -> bool) -> Vec<Item> {
    let mut items = broadcast(20, (25, 1), 25);
    items.retain(|item| match item {
        Item::Sample(sample) => is_there(sample),
        _ => true,
    });
    items
}

fn is_picture(sample: &Sample) -> bool {
    sample.track == media::TrackId::VIDEO
}

/// Milliseconds of decoding.
fn millis(sample: &Sample) -> i64 {
    sample.dts.millis()
}

/// Demands that a track has no hole, and returns its rows.
fn seamless(file: &File, id: u32) -> Vec<&Row> {
    let rows: Vec<_> = file.rows(id).collect();
    for pair in rows.windows(2) {
        let end = pair[0].at + u64::from(pair[0].duration);
        assert_eq!(pair[1].at, end, "track {id}");
    }
    rows
}

/// Demands that each part begins where the one before it ends, and is no longer than it may be.
fn assert_parts(log: &Log) {
    let units: Vec<_> = log.fragments().map(|it| it.unit).collect();
    assert!(units.iter().all(|unit| unit.duration <= ROOM));
    for pair in units.windows(2) {
        let off = pair[1].at - (pair[0].at + pair[0].duration);
        assert!(off.millis().abs() <= 1, "{pair:?}");
        // As RFC 8216bis §4.4.4.9 has it.
        let is_long = pair[0].duration.millis() >= 425;
        assert!(
            is_long || pair.iter().any(|unit| unit.is_independent),
            "{pair:?}"
        );
    }
}

#[test]
fn pictures_that_are_away_are_the_newest_keyframe_until_one_comes() {
    for log in [
        parts_of(&programme_with(|it| {
            !is_picture(it) || !(8_200..13_200).contains(&millis(it))
        })),
        Log::of(&programme_with(|it| {
            !is_picture(it) || !(8_200..13_200).contains(&millis(it))
        })),
    ] {
        let file = log.file();
        let pictures = seamless(&file, 1);
        seamless(&file, 2);
        // 8,160 lasts for about two seconds; then there is the keyframe of eight seconds, until that of fourteen.
        let last = pictures.iter().position(|row| row.data == b"picture 8160");
        let last = last.expect("it is there");
        assert!((1_500..=2_100).contains(&(pictures[last].duration / 90)));
        let behind = &pictures[last + 1..];
        let stand_ins = behind.iter().take_while(|row| row.data == b"picture 8000");
        let stand_ins: Vec<_> = stand_ins.collect();
        assert!(stand_ins.len() >= 6 && stand_ins.iter().all(|row| row.is_sync));
        assert!(stand_ins.iter().all(|row| row.duration <= 47_000));
        assert_eq!(behind[stand_ins.len()].data, b"picture 14000");
        assert_eq!(behind[stand_ins.len()].at, 14_000 * 90);
        assert!(log.breaks.is_empty());
        // Listeners may join there.
        let joins = log.shape().into_iter().filter(|it| it.2);
        assert!(
            joins
                .filter(|(at, ..)| (10_000..14_000).contains(at))
                .count()
                >= 6
        );
    }
    let items = programme_with(|it| !is_picture(it) || !(8_200..13_200).contains(&millis(it)));
    assert_parts(&parts_of(&items));
}

#[test]
fn sound_that_is_away_lasts_until_it_goes_on() {
    let items = programme_with(|it| is_picture(it) || !(8_000..13_000).contains(&millis(it)));
    for log in [parts_of(&items), Log::of(&items)] {
        let file = log.file();
        assert_eq!(seamless(&file, 1).len(), 500);
        let sounds = seamless(&file, 2);
        let first = data_of(&items, |it| !is_picture(it) && millis(it) >= 13_000);
        let at = sounds
            .iter()
            .position(|row| row.data == first[0])
            .expect("it is there");
        assert!((4_900..5_100).contains(&(sounds[at].duration / 48)));
        assert_eq!(sounds.len(), data_of(&items, |it| !is_picture(it)).len());
    }
    assert_parts(&parts_of(&items));
}

#[test]
fn a_pause_of_all_media_is_a_new_beginning_with_a_keyframe() {
    let items = programme_with(|it| !(8_200..15_200).contains(&millis(it)));
    let log = parts_of(&items);
    let [anew] = log.breaks[..] else {
        panic!("{:?}", log.breaks);
    };
    assert_eq!(log.units[anew].unit.at, Timestamp::from_millis(16_000));
    assert!(log.units[anew].unit.is_independent);
    let before = log.units[anew - 1].unit;
    assert_eq!((before.at + before.duration).millis(), 8_200);
    for unit in log.fragments() {
        assert!(unit.unit.duration <= ROOM);
    }
    // A second is a pause of the picture, and of the sound.
    let items = programme_with(|it| !(8_200..9_200).contains(&millis(it)));
    let log = parts_of(&items);
    assert!(log.breaks.is_empty());
    assert_parts(&log);
    seamless(&log.file(), 1);
    seamless(&log.file(), 2);
}

#[test]
fn files_have_the_pauses_that_there_were() {
    let items = programme_with(|it| !(8_200..15_200).contains(&millis(it)));
    let mut log = Log::default();
    let mut muxer = Muxer::for_files(Fragmentation::default());
    items.iter().for_each(|item| muxer.push(item, &mut log));
    muxer.finish(&mut log);
    let file = log.file();
    let pictures = file.rows(1).map(|row| row.data.clone());
    assert!(pictures.eq(data_of(&items, is_picture)));
    assert!(file.rows(2).all(|row| row.duration == 1_024));
    assert!(log.breaks.is_empty());
}

#[test]
fn a_picture_that_lasts_longer_than_a_part_is_in_several() {
    for (rate, has_sound) in [
        ((1, 1), true),
        ((1, 1), false),
        ((6, 5), true),
        ((10, 19), true),
    ] {
        let mut items = broadcast(20, rate, 4);
        items.retain(|item| match item {
            Item::Sample(sample) => has_sound || is_picture(sample),
            Item::Track(track) => has_sound || track.kind == media::Kind::Video,
            _ => true,
        });
        let log = parts_of(&items);
        assert_parts(&log);
        let file = log.file();
        assert_eq!(
            seamless(&file, 1).len(),
            data_of(&items, is_picture).len(),
            "{rate:?}"
        );
        seamless(&file, 2);
        assert_eq!(
            file.rows(2).count(),
            data_of(&items, |it| !is_picture(it)).len()
        );
    }
}

#[test]
fn parts_wait_for_announced_tracks_and_begin_with_a_keyframe() {
    const BOTH: &[u8] = b"\x02\0\x0aonMetaData\x03\0\x0caudiocodecid\0\0\x0cvideocodecid\0";
    let [h264, aac] = [h264(), aac()];
    let samples = |from: i64, is_sound: bool| {
        let all = programme(0, 20, (25, 1), 25).into_iter();
        all.filter(move |item| {
            matches!(item, Item::Sample(it)
                if is_picture(it) == is_sound || it.dts >= Timestamp::from_millis(from))
        })
    };
    for (is_sound, late) in [(true, 10_000), (false, 10_000), (true, 0), (false, 0)] {
        let (first, second) = if is_sound {
            (&h264, &aac)
        } else {
            (&aac, &h264)
        };
        let mut items = vec![metadata(BOTH), first.clone()];
        let mut is_announced = false;
        for item in samples(late, is_sound) {
            if let Item::Sample(it) = &item
                && is_picture(it) != is_sound
                && !std::mem::replace(&mut is_announced, true)
            {
                items.push(second.clone());
            }
            items.push(item);
        }
        let log = parts_of(&items);
        let file = log.file();
        assert_eq!(file.moovs.len(), 1, "{is_sound} {late}");
        assert_eq!(file.moovs[0].tracks.len(), 2);
        assert!(file.fragments[0].rows(1)[0].is_sync);
        let begins = log.units[0].unit.at.millis();
        assert!(
            (late - 1_040..=late + 40).contains(&begins),
            "{begins} of {late}"
        );
        seamless(&file, 1);
    }
}

#[test]
fn sound_that_comes_unannounced_comes_in_at_a_keyframe() {
    let (early, late): (Vec<_>, Vec<_>) = programme(0, 6, (25, 1), 50)
        .into_iter()
        .filter(|item| matches!(item, Item::Sample(it) if is_picture(it) || millis(it) >= 2_500))
        .partition(|item| matches!(item, Item::Sample(it) if millis(it) < 2_500));
    let items = [vec![h264()], early, vec![aac()], late].concat();
    for log in [parts_of(&items), Log::of(&items)] {
        let file = log.file();
        assert_eq!(file.moovs.len(), 2);
        let first = file.fragments.iter().find(|it| it.moov == 2).expect("more");
        assert_eq!(first.rows(1)[0].data, b"picture 4000");
        assert!(file.rows(2).next().is_some_and(|row| row.at >= 3_990 * 48));
        assert_eq!(seamless(&file, 1).len(), 150);
    }
}
