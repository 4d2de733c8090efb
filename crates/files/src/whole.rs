//! Bytes that are needed whole, gathered from the pieces in which they arrive.

use bytes::{Bytes, BytesMut};

/// Beginning of a range whose end has not arrived.
#[derive(Debug, Default)]
pub(crate) struct Whole(BytesMut);

impl Whole {
    /// Returns the number of bytes that are held.
    pub(crate) fn held(&self) -> u64 {
        self.0.len() as u64
    }

    /// Takes the first bytes of a piece, until the range has `wanted`; `None` if more are to come. A range that lies in one
    /// piece is not copied.
    pub(crate) fn take(&mut self, wanted: u64, piece: &mut Bytes) -> Option<Bytes> {
        let left = usize::try_from(wanted - self.held()).unwrap_or(usize::MAX);
        if self.0.is_empty() && piece.len() >= left {
            return Some(piece.split_to(left));
        }
        let more = piece.split_to(piece.len().min(left));
        self.0.extend_from_slice(&more);
        (self.held() == wanted).then(|| self.0.split().freeze())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_gathered_from_its_pieces() {
        let mut whole = Whole::default();
        let mut piece = Bytes::from_static(b"abcdef");
        assert_eq!(whole.take(4, &mut piece).as_deref(), Some(&b"abcd"[..]));
        assert_eq!(whole.take(4, &mut piece), None);
        assert_eq!((whole.held(), piece.len()), (2, 0));
        let mut piece = Bytes::from_static(b"ghi");
        assert_eq!(whole.take(4, &mut piece).as_deref(), Some(&b"efgh"[..]));
        assert_eq!((whole.held(), &piece[..]), (0, &b"i"[..]));
    }
}
