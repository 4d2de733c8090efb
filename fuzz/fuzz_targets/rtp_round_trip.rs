//! RTP for listeners: any frame is cut within the limit, and is unchanged after reassembly.

#![no_main]

use container::rtp::{
    Depacketizer, Event, Incoming, PADDING_MAX, Packet, Packetizer, PayloadFormat, Payloads,
    Sequencer,
};
use libfuzzer_sys::fuzz_target;
use media::{Framing, Item, Sample, Span, Timestamp, Track, TrackId};

const PAYLOAD_BYTES_MIN: usize = 64;

fn track(format: PayloadFormat, config: &[u8]) -> Track {
    Track {
        id: TrackId::VIDEO,
        kind: format.kind(),
        codec: format.codec(),
        framing: Framing::Bare,
        config: config.to_vec().into(),
        sample_rate: 0,
        channels: 0,
        flv: None,
    }
}

/// Packetizes the frame inside a sample.
fn packets(
    format: PayloadFormat,
    track: &Track,
    sample: &Sample,
    bytes: usize,
) -> Option<Payloads> {
    let mut payloads = Payloads::default();
    let picture = Packetizer::new(format, track, bytes).push(sample, &mut payloads);
    if picture.is_err() {
        assert!(payloads.packets().is_empty(), "nothing was to be sent");
        return None;
    }
    let limit = bytes.max(PAYLOAD_BYTES_MIN);
    payloads.level();
    for packet in payloads.packets() {
        let bytes = packet.range.len() + usize::from(packet.padding);
        assert!(!packet.range.is_empty() && (bytes <= limit || format == PayloadFormat::Opus));
    }
    Some(payloads)
}

fn depacketize(format: PayloadFormat, payloads: &Payloads) -> (Option<Track>, Option<Sample>) {
    let mut depacketizer = Depacketizer::new(format, TrackId::VIDEO, 2);
    let mut sequencer = Sequencer::new(1, 65_535, 0, format.clock_rate());
    let mut events = Vec::new();
    for packet in payloads.packets() {
        let header = sequencer.number(packet, 0);
        let payload = &payloads.bytes()[packet.range.clone()];
        let mut space = [0; PADDING_MAX];
        let datagram = [&header[..], payload, packet.padding(&mut space)].concat();
        let parsed = Packet::parse(&datagram).expect("it was just made");
        let incoming = Incoming {
            payload: parsed.payload,
            marker: parsed.header.marker,
            timestamp: parsed.header.timestamp,
            at: Timestamp::ZERO,
        };
        depacketizer.push(incoming, &mut events);
    }
    let (mut track, mut sample) = (None, None);
    for event in events {
        match event {
            Event::Item(Item::Track(found)) => track = Some(found.as_ref().clone()),
            Event::Item(Item::Sample(found)) => {
                assert!(sample.is_none(), "one frame became two");
                sample = Some(found);
            }
            _ => {}
        }
    }
    (track, sample)
}

// Two bytes choose format and length, the third how much of the rest is configuration.
fuzz_target!(|data: &[u8]| {
    let Some(([format, bytes, config], rest)) = data.split_first_chunk::<3>() else {
        return;
    };
    let format = PayloadFormat::ALL[usize::from(*format) % PayloadFormat::ALL.len()];
    let bytes = PAYLOAD_BYTES_MIN + 5 * usize::from(*bytes);
    let (config, frame) = rest.split_at(usize::from(*config).min(rest.len()));
    let sent = track(format, config);
    let sample = Sample {
        track: sent.id,
        dts: Timestamp::ZERO,
        pts: Timestamp::ZERO,
        duration: Span::ZERO,
        keyframe: true,
        data: frame.to_vec().into(),
        flv: None,
    };
    let Some(payloads) = packets(format, &sent, &sample, bytes) else {
        return;
    };
    // A stream without a starting point yields nothing: no configuration, or no keyframe after all.
    let (Some(track), Some(came)) = depacketize(format, &payloads) else {
        return;
    };
    let Some(again) = packets(format, &track, &came, bytes) else {
        return;
    };
    let (same_track, same) = depacketize(format, &again);
    assert_eq!(same_track.as_ref(), Some(&track));
    assert_eq!(same.as_ref(), Some(&came), "it changed the second time");
});
