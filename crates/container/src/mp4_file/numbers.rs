//! Reader of the numbers in a box.

/// Remaining bytes of a box, from which big-endian numbers are read.
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

    /// Reads a version and flags.
    pub(super) fn full(&mut self) -> Option<(u8, u32)> {
        let word = self.u32()?;
        Some(((word >> 24) as u8, word & 0x00ff_ffff))
    }

    /// Skips a version, flags and two times, and returns the version.
    pub(super) fn times(&mut self) -> Option<u8> {
        let (version, _) = self.full()?;
        self.skip(if version == 0 { 8 } else { 16 })?;
        Some(version)
    }

    /// Reads a number that is longer in later versions.
    pub(super) fn by_version(&mut self, version: u8) -> Option<u64> {
        match version {
            0 => self.u32().map(u64::from),
            _ => self.u64(),
        }
    }
}
