//! NAL units, as H.264 and HEVC share them: their packing in a sample, and their escapes.

use bytes::Buf;

/// Number of bytes of a parameter set that are examined. The fields that a relay needs come long before this, even
/// after full scaling lists.
pub(super) const PARAMETER_SET_BYTES_READ: usize = 1_024;

/// Packing of NAL units in a sample.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Packing {
    /// Each after its length, big-endian, in this many bytes: 1 to 4 (ISO/IEC 14496-15 §4.3.2).
    Lengths(usize),
    /// Each after a start code (ISO/IEC 14496-10 annex B).
    StartCodes,
}

/// Iterates over the NAL units of a sample in order, as far as they are complete. Empty ones are left out.
pub fn units(data: &[u8], packing: Packing) -> Units<'_> {
    let rest = match packing {
        Packing::Lengths(_) => data,
        Packing::StartCodes => cut_at_start_code(data).1,
    };
    Units { rest, packing }
}

/// Iterator over NAL units; see [`units`].
#[derive(Clone, Debug)]
pub struct Units<'a> {
    rest: &'a [u8],
    packing: Packing,
}

impl<'a> Units<'a> {
    /// Returns the unread bytes. After the last unit, any rest means that the sample is truncated, or its lengths are
    /// wrong.
    pub const fn rest(&self) -> &'a [u8] {
        self.rest
    }
}

impl<'a> Iterator for Units<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        loop {
            let unit = match self.packing {
                Packing::Lengths(bytes) => take_prefixed(&mut self.rest, bytes)?,
                Packing::StartCodes if self.rest.is_empty() => return None,
                Packing::StartCodes => {
                    let (unit, rest) = cut_at_start_code(self.rest);
                    self.rest = rest;
                    // A NAL unit never ends in a zero; trailing zeros belong to the next start code.
                    let end = unit.iter().rposition(|byte| *byte != 0);
                    &unit[..end.map_or(0, |last| last + 1)]
                }
            };
            if !unit.is_empty() {
                return Some(unit);
            }
        }
    }
}

/// Takes the bytes after a big-endian length of this many bytes, 1 to 4; `None` if they are truncated.
pub fn take_prefixed<'a>(rest: &mut &'a [u8], length_bytes: usize) -> Option<&'a [u8]> {
    if !(1..=4).contains(&length_bytes) {
        return None;
    }
    let (mut prefix, behind) = rest.split_at_checked(length_bytes)?;
    let length = usize::try_from(prefix.get_uint(length_bytes)).ok()?;
    let (unit, after) = behind.split_at_checked(length)?;
    *rest = after;
    Some(unit)
}

/// Splits the bytes at the first start code, which is left out; returns all bytes and an empty slice if there is none.
fn cut_at_start_code(data: &[u8]) -> (&[u8], &[u8]) {
    let found = data.windows(3).position(|window| window == [0, 0, 1]);
    match found {
        Some(at) => (&data[..at], &data[at + 3..]),
        None => (data, &[]),
    }
}

/// Removes the `00 00 03` escapes from the part of a unit that is read: its first 1,024 bytes.
pub fn without_emulation_prevention(payload: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(payload.len().min(PARAMETER_SET_BYTES_READ));
    let mut zeros = 0;
    for byte in payload.iter().take(PARAMETER_SET_BYTES_READ) {
        if zeros >= 2 && *byte == 3 {
            zeros = 0;
            continue;
        }
        zeros = if *byte == 0 { zeros + 1 } else { 0 };
        plain.push(*byte);
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(data: &[u8], packing: Packing) -> Vec<&[u8]> {
        units(data, packing).collect()
    }

    #[test]
    fn lengths_of_every_size() {
        for bytes in 1..=4 {
            let mut data = Vec::new();
            for unit in [&b"first"[..], b"", b"2nd"] {
                let length = (unit.len() as u32).to_be_bytes();
                data.extend_from_slice(&length[4 - bytes..]);
                data.extend_from_slice(unit);
            }
            let packing = Packing::Lengths(bytes);
            assert_eq!(all(&data, packing), [&b"first"[..], b"2nd"]);
            data.pop();
            assert_eq!(all(&data, packing), [&b"first"[..]], "a unit that is cut");
            let mut cut = units(&data, packing);
            assert_eq!(cut.by_ref().count(), 1);
            assert_eq!(cut.rest().len(), bytes + 2);
        }
        assert!(all(b"abcdefgh", Packing::Lengths(0)).is_empty());
    }

    #[test]
    fn start_codes_of_both_sizes() {
        let data = b"\0\0\0\x01first\0\0\x01second\0\0\0\0\x01third\0\0";
        let units = all(data, Packing::StartCodes);
        assert_eq!(units, [&b"first"[..], b"second", b"third"]);
        assert!(all(b"no start code", Packing::StartCodes).is_empty());
        assert!(all(b"\0\0\x01\0\0\x01", Packing::StartCodes).is_empty());
    }

    #[test]
    fn escapes_are_undone() {
        let plain = without_emulation_prevention(&[0, 0, 3, 1, 0, 0, 3, 0, 0, 3]);
        assert_eq!(plain, [0, 0, 1, 0, 0, 0, 0]);
    }
}
