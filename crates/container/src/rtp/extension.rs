//! RTP header extensions (RFC 3550 §5.3.1) and their elements (RFC 8285).
//!
//! ```text
//! [profile:16] [words:16]   one byte:  [id:4 length-1:4] data …   two bytes:  [id] [length] data …
//! ```

/// Profile of one-byte element headers.
const ONE_BYTE: u16 = 0xBEDE;

/// Profiles of two-byte element headers, without their application bits.
const TWO_BYTES: u16 = 0x1000;
const TWO_BYTES_MASK: u16 = 0xFFF0;

/// Element number that ends a list of one-byte headers.
const STOP: u8 = 15;

/// Header extension of a packet.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Extension<'a> {
    /// Profile, which defines the meaning of the data.
    pub profile: u16,
    /// Data; a multiple of four bytes.
    pub data: &'a [u8],
}

impl<'a> Extension<'a> {
    /// Takes an extension from the front of the bytes after the contributing sources.
    pub(super) fn take(rest: &mut &'a [u8]) -> Option<Self> {
        let ([a, b, c, d], after) = rest.split_first_chunk()?;
        let bytes = 4 * usize::from(u16::from_be_bytes([*c, *d]));
        let (data, after) = after.split_at_checked(bytes)?;
        *rest = after;
        Some(Self {
            profile: u16::from_be_bytes([*a, *b]),
            data,
        })
    }

    /// Returns the elements; none for a profile that has no elements.
    pub fn elements(self) -> Elements<'a> {
        let has_long_heads = self.profile & TWO_BYTES_MASK == TWO_BYTES;
        let is_known = has_long_heads || self.profile == ONE_BYTE;
        Elements {
            rest: if is_known { self.data } else { &[] },
            has_long_heads,
        }
    }
}

/// Elements of an extension: the number that the session description assigned to each, and its data. Ends at the first
/// invalid one.
#[derive(Clone, Debug)]
pub struct Elements<'a> {
    rest: &'a [u8],
    has_long_heads: bool,
}

impl<'a> Iterator for Elements<'a> {
    type Item = (u8, &'a [u8]);

    fn next(&mut self) -> Option<(u8, &'a [u8])> {
        // Padding is bytes of zero.
        while let [0, rest @ ..] = self.rest {
            self.rest = rest;
        }
        let (id, length, rest) = match (self.has_long_heads, self.rest) {
            (true, [id, length, rest @ ..]) => (*id, usize::from(*length), rest),
            (false, [head, rest @ ..]) if head >> 4 != STOP => {
                (head >> 4, usize::from(head & 15) + 1, rest)
            }
            _ => return None,
        };
        let (data, rest) = rest.split_at_checked(length)?;
        self.rest = rest;
        Some((id, data))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elements(profile: u16, data: &[u8]) -> Vec<(u8, &[u8])> {
        Extension { profile, data }.elements().collect()
    }

    #[test]
    fn one_byte_heads() {
        let data = [0x10, 0xAA, 0, 0, 0x31, 1, 2, 0xF0, 0x10, 9, 9, 9];
        let found = elements(ONE_BYTE, &data);
        assert_eq!(found, [(1, &[0xAA][..]), (3, &[1, 2][..])], "15 ends them");
        assert!(elements(ONE_BYTE, &[0x1F, 1, 2, 3]).is_empty(), "cut");
    }

    #[test]
    fn two_byte_heads() {
        let data = [1, 0, 0, 200, 3, 7, 8, 9];
        let found = elements(TWO_BYTES | 5, &data);
        assert_eq!(found, [(1, &[][..]), (200, &[7, 8, 9][..])]);
        assert!(elements(0xABAC, &data).is_empty(), "another profile");
    }
}
