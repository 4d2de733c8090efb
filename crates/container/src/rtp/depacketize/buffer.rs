//! The frame at hand, in the form in which it is handed on.

use bytes::{Bytes, BytesMut};

use super::super::format::Format;
use super::Malformed;
use crate::flv::elementary::{VIDEO_PRELUDE_BYTES, video_prelude};

/// The longest frame that is put together. A keyframe of 4K at the highest quality takes a quarter
/// of it.
pub const FRAME_BYTES_MAX: usize = 8 << 20;

/// Bytes of a frame, behind room for what goes before them.
#[derive(Debug)]
pub(super) struct Buffer {
    format: Format,
    bytes: BytesMut,
    prelude_bytes: usize,
}

impl Buffer {
    pub(super) fn new(format: Format) -> Self {
        let prelude_bytes = match format {
            Format::H264 | Format::Opus => 0,
            _ => VIDEO_PRELUDE_BYTES,
        };
        Self {
            format,
            bytes: BytesMut::new(),
            prelude_bytes,
        }
    }

    /// Bytes of the frame so far.
    pub(super) fn len(&self) -> usize {
        self.bytes.len().saturating_sub(self.prelude_bytes)
    }

    pub(super) fn put(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        if bytes.len() > FRAME_BYTES_MAX - self.len() {
            return Err(Malformed);
        }
        if self.bytes.is_empty() {
            self.bytes.resize(self.prelude_bytes, 0);
        }
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    /// The frame from `from` on.
    pub(super) fn since(&self, from: usize) -> &[u8] {
        self.bytes
            .get(self.prelude_bytes + from..)
            .unwrap_or_default()
    }

    /// Drops all from `length` on.
    pub(super) fn truncate(&mut self, length: usize) {
        self.bytes.truncate(self.prelude_bytes + length);
    }

    /// Writes over what there is at `at`.
    pub(super) fn set<const N: usize>(&mut self, at: usize, bytes: [u8; N]) {
        let at = self.prelude_bytes + at;
        if let Some(place) = self.bytes.get_mut(at..at + N) {
            place.copy_from_slice(&bytes);
        }
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
    }

    /// The frame with what goes before it; `None` if it is empty.
    pub(super) fn take(&mut self, keyframe: bool) -> Option<Bytes> {
        if self.len() == 0 {
            return None;
        }
        if self.prelude_bytes > 0 {
            let prelude = video_prelude(self.format.fourcc(), keyframe);
            self.bytes[..VIDEO_PRELUDE_BYTES].copy_from_slice(&prelude);
        }
        Some(self.bytes.split().freeze())
    }
}
