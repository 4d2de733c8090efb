//! Frames that arrive in pieces, and the result when pieces are missing.

use media::{Item, Sample, Timestamp, TrackId};

use super::super::format::PayloadFormat;
use super::{Depacketizer, Event, Incoming};
use crate::testing::{AV1_RECORD, SPS, VP9_KEY};

struct Bench {
    depacketizer: Depacketizer,
    wanted: usize,
}

impl Bench {
    fn new(format: PayloadFormat) -> Self {
        Self {
            depacketizer: Depacketizer::new(format, TrackId::VIDEO, 1),
            wanted: 0,
        }
    }

    /// The samples that a packet completes.
    fn push(&mut self, millis: u32, marker: bool, payload: &[u8]) -> Vec<Sample> {
        let incoming = Incoming {
            payload,
            marker,
            timestamp: 90 * millis,
            at: Timestamp::from_millis(millis.into()),
        };
        let mut events = Vec::new();
        self.depacketizer.push(incoming, &mut events);
        let mut samples = Vec::new();
        for event in events {
            match event {
                Event::Item(Item::Sample(sample)) => samples.push(sample),
                Event::Item(_) => {}
                Event::KeyframeWanted => self.wanted += 1,
            }
        }
        samples
    }
}

const KEY: &[u8] = &[0x10, 0x50, 5, 0, 0x9D, 1, 0x2A, 0x40, 1, 0xB4, 0, 7];
const INTER: &[u8] = &[0x10, 0x51, 5, 0, 7];

#[test]
fn pictures_wait_for_the_first_keyframe() {
    let mut bench = Bench::new(PayloadFormat::Vp8);
    assert!(bench.depacketizer.awaits_keyframe());
    for at in 0..3 {
        assert!(bench.push(40 * at, true, INTER).is_empty());
    }
    assert_eq!(bench.wanted, 1, "told once");
    assert_eq!(bench.push(200, true, KEY).len(), 1);
    assert!(!bench.depacketizer.awaits_keyframe());
    assert_eq!(bench.push(240, true, INTER).len(), 1);
    assert_eq!(bench.depacketizer.dropped_frames(), 3);
}

#[test]
fn pictures_after_a_loss_wait_for_a_keyframe_but_not_for_ever() {
    let mut bench = Bench::new(PayloadFormat::Vp8);
    bench.push(0, true, KEY);
    bench.depacketizer.lost();
    assert!(bench.push(80, true, INTER).is_empty());
    assert!(bench.push(2_080, true, INTER).is_empty());
    assert_eq!(bench.push(2_081, true, INTER).len(), 1);
    assert_eq!(bench.wanted, 1);
    bench.depacketizer.lost();
    assert!(bench.push(3_000, true, INTER).is_empty());
    assert_eq!(bench.push(3_040, true, KEY).len(), 1);
    assert_eq!(bench.wanted, 2);
}

#[test]
fn a_frame_may_lack_its_marker_but_no_piece() {
    let mut bench = Bench::new(PayloadFormat::Vp8);
    assert!(bench.push(0, false, KEY).is_empty());
    assert!(bench.push(0, false, &[0, 8, 9]).is_empty());
    let samples = bench.push(40, false, INTER);
    assert_eq!(samples.len(), 1);
    assert!(samples[0].data.ends_with(&[7, 8, 9]));
    // The rest of this one, and the start of the next, are lost.
    bench.depacketizer.lost();
    assert!(bench.push(80, true, &[0, 8, 9]).is_empty());
    assert_eq!(bench.depacketizer.dropped_frames(), 2);
    assert_eq!(bench.wanted, 1);
}

