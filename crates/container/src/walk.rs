//! Going through a file that is written no more, piece by piece, up to where its whole part ends.
//!
//! A [`Walk`] reads nothing itself: its caller reads what it [`wants`](Walk::wants), until that is nothing. What there
//! is to be found in a file is its format's ([`Pieces`]): frames of MP3, tags of FLV, pages, packets, clusters.

use std::ops::Range;
use std::time::Duration;

/// Bytes wanted at once: a usual file is read in a thousand steps.
const WINDOW_BYTES: usize = 256 * 1024;

/// Bytes that a format may want of a piece before it knows what that is: a whole tag of FLV, the largest of any.
const PIECE_BYTES_MAX: usize = 9 * 1024 * 1024;

/// Leaves out every second of what is kept of a file.
pub(crate) fn halve<T>(kept: &mut Vec<T>) {
    let mut index = 0;
    kept.retain(|_| {
        index += 1;
        index % 2 == 1
    });
}

/// A format's pieces.
pub(crate) trait Pieces {
    /// What begins with `front`, at `at` in a file, which has `left` bytes from there on. A piece may be longer than
    /// `front`; one that is longer than `left` is none.
    fn piece(&mut self, front: &[u8], at: u64, left: u64) -> Piece;

    /// What the pieces so far come to, which were all there is in `bytes` bytes.
    fn close(&mut self, bytes: u64) -> Closed;
}

/// What stands at the front of some bytes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Piece {
    /// One of so many bytes; never none.
    Whole(u64),
    /// So many bytes are needed to know; more than there were.
    Short(usize),
    /// None of the format.
    Foreign,
}

/// What a file came to.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Closed {
    /// Where its last whole piece ends. What follows is cut, and may be removed.
    pub bytes: u64,
    /// How long it lasts; `None` if it does not tell.
    pub duration: Option<Duration>,
    /// What is to be written into it, and where: always within `bytes`.
    pub patches: Vec<(u64, Vec<u8>)>,
}

/// See the module's description.
#[derive(Debug, Default)]
pub struct Walk<P> {
    pieces: P,
    file_bytes: u64,
    at: u64,
    need: usize,
    has_ended: bool,
}

/// A [`Walk`] through a file of any format.
pub trait Walker {
    /// The bytes of the file that it needs next, some hundred KiB but for a larger piece; `None` at its end.
    fn wants(&self) -> Option<Range<u64>>;

    /// Takes the bytes that it wants. Fewer are the end.
    fn take(&mut self, bytes: &[u8]);

    /// What the file came to, once nothing is wanted.
    fn close(&mut self) -> Closed;
}

impl<P: Default> Walk<P> {
    /// Through a file of so many bytes.
    pub(crate) fn of(file_bytes: u64) -> Self {
        Self {
            file_bytes,
            ..Self::default()
        }
    }
}

impl<P: Pieces> Walker for Walk<P> {
    fn wants(&self) -> Option<Range<u64>> {
        let bytes = self.need.max(WINDOW_BYTES) as u64;
        let end = self.at.saturating_add(bytes).min(self.file_bytes);
        (!self.has_ended && self.at < end).then_some(self.at..end)
    }

    fn take(&mut self, bytes: &[u8]) {
        let Some(wanted) = self.wants() else {
            return;
        };
        let is_all = wanted.end == self.file_bytes;
        self.has_ended = (bytes.len() as u64) < wanted.end - wanted.start;
        let mut front = bytes;
        while !front.is_empty() {
            let left = self.file_bytes - self.at;
            match self.pieces.piece(front, self.at, left) {
                Piece::Whole(bytes) if bytes > 0 && bytes <= left => {
                    self.at += bytes;
                    self.need = 0;
                    front = usize::try_from(bytes)
                        .ok()
                        .and_then(|bytes| front.get(bytes..))
                        .unwrap_or_default();
                }
                Piece::Short(need) if !is_all && need > front.len() && need <= PIECE_BYTES_MAX => {
                    self.need = need;
                    return;
                }
                _ => {
                    self.has_ended = true;
                    return;
                }
            }
        }
    }

    fn close(&mut self) -> Closed {
        self.pieces.close(self.at)
    }
}
