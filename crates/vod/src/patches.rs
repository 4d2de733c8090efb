//! Patches: bytes that are sent instead of those in the file.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::Arc;

/// Replacement for some bytes of a file: at most sixteen.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Patch {
    pub(crate) at: u64,
    bytes: [u8; Self::BYTES_MAX],
    length: u8,
}

impl Patch {
    pub(crate) const BYTES_MAX: usize = 16;

    /// Makes the replacement for the bytes from `at` on. It has at most [`BYTES_MAX`](Self::BYTES_MAX) bytes.
    pub(crate) fn new(at: u64, what: &[u8]) -> Self {
        let mut bytes = [0; Self::BYTES_MAX];
        let length = what.len().min(Self::BYTES_MAX);
        bytes[..length].copy_from_slice(&what[..length]);
        Self {
            at,
            bytes,
            length: length as u8,
        }
    }

    /// Returns the position after its last byte.
    pub(crate) fn end(&self) -> u64 {
        self.at + u64::from(self.length)
    }

    /// Applies it to a piece that was read from `begin` on.
    fn apply(&self, piece: &mut [u8], begin: u64) {
        let end = begin + piece.len() as u64;
        let (from, to) = (self.at.max(begin), self.end().min(end));
        if from < to {
            let what = &self.bytes[(from - self.at) as usize..(to - self.at) as usize];
            piece[(from - begin) as usize..(to - begin) as usize].copy_from_slice(what);
        }
    }
}

/// Replacements for bytes of a file.
#[derive(Clone)]
pub(crate) enum Patches {
    /// Known patches, in the order of their positions.
    Known(Arc<[Patch]>),
    /// Search for the patches of a range, made when the range is read.
    Found(Arc<Find>),
}

/// Search for the patches of a range. Blocks.
pub(crate) type Find = dyn Fn(&File, &Range<u64>) -> io::Result<Vec<Patch>> + Send + Sync;

impl Default for Patches {
    fn default() -> Self {
        Self::Known(Arc::default())
    }
}

base::debug!(Patches {});

impl Patches {
    pub(crate) fn is_empty(&self) -> bool {
        matches!(self, Self::Known(patches) if patches.is_empty())
    }

    /// Applies the patches to a piece read from a range of a file.
    ///
    /// # Errors
    /// If the patches cannot be found.
    pub(crate) fn apply(
        &self,
        file: &File,
        range: &Range<u64>,
        piece: &mut [u8],
    ) -> io::Result<()> {
        let patch = |patch: &Patch| patch.apply(piece, range.start);
        match self {
            Self::Known(patches) => {
                let first = patches.partition_point(|patch| patch.end() <= range.start);
                let within = patches[first..].iter();
                within.take_while(|it| it.at < range.end).for_each(patch);
            }
            Self::Found(find) => find(file, range)?.iter().for_each(patch),
        }
        Ok(())
    }
}
