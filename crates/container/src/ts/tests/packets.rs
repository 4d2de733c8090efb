//! Packets of every length, and counters that never miss.

use proptest::prelude::*;

use super::super::clock::Clock;
use super::super::packet::{Counters, Field, Payload, Pid};
use super::*;

/// The packets of `payload`, given in pieces of `piece` bytes.
fn packets(payload: &[u8], piece: usize, field: Field) -> Vec<u8> {
    let mut recorder = Recorder::default();
    let mut counters = Counters::default();
    let bytes = payload.len();
    let mut packets = Payload::new(&mut recorder, &mut counters, Pid(0x100), field, bytes);
    for piece in payload.chunks(piece) {
        packets.put(piece);
    }
    assert!(packets.is_complete());
    recorder.bytes
}

/// Returns the content of each packet, after a field that ends where it says.
fn payload_of(packets: &[u8]) -> Vec<u8> {
    let mut payload = Vec::new();
    for packet in packets.chunks_exact(PACKET_BYTES) {
        let field = match packet[3] & 0x30 {
            0x10 => 0,
            0x30 => 1 + usize::from(packet[4]),
            _ => panic!("a packet without payload"),
        };
        assert!(field <= 183);
        payload.extend_from_slice(&packet[4 + field..]);
    }
    payload
}

#[test]
fn a_payload_of_any_length_is_stuffed_exactly() {
    let reference = Some(Clock::default().set(Timestamp::ZERO));
    for random_access in [false, true] {
        for (reference, least) in [(None, if random_access { 2 } else { 0 }), (reference, 8)] {
            let field = Field {
                random_access,
                reference,
            };
            for length in 0..=600 {
                let payload = fill(length);
                for piece in [1, 7, 184, 1_000] {
                    let packets = packets(&payload, piece, field);
                    let count = (length + least).div_ceil(184);
                    let count = if length == 0 { 0 } else { count };
                    assert_eq!(packets.len(), PACKET_BYTES * count, "{length} bytes");
                    assert_eq!(payload_of(&packets), payload);
                }
            }
        }
    }
}

#[test]
fn counters_run_through_epochs_and_tracks() {
    let mut items = Vec::new();
    let mut at = Timestamp::ZERO;
    for epoch in 0..40 {
        items.push(Item::Epoch);
        if epoch % 3 > 0 {
            items.push(announce(h264()));
        }
        if epoch % 3 < 2 {
            items.push(announce(aac()));
        }
        items.extend(both(at, 4));
        at += Span::from_millis(4_000);
    }
    let recorder = Recorder::of(&items);
    assert!(recorder.units.len() > 4_000, "{}", recorder.units.len());
    let demuxed = recorder.demux();
    assert_eq!(demuxed.packets.len(), recorder.units.len());
    let breaks = demuxed.references.iter().filter(|r| r.is_discontinuity);
    assert_eq!(breaks.count(), 39);
}

proptest! {
    #[test]
    fn what_goes_in_comes_out(
        sizes in prop::collection::vec((0usize..4_000, 1usize..5, any::<bool>(), 0i64..33), 1..60),
    ) {
        let mut items = announced();
        let (mut pictures, mut frames) = (Vec::new(), Vec::new());
        let mut at = Timestamp::ZERO;
        for (number, (size, slices, is_audio, step)) in sizes.iter().enumerate() {
            let keyframe = number % 7 == 0;
            if *is_audio {
                let size = 1 + size % 3_000;
                items.push(sample(TrackId::AUDIO, at, true, fill(size)));
                frames.extend((!pictures.is_empty()).then_some(size));
            } else if keyframe || !pictures.is_empty() {
                let slice = slice(keyframe, *size);
                let data = prefixed(&vec![&slice[..]; *slices]);
                items.push(sample(TrackId::VIDEO, at, keyframe, data));
                pictures.push((slice, *slices));
            }
            at += Span::from_millis(*step);
        }
        let demuxed = Recorder::demuxed(&items);
        let got: Vec<_> = demuxed.of(H264).iter().map(|pes| codecs::units(pes)).collect();
        prop_assert_eq!(got.len(), pictures.len());
        for (got, (slice, slices)) in got.iter().zip(&pictures) {
            let slices_got: Vec<_> = got.iter().filter(|unit| matches!(unit[0], 0x65 | 0x41)).collect();
            prop_assert_eq!(slices_got, vec![slice; *slices]);
        }
        let audio = demuxed.of(AAC);
        let got = audio.iter().flat_map(|pes| codecs::adts(pes));
        let sizes: Vec<_> = got.map(|frame| frame.len() - 7).collect();
        prop_assert_eq!(sizes, frames);
    }
}