#[test]
fn layers_become_a_superframe() {
    let mut bench = Bench::new(PayloadFormat::Vp9);
    // I, L, B, E, then PictureID 5, layer 0 or 1 with its TL0PICIDX.
    let base = [&[0xAC, 5, 0, 9][..], VP9_KEY].concat();
    assert!(bench.push(0, false, &base).is_empty());
    let samples = bench.push(0, true, &[0xEC, 5, 2, 9, 0x86, 1, 2]);
    let frame = &samples[0].data[..];
    assert_eq!(frame[..10], *VP9_KEY);
    assert_eq!(frame[10..13], [0x86, 1, 2]);
    assert_eq!(frame[13..], [0xD9, 10, 0, 0, 0, 3, 0, 0, 0, 0xD9]);
    assert!(samples[0].keyframe);
}

#[test]
fn descriptors_of_every_length_are_passed_over() {
    let key = &KEY[1..];
    for descriptor in [
        &[0x10][..],
        &[0x90, 0x80, 0x11],
        &[0x90, 0xF0, 0x80, 0x11, 3, 0x20],
        &[0x90, 0x20, 0x40],
    ] {
        let mut bench = Bench::new(PayloadFormat::Vp8);
        let samples = bench.push(0, true, &[descriptor, key].concat());
        assert_eq!(&samples[0].data[..], key, "{descriptor:?}");
    }
    let structure = b"\x0E\x38\x01\x40\0\xB4\x02\x80\x01\x68\x02\x04\x01\x08\x01\x02";
    for descriptor in [
        &[0x0C][..],
        &[0x8C, 0x11],
        &[0xAC, 0x80, 0x11, 0, 3],
        &[0xDC, 0x11, 3, 2],
        structure,
    ] {
        let mut bench = Bench::new(PayloadFormat::Vp9);
        let samples = bench.push(0, true, &[descriptor, VP9_KEY].concat());
        assert_eq!(samples[0].data, VP9_KEY, "{descriptor:?}");
        assert_eq!(bench.depacketizer.dimensions(), Some((320, 180)));
    }
}

#[test]
fn audio_is_handed_on_packet_by_packet() {
    let mut bench = Bench::new(PayloadFormat::Opus);
    assert!(!bench.depacketizer.awaits_keyframe());
    let samples = bench.push(0, false, &[0xFC, 1, 2]);
    assert_eq!(samples[0].duration.millis(), 20);
    bench.depacketizer.lost();
    assert_eq!(bench.push(40, true, &[0xFC, 3]).len(), 1);
    assert!(bench.push(60, true, &[0xFF]).is_empty(), "no packet");
    assert!(bench.push(80, true, &[]).is_empty(), "a probe");
    assert_eq!((bench.wanted, bench.depacketizer.dropped_frames()), (0, 1));
}

#[test]
fn parameter_sets_may_come_with_the_session_description() {
    let mut bench = Bench::new(PayloadFormat::H264);
    assert!(bench.push(0, true, &[0x65, 0x88, 1]).is_empty(), "no sets");
    assert_eq!(bench.wanted, 1);
    bench.depacketizer.learn(SPS);
    bench.depacketizer.learn(&[0x68, 0xCE, 0x3C, 0x80]);
    let samples = bench.push(40, true, &[0x65, 0x88, 1]);
    assert_eq!(samples[0].data[..], [0, 0, 0, 3, 0x65, 0x88, 1]);
    assert!(samples[0].keyframe);
    assert_eq!(bench.depacketizer.dimensions(), Some((320, 180)));
}

#[test]
fn a_recovery_point_is_a_keyframe() {
    let mut bench = Bench::new(PayloadFormat::H264);
    bench.depacketizer.learn(SPS);
    // Units of one packet: a recovery point, and a slice.
    let samples = bench.push(0, true, &[0x78, 0, 4, 6, 6, 1, 0xC4, 0, 3, 0x41, 0x9A, 1]);
    assert!(samples[0].keyframe);
    let samples = bench.push(40, true, &[0x78, 0, 4, 6, 5, 1, 0xC4, 0, 3, 0x41, 0x9A, 1]);
    assert!(!samples[0].keyframe);
}

