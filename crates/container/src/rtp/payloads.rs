//! Payloads of a frame, in memory that is reused for the next one.

use std::ops::Range;

/// Fraction that bounds padding: a packet is padded if it is shorter than the one before by at most one part in this
/// many. That costs 6 % of one packet and saves a send. Equal pieces of a frame lack at most one byte per piece.
const PADDED_SHARE: usize = 16;

/// Upper bound on the padding of a packet (RFC 3550 §5.1): its last octet states the length.
pub const PADDING_MAX: usize = 255;

/// Payload of one packet, as a range in [`Payloads::bytes`].
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Payload {
    /// Range of its bytes.
    pub range: Range<usize>,
    /// The payload ends its frame.
    pub marker: bool,
    /// Bytes of padding that follow the payload in its packet; see [`Payloads::level`].
    pub padding: u8,
}

impl Payload {
    /// Writes the padding to `space`, and returns it.
    pub fn padding<'a>(&self, space: &'a mut [u8; PADDING_MAX]) -> &'a [u8] {
        let padding = &mut space[..usize::from(self.padding)];
        padding.fill(0);
        if let Some(last) = padding.last_mut() {
            *last = self.padding;
        }
        padding
    }

    /// Returns the length including padding.
    fn padded_len(&self) -> usize {
        self.range.len() + usize::from(self.padding)
    }
}

/// Output of a [`Packetizer`](super::Packetizer): payloads one after another.
#[derive(Clone, Debug, Default)]
pub struct Payloads {
    /// Bytes of all payloads; the end belongs to the last packet, or to the packet being written.
    bytes: Vec<u8>,
    packets: Vec<Payload>,
}

impl Payloads {
    /// Removes all payloads and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.packets.clear();
    }

    /// Returns the packets in sending order. None is empty.
    pub fn packets(&self) -> &[Payload] {
        &self.packets
    }

    /// Returns all payloads, one after another.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns each payload with its marker, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&[u8], bool)> {
        let packets = self.packets.iter();
        packets.map(|packet| (&self.bytes[packet.range.clone()], packet.marker))
    }

    /// Pads packets that are a little shorter than the one before to its length. A run of equal packets then stays
    /// open: another packet can follow in the same send.
    pub fn level(&mut self) {
        let mut length = 0_usize;
        for packet in &mut self.packets {
            let own = packet.range.len();
            match length.checked_sub(own) {
                Some(missing) if missing <= (length / PADDED_SHARE).min(PADDING_MAX) => {
                    packet.padding = missing as u8;
                }
                _ => length = own,
            }
        }
    }

    /// Returns ranges of [`packets`](Self::packets) that one send with segmentation can carry: at most `segments_max`
    /// of the same length, the last of which may be shorter.
    pub fn runs(&self, segments_max: usize) -> impl Iterator<Item = Range<usize>> {
        let length = |index: usize| self.packets[index].padded_len();
        let mut at = 0;
        std::iter::from_fn(move || {
            let start = at;
            if start == self.packets.len() {
                return None;
            }
            at += 1;
            while at < self.packets.len()
                && at - start < segments_max
                && length(at - 1) == length(start)
                && length(at) <= length(start)
            {
                at += 1;
            }
            Some(start..at)
        })
    }

    /// Appends to the packet being written.
    pub(super) fn put(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Ends the packet being written, unless it is empty.
    pub(super) fn end_packet(&mut self) {
        let start = self.packets.last().map_or(0, |packet| packet.range.end);
        if start < self.bytes.len() {
            self.packets.push(Payload {
                range: start..self.bytes.len(),
                marker: false,
                padding: 0,
            });
        }
    }

    /// Marks the last packet as the frame's last.
    pub(super) fn end_frame(&mut self) {
        if let Some(last) = self.packets.last_mut() {
            last.marker = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(lengths: &[usize]) -> Payloads {
        let mut payloads = Payloads::default();
        for length in lengths {
            payloads.put(&vec![0; *length]);
            payloads.end_packet();
        }
        payloads.end_frame();
        payloads
    }

    #[test]
    fn runs_end_with_a_short_segment() {
        let runs = |lengths: &[usize], max| of(lengths).runs(max).collect::<Vec<_>>();
        assert_eq!(runs(&[9, 9, 4, 9, 9, 9], 64), [0..3, 3..6]);
        assert_eq!(runs(&[4, 9, 9], 64), [0..1, 1..3]);
        assert_eq!(runs(&[9, 9, 9, 9, 2], 2), [0..2, 2..4, 4..5]);
        assert_eq!(runs(&[9, 4, 4], 64), [0..2, 2..3]);
        assert_eq!(runs(&[], 64), []);
        assert_eq!(runs(&[9], 0), vec![0..1], "a run has a packet");
    }

    #[test]
    fn what_is_a_little_shorter_is_padded() {
        let padding = |lengths: &[usize]| {
            let mut payloads = of(lengths);
            payloads.level();
            let each = payloads.packets().iter();
            each.map(|packet| packet.padding).collect::<Vec<_>>()
        };
        assert_eq!(padding(&[1_100, 1_100, 1_097]), [0, 0, 3]);
        assert_eq!(padding(&[160, 150, 149, 140]), [0, 10, 0, 9]);
        // After what is shorter.
        assert_eq!(padding(&[40, 1_100, 1_099]), [0, 0, 1]);
        assert_eq!(padding(&[9_000, 8_745, 8_600]), [0, 255, 0]);
        assert_eq!(padding(&[3, 2]), [0, 0]);
        let mut payloads = of(&[100, 96, 20]);
        assert_eq!(payloads.runs(64).count(), 2);
        payloads.level();
        assert_eq!(payloads.runs(64).count(), 1, "the run goes on");
    }

    #[test]
    fn padding_ends_with_its_length() {
        let mut space = [9; PADDING_MAX];
        let mut padding = |padding| {
            let payload = Payload {
                range: 0..1,
                marker: false,
                padding,
            };
            payload.padding(&mut space).to_vec()
        };
        assert_eq!((padding(0), padding(1)), (vec![], vec![1]));
        assert_eq!(padding(3), [0, 0, 3]);
        assert_eq!(padding(255).len(), 255);
    }

    #[test]
    fn only_the_last_is_marked_and_none_is_empty() {
        let payloads = of(&[3, 0, 2]);
        let marks = payloads.iter().map(|(bytes, mark)| (bytes.len(), mark));
        assert_eq!(marks.collect::<Vec<_>>(), [(3, false), (2, true)]);
    }
}
