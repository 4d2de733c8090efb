//! Text of a playlist that all viewers share, with the places for what is the viewer's own: its query after each
//! address, and the start tag of its player.
//!
//! The text is rendered once per version. The memory for one viewer's copy does not grow with its length: the copy is
//! assembled piece by piece as its client takes it.

use std::sync::Arc;

use base::holdings::{Held, Holdings};
use bytes::Bytes;

use crate::encoding::Encoded;

/// Placeholder for the viewer's own text: the first for the start tag, the others for its query. It occurs in no other
/// text: texts from untrusted sources are stripped of control characters (see [`date_range`](crate::date_range)).
pub(crate) const OWN: char = '\0';

/// Number of bytes assembled at a time; the viewer's own text may exceed it.
pub(crate) const PIECE_BYTES: usize = 16 << 10;

/// Text of one viewer.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Own {
    /// Tag that states where its player is to start, with its line end; or empty.
    pub(crate) start: String,
    /// Query with its question mark; or empty.
    pub(crate) query: String,
}

impl Own {
    pub(crate) fn is_empty(&self) -> bool {
        self.start.is_empty() && self.query.is_empty()
    }
}

/// Shared text of a playlist; [`filled`](Self::filled) makes one viewer's copy.
#[derive(Debug)]
pub(crate) struct Template {
    /// Text without anything of a viewer's own.
    pub(crate) plain: Encoded,
    /// Offsets in the plain text: of the start tag, then of each query.
    places: Arc<[u32]>,
}

impl Template {
    /// Makes a template from a text that has [`OWN`] at each place.
    pub(crate) fn new(written: &str, holdings: &Arc<Holdings>) -> Self {
        let mut plain = String::with_capacity(written.len());
        let mut places = Vec::new();
        for (at, piece) in written.split(OWN).enumerate() {
            if at > 0 {
                places.push(plain.len() as u32);
            }
            plain.push_str(piece);
        }
        Self {
            plain: Encoded::new(plain, holdings),
            places: places.into(),
        }
    }

    /// Returns the text of one viewer.
    pub(crate) fn filled(&self, own: &Own) -> Filled {
        let text = self.plain.identity();
        let queries = self.places.len().saturating_sub(1) as u64;
        let starts = self.places.len().min(1) as u64;
        let left =
            text.len() as u64 + starts * own.start.len() as u64 + queries * own.query.len() as u64;
        Filled {
            text,
            places: Arc::clone(&self.places),
            own: own.clone(),
            at: 0,
            place: 0,
            left,
            _held: None,
        }
    }
}

/// Text of one viewer, piece by piece.
#[derive(Debug)]
pub struct Filled {
    text: Bytes,
    places: Arc<[u32]>,
    own: Own,
    /// Bytes of the text already put into pieces, and the number of places filled.
    at: usize,
    place: usize,
    left: u64,
    /// Charge, returned when the text is sent.
    _held: Option<Held>,
}

impl Filled {
    /// Returns the number of bytes still to come.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// Returns the length in bytes of the text that all viewers share.
    pub(crate) fn shared(&self) -> usize {
        self.text.len()
    }

    /// Keeps a charge for as long as the text is being sent.
    pub(crate) fn hold(&mut self, held: Held) {
        self._held = Some(held);
    }

    /// Returns the next piece; `None` at the end.
    pub fn next_piece(&mut self) -> Option<Bytes> {
        let mut piece = Vec::new();
        self.fill(&mut piece, PIECE_BYTES);
        (!piece.is_empty()).then(|| piece.into())
    }

    /// Returns everything that is still to come.
    pub(crate) fn whole(mut self) -> Vec<u8> {
        let mut whole = Vec::with_capacity(self.left as usize);
        self.fill(&mut whole, usize::MAX);
        whole
    }

    /// Returns everything that is still to come, without taking it.
    #[cfg(test)]
    pub(crate) fn peeked(&self) -> Vec<u8> {
        let copy = Self {
            text: self.text.clone(),
            places: Arc::clone(&self.places),
            own: self.own.clone(),
            _held: None,
            ..*self
        };
        copy.whole()
    }

    /// Appends until `into` has `bytes_max` bytes; the viewer's own text is never cut.
    fn fill(&mut self, into: &mut Vec<u8>, bytes_max: usize) {
        while into.len() < bytes_max {
            let place = self.places.get(self.place).map(|at| *at as usize);
            let end = place.unwrap_or(self.text.len());
            let count = (end - self.at).min(bytes_max - into.len());
            into.extend_from_slice(&self.text[self.at..self.at + count]);
            self.at += count;
            if self.at < end {
                break;
            }
            if place.is_none() {
                break;
            }
            let own = match self.place {
                0 => &self.own.start,
                _ => &self.own.query,
            };
            into.extend_from_slice(own.as_bytes());
            self.place += 1;
        }
        self.left -= into.len() as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template(text: &str) -> Template {
        Template::new(text, &Holdings::new(1 << 20))
    }

    fn own() -> Own {
        Own {
            start: "#START\n".to_owned(),
            query: "?k=v".to_owned(),
        }
    }

    #[test]
    fn each_viewer_has_its_own_in_each_place() {
        let template = template("#HEAD\n\0a.m4s\0\nb.m4s\0\n");
        assert_eq!(&template.plain.identity()[..], b"#HEAD\na.m4s\nb.m4s\n");
        let filled = template.filled(&own());
        let expected = "#HEAD\n#START\na.m4s?k=v\nb.m4s?k=v\n";
        assert_eq!(filled.left(), expected.len() as u64);
        assert_eq!(filled.whole(), expected.as_bytes());
        let nothing = template.filled(&Own::default()).whole();
        assert_eq!(nothing, &template.plain.identity()[..]);
    }

    #[test]
    fn a_long_text_is_put_together_in_pieces() {
        let line = "#EXTINF:3.00000,\n12345.m4s\0\n";
        let template = template(&format!("#HEAD\n\0{}", line.repeat(10_000)));
        let query = format!("?{}", "a".repeat(1_000));
        let own = Own { query, ..own() };
        let whole = template.filled(&own).whole();
        let mut filled = template.filled(&own);
        assert_eq!(filled.left(), whole.len() as u64);
        let mut read = Vec::new();
        while let Some(piece) = filled.next_piece() {
            let bytes = piece.len();
            assert!(bytes <= PIECE_BYTES + own.query.len(), "{bytes}");
            read.extend_from_slice(&piece);
            assert_eq!(filled.left(), (whole.len() - read.len()) as u64);
        }
        assert!(read == whole);
    }
}
