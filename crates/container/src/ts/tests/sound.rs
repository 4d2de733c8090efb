//! Sound shares packets, and does not wait long.

use super::super::sound::HELD_BYTES_MAX;
use super::*;

#[test]
fn sound_alone_fills_its_packets() {
    let items: Vec<_> = std::iter::once(announce(aac()))
        .chain((0..400).map(frame))
        .collect();
    let recorder = Recorder::of(&items);
    let demuxed = recorder.demux();
    let counts: Vec<_> = demuxed
        .packets
        .iter()
        .map(|pes| codecs::adts(pes).len())
        .collect();
    assert_eq!(counts, [4; 100], "85 ms each");
    for (number, pes) in demuxed.packets.iter().enumerate() {
        let at = Span::from_samples(4 * 1_024 * number as u64, 48_000);
        let at = Timestamp::ZERO + at + super::super::CLOCK_LEAD;
        assert_eq!(pes.pts as i64, at.ticks() / 7_840);
    }
    let media: usize = demuxed.packets.iter().map(|pes| pes.payload.len()).sum();
    let share = media as f64 / recorder.bytes.len() as f64;
    assert!(
        share > 0.70,
        "{share}: frames of 170 bytes, five packets, and the tables"
    );
}

#[test]
fn sound_goes_before_a_picture_that_is_not_earlier() {
    let items = [
        vec![announce(h264()), announce(aac())],
        both(Timestamp::ZERO, 10),
    ]
    .concat();
    let recorder = Recorder::of(&items);
    let demuxed = recorder.demux();
    let stamps: Vec<_> = demuxed.packets.iter().map(|pes| pes.dts).collect();
    assert!(stamps.is_sorted(), "items in order make units in order");
    let times: Vec<_> = recorder.units.iter().map(|unit| unit.at).collect();
    let told = demuxed
        .packets
        .iter()
        .map(|pes| Timestamp::from_ticks(pes.dts as i64 * 7_840));
    let told: Vec<_> = told.map(|at| at - super::super::CLOCK_LEAD).collect();
    assert_eq!(times, told, "a unit has the time of its first frame");
    let frames: usize = demuxed
        .of(AAC)
        .iter()
        .map(|pes| codecs::adts(pes).len())
        .sum();
    assert_eq!(frames, 10 * 48_000 / 1_024);
}

#[test]
fn beside_slow_pictures_sound_waits_less() {
    let mut items = vec![announce(h264()), announce(aac()), picture(0, true)];
    items.extend((0..60).map(frame));
    let demuxed = Recorder::of(&items).demux();
    let counts: Vec<_> = demuxed
        .of(AAC)
        .iter()
        .map(|pes| codecs::adts(pes).len())
        .collect();
    assert_eq!(counts, [2; 30]);
}

#[test]
fn a_gap_gets_a_stamp_of_its_own() {
    let mut items = vec![announce(aac())];
    let starts = [0, 1, 2, 10, 11, 100];
    items.extend(starts.map(frame));
    let demuxed = Recorder::of(&items).demux();
    let counts: Vec<_> = demuxed
        .packets
        .iter()
        .map(|pes| codecs::adts(pes).len())
        .collect();
    assert_eq!(counts, [3, 2, 1]);
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
    let mut items = vec![announce(track(
        TrackId::AUDIO,
        Codec::Opus,
        Framing::Bare,
        Bytes::new(),
    ))];
    for number in 0..200 {
        // Frames of 2.5 ms, as long as none is.
        let at = Timestamp::ZERO + Span::from_samples(120 * number, 48_000);
        items.push(sample(
            TrackId::AUDIO,
            at,
            true,
            [&[0xE0][..], &fill(15_000)].concat(),
        ));
    }
    let demuxed = Recorder::of(&items).demux();
    assert_eq!(demuxed.packets.len(), 100);
    assert!(
        demuxed
            .packets
            .iter()
            .all(|pes| pes.payload.len() <= HELD_BYTES_MAX)
    );
}

#[test]
fn what_is_held_goes_before_what_changes() {
    let mut other = aac();
    other.config = (&[0x12, 0x10][..]).into();
    let items = [
        announce(aac()),
        frame(0),
        announce(other),
        frame(1),
        Item::Epoch,
    ];
    let demuxed = Recorder::of(&items).demux();
    let rates: Vec<_> = demuxed
        .packets
        .iter()
        .map(|pes| pes.payload[2] >> 2 & 15)
        .collect();
    assert_eq!(rates, [3, 4], "48 and 44.1 kHz");
}
