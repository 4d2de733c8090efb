//! Audio shares packets, and does not wait long.

use super::super::audio::HELD_BYTES_MAX;
use super::*;

#[test]
fn audio_alone_fills_its_packets() {
    let recorder = Recorder::of(&radio(400));
    let demuxed = recorder.demux();
    assert_eq!(frames_in(&demuxed.packets), [4; 100], "85 ms each");
    for (number, pes) in demuxed.packets.iter().enumerate() {
        let at = Span::from_samples(4 * 1_024 * number as u64, 48_000);
        let at = Timestamp::ZERO + at + super::super::CLOCK_LEAD;
        assert_eq!(pes.pts as i64, at.ticks() / 7_840);
    }
    let media: usize = demuxed.packets.iter().map(|pes| pes.payload.len()).sum();
    let share = media as f64 / recorder.bytes.len() as f64;
    // Frames of 170 bytes, five packets, and the tables.
    assert!(share > 0.70, "{share}");
}

#[test]
fn audio_goes_before_a_picture_that_is_not_earlier() {
    let recorder = Recorder::of(&film(10));
    let demuxed = recorder.demux();
    let stamps: Vec<_> = demuxed.packets.iter().map(|pes| pes.dts as i64).collect();
    assert!(stamps.is_sorted(), "items in order make units in order");
    let times: Vec<_> = recorder.units.iter().map(|unit| unit.at).collect();
    let reported = stamps.iter().map(|dts| Timestamp::from_ticks(dts * 7_840));
    let reported: Vec<_> = reported.map(|at| at - super::super::CLOCK_LEAD).collect();
    assert_eq!(times, reported, "a unit has the time of its first frame");
    let frames: usize = frames_in(demuxed.of(AAC)).iter().sum();
    assert_eq!(frames, 10 * 48_000 / 1_024);
}

#[test]
fn beside_slow_pictures_audio_waits_less() {
    let mut items = announced();
    items.push(picture(0, true));
    items.extend((0..60).map(frame));
    assert_eq!(frames_in(Recorder::demuxed(&items).of(AAC)), [2; 30]);
}

#[test]
fn a_gap_gets_a_stamp_of_its_own() {
    let mut items = vec![announce(aac())];
    let starts = [0, 1, 2, 10, 11, 100];
    items.extend(starts.map(frame));
    assert_eq!(frames_in(&Recorder::demuxed(&items).packets), [3, 2, 1]);
    // Stamps in whole milliseconds are no gaps.
    let mut items = vec![announce(aac())];
    for number in 0..40u64 {
        let at = Timestamp::ZERO + Span::from_samples(1_024 * number, 48_000);
        let at = Timestamp::from_millis(at.millis());
        items.push(sample(TrackId::AUDIO, at, true, fill(100)));
    }
    assert_eq!(Recorder::of(&items).units.len(), 10);
}

#[test]
fn what_is_held_is_bounded() {
    let mut items = vec![announce(track(Codec::Opus, b""))];
    for number in 0..200 {
        // Frames of 2.5 ms, as long as none is.
        let at = Timestamp::ZERO + Span::from_samples(120 * number, 48_000);
        let data = [&[0xE0][..], &fill(15_000)].concat();
        items.push(sample(TrackId::AUDIO, at, true, data));
    }
    let packets = Recorder::demuxed(&items).packets;
    assert_eq!(packets.len(), 100);
    let mut lengths = packets.iter().map(|pes| pes.payload.len());
    assert!(lengths.all(|bytes| bytes <= HELD_BYTES_MAX));
}

#[test]
fn what_is_held_goes_before_what_changes() {
    let other = announce(track(Codec::Aac, &[0x12, 0x10]));
    let items = [announce(aac()), frame(0), other, frame(1), Item::Epoch];
    let packets = Recorder::demuxed(&items).packets;
    let rates = packets.iter().map(|pes| pes.payload[2] >> 2 & 15);
    assert_eq!(rates.collect::<Vec<_>>(), [3, 4], "48 and 44.1 kHz");
}
