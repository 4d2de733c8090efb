//! Buffer of the current frame.

use bytes::{Bytes, BytesMut};

use super::Malformed;

/// Upper bound on the bytes of a frame that is assembled. A keyframe of 4K at the highest quality takes a quarter of
/// it.
pub const FRAME_BYTES_MAX: usize = 8 << 20;

/// Bytes of a frame.
#[derive(Debug, Default)]
pub(super) struct Buffer(BytesMut);

impl Buffer {
    /// Returns the bytes of the frame so far.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn put(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        if bytes.len() > FRAME_BYTES_MAX - self.len() {
            return Err(Malformed);
        }
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    /// Returns the frame from `from` on.
    pub(super) fn since(&self, from: usize) -> &[u8] {
        self.0.get(from..).unwrap_or_default()
    }

    /// Drops all bytes from `length` on.
    pub(super) fn truncate(&mut self, length: usize) {
        self.0.truncate(length);
    }

    /// Overwrites the bytes at `at`.
    pub(super) fn set<const N: usize>(&mut self, at: usize, bytes: [u8; N]) {
        if let Some(place) = self.0.get_mut(at..at + N) {
            place.copy_from_slice(&bytes);
        }
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Takes the frame; `None` if it is empty.
    pub(super) fn take(&mut self) -> Option<Bytes> {
        (self.len() > 0).then(|| self.0.split().freeze())
    }
}
