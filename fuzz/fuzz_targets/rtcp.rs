//! Compound packets: every item is walked to its end, and the number of items read is bounded.

#![no_main]

use libfuzzer_sys::fuzz_target;
use webrtc::rtcp::{NACKED_MAX, Packet, packets};
use webrtc::rtp::Header;

fuzz_target!(|bytes: &[u8]| {
    let mut count = 0;
    for packet in packets(bytes) {
        count += 1;
        match packet {
            Packet::SenderReport { reports, .. } | Packet::ReceiverReport { reports, .. } => {
                for report in reports {
                    let _ = report.round_trip(report.jitter);
                }
            }
            Packet::Nack { lost, .. } => assert!(lost.count() <= NACKED_MAX),
            Packet::PictureLoss { .. } | Packet::Bye { .. } => {}
        }
    }
    assert!(count <= bytes.len() / 4);
    if let Some(header) = Header::parse(bytes) {
        assert!(header.len <= bytes.len());
    }
});
