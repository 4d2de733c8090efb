//! Made-up frames: sizes around the limits, and invalid packets.

use std::sync::Arc;

use media::codec::{av1, nal};
use media::{Codec, Item, Sample, Timestamp, Track, TrackId};
use proptest::prelude::*;

use super::super::{
    Depacketizer, Event, FRAME_BYTES_MAX, Incoming, PAYLOAD_BYTES, Packetizer, PayloadFormat,
    Payloads,
};
use super::{Media, Outcome, check_frame};
use crate::testing::{self, AV1_RECORD, PPS, SPS, VP8_KEY, VP9_KEY, fill, track};

fn bare_track(format: PayloadFormat) -> Arc<Track> {
    Arc::new(track(format.codec(), b""))
}

fn sample(number: usize, keyframe: bool, data: Vec<u8>) -> Sample {
    let at = Timestamp::from_millis(33 * number as i64);
    testing::sample(TrackId::VIDEO, at, keyframe, data)
}

/// The frames come out of their packets, long ones and short ones.
fn check(format: PayloadFormat, samples: Vec<Sample>) {
    let media = Media {
        format,
        track: bare_track(format),
        samples,
    };
    for payload_bytes in [PAYLOAD_BYTES, 64] {
        let outcome = Outcome::of(format, &media.packets(payload_bytes));
        assert_eq!(outcome.frames(), media.expected());
    }
}

fn h264_frame(number: usize, sizes: &[usize]) -> Sample {
    let mut data = Vec::new();
    let mut put = |unit: &[u8]| {
        data.extend_from_slice(&[0, 0, 0, 1]);
        data.extend_from_slice(unit);
    };
    if number == 0 {
        put(SPS);
        put(PPS);
    }
    for size in sizes {
        let first = if number == 0 { 0x65 } else { 0x41 };
        put(&[&[first][..], &fill(size - 1)].concat());
    }
    sample(number, number == 0, data)
}

fn av1_frame(number: usize, sizes: &[usize]) -> Sample {
    let mut data = Vec::new();
    let mut put = |first: u8, payload: &[u8]| {
        let unit = av1::Obu {
            first,
            extension: None,
            payload,
        };
        unit.write(&mut data);
    };
    if number == 0 {
        put(0x08, &AV1_RECORD[6..]);
    }
    for size in sizes {
        let mut payload = fill(*size);
        // A frame that is, or is not, a keyframe.
        payload[0] = if number == 0 { 0x10 } else { 0x30 };
        put(0x30, &payload);
    }
    sample(number, number == 0, data)
}

fn vp_frame(format: PayloadFormat, number: usize, size: usize) -> Sample {
    let is_key = number == 0;
    let head: &[u8] = match (format, is_key) {
        (PayloadFormat::Vp8, true) => VP8_KEY,
        (PayloadFormat::Vp8, false) => &[0x51, 0x05, 0x00],
        (_, true) => VP9_KEY,
        (_, false) => &[0x86, 0, 0],
    };
    let mut data = head.to_vec();
    data.extend(fill(size));
    sample(number, is_key, data)
}

/// Sizes near multiples of a payload, where the last piece is a byte, nothing, or whole.
fn sizes() -> impl Strategy<Value = usize> {
    let near = (1..5usize, -12..12isize)
        .prop_map(|(count, off)| (count * PAYLOAD_BYTES).saturating_add_signed(off).max(4));
    prop_oneof![near, 4..200usize, 4..9_000usize]
}