#[test]
fn a_keyframe_without_its_first_slice_is_none() {
    let mut bench = Bench::new(PayloadFormat::H264);
    bench.depacketizer.learn(SPS);
    bench.depacketizer.lost();
    // first_mb_in_slice is 1.
    assert!(bench.push(0, false, &[0x65, 0x48, 1]).is_empty());
    assert!(bench.push(0, true, &[0x65, 0x88, 1]).is_empty());
    assert_eq!(bench.push(40, true, &[0x65, 0x88, 1]).len(), 1);
    let mut bench = Bench::new(PayloadFormat::Hevc);
    bench.depacketizer.lost();
    // first_slice_segment_in_pic_flag is 0, in a fragment.
    assert!(bench.push(0, false, &[0x62, 1, 0x93, 0x48]).is_empty());
    assert!(bench.push(0, true, &[0x62, 1, 0x53, 1]).is_empty());
    assert_eq!(bench.depacketizer.dropped_frames(), 1);
    // The same with the flag: complete, but no sample without a configuration.
    bench.push(40, false, &[0x62, 1, 0x93, 0x88]);
    assert_eq!(bench.wanted, 1);
}

#[test]
fn fragments_that_do_not_fit_spoil_the_frame() {
    let (start, middle, end) = ([0x7C, 0x85, 0x88], [0x7C, 0x05, 1], [0x7C, 0x45, 2]);
    let whole = [0x06, 5, 1, 0xC4];
    let mut bench = Bench::new(PayloadFormat::H264);
    bench.depacketizer.learn(SPS);
    let mut push = |at: u32, payloads: &[&[u8]]| {
        let last = payloads.len() - 1;
        let samples = payloads.iter().enumerate();
        let samples = samples.map(|(index, payload)| bench.push(40 * at, index == last, payload));
        samples.last().is_some_and(|samples| samples.len() == 1)
    };
    assert!(push(0, &[&whole, &start, &middle, &end]));
    assert!(!push(1, &[&start, &start, &end]), "a second start");
    assert!(!push(2, &[&start, &middle]), "no end");
    assert!(!push(3, &[&whole, &middle, &end]), "no start");
    assert!(!push(4, &[&start, &whole, &end]), "a unit within");
    // A unit longer than its packet, and one of another mode.
    assert!(!push(5, &[&[0x78, 0, 9, 1]]));
    assert!(!push(6, &[&[0x7D, 0x85, 0, 0, 0x88]]));
    assert!(push(7, &[&start, &end]));
}

#[test]
fn av1_units_continue_where_they_were_cut() {
    let key = [&[0x28, 12, 0x08][..], &AV1_RECORD[6..], &[0x30, 0x10, 7]].concat();
    let mut bench = Bench::new(PayloadFormat::Av1);
    let samples = bench.push(0, true, &key);
    assert_eq!(samples[0].data[13..], [0x32, 2, 0x10, 7]);
    assert_eq!(bench.depacketizer.dimensions(), Some((320, 180)));
    // The same in three packets, each with a size in its first one.
    bench.push(40, false, &[0x40, 4, 0x30, 0x10, 1, 2]);
    bench.push(40, false, &[0xC0, 1, 3]);
    let samples = bench.push(40, true, &[0x80, 1, 4]);
    assert_eq!(samples[0].data[..], [0x32, 5, 0x10, 1, 2, 3, 4]);
    let continues: &[u8] = &[0x50, 0x30, 0x10, 1];
    for packets in [
        [continues, &[0x10, 2]],
        [&[0x10, 0x30, 0x10, 1], &[0x90, 2]],
        [continues, &[0xD0, 2]],
        [continues, &[0xA0, 9, 2]],
        [continues, &[0x90]],
    ] {
        let mut bench = Bench::new(PayloadFormat::Av1);
        bench.push(0, true, &key);
        bench.push(40, false, packets[0]);
        let samples = bench.push(40, true, packets[1]);
        assert!(samples.is_empty(), "{packets:x?}");
        assert_eq!(bench.depacketizer.dropped_frames(), 1);
    }
}
