//! Writer of boxes (ISO/IEC 14496-12 §4.2), whose sizes are filled in when they end.

/// Bytes before the content of a box: its size and its kind.
pub(crate) const HEADER_BYTES: usize = 8;

/// Buffer to which boxes are appended.
#[derive(Debug, Default)]
pub(crate) struct Boxes(Vec<u8>);

impl Boxes {
    /// Appends a box; `fill` writes its content.
    pub(crate) fn put_box(&mut self, kind: &[u8; 4], fill: impl FnOnce(&mut Self)) {
        let start = self.0.len();
        self.put_u32(0);
        self.put(kind);
        fill(self);
        // A few kilobytes at most; media data is never buffered here.
        let size = (self.0.len() - start) as u32;
        self.0[start..start + 4].copy_from_slice(&size.to_be_bytes());
    }

    /// Appends a box that begins with a version and 24 flags.
    pub(crate) fn put_full_box(
        &mut self,
        kind: &[u8; 4],
        version: u8,
        flags: u32,
        fill: impl FnOnce(&mut Self),
    ) {
        self.put_box(kind, |boxes| {
            boxes.put_u32(u32::from(version) << 24 | flags);
            fill(boxes);
        });
    }

    pub(crate) fn put(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    pub(crate) fn put_zeros(&mut self, count: usize) {
        self.0.resize(self.0.len() + count, 0);
    }

    pub(crate) fn put_u8(&mut self, value: u8) {
        self.0.push(value);
    }

    pub(crate) fn put_u16(&mut self, value: u16) {
        self.put(&value.to_be_bytes());
    }

    pub(crate) fn put_u32(&mut self, value: u32) {
        self.put(&value.to_be_bytes());
    }

    pub(crate) fn put_u64(&mut self, value: u64) {
        self.put(&value.to_be_bytes());
    }

    /// Drops the contents and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.0
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}
