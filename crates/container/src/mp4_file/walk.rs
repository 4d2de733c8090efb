//! Iteration over boxes in untrusted bytes (ISO/IEC 14496-12 §4.2).

use bytes::Buf;

use super::numbers::Numbers;

/// Header of a box.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Head {
    pub(super) kind: [u8; 4],
    /// Bytes of the header itself.
    pub(super) header_bytes: usize,
    /// Bytes of the whole box; never fewer than the header's.
    pub(super) bytes: u64,
}

impl Head {
    /// Reads the header at the start of `data`, of a box in a file or parent box with `left` bytes remaining. `None` if
    /// the header is cut, if the box is not entirely there, or if its size is invalid. A size of zero means all that is
    /// left.
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

    /// Reads a header in a growing file, where a box of size zero is refused because its end is not known.
    pub(super) fn read_sized(data: &[u8], left: u64) -> Option<Self> {
        let is_sized = data.first_chunk() != Some(&[0; 4]);
        Self::read(data, left).filter(|_| is_sized)
    }
}

/// Child box: its kind and the place of its content.
#[derive(Clone, Copy, Debug)]
pub(super) struct Child<'a> {
    pub(super) kind: [u8; 4],
    pub(super) content: &'a [u8],
    /// The box including its header.
    pub(super) whole: &'a [u8],
    /// Offset of the content in the parent's data.
    pub(super) at: usize,
}

/// Returns the whole boxes at the start of `data`; anything after the last whole box is left out.
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

/// Returns the content of the first box of a kind.
pub(super) fn find<'a>(data: &'a [u8], kind: &[u8; 4]) -> Option<&'a [u8]> {
    let found = children(data).find(|child| child.kind == *kind)?;
    Some(found.content)
}

/// Returns the content of a track's `stbl`.
pub(super) fn stbl(trak: &[u8]) -> Option<&[u8]> {
    find(find(find(trak, b"mdia")?, b"minf")?, b"stbl")
}

/// Reads the units of a clock per second from `mvhd` or `mdhd`; never zero.
pub(super) fn timescale(header: &[u8]) -> Option<u32> {
    behind_times(header).filter(|scale| *scale > 0)
}

/// Reads the field after two times in a header: the track's number in `tkhd`, the units of a clock in others.
pub(super) fn behind_times(header: &[u8]) -> Option<u32> {
    let mut numbers = Numbers(header);
    numbers.times()?;
    numbers.u32()
}

/// Reads a `u32` in `data`.
pub(super) fn u32_at(data: &[u8], at: usize) -> Option<u32> {
    data.get(at..)?.try_get_u32().ok()
}

/// Reads a `u64` in `data`.
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
            (b"\0\0\0\x01mdat\0\0", 100, None),
            (b"\0\0\0\0mdat", 100, Some((8, 100))),
            (b"\0\0\0\0mdat", 7, None),
            (b"\0\0\0\x08fre", 100, None),
        ] {
            assert_eq!(head(bytes, left), found, "{bytes:?}");
        }
        let large = head(b"\0\0\0\x01mdat\0\0\0\x01\0\0\0\0", u64::MAX);
        assert_eq!(large, Some((16, 1 << 32)));
        assert!(Head::read_sized(b"\0\0\0\0mdat", 100).is_none());
        assert!(Head::read_sized(b"\0\0\0\x08free", 100).is_some());
    }

    #[test]
    fn children_end_at_the_first_that_is_not_whole() {
        let data = b"\0\0\0\x0Aaaaaxy\0\0\0\x08bbbb\0\0\0\x09cccc";
        let found = children(data).map(|it| (it.kind, it.content, it.at));
        let expected = [(*b"aaaa", &b"xy"[..], 8), (*b"bbbb", b"", 18)];
        assert_eq!(found.collect::<Vec<_>>(), expected);
        assert_eq!(find(data, b"cccc"), None);
        let data = b"\0\0\0\x08aaaa\0\0\0\0bbbbrest";
        assert_eq!(find(data, b"bbbb"), Some(&b"rest"[..]));
    }
}
