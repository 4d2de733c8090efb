//! Walk through a finished file, piece by piece, up to the end of its whole part.
//!
//! A [`Walk`] reads nothing itself: its caller reads the range it [`wants`](Walk::wants) until there is none. The
//! format defines the pieces of a file ([`Pieces`]): MP3 frames, FLV tags, pages, packets, clusters.

use std::ops::Range;
use std::time::Duration;

/// Bytes wanted at once: a usual file is read in a thousand steps.
const WINDOW_BYTES: usize = 256 * 1024;

/// Upper bound on the bytes of a piece that a format may need to recognize it: a whole FLV tag, the largest of any
/// format.
const PIECE_BYTES_MAX: usize = 9 * 1024 * 1024;

/// Removes every second entry.
pub(crate) fn halve<T>(kept: &mut Vec<T>) {
    let mut index = 0;
    kept.retain(|_| {
        index += 1;
        index % 2 == 1
    });
}

/// Parser of one format's pieces.
pub(crate) trait Pieces {
    /// Classifies the piece that begins with `front`, at offset `at` in a file with `left` bytes from there on. A piece
    /// may be longer than `front`, but not longer than `left`.
    fn piece(&mut self, front: &[u8], at: u64, left: u64) -> Piece;

    /// Returns the summary of the pieces so far, which fill the first `bytes` bytes.
    fn close(&mut self, bytes: u64) -> Closed;
}

/// Result of parsing the front of some bytes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Piece {
    /// A piece of this many bytes; never zero.
    Whole(u64),
    /// This many bytes are needed to recognize the piece; more than were given.
    Short(usize),
    /// Bytes that are not a piece of the format.
    Foreign,
}

/// Summary of a walked file.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Closed {
    /// End of the last whole piece, in bytes. The truncated rest may be removed.
    pub bytes: u64,
    /// Duration of the file; `None` if the file does not state it.
    pub duration: Option<Duration>,
    /// Offsets and bytes to be written into the file; always within `bytes`.
    pub patches: Vec<(u64, Vec<u8>)>,
}

/// Walk through a finished file; read what it [`wants`](Walker::wants), pass it to [`take`](Walker::take), then
/// [`close`](Walker::close).
#[derive(Debug, Default)]
pub struct Walk<P> {
    pieces: P,
    file_bytes: u64,
    at: u64,
    need: usize,
    has_ended: bool,
}

/// [`Walk`] through a file of any format.
pub trait Walker {
    /// Returns the range of the file to read next, some hundred KiB, or more for a larger piece; `None` at the end.
    fn wants(&self) -> Option<Range<u64>>;

    /// Takes the wanted bytes. Fewer bytes mean the end.
    fn take(&mut self, bytes: &[u8]);

    /// Returns the summary of the file, once nothing is wanted.
    fn close(&mut self) -> Closed;
}

impl<P: Default> Walk<P> {
    /// Creates a walk through a file of `file_bytes` bytes.
    pub fn of(file_bytes: u64) -> Self {
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
