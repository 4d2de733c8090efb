//! Opus packets as an Ogg stream (RFC 3533, RFC 7845), for decoders that are not ours.

use media::{Sample, Track};

/// One packet per page: simple, and right.
pub(super) fn mux(track: &Track, packets: &[Sample]) -> Vec<u8> {
    let tags = b"OpusTags\x04\0\0\0test\0\0\0\0";
    let mut stream = page(2, 0, 0, &track.config);
    stream.extend(page(0, 1, 0, tags));
    let mut granule = 0;
    for (at, packet) in packets.iter().enumerate() {
        granule += packet.duration.ticks() as u64 * 48_000 / media::TICKS_PER_SECOND as u64;
        let flags = if at + 1 == packets.len() { 4 } else { 0 };
        stream.extend(page(flags, at as u32 + 2, granule, &packet.data));
    }
    stream
}

fn page(flags: u8, number: u32, granule: u64, packet: &[u8]) -> Vec<u8> {
    let mut page = [b"OggS\0", &[flags][..], &granule.to_le_bytes()].concat();
    page.extend(1u32.to_le_bytes());
    page.extend(number.to_le_bytes());
    page.extend([0; 4]);
    page.push((packet.len() / 255 + 1) as u8);
    page.resize(page.len() + packet.len() / 255, 255);
    page.push((packet.len() % 255) as u8);
    page.extend_from_slice(packet);
    let sum = page.iter().fold(0u32, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte) << 24, |sum, _| {
            if sum >> 31 == 1 {
                sum << 1 ^ 0x04C1_1DB7
            } else {
                sum << 1
            }
        })
    });
    page[22..26].copy_from_slice(&sum.to_le_bytes());
    page
}
