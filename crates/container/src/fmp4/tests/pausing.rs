//! Media that pauses, one track or both, and video frames that last long.

use super::*;

/// The longest part.
const ROOM: Span = Span::from_millis(500);

/// As the lane of segments has it.
fn parts_of(items: &[Item]) -> Log {
    let mut log = Log {
        room: Some(ROOM),
        ..Log::default()
    };
    log.fill_by(Muxer::of_parts(ROOM), items);
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

/// Demands that each part begins where the one before it ends, and is no longer than it may be.
fn assert_parts(log: &Log) {
    let units: Vec<_> = log.fragments().map(|it| it.unit).collect();
    assert!(units.iter().all(|unit| unit.duration <= ROOM));
    for pair in units.windows(2) {
        let off = pair[1].at - (pair[0].at + pair[0].duration);
        assert!(off.millis().abs() <= 1, "{pair:?}");
        // As RFC 8216bis §4.4.4.9 has it.
        let is_long = pair[0].duration.millis() >= 425;
        let is_independent = pair.iter().any(|unit| unit.is_independent);
        assert!(is_long || is_independent, "{pair:?}");
    }
}

#[test]
fn pictures_that_are_away_are_the_newest_keyframe_until_one_comes() {
    let items = programme_with(|it| !is_picture(it) || !(8_200..13_200).contains(&millis(it)));
    for log in [parts_of(&items), Log::of(&items)] {
        let file = log.file();
        let pictures = seamless(file.rows(1));
        seamless(file.rows(2));
        // 8,160 lasts for about two seconds; then there is the keyframe of eight seconds, until that of fourteen.
        let last = pictures.iter().position(|row| row.data == b"picture 8160");
        let last = last.expect("it is there");
        assert!((1_500..=2_100).contains(&(pictures[last].duration / 90)));
        let behind = &pictures[last + 1..];
        let next = behind.iter().position(|row| row.data != b"picture 8000");
        let (stand_ins, next) = behind.split_at(next.expect("more"));
        assert!(stand_ins.len() >= 6 && stand_ins.iter().all(|row| row.is_sync));
        assert!(stand_ins.iter().all(|row| row.duration <= 47_000));
        assert_eq!(next[0].data, b"picture 14000");
        assert_eq!(next[0].at, 14_000 * 90);
        assert!(log.breaks.is_empty());
        // Listeners may join there.
        let mut joins = log.shape();
        joins.retain(|(at, _, join)| *join && (10_000..14_000).contains(at));
        assert!(joins.len() >= 6);
    }
    assert_parts(&parts_of(&items));
}

#[test]
fn audio_that_is_away_lasts_until_it_continues() {
    let items = programme_with(|it| is_picture(it) || !(8_000..13_000).contains(&millis(it)));
    for log in [parts_of(&items), Log::of(&items)] {
        let file = log.file();
        assert_eq!(seamless(file.rows(1)).len(), 500);
        let audio_frames = seamless(file.rows(2));
        let first = data_of(&items, |it| !is_picture(it) && millis(it) >= 13_000);
        let mut found = audio_frames.iter().filter(|row| row.data == first[0]);
        let found = found.next().expect("it is there");
        assert!((4_900..5_100).contains(&(found.duration / 48)));
        let sent = data_of(&items, |it| !is_picture(it));
        assert_eq!(audio_frames.len(), sent.len());
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
    // A second is a pause of the video, and of the audio.
    let items = programme_with(|it| !(8_200..9_200).contains(&millis(it)));
    let log = parts_of(&items);
    assert!(log.breaks.is_empty());
    assert_parts(&log);
    seamless(log.file().rows(1));
    seamless(log.file().rows(2));
}

#[test]
fn files_have_the_pauses_that_there_were() {
    let items = programme_with(|it| !(8_200..15_200).contains(&millis(it)));
    let mut log = Log::default();
    log.fill_by(Muxer::for_files(FRAGMENT_SPAN), &items);
    let file = log.file();
    let pictures = file.rows(1).map(|row| row.data.clone());
    assert!(pictures.eq(data_of(&items, is_picture)));
    assert!(file.rows(2).all(|row| row.duration == 1_024));
    assert!(log.breaks.is_empty());
}

#[test]
fn a_picture_that_lasts_longer_than_a_part_is_in_several() {
    let rates = [(1, 1), (1, 1), (6, 5), (10, 19)];
    for (rate, has_audio) in rates.into_iter().zip([true, false, true, true]) {
        let mut items = broadcast(20, rate, 4);
        items.retain(|item| match item {
            Item::Sample(sample) => has_audio || is_picture(sample),
            Item::Track(track) => has_audio || track.kind == media::Kind::Video,
            _ => true,
        });
        let log = parts_of(&items);
        assert_parts(&log);
        let file = log.file();
        let sent = [
            data_of(&items, is_picture),
            data_of(&items, |it| !is_picture(it)),
        ];
        let got = [1, 2].map(|track| seamless(file.rows(track)).len());
        assert_eq!(got, sent.map(|sent| sent.len()), "{rate:?}");
    }
}

#[test]
fn parts_wait_for_announced_tracks_and_begin_with_a_keyframe() {
    const BOTH: &[u8] = b"\x02\0\x0aonMetaData\x03\0\x0caudiocodecid\0\0\x0cvideocodecid\0";
    let [h264, aac] = [h264(), aac()];
    let samples = |from: i64, is_audio: bool| {
        let all = programme(0, 20, (25, 1), 25).into_iter();
        all.filter(move |item| {
            matches!(item, Item::Sample(it)
                if is_picture(it) == is_audio || it.dts >= Timestamp::from_millis(from))
        })
    };
    for (is_audio, late) in [(true, 10_000), (false, 10_000), (true, 0), (false, 0)] {
        let [first, second] = if is_audio {
            [&h264, &aac]
        } else {
            [&aac, &h264]
        };
        let mut items = vec![metadata(BOTH), first.clone()];
        let mut is_announced = false;
        for item in samples(late, is_audio) {
            if let Item::Sample(it) = &item
                && is_picture(it) != is_audio
                && !std::mem::replace(&mut is_announced, true)
            {
                items.push(second.clone());
            }
            items.push(item);
        }
        let log = parts_of(&items);
        let file = log.file();
        assert_eq!(file.moovs.len(), 1, "{is_audio} {late}");
        assert_eq!(file.moovs[0].tracks.len(), 2);
        assert!(file.fragments[0].rows(1)[0].is_sync);
        let begins = log.units[0].unit.at.millis();
        let range = late - 1_040..=late + 40;
        assert!(range.contains(&begins), "{begins} of {late}");
        seamless(file.rows(1));
    }
}

#[test]
fn audio_that_comes_unannounced_comes_in_at_a_keyframe() {
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
        assert_eq!(seamless(file.rows(1)).len(), 150);
    }
}
