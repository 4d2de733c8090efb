//! Time: of audio, which is counted, and of video, which keeps its timestamps.

use media::{Codec, TICKS_PER_SECOND, TrackId};

use super::*;

const RATES: [(i64, i64); 7] = [
    (24_000, 1_001),
    (24, 1),
    (25, 1),
    (30_000, 1_001),
    (30, 1),
    (50, 1),
    (60, 1),
];

#[test]
fn pictures_are_seamless_at_every_rate_and_where_they_are_said_to_be() {
    for rate in RATES {
        let log = Log::of(&broadcast(20, rate, 2 * rate.0 / rate.1));
        let file = log.file();
        assert!(seamless(file.rows(1)).len() > 400);
        seamless(file.rows(2));
        for (n, row) in file.rows(1).enumerate() {
            assert_eq!(row.at, 90 * millis_of(n as i64, rate) as u64);
            assert_eq!(row.composition, 0);
        }
        let longest = log.longest().expect("fragments").millis();
        assert!(longest <= 126, "{rate:?} {longest:?}");
    }
}

#[test]
fn an_hour_of_audio_has_no_gap_and_no_overlap() {
    for (config, rate) in [(AAC_44, 44_100), (AAC_48, 48_000)] {
        let mut items = vec![Item::Track(track(Codec::Aac, config).into())];
        let frames = 3_600 * rate / 1_024;
        // As an encoder does that takes the time when it is given a frame.
        let jitter = |n: i64| [0, 9, -7, 3, -12, 15, 0, -1][(n % 8) as usize];
        let millis = |n: i64| 5_000 + millis_of(n * 1_024, (rate, 1)) + jitter(n);
        items.extend((0..frames).map(|n| audio(millis(n))));
        let file = Log::of(&items).file();
        assert_eq!(seamless(file.rows(2)).len(), frames as usize);
        let last = file.rows(2).last().expect("sound");
        let off = last.at as i64 - (5 * rate + (frames - 1) * 1_024);
        assert!(off.abs() <= rate / 25, "{off}");
    }
}

#[test]
fn audio_that_drifts_is_followed() {
    // The publisher's clock runs a thousandth fast, then a thousandth slow.
    for (drift, count) in [(1_001, 9_000), (999, 9_000)] {
        let millis = |n: i64| millis_of(n * 1_024 * drift, (48_000 * 1_000, 1));
        let mut items = vec![aac()];
        items.extend((0..count).map(|n| audio(millis(n))));
        let file = Log::of(&items).file();
        let mut end = 0;
        let mut gaps = 0;
        for row in file.rows(2) {
            assert!(row.at >= end, "nothing goes backwards");
            gaps += usize::from(row.at > end);
            end = row.at + u64::from(row.duration);
            let name = String::from_utf8_lossy(&row.data);
            let wanted: i64 = name["sound ".len()..].parse().expect("a time");
            let off = row.at as i64 - wanted * 48;
            // The average is a second old.
            assert!(off.abs() <= 42 * 48, "{off}");
        }
        let got = file.rows(2).count();
        // 192 seconds drift by 192 ms, in steps of 40 ms, by which a frame is longer, or of a frame that is left out.
        let longer = file.rows(2).filter(|row| row.duration > 1_024).count();
        match drift {
            1_001 => assert_eq!((got, longer, gaps), (9_000, 4, 0)),
            _ => assert!((8_988..=8_996).contains(&got) && gaps == 0, "{got} {gaps}"),
        }
    }
}

#[test]
fn audio_whose_times_jitter_is_whole_and_without_a_hole() {
    for jitter in [20, 40, 60, 90] {
        let mut items = vec![aac()];
        // Another offset each time, to either side.
        let off = |n: i64| ((n * 7_919 + jitter) % (2 * jitter + 1)) - jitter;
        items.extend((0..1_000).map(|n| audio(500 + millis_of(n * 1_024, (48_000, 1)) + off(n))));
        let file = Log::of(&items).file();
        assert_eq!(seamless(file.rows(2)).len(), 1_000, "{jitter} ms");
        assert!(file.rows(2).all(|row| row.duration == 1_024), "{jitter} ms");
    }
}

#[test]
fn a_clock_that_is_fast_leaves_no_hole() {
    let mut items = vec![aac()];
    items.extend((0..1_000).map(|n| audio(millis_of(n * 1_024 * 101, (48_000 * 100, 1)))));
    let file = Log::of(&items).file();
    assert_eq!(seamless(file.rows(2)).len(), 1_000);
    let last = file.rows(2).last().expect("sound");
    let off = last.at as i64 - 999 * 1_024 * 101 / 100;
    assert!(off.abs() <= 55 * 48, "{off}");
}

