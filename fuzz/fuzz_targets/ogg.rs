//! Ogg: how the input is cut makes no difference, and no byte is lost uncounted. Opus that is extracted from its pages equals
//! the contents of the pages.

#![no_main]

#[path = "../shared/demux.rs"]
mod demux;

use container::Demuxer;
use container::ogg::OpusPackets;
use libfuzzer_sys::fuzz_target;
use media::Item;

/// Bytes added by splitting a page that ends the header and also has audio: it becomes two pages, each with a header (RFC 3533
/// §6).
const PAGE_HEADER_BYTES: u64 = 27;

fuzz_target!(|data: &[u8]| {
    demux::check("application/ogg", PAGE_HEADER_BYTES, data);
    unpack(data);
});

/// # Panics
/// Panics if more comes out of the pages than is on them.
fn unpack(data: &[u8]) {
    let mut demuxer = Demuxer::for_content_type("application/ogg");
    let mut items = Vec::new();
    demuxer.push(data, &mut items);
    let mut packets = OpusPackets::default();
    let mut out = Vec::new();
    let mut page_bytes = 0;
    for item in &items {
        match item {
            Item::Header(header) => drop(OpusPackets::head(header)),
            Item::Sample(page) => {
                page_bytes += page.data.len();
                packets.push(page, &mut out);
            }
            _ => {}
        }
    }
    let packet_bytes: usize = out.iter().map(|packet| packet.data.len()).sum();
    assert!(packet_bytes <= page_bytes, "bytes were made up");
}