proptest! {
    #[test]
    fn frames_of_any_sizes(frames in proptest::collection::vec(proptest::collection::vec(sizes(), 1..8), 1..5)) {
        use PayloadFormat::{Av1, H264, Vp8, Vp9};
        for format in [H264, Av1, Vp8, Vp9] {
            let frames = frames.iter().enumerate();
            let frames = frames.map(|(number, sizes)| match format {
                H264 => h264_frame(number, sizes),
                Av1 => av1_frame(number, sizes),
                _ => vp_frame(format, number, sizes[0]),
            });
            check(format, frames.collect());
        }
    }

    /// One unit, one run of equal packets, as few as there can be.
    #[test]
    fn a_unit_is_one_run(size in sizes(), payload_bytes in 64..1_400usize) {
        let frames = [
            (PayloadFormat::H264, h264_frame(1, &[size])),
            (PayloadFormat::Av1, av1_frame(1, &[size])),
            (PayloadFormat::Vp8, vp_frame(PayloadFormat::Vp8, 1, size)),
            (PayloadFormat::Vp9, vp_frame(PayloadFormat::Vp9, 0, size)),
        ];
        for (format, sample) in frames {
            let mut payloads = Payloads::default();
            Packetizer::new(format, &bare_track(format), payload_bytes)
                .push(&sample, &mut payloads)
                .expect("it has a frame");
            check_frame(format, &payloads, payload_bytes);
            prop_assert_eq!(payloads.runs(usize::MAX).count(), 1, "{:?}", format);
            // Each packet repeats some bytes of description.
            let described = 8 * payloads.packets().len();
            prop_assert!(payloads.packets().len() <= (size + described).div_ceil(payload_bytes - 8).max(1));
            payloads.level();
            let lengths = payloads.packets().iter().map(|one| one.range.len() + usize::from(one.padding));
            let lengths: Vec<_> = lengths.collect();
            let longest = lengths.iter().copied().max().expect("a packet");
            let pieces = lengths.len();
            // A piece lacks a byte for each of the others at most, which in long packets is made up for.
            prop_assert!(lengths.iter().all(|one| longest - one < pieces + 8), "{:?}: {:?}", format, lengths);
            if pieces + 8 <= longest / 16 {
                prop_assert!(lengths.iter().all(|one| *one == longest), "{:?}: {:?}", format, lengths);
            }
        }
    }

    /// Receivers take the end of a unit for the end of a frame.
    #[test]
    fn av1_packets_end_within_units(sizes in proptest::collection::vec(sizes(), 1..8)) {
        let mut payloads = Payloads::default();
        let track = bare_track(PayloadFormat::Av1);
        Packetizer::new(PayloadFormat::Av1, &track, PAYLOAD_BYTES)
            .push(&av1_frame(1, &sizes), &mut payloads)
            .expect("it has a frame");
        let mut continues = false;
        for (payload, marker) in payloads.iter() {
            prop_assert_eq!(payload[0] & 0x80 != 0, continues);
            continues = payload[0] & 0x40 != 0;
            prop_assert_eq!(continues, !marker);
        }
    }

    #[test]
    fn nonsense_is_survived(
        packets in proptest::collection::vec(
            (proptest::collection::vec(any::<u8>(), 0..40), any::<bool>(), 0..4u32, any::<bool>()),
            0..60,
        ),
    ) {
        for format in PayloadFormat::ALL {
            let mut depacketizer = Depacketizer::new(format, TrackId::VIDEO, 2);
            let mut events = Vec::new();
            let mut sent = 0;
            for (payload, marker, timestamp, is_lost) in &packets {
                if *is_lost {
                    depacketizer.lost();
                }
                sent += payload.len();
                let incoming = Incoming {
                    payload,
                    marker: *marker,
                    timestamp: *timestamp,
                    at: Timestamp::from_millis((*timestamp).into()),
                };
                depacketizer.push(incoming, &mut events);
            }
            let mut last = Timestamp::ZERO;
            for event in events {
                if let Event::Item(Item::Sample(sample)) = event {
                    prop_assert!(sample.dts >= last && !sample.data.is_empty());
                    // Lengths are longer here than in packets, and the prelude is not in them.
                    prop_assert!(sample.data.len() <= 8 * sent + 64);
                    last = sample.dts;
                }
            }
        }
    }

    #[test]
    fn any_sample_is_survived(bytes: Vec<u8>, keyframe: bool) {
        for format in PayloadFormat::ALL {
            let configured = Arc::new(track(Codec::H264, &bytes));
            for track in [bare_track(format), configured, bare_track(PayloadFormat::H264)] {
                let mut payloads = Payloads::default();
                let mut packetizer = Packetizer::new(format, &track, 0);
                let sample = sample(0, keyframe, bytes.clone());
                if packetizer.push(&sample, &mut payloads).is_ok() {
                    check_frame(format, &payloads, 64);
                }
            }
        }
    }
}

#[test]
fn a_frame_without_end_is_dropped() {
    let mut depacketizer = Depacketizer::new(PayloadFormat::H264, TrackId::VIDEO, 0);
    depacketizer.learn(SPS);
    let mut events = Vec::new();
    let mut push = |payload: &[u8], marker| {
        let incoming = Incoming {
            payload,
            marker,
            timestamp: 0,
            at: Timestamp::ZERO,
        };
        depacketizer.push(incoming, &mut events);
    };
    let mut piece = [&[0x7C, 0x85][..], &fill(60_000)].concat();
    for _ in 0..2 * FRAME_BYTES_MAX / 60_000 {
        push(&piece, false);
        piece[1] = 0x05;
    }
    push(&[0x7C, 0x45, 1], true);
    assert_eq!(depacketizer.dropped_frames(), 1);
    assert!(matches!(events[..], [Event::KeyframeWanted]));
}

#[test]
fn annex_b_and_lengths_make_the_same_packets() {
    let annex_b = h264_frame(0, &[700, 5_000, 30]);
    let record = media::codec::h264::AvcConfig::write(&[SPS], &[PPS]).expect("readable sets");
    let mut lengths = Vec::new();
    for unit in nal::units(&annex_b.data, nal::Packing::StartCodes).skip(2) {
        lengths.extend_from_slice(&(unit.len() as u32).to_be_bytes());
        lengths.extend_from_slice(unit);
    }
    let packets = |track: Arc<Track>, sample: Sample| {
        let media = Media {
            format: PayloadFormat::H264,
            track,
            samples: vec![sample],
        };
        media.packets(PAYLOAD_BYTES)
    };
    let configured = Arc::new(track(Codec::H264, &record));
    let bare = packets(configured, sample(0, true, lengths));
    assert_eq!(bare, packets(bare_track(PayloadFormat::H264), annex_b));
}
