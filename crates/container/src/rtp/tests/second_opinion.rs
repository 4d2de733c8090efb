//! The crates of webrtc-rs as judges: their depacketizers of our packets, ours of theirs.

use bytes::Bytes;
use media::codec::{av1, nal};
use rtc_rtp::codec::av1::{Av1Depacketizer, Av1Payloader};
use rtc_rtp::codec::h264::{H264Packet, H264Payloader};
use rtc_rtp::codec::h265::{H265Packet, H265Payload, HevcPayloader};
use rtc_rtp::codec::opus::{OpusPacket, OpusPayloader};
use rtc_rtp::codec::vp8::{Vp8Packet, Vp8Payloader};
use rtc_rtp::codec::vp9::{Vp9Packet, Vp9Payloader};
use rtc_rtp::packetizer::{Depacketizer as _, Payloader};
use rtc_shared::marshal::Unmarshal;

use super::super::{Header, PAYLOAD_BYTES, PayloadFormat};
use super::media_clips::all;
use super::{Media, Outcome, is_set, packing};

/// Returns the output of another depacketizer for our packets, each frame in the form of `normal`.
fn theirs(media: &Media) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    let mut frame = Vec::new();
    let mut h264 = H264Packet::default();
    let mut h265 = H265Packet::default();
    let mut fragments = Vec::new();
    let mut av1 = Av1Depacketizer::new();
    let mut padded = 0;
    for packet in media.packets(PAYLOAD_BYTES) {
        let packet = rtc_rtp::Packet::unmarshal(&mut &packet[..]).expect("RTP");
        let (marker, bytes) = (packet.header.marker, packet.payload);
        padded += usize::from(packet.header.padding);
        match media.format {
            PayloadFormat::H264 => {
                let annex_b = h264.depacketize(&bytes).expect("H.264");
                for unit in nal::units(&annex_b, nal::Packing::StartCodes) {
                    put(media.format, unit, &mut frame);
                }
            }
            PayloadFormat::Hevc => {
                h265.depacketize(&bytes).expect("HEVC");
                units_of(h265.payload(), &bytes, &mut fragments, &mut |unit| {
                    put(media.format, unit, &mut frame);
                });
            }
            PayloadFormat::Av1 => frame.extend(av1.depacketize(&bytes).expect("AV1")),
            PayloadFormat::Vp8 => {
                let mut vp8 = Vp8Packet::default();
                let piece = vp8.depacketize(&bytes).expect("VP8");
                assert_eq!(vp8.s == 1, frame.is_empty());
                assert_eq!(usize::from(vp8.picture_id), frames.len());
                frame.extend(piece);
            }
            PayloadFormat::Vp9 => {
                let mut vp9 = Vp9Packet::default();
                let piece = vp9.depacketize(&bytes).expect("VP9");
                assert_eq!((vp9.b, vp9.e, vp9.f), (frame.is_empty(), marker, false));
                assert_eq!(usize::from(vp9.picture_id), frames.len());
                assert_eq!(vp9.p, !media.samples[frames.len()].keyframe);
                if vp9.v {
                    assert!(!vp9.p && vp9.b);
                    assert_eq!((&vp9.width[..], &vp9.height[..]), (&[320][..], &[180][..]));
                }
                frame.extend(piece);
            }
            PayloadFormat::Opus => frame.extend(OpusPacket.depacketize(&bytes).expect("Opus")),
        }
        if marker || media.format == PayloadFormat::Opus {
            frames.push(std::mem::take(&mut frame));
        }
    }
    let (format, is_cut) = (media.format, media.format != PayloadFormat::Opus);
    assert_eq!(padded > 0, is_cut, "{format:?}: {padded} packets");
    frames
}

fn put(format: PayloadFormat, unit: &[u8], frame: &mut Vec<u8>) {
    if !is_set(format, unit) {
        frame.extend_from_slice(&(unit.len() as u32).to_be_bytes());
        frame.extend_from_slice(unit);
    }
}

