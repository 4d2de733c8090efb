//! RTP from a publisher: whatever arrives, in whatever order, the memory held is bounded, samples are whole, and times do not
//! go back.

#![no_main]

use std::time::{Duration, Instant};

use container::rtp::{
    Arrival, Depacketizer, Event, Incoming, PACKETS_MAX, Packet, Patience, PayloadFormat, Reorder,
    ReportClock,
};
use libfuzzer_sys::fuzz_target;
use media::{Item, Timestamp, TrackId};

/// Number of input bytes before each datagram: its length and the step of the sequence number.
const FRAMING_BYTES: usize = 2;

// The first byte chooses the format. Then follow datagrams, each behind its length and a step of the sequence number, so that
// the fuzzer need not count.
fuzz_target!(|data: &[u8]| {
    let Some((format, mut rest)) = data.split_first() else {
        return;
    };
    let format = PayloadFormat::ALL[usize::from(*format) % PayloadFormat::ALL.len()];
    let mut depacketizer = Depacketizer::new(format, TrackId::VIDEO, *rest.first().unwrap_or(&2));
    let mut clock = ReportClock::new(format.clock_rate());
    let mut reorder = Reorder::new(Patience::default());
    let mut now = Instant::now();
    let (mut sequence, mut taken, mut events) = (0u16, 0, Vec::new());
    while let Some(([length, step], after)) = rest.split_first_chunk::<FRAMING_BYTES>() {
        let (datagram, after) = after.split_at(usize::from(*length).min(after.len()));
        rest = after;
        sequence = sequence.wrapping_add_signed(i16::from(*step as i8));
        now += Duration::from_millis(u64::from(*step));
        if let Ok(packet) = Packet::parse(datagram) {
            assert!(packet.payload.len() + packet.contributing.len() < datagram.len());
            packet
                .elements()
                .for_each(|(_, data)| assert!(data.len() < datagram.len()));
            reorder.push(sequence, datagram, now);
            taken += packet.payload.len();
        } else {
            depacketizer.learn(datagram);
            taken += datagram.len();
        }
        let mut requests = Vec::new();
        reorder.requests(now, &mut requests);
        assert!(requests.len() <= PACKETS_MAX);
        while let Some(arrival) = reorder.pop(now) {
            let Arrival::Packet(datagram) = arrival else {
                depacketizer.lost();
                continue;
            };
            let packet = Packet::parse(datagram).expect("it was parsed before");
            let timestamp = packet.header.timestamp;
            let incoming = Incoming {
                payload: packet.payload,
                marker: packet.header.marker,
                timestamp,
                at: clock.at(timestamp, Timestamp::ZERO),
            };
            depacketizer.push(incoming, &mut events);
        }
    }
    let mut last = Timestamp::from_ticks(i64::MIN);
    let mut has_track = false;
    for event in events {
        match event {
            Event::Item(Item::Track(track)) => {
                has_track = true;
                assert_eq!(PayloadFormat::of(&track), Some(format));
            }
            Event::Item(Item::Sample(sample)) => {
                assert!(has_track, "a sample without a track");
                assert!(sample.dts >= last && sample.pts >= sample.dts);
                // Lengths take more bytes in samples than in packets, and there is a prelude.
                assert!(!sample.data.is_empty() && sample.data.len() <= 8 * taken + 64);
                last = sample.dts;
            }
            Event::Item(other) => panic!("RTP has no {other:?}"),
            Event::KeyframeWanted => assert!(format != PayloadFormat::Opus),
        }
    }
});
