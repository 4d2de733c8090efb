//! Bytes in pieces, taken from the front.

use bytes::{Buf, Bytes};

/// Queue of byte pieces.
#[derive(Debug)]
pub(crate) struct Rope(std::collections::VecDeque<Bytes>);

impl Rope {
    pub(crate) fn new(pieces: Vec<Bytes>) -> Self {
        Self(pieces.into())
    }

    /// Takes `bytes` bytes, or all if there are fewer; they share the pieces' memory.
    pub(crate) fn take(&mut self, mut bytes: usize) -> Vec<Bytes> {
        let mut taken = Vec::new();
        while bytes > 0
            && let Some(first) = self.0.front_mut()
        {
            let piece = first.split_to(bytes.min(first.len()));
            if first.is_empty() {
                self.0.pop_front();
            }
            bytes -= piece.len();
            if !piece.is_empty() {
                taken.push(piece);
            }
        }
        taken
    }
}

/// Copies `bytes` bytes from the front of `pieces`, or all if there are fewer.
pub(crate) fn copy_front(pieces: &[Bytes], mut bytes: usize) -> Vec<u8> {
    let mut copy = Vec::with_capacity(bytes);
    for piece in pieces {
        let part = &piece[..bytes.min(piece.len())];
        copy.extend_from_slice(part);
        bytes -= part.len();
    }
    copy
}

/// Drops `bytes` bytes at the front of `pieces`.
pub(crate) fn drop_front(pieces: &mut Vec<Bytes>, mut bytes: usize) {
    for piece in pieces.iter_mut() {
        let part = bytes.min(piece.len());
        piece.advance(part);
        bytes -= part;
    }
    pieces.retain(|piece| !piece.is_empty());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_taken_in_order_wherever_they_end() {
        let whole: Vec<u8> = (0..100).collect();
        for size in 1..30 {
            let pieces = whole.chunks(size).map(Bytes::copy_from_slice).collect();
            let mut rope = Rope::new(pieces);
            let mut got = Vec::new();
            for bytes in [0, 1, 7, 30, 2, 40, 100] {
                let mut taken = rope.take(bytes);
                let all = taken.concat();
                assert_eq!(copy_front(&taken, 3), all[..all.len().min(3)]);
                drop_front(&mut taken, 3);
                assert_eq!(taken.concat(), all[all.len().min(3)..]);
                got.extend_from_slice(&all);
            }
            assert_eq!(got, whole);
        }
    }
}
