//! Bytes that precede frames, bytes that are left out of them, and facts that they reveal.

use media::{Timestamp, TrackId};

use super::super::{PAYLOAD_BYTES, PayloadFormat, Payloads};
use super::{Packetizer, Picture, Unsendable};
use crate::testing::{AV1_RECORD, SPS, sample, track};

const PPS: &[u8] = &[0x68, 0xCE, 0x3C, 0x80];

fn annex_b(units: &[&[u8]]) -> Vec<u8> {
    let units = units.iter().map(|unit| [&[0, 0, 0, 1], *unit].concat());
    units.collect::<Vec<_>>().concat()
}

type Sent = (Picture, Vec<Vec<u8>>);

struct Bench {
    packetizer: Packetizer,
}

impl Bench {
    fn new(format: PayloadFormat, record: &[u8]) -> Self {
        Self {
            packetizer: Packetizer::new(format, &track(format.codec(), record), PAYLOAD_BYTES),
        }
    }

    /// The packets of a frame that can be sent.
    fn sent(&mut self, keyframe: bool, frame: &[u8]) -> Sent {
        self.push(keyframe, frame).expect("a frame")
    }

    fn push(&mut self, keyframe: bool, frame: &[u8]) -> Result<Sent, Unsendable> {
        self.push_at(0, keyframe, frame)
    }

    fn push_at(&mut self, millis: i64, keyframe: bool, frame: &[u8]) -> Result<Sent, Unsendable> {
        let mut payloads = Payloads::default();
        let at = Timestamp::from_millis(millis);
        let sample = sample(TrackId::VIDEO, at, keyframe, frame);
        let picture = self.packetizer.push(&sample, &mut payloads)?;
        let payloads = payloads.iter().map(|(payload, _)| payload.to_vec());
        Ok((picture, payloads.collect()))
    }
}

#[test]
fn delimiters_and_filler_stay_behind() {
    let mut bench = Bench::new(PayloadFormat::H264, &[]);
    let slice = &[0x41, 0x9A, 1][..];
    let frame = annex_b(&[&[0x09, 0x30], slice, &[0x0C, 0xFF, 0x80], &[0x78, 0, 1, 9]]);
    assert_eq!(bench.sent(false, &frame).1, [slice]);
    // As x264 writes it at a constant bit rate, and the place of words that a viewer's application may read.
    let timing = &[6, 1, 2, 0, 0x40, 0x80][..];
    let words = &[6, 5, 1, 9, 0x80][..];
    let (_, payloads) = bench.sent(false, &annex_b(&[timing, slice]));
    assert_eq!(payloads, [slice]);
    let (_, payloads) = bench.sent(false, &annex_b(&[words, slice]));
    let shared = [&[0x58, 0, 5][..], words, &[0, 3], slice].concat();
    assert_eq!(payloads, [shared]);
    let nothing = annex_b(&[&[0x09, 0x30], &[0x0C, 0xFF, 0x80]]);
    assert_eq!(bench.push(false, &nothing).err(), Some(Unsendable::NoFrame));
    assert_eq!(bench.push(false, &[]).err(), Some(Unsendable::NoFrame));
}

/// A packet of parameter sets and the slice of a keyframe.
fn together(pps: &[u8]) -> Vec<u8> {
    let sets = [&[0x78, 0, SPS.len() as u8][..], SPS, &[0, 4], pps];
    [&sets.concat()[..], &[0, 3, 0x65, 0x88, 1]].concat()
}

#[test]
fn parameter_sets_that_come_alone_stand_before_the_next_keyframe() {
    let mut bench = Bench::new(PayloadFormat::H264, &[]);
    let sets = annex_b(&[SPS, PPS]);
    assert_eq!(bench.push(false, &sets).err(), Some(Unsendable::NoFrame));
    let (picture, payloads) = bench.sent(false, &annex_b(&[&[0x65, 0x88, 1]]));
    assert!(picture.keyframe, "by its units, whatever the sample says");
    assert_eq!(payloads, [together(PPS)]);
    let (_, payloads) = bench.sent(false, &annex_b(&[&[0x41, 0x9A, 1]]));
    assert_eq!(payloads, [[0x41, 0x9A, 1]], "nothing before others");
}

#[test]
fn a_keyframe_keeps_the_sets_it_brings() {
    let record = media::codec::h264::AvcConfig::write(&[SPS], &[PPS]);
    let mut bench = Bench::new(PayloadFormat::H264, &record.expect("a readable set"));
    let other = [0x68, 0xCE, 0x3C, 0x81];
    let units = [&other[..], &[0x65, 0x88, 1]];
    let lengths = units.map(|unit| [&[0, 0, 0, unit.len() as u8], unit].concat());
    let (_, payloads) = bench.sent(true, &lengths.concat());
    assert_eq!(payloads, [together(&other)]);
}