/// The units that their parser sees in an HEVC packet.
fn units_of(
    parsed: &H265Payload,
    bytes: &Bytes,
    fragments: &mut Vec<u8>,
    emit: &mut impl FnMut(&[u8]),
) {
    match parsed {
        H265Payload::H265SingleNALUnitPacket(_) => emit(bytes),
        H265Payload::H265AggregationPacket(packet) => {
            let first = packet.first_unit().expect("a first unit");
            emit(&first.nal_unit());
            let others = packet.other_units().iter();
            others.for_each(|unit| emit(&unit.nal_unit()));
        }
        H265Payload::H265FragmentationUnitPacket(packet) => {
            let header = packet.fu_header();
            if header.s() {
                fragments.clear();
                fragments.push(bytes[0] & 0x81 | header.fu_type() << 1);
                fragments.push(bytes[1]);
            }
            fragments.extend(packet.payload());
            if header.e() {
                emit(fragments);
            }
        }
        _ => panic!("these are never sent"),
    }
}

#[test]
fn others_read_what_we_packetize() {
    for media in all() {
        assert!(theirs(&media) == media.expected(), "{:?}", media.format);
    }
}

/// Frames as the payloaders of others want them.
fn raw(media: &Media) -> Vec<Bytes> {
    let mut out = Vec::new();
    for sample in &media.samples {
        let frame = &sample.data;
        let bytes = match media.format {
            PayloadFormat::H264 | PayloadFormat::Hevc => {
                let mut annex_b = Vec::new();
                let mut put = |unit: &[u8]| {
                    annex_b.extend_from_slice(&[0, 0, 0, 1]);
                    annex_b.extend_from_slice(unit);
                };
                if sample.keyframe {
                    sets(media).iter().for_each(|set| put(set));
                }
                nal::units(frame, packing(media.format, &media.track)).for_each(put);
                annex_b
            }
            PayloadFormat::Av1 => {
                let mut units = Vec::new();
                let kept = av1::obus(frame).filter(|unit| unit.kind() != 2);
                kept.for_each(|unit| unit.write(&mut units));
                units
            }
            _ => frame.to_vec(),
        };
        out.push(Bytes::from(bytes));
    }
    out
}

fn sets(media: &Media) -> Vec<Vec<u8>> {
    use media::codec::{h264::AvcConfig, hevc::HevcConfig};
    let record = &media.track.config;
    let sets = match media.format {
        PayloadFormat::H264 => {
            let config = AvcConfig::parse(record).expect("ffmpeg wrote it");
            [config.sps, config.pps].concat()
        }
        _ => {
            let config = HevcConfig::parse(record).expect("ffmpeg wrote it");
            [config.vps, config.sps, config.pps].concat()
        }
    };
    sets.into_iter().map(<[u8]>::to_vec).collect()
}

#[test]
fn we_read_what_others_packetize() {
    for media in all() {
        let mut payloader: Box<dyn Payloader> = match media.format {
            PayloadFormat::H264 => Box::new(H264Payloader::default()),
            PayloadFormat::Hevc => Box::new(HevcPayloader),
            PayloadFormat::Av1 => Box::new(Av1Payloader {}),
            PayloadFormat::Vp8 => {
                let mut payloader = Vp8Payloader::default();
                payloader.enable_picture_id = true;
                Box::new(payloader)
            }
            PayloadFormat::Vp9 => Box::new(Vp9Payloader::default()),
            PayloadFormat::Opus => Box::new(OpusPayloader),
        };
        let mut packets = Vec::new();
        for (number, frame) in raw(&media).iter().enumerate() {
            let payloads = payloader.payload(PAYLOAD_BYTES, frame).expect("a frame");
            let count = payloads.len();
            for (index, payload) in payloads.iter().enumerate() {
                let header = Header {
                    marker: index + 1 == count,
                    sequence: packets.len() as u16,
                    timestamp: 3_600 * number as u32,
                    ..Header::default()
                };
                packets.push([&header.to_bytes()[..], payload].concat());
            }
        }
        let outcome = Outcome::of(media.format, &packets);
        assert!(outcome.frames() == media.expected(), "{:?}", media.format);
    }
}
