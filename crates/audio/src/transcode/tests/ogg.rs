//! Opus packets as an Ogg stream (RFC 3533, RFC 7845), for decoders that are not ours.

use media::{Sample, Track};
use testkit::OggPage;

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
    let page = OggPage {
        flags,
        granule,
        serial: 1,
        number,
        packets: &[packet],
        is_cut: false,
    };
    page.bytes()
}
