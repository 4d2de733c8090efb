//! Extraction of bare Opus packets from the pages of an Ogg stream (RFC 7845).

use bytes::Bytes;
use media::Sample;
use media::codec::opus;

use super::page::{self, Page};

/// Bytes of the longest packet that is assembled: the most a decoder must accept (RFC 7845 §6).
const PACKET_BYTES_MAX: usize = 61_440;

/// Extractor of one track's packets from the samples of a [`Demuxer`](super::Demuxer).
#[derive(Debug, Default)]
pub struct OpusPackets {
    /// Beginning of a packet that continues on the next page; empty when there is none.
    begun: Vec<u8>,
}

impl OpusPackets {
    /// Returns the identification header among the header pages of a stream.
    pub fn head(header: &[u8]) -> Option<Bytes> {
        page::pages(Bytes::copy_from_slice(header)).find_map(|page| {
            let mut packets = page.pieces().map(|(packet, _)| packet);
            let head = packets.find(|packet| opus::head_channels(packet).is_some())?;
            Some(Bytes::copy_from_slice(head))
        })
    }

    /// Takes one page, and appends the packets that end on it to `out`, each as a sample of the same track. Repeated
    /// packets are left out.
    pub fn push(&mut self, sample: &Sample, out: &mut Vec<Sample>) {
        let page = Page::whole(&sample.data).filter(|page| !is_repeated(sample, page));
        let Some(page) = page else {
            return;
        };
        if !page.is_continued() {
            self.begun.clear();
        }
        // The end of a packet whose beginning is unknown is discarded.
        let mut is_end_of_unknown = page.is_continued() && self.begun.is_empty();
        let (mut dts, mut pts) = (sample.dts, sample.pts);
        for (piece, ends) in page.pieces() {
            if is_end_of_unknown {
                is_end_of_unknown = !ends;
                continue;
            }
            let Some(packet) = self.complete(&page, piece, ends) else {
                continue;
            };
            // A packet without a duration is not Opus (RFC 6716 §3.1).
            let Some(duration) = opus::duration(&packet) else {
                continue;
            };
            out.push(Sample {
                pts,
                ..Sample::frame(sample.track, dts, duration, packet)
            });
            dts += duration;
            pts += duration;
        }
    }

    /// Returns the packet that `piece` completes.
    fn complete(&mut self, page: &Page, piece: &[u8], ends: bool) -> Option<Bytes> {
        if self.begun.is_empty() && ends {
            return Some(page.bytes.slice_ref(piece));
        }
        if self.begun.len() + piece.len() > PACKET_BYTES_MAX {
            self.begun.clear();
            return None;
        }
        self.begun.extend_from_slice(piece);
        ends.then(|| std::mem::take(&mut self.begun).into())
    }
}

/// Returns whether a page has packets that a decoder has already had, if it continues from the link before: see
/// [`Retitler`](super::Retitler). A listener could start at any other audio page that begins with a packet.
fn is_repeated(sample: &Sample, page: &Page) -> bool {
    !sample.keyframe && !page.is_continued() && page.granule().is_some()
}

#[cfg(test)]
mod tests {
    use media::{Span, Timestamp, TrackId};

    use super::*;

    fn sample(page: Vec<u8>) -> Sample {
        let at = Timestamp::from_millis(1_000);
        Sample::frame(TrackId::AUDIO, at, Span::ZERO, page.into())
    }

    /// A packet of 20 ms.
    fn packet(len: usize) -> Vec<u8> {
        let mut packet = vec![0xFC; len];
        packet[len - 1] = 7;
        packet
    }

    fn taken(packets: &mut OpusPackets, page: Vec<u8>) -> Vec<(i64, usize)> {
        let mut out = Vec::new();
        packets.push(&sample(page), &mut out);
        let out = out.iter();
        out.map(|it| (it.pts.millis(), it.data.len())).collect()
    }

    #[test]
    fn packets_follow_each_other_and_continue_on_the_next_page() {
        let mut packets = OpusPackets::default();
        let long = packet(510);
        let (nine, eight) = (packet(9), packet(8));
        let pieces = [(&nine[..], true), (&eight, true), (&long[..255], false)];
        let first = page::build(0, 0, 1, &pieces);
        assert_eq!(taken(&mut packets, first), [(1_000, 9), (1_020, 8)]);
        let next = page::build(1, 0, 1, &[(&long[255..], true), (&packet(7), true)]);
        let found = taken(&mut packets, next.clone());
        assert_eq!(found, [(1_000, 510), (1_020, 7)]);
        // Joined between the two, or with a page missing, the rest of the long one is dropped.
        let found = taken(&mut OpusPackets::default(), next.clone());
        assert_eq!(found, [(1_000, 7)]);
        let cut = page::build(0, 0, 1, &[(&long[..255], false)]);
        assert!(taken(&mut packets, cut).is_empty());
        let other = page::build(0, 0, 1, &[(&packet(5), true)]);
        assert_eq!(taken(&mut packets, other), [(1_000, 5)]);
        assert_eq!(taken(&mut packets, next), [(1_000, 7)]);
        assert!(taken(&mut packets, b"no page".to_vec()).is_empty());
    }

    #[test]
    fn packets_without_end_are_bounded() {
        let mut packets = OpusPackets::default();
        let piece = vec![0xFC; 255 * 200];
        for number in 0..50 {
            let page = page::build(u8::from(number > 0), 0, 1, &[(&piece, false)]);
            assert!(taken(&mut packets, page).is_empty());
            assert!(packets.begun.len() <= PACKET_BYTES_MAX);
        }
    }

    #[test]
    fn the_head_is_found_among_the_header_pages() {
        let head = opus::head(1);
        let mut header = page::build(2, 0, 9, &[(b"fishead\0", true)]);
        header.extend(page::build(2, 0, 1, &[(&head, true)]));
        header.extend(page::build(0, 0, 1, &[(b"OpusTags", true)]));
        assert_eq!(OpusPackets::head(&header).as_deref(), Some(&head[..]));
        assert_eq!(OpusPackets::head(&header[..30]), None);
    }
}