#[test]
fn a_new_configuration_holds_from_the_next_keyframe_on() {
    let record = |pps| media::codec::h264::AvcConfig::write(&[SPS], &[pps]).expect("readable");
    let mut bench = Bench::new(PayloadFormat::H264, &record(PPS));
    let key = [0, 0, 0, 3, 0x65, 0x88, 1];
    let (_, before) = bench.sent(true, &key);
    let other = [0x68, 0xCE, 0x3C, 0x81];
    let track = track(PayloadFormat::H264.codec(), &record(&other));
    bench.packetizer.reconfigure(&track);
    let (_, after) = bench.sent(true, &key);
    assert!(before[0].windows(4).any(|bytes| bytes == PPS));
    assert!(after[0].windows(4).any(|bytes| bytes == other));
}

#[test]
fn layers_that_others_are_predicted_from_are_no_waste() {
    let mut bench = Bench::new(PayloadFormat::Hevc, &[]);
    let mut is_disposable = |kind: u8, layer: u8| {
        let frame = annex_b(&[&[kind << 1, layer + 1, 0x80, 1]]);
        bench.sent(false, &frame).0.is_disposable
    };
    let (trail_n, trail_r, tsa_n) = (0, 1, 2);
    assert!(is_disposable(trail_n, 0), "the only layer");
    assert!(!is_disposable(trail_r, 0));
    assert!(is_disposable(tsa_n, 1));
    assert!(!is_disposable(trail_n, 0), "the layer above may need it");
    assert!(!is_disposable(19, 0));
}

#[test]
fn pictures_out_of_order_are_reported() {
    let mut bench = Bench::new(PayloadFormat::H264, &[]);
    let mut push = |millis, first: u8| {
        let frame = annex_b(&[&[first, 0x88, 1]]);
        let pushed = bench.push_at(millis, first == 0x65, &frame);
        let (picture, _) = pushed.expect("a slice");
        (picture.is_disposable, picture.is_reordered)
    };
    assert_eq!(push(0, 0x65), (false, false));
    assert_eq!(push(120, 0x41), (false, false));
    assert_eq!(push(40, 0x21), (false, true), "others refer to it");
    assert_eq!(push(80, 0x01), (true, true));
    assert_eq!(push(160, 0x01), (true, false));
    assert_eq!(push(100, 0x65), (false, false), "a clock that went back");
    assert_eq!(push(110, 0x41), (false, false));
}

#[test]
fn av1_keyframes_get_the_sequence_header_of_the_configuration() {
    let header = &AV1_RECORD[4..];
    let mut bench = Bench::new(PayloadFormat::Av1, AV1_RECORD);
    let frame = [0x12, 0, 0x32, 2, 0x10, 7];
    let (picture, payloads) = bench.sent(true, &frame);
    assert!(picture.keyframe);
    // Two units, a new sequence; the first has a length, and neither has its own size.
    let together = [&[0x28, 12, 0x08][..], &header[2..], &[0x30, 0x10, 7]];
    assert_eq!(payloads, [together.concat()]);
    let (_, payloads) = bench.sent(true, &[header, &frame[2..]].concat());
    assert_eq!(payloads, [together.concat()], "once is enough");
    let (picture, payloads) = bench.sent(false, &[0x12, 0, 0x32, 2, 0x30, 7]);
    assert!(!picture.keyframe);
    assert_eq!(payloads, [[0x10, 0x30, 0x30, 7]]);
}

#[test]
fn picture_numbers_wrap_at_fifteen_bits() {
    let mut bench = Bench::new(PayloadFormat::Vp8, &[]);
    let mut last = Vec::new();
    for _ in 0..0x8000 {
        (_, last) = bench.sent(false, &[0x51, 5, 0]);
    }
    assert_eq!(last, [[0x90, 0x80, 0xFF, 0xFF, 0x51, 5, 0]]);
    let (_, first) = bench.sent(false, &[0x51, 5, 0]);
    assert_eq!(first, [[0x90, 0x80, 0x80, 0, 0x51, 5, 0]]);
}

#[test]
fn audio_is_not_cut() {
    let mut bench = Bench::new(PayloadFormat::Opus, &[]);
    let longest = vec![0xFC; media::codec::opus::FRAME_BYTES_MAX];
    let (picture, payloads) = bench.sent(true, &longest);
    assert!(picture.keyframe && payloads == [longest.clone()]);
    let longer = [&longest[..], &[0]].concat();
    assert_eq!(bench.push(true, &longer).err(), Some(Unsendable::TooLong));
}
