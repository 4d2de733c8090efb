//! Boxes as they are read (ISO/IEC 14496-12 §4.2), and numbers in them.

/// The header of a box.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Header {
    pub(super) kind: [u8; 4],
    /// Bytes of the header itself.
    pub(super) length: u64,
    /// Bytes of all of it; not less than the header has.
    pub(super) size: u64,
}

impl Header {
    /// Of the box at the front. `None` if it is not all there in the `left` bytes, or has no proper size.
    pub(super) fn read(bytes: &[u8], left: u64) -> Option<Self> {
        let mut front = Numbers(bytes);
        let size = front.u32()?;
        let kind = front.array()?;
        let (length, size) = match size {
            0 => (8, left),
            1 => (16, front.u64()?),
            size => (8, u64::from(size)),
        };
        (length..=left)
            .contains(&size)
            .then_some(Self { kind, length, size })
    }
}

/// A box within another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Child<'a> {
    pub(super) kind: [u8; 4],
    pub(super) body: &'a [u8],
    /// With its header.
    pub(super) whole: &'a [u8],
}

/// The boxes in a body, up to the first that is not whole.
pub(super) fn children(mut bytes: &[u8]) -> impl Iterator<Item = Child<'_>> {
    std::iter::from_fn(move || {
        let header = Header::read(bytes, bytes.len() as u64)?;
        let (whole, rest) = bytes.split_at_checked(header.size as usize)?;
        bytes = rest;
        Some(Child {
            kind: header.kind,
            body: &whole[header.length as usize..],
            whole,
        })
    })
}

/// The body of the first box of a kind.
pub(super) fn child<'a>(bytes: &'a [u8], kind: &[u8; 4]) -> Option<&'a [u8]> {
    let found = children(bytes).find(|child| &child.kind == kind);
    found.map(|child| child.body)
}

/// Numbers, most significant byte first, from the front.
#[derive(Clone, Copy, Debug)]
pub(super) struct Numbers<'a>(pub(super) &'a [u8]);

impl Numbers<'_> {
    pub(super) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (front, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*front)
    }

    pub(super) fn skip(&mut self, count: usize) -> Option<()> {
        self.0 = self.0.get(count..)?;
        Some(())
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_be_bytes)
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_be_bytes)
    }

    /// A version and flags.
    pub(super) fn full(&mut self) -> Option<(u8, u32)> {
        let word = self.u32()?;
        Some(((word >> 24) as u8, word & 0x00ff_ffff))
    }

    /// A number that is longer in later versions.
    pub(super) fn by_version(&mut self, version: u8) -> Option<u64> {
        match version {
            0 => self.u32().map(u64::from),
            _ => self.u64(),
        }
    }
}
