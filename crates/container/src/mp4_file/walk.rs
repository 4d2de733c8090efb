//! Boxes in bytes that may be anything.

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
    /// The header at the start of `data`. `None` if it is cut, or says nothing: also for a box that lasts to the end of
    /// its file, which nothing here writes.
    pub(super) fn parse(data: &[u8]) -> Option<Self> {
        let (size, rest) = data.split_first_chunk::<4>()?;
        let (kind, rest) = rest.split_first_chunk::<4>()?;
        let (header_bytes, bytes) = match u32::from_be_bytes(*size) {
            1 => (16, u64::from_be_bytes(*rest.first_chunk::<8>()?)),
            size => (8, u64::from(size)),
        };
        (bytes >= header_bytes as u64).then_some(Self {
            kind: *kind,
            header_bytes,
            bytes,
        })
    }
}

/// A box among others: its kind, and where its content is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Child<'a> {
    pub(super) kind: [u8; 4],
    pub(super) content: &'a [u8],
    /// Where the content begins in the data of all.
    pub(super) at: usize,
}

/// The whole boxes at the start of `data`; what follows the last of them is left out.
pub(super) fn children(data: &[u8]) -> impl Iterator<Item = Child<'_>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = data.get(at..)?;
        let head = Head::parse(rest)?;
        let end = usize::try_from(head.bytes).ok()?;
        let content = rest.get(head.header_bytes..end)?;
        let child = Child {
            kind: head.kind,
            content,
            at: at + head.header_bytes,
        };
        at += end;
        Some(child)
    })
}

/// The content of the first box of a kind.
pub(super) fn find<'a>(data: &'a [u8], kind: &[u8; 4]) -> Option<&'a [u8]> {
    let found = children(data).find(|child| child.kind == *kind)?;
    Some(found.content)
}

/// A `u32` in `data`.
pub(super) fn u32_at(data: &[u8], at: usize) -> Option<u32> {
    let bytes = data.get(at..)?.first_chunk::<4>()?;
    Some(u32::from_be_bytes(*bytes))
}

/// A `u64` in `data`.
pub(super) fn u64_at(data: &[u8], at: usize) -> Option<u64> {
    let bytes = data.get(at..)?.first_chunk::<8>()?;
    Some(u64::from_be_bytes(*bytes))
}
