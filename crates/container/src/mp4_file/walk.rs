//! Boxes in bytes that may be anything (ISO/IEC 14496-12 §4.2).

use bytes::Buf;

use super::numbers::Numbers;

/// The header of a box.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Head {
    pub(super) kind: [u8; 4],
    /// Bytes of the header itself.
    pub(super) header_bytes: usize,
    /// Bytes of the whole box; never fewer than the header's.
    pub(super) bytes: u64,
}

impl Head {
    /// The header at the start of `data`, of a box in a file or a box that has `left` bytes more. `None` if it is cut,
    /// if the box is not all there, or if it has no proper size. A size of zero is that of all that is left.
    pub(super) fn read(data: &[u8], left: u64) -> Option<Self> {
        let (size, rest) = data.split_first_chunk::<4>()?;
        let (kind, rest) = rest.split_first_chunk::<4>()?;
        let (header_bytes, bytes) = match u32::from_be_bytes(*size) {
            0 => (8, left),
            1 => (16, u64::from_be_bytes(*rest.first_chunk::<8>()?)),
            size => (8, u64::from(size)),
        };
        (header_bytes as u64..=left)
            .contains(&bytes)
            .then_some(Self {
                kind: *kind,
                header_bytes,
                bytes,
            })
    }

    /// The same in a file that grows: there a box that has all that is left is not known to end.
    pub(super) fn read_sized(data: &[u8], left: u64) -> Option<Self> {
        let is_sized = data.first_chunk() != Some(&[0; 4]);
        Self::read(data, left).filter(|_| is_sized)
    }
}

/// A box among others: its kind, and where its content is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Child<'a> {
    pub(super) kind: [u8; 4],
    pub(super) content: &'a [u8],
    /// With its header.
    pub(super) whole: &'a [u8],
    /// Where the content begins in the data of all.
    pub(super) at: usize,
}

/// The whole boxes at the start of `data`; what follows the last of them is left out.
pub(super) fn children(data: &[u8]) -> impl Iterator<Item = Child<'_>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = data.get(at..)?;
        let head = Head::read(rest, rest.len() as u64)?;
        let whole = rest.get(..usize::try_from(head.bytes).ok()?)?;
        let child = Child {
            kind: head.kind,
            content: whole.get(head.header_bytes..)?,
            whole,
            at: at + head.header_bytes,
        };
        at += whole.len();
        Some(child)
    })
}

/// The content of the first box of a kind.
pub(super) fn find<'a>(data: &'a [u8], kind: &[u8; 4]) -> Option<&'a [u8]> {
    let found = children(data).find(|child| child.kind == *kind)?;
    Some(found.content)
}

/// The content of the `stbl` of a track.
pub(super) fn stbl(trak: &[u8]) -> Option<&[u8]> {
    find(find(find(trak, b"mdia")?, b"minf")?, b"stbl")
}

/// The units of a clock in a second, from `mvhd` or `mdhd`; not zero.
pub(super) fn timescale(header: &[u8]) -> Option<u32> {
    behind_times(header).filter(|scale| *scale > 0)
}

/// What stands behind two times in a header: in `tkhd` the number of the track, in others the units of a clock.
pub(super) fn behind_times(header: &[u8]) -> Option<u32> {
    let mut numbers = Numbers(header);
    numbers.times()?;
    numbers.u32()
}

/// A `u32` in `data`.
pub(super) fn u32_at(data: &[u8], at: usize) -> Option<u32> {
    data.get(at..)?.try_get_u32().ok()
}

/// A `u64` in `data`.
pub(super) fn u64_at(data: &[u8], at: usize) -> Option<u64> {
    data.get(at..)?.try_get_u64().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_of_32_or_64_bits_or_the_rest() {
        let head =
            |bytes: &[u8], left| Head::read(bytes, left).map(|it| (it.header_bytes, it.bytes));
        for (bytes, left, found) in [
            (&b"\0\0\0\x08free"[..], 8, Some((8, 8))),
            (b"\0\0\0\x09free", 8, None),
            (b"\0\0\0\x07free", 8, None),
            (b"\0\0\0\x01mdat\0\0\0\0\0\0\0\x10", 16, Some((16, 16))),
            (b"\0\0\0\x01mdat\0\0\0\0\0\0\0\x0F", 16, None),
            (
                b"\0\0\0\x01mdat\0\0\0\x01\0\0\0\0",
                u64::MAX,
                Some((16, 1 << 32)),
            ),
            (b"\0\0\0\x01mdat\0\0", 100, None),
            (b"\0\0\0\0mdat", 100, Some((8, 100))),
            (b"\0\0\0\0mdat", 7, None),
            (b"\0\0\0\x08fre", 100, None),
        ] {
            assert_eq!(head(bytes, left), found, "{bytes:?}");
        }
        assert!(Head::read_sized(b"\0\0\0\0mdat", 100).is_none());
        assert!(Head::read_sized(b"\0\0\0\x08free", 100).is_some());
    }

    #[test]
    fn children_end_at_the_first_that_is_not_whole() {
        let data = b"\0\0\0\x0Aaaaaxy\0\0\0\x08bbbb\0\0\0\x09cccc";
        let found: Vec<_> = children(data)
            .map(|it| (it.kind, it.content, it.at))
            .collect();
        assert_eq!(found, [(*b"aaaa", &b"xy"[..], 8), (*b"bbbb", b"", 18)]);
        assert_eq!(find(data, b"cccc"), None);
        let data = b"\0\0\0\x08aaaa\0\0\0\0bbbbrest";
        assert_eq!(find(data, b"bbbb"), Some(&b"rest"[..]));
    }
}