#[test]
fn a_hole_in_the_audio_stays_one() {
    let mut items = vec![aac()];
    items.extend((0..20).map(|n| audio(n * 64 / 3)));
    items.extend((0..20).map(|n| audio(3_000 + n * 64 / 3)));
    let log = Log::of(&items);
    let file = log.file();
    let jumps: Vec<_> = file.fragments.iter().map(|it| it.rows(2)[0].at).collect();
    assert!(jumps.contains(&144_000), "{jumps:?}");
    for fragment in &file.fragments {
        seamless(fragment.rows(2));
    }
    assert_eq!(file.rows(2).count(), 40);
}

#[test]
fn pictures_that_stand_still_or_step_back_follow_those_before_them() {
    let stamps = [0, 40, 40, 40, 30, 120, 160, 100, 200];
    let mut items = vec![h264(), picture(0, true)];
    items.extend(stamps[1..].iter().map(|at| picture(*at, false)));
    let file = Log::of(&items).file();
    let rows = seamless(file.rows(1));
    assert_eq!(rows.len(), stamps.len());
    assert!(rows.windows(2).all(|pair| pair[0].at < pair[1].at));
    for (row, at) in rows.iter().zip(stamps) {
        let presented = row.at as i64 + row.composition;
        assert_eq!(presented, at * 90, "presented as asked");
    }
}

#[test]
fn time_may_begin_anywhere_and_lasts() {
    // A year, and past the wrap of 32-bit milliseconds and of 32 bits of every clock.
    for from in [1_000, 4_294_967_000, 365 * 86_400_000] {
        let mut items = vec![h264(), aac()];
        items.extend(programme(from, 3, (25, 1), 25));
        let log = Log::of(&items);
        let file = log.file();
        seamless(file.rows(1));
        seamless(file.rows(2));
        let first = file.rows(1).next().expect("a picture");
        assert_eq!(first.at, 90 * from as u64);
        let audio = file.rows(2).next().expect("sound");
        assert_eq!(audio.at, 48 * from as u64);
        assert_eq!(log.units[0].unit.at, Timestamp::from_millis(from));
    }
}

#[test]
fn epochs_follow_one_another_without_stepping_back() {
    let mut items = Vec::new();
    for (epoch, rate) in RATES.into_iter().enumerate() {
        let config = if epoch % 2 == 0 { AAC_48 } else { AAC_44 };
        items.extend([Item::Epoch, h264()]);
        items.push(Item::Track(track(Codec::Aac, config).into()));
        // Each begins a little before the last one's end, as estimates and rounding make it.
        items.extend(programme(epoch as i64 * 1_990, 2, rate, 10));
    }
    let log = Log::of(&items);
    broken::check(&log);
    let file = log.file();
    let last = |track| file.rows(track).last().map(|row| row.at);
    assert!(last(1) > Some(13_000 * 90) && last(2) > Some(13_000 * 48));
}

#[test]
fn opus_counts_at_48_khz_whatever_its_packets_last() {
    let mut items = vec![Item::Track(track(Codec::Opus, b"").into())];
    // 20, 60, 10 and 2.5 ms.
    let packets: [&[u8]; 4] = [b"\xFC1", b"\x182", b"\xF03", b"\xE04"];
    let lengths = [960, 2_880, 480, 120];
    let mut at = 0;
    for n in 0..400 {
        items.push(audio_of(packets[n % 4], at / 48));
        at += lengths[n % 4];
    }
    let file = Log::of(&items).file();
    assert_eq!(seamless(file.rows(2)).len(), 400);
    for (n, row) in file.rows(2).enumerate() {
        assert_eq!(i64::from(row.duration), lengths[n % 4]);
    }
}

#[test]
fn times_before_the_beginning_are_the_beginning() {
    let mut items = vec![h264(), aac()];
    items.extend(programme(-500, 2, (25, 1), 25));
    let file = Log::of(&items).file();
    assert_eq!(file.rows(1).next().map(|row| row.at), Some(0));
    seamless(file.rows(1));
    // At the ends of time.
    for ticks in [i64::MIN, i64::MAX, i64::MAX - TICKS_PER_SECOND] {
        let at = Timestamp::from_ticks(ticks);
        let mut items = vec![h264(), aac()];
        items.push(sample(TrackId::VIDEO, at, true, b"1"));
        items.push(sample(TrackId::AUDIO, at, true, b"2"));
        items.push(sample(TrackId::VIDEO, Timestamp::ZERO, false, b"3"));
        items.push(sample(TrackId::VIDEO, at, false, b"4"));
        assert_eq!(Log::of(&items).file().rows(1).count(), 3);
    }
}
