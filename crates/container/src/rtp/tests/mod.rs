//! The formats' guarantees: a round trip preserves real media and made-up frames, and another implementation
//! reads what is written and writes what is read.

mod made_up;
mod media_clips;
mod round_trip;
mod second_opinion;

use std::sync::Arc;
use std::time::Instant;

use media::codec::{av1, h264, hevc, nal};
use media::{Item, Sample, Timestamp, Track, TrackId};

use super::{
    Arrival, Depacketizer, Event, Incoming, PADDING_MAX, Packet, Packetizer, Patience,
    PayloadFormat, Payloads, Reorder, ReportClock, Sequencer,
};

/// A track of one format.
struct Media {
    format: PayloadFormat,
    track: Arc<Track>,
    samples: Vec<Sample>,
}

impl Media {
    /// The packets of every sample, as sent on the wire.
    fn packets(&self, payload_bytes: usize) -> Vec<Vec<u8>> {
        let mut packetizer = Packetizer::new(self.format, &self.track, payload_bytes);
        let mut sequencer = Sequencer::new(7, 65_500, 0xFFFF_0000, self.format.clock_rate());
        let mut payloads = Payloads::default();
        let mut packets = Vec::new();
        for sample in &self.samples {
            payloads.clear();
            if packetizer.push(sample, &mut payloads).is_err() {
                continue;
            }
            payloads.level();
            check_frame(self.format, &payloads, payload_bytes);
            let timestamp = sequencer.timestamp(sample.pts);
            for packet in payloads.packets() {
                let header = sequencer.number(packet, timestamp);
                let payload = &payloads.bytes()[packet.range.clone()];
                let mut space = [0; PADDING_MAX];
                packets.push([&header[..], payload, packet.padding(&mut space)].concat());
            }
        }
        packets
    }

    /// Returns the expected bytes of each sample after a round trip.
    fn expected(&self) -> Vec<Vec<u8>> {
        let frames = self.samples.iter();
        let normal = frames.map(|sample| normal(self.format, &self.track, &sample.data));
        normal.filter(|frame| !frame.is_empty()).collect()
    }
}

/// Only the last packet is marked, none is empty, and none is longer than asked for.
fn check_frame(format: PayloadFormat, payloads: &Payloads, payload_bytes: usize) {
    let count = payloads.iter().len();
    for (index, (payload, marker)) in payloads.iter().enumerate() {
        assert!((1..=payload_bytes).contains(&payload.len()) || format == PayloadFormat::Opus);
        assert_eq!(marker, index + 1 == count && format != PayloadFormat::Opus);
    }
    let runs: usize = payloads.runs(64).map(|run| run.len()).sum();
    assert_eq!(runs, count);
}

/// The output of packets.
#[derive(Default)]
struct Outcome {
    tracks: Vec<Arc<Track>>,
    samples: Vec<Sample>,
    keyframes_wanted: usize,
}

impl Outcome {
    fn of(format: PayloadFormat, packets: &[Vec<u8>]) -> Self {
        let mut receiver = Receiver::new(format);
        for packet in packets {
            receiver.push(packet);
        }
        receiver.outcome
    }

    /// The codec's own bytes of each sample.
    fn frames(&self) -> Vec<Vec<u8>> {
        let samples = self.samples.iter();
        samples.map(|sample| sample.data.to_vec()).collect()
    }
}

/// The complete receiving side: from datagrams to samples.
struct Receiver {
    depacketizer: Depacketizer,
    reorder: Reorder<Vec<u8>>,
    clock: ReportClock,
    now: Instant,
    outcome: Outcome,
}

impl Receiver {
    fn new(format: PayloadFormat) -> Self {
        Self {
            depacketizer: Depacketizer::new(format, TrackId(5), 2),
            reorder: Reorder::new(Patience {
                hold: std::time::Duration::ZERO,
                ..Patience::default()
            }),
            clock: ReportClock::new(format.clock_rate()),
            now: Instant::now(),
            outcome: Outcome::default(),
        }
    }

    fn push(&mut self, datagram: &[u8]) {
        let packet = Packet::parse(datagram).expect("we made it");
        let sequence = packet.header.sequence;
        self.reorder.push(sequence, datagram.to_vec(), self.now);
        let mut events = Vec::new();
        while let Some(arrival) = self.reorder.pop(self.now) {
            let Arrival::Packet(datagram) = arrival else {
                self.depacketizer.lost();
                continue;
            };
            let packet = Packet::parse(&datagram).expect("it was parsed before");
            let timestamp = packet.header.timestamp;
            let incoming = Incoming {
                payload: packet.payload,
                marker: packet.header.marker,
                timestamp,
                at: self.clock.at(timestamp, Timestamp::ZERO),
            };
            self.depacketizer.push(incoming, &mut events);
        }
        for event in events {
            match event {
                Event::Item(Item::Track(track)) => self.outcome.tracks.push(track),
                Event::Item(Item::Sample(sample)) => self.outcome.samples.push(sample),
                Event::Item(other) => panic!("RTP has no {other:?}"),
                Event::KeyframeWanted => self.outcome.keyframes_wanted += 1,
            }
        }
    }
}

/// A frame without what packets do not carry, in the framing that comes out.
fn normal(format: PayloadFormat, track: &Track, frame: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    match format {
        PayloadFormat::H264 | PayloadFormat::Hevc => {
            for unit in nal::units(frame, packing(format, track)) {
                if !is_set(format, unit) && !is_dropped(format, unit) {
                    out.extend_from_slice(&(unit.len() as u32).to_be_bytes());
                    out.extend_from_slice(unit);
                }
            }
        }
        PayloadFormat::Av1 => {
            for unit in av1::obus(frame) {
                if !matches!(unit.kind(), 2 | 8 | 15) {
                    unit.write(&mut out);
                }
            }
        }
        PayloadFormat::Vp8 | PayloadFormat::Vp9 | PayloadFormat::Opus => {
            out.extend_from_slice(frame)
        }
    }
    out
}

fn packing(format: PayloadFormat, track: &Track) -> nal::Packing {
    let record = &track.config[..];
    let length = match format {
        PayloadFormat::H264 => h264::AvcConfig::parse(record).map(|config| config.length_bytes),
        _ => hevc::HevcConfig::parse(record).map(|config| config.length_bytes),
    };
    length.map_or(nal::Packing::StartCodes, nal::Packing::Lengths)
}

fn is_set(format: PayloadFormat, unit: &[u8]) -> bool {
    match format {
        PayloadFormat::H264 => matches!(unit[0] & 31, 7 | 8),
        _ => matches!(unit[0] >> 1 & 63, 32..=34),
    }
}

fn is_dropped(format: PayloadFormat, unit: &[u8]) -> bool {
    match format {
        PayloadFormat::H264 => matches!(unit[0] & 31, 9 | 12),
        _ => matches!(unit[0] >> 1 & 63, 35 | 38),
    }
}
