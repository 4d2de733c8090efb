//! Supplemental enhancement information of H.264 and HEVC: the messages of one NAL unit.
//!
//! ```text
//! (FF)* type │ (FF)* size │ payload … 80
//! ```
//!
//! Sources: ISO/IEC 14496-10 §7.3.2.3 and table D-1, ITU-T H.265 §7.3.5 and table D.1. Both use the same numbers for
//! the messages below.

/// Types `buffering_period`, `pic_timing` and `filler_payload`: the times at which a decoder at a constant bit rate
/// takes a frame from its buffer, and bytes that keep the rate.
const HYPOTHETICAL_DECODER: [usize; 3] = [0, 1, 3];

/// End of a unit.
const TRAILING_BITS: &[u8] = &[0x80];

/// Iterator over the messages of a unit.
#[derive(Clone, Debug)]
pub struct Messages<'a> {
    rest: &'a [u8],
}

/// Iterates over the messages in `plain`, a unit without its header and without emulation prevention
/// ([`without_emulation_prevention`](super::nal::without_emulation_prevention)): the type and payload of each. A
/// truncated message ends the iteration.
pub const fn messages(plain: &[u8]) -> Messages<'_> {
    Messages { rest: plain }
}

/// Whether a unit only describes how to feed a decoder with a buffer, which is of no use to a player that shows frames
/// as they arrive. `plain` is as for [`messages`].
pub fn is_for_hypothetical_decoder(plain: &[u8]) -> bool {
    let mut messages = messages(plain);
    let mut count = 0;
    for (kind, _) in messages.by_ref() {
        if !HYPOTHETICAL_DECODER.contains(&kind) {
            return false;
        }
        count += 1;
    }
    count > 0 && messages.rest == TRAILING_BITS
}

impl<'a> Iterator for Messages<'a> {
    type Item = (usize, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let mut rest = self.rest;
        let kind = take_sum(&mut rest)?;
        let size = take_sum(&mut rest)?;
        let (payload, behind) = rest.split_at_checked(size)?;
        self.rest = behind;
        Some((kind, payload))
    }
}

/// Takes a number encoded as bytes that are added up, of which all but the last are 255.
fn take_sum(rest: &mut &[u8]) -> Option<usize> {
    let mut sum = 0;
    loop {
        let (byte, behind) = rest.split_first()?;
        *rest = behind;
        sum += usize::from(*byte);
        if *byte != 0xFF {
            return Some(sum);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_in_order() {
        let long = [&[0xFF, 45, 0xFF, 1][..], &[7; 256]].concat();
        let unit = [&[1, 2, 0xA, 0xB][..], &long, &[6, 0, 0x80]].concat();
        let seen: Vec<_> = messages(&unit).collect();
        let expected: [(usize, &[u8]); 3] = [(1, &[0xA, 0xB]), (300, &[7; 256]), (6, &[])];
        assert_eq!(seen, expected);
        assert_eq!(messages(&[1, 3, 0xA]).count(), 0, "cut short");
        assert_eq!(messages(&[0xFF, 0xFF]).count(), 0);
    }

    #[test]
    fn what_only_a_hypothetical_decoder_reads_is_known() {
        for (unit, expected) in [
            // As x264 writes it at a constant bit rate.
            (&[1, 2, 0, 0x40, 0x80][..], true),
            (&[0, 1, 0x93, 1, 2, 0, 0, 0x80], true),
            (&[3, 2, 0xFF, 0xFF, 0x80], true),
            (&[1, 2, 0, 0x40, 6, 1, 0x84, 0x80], false),
            (&[5, 1, 9, 0x80], false),
            // The content of a truncated message is unknown.
            (&[1, 2, 0, 0x40, 5, 200, 1, 2], false),
            (&[1, 2, 0, 0x40], false),
            (&[0x80], false),
            (&[], false),
        ] {
            assert_eq!(is_for_hypothetical_decoder(unit), expected, "{unit:02X?}");
        }
    }
}
