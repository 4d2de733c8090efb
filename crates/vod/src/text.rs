//! Text that is produced as its client takes it: a playlist in which each address repeats the client's query.
//!
//! A client never holds more than one piece of it, however long the text is and however slowly the client reads.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use tokio::task::yield_now;

use crate::reads::{List, PIECE_BYTES};

/// Entries measured without yielding, in some tenths of a millisecond.
const IN_ONE_GO: usize = 1_000;

/// Writer of a text, entry by entry.
pub(crate) trait Entries: Clone + Send + 'static {
    /// Writes the next entry; returns false if there is none.
    fn next(&mut self, out: &mut String) -> bool;
}

/// Text of known length; call [`poll_piece`](Self::poll_piece) until it returns `None`.
pub(crate) struct Text {
    write: Box<dyn FnMut(&mut String) -> bool + Send>,
    bytes: u64,
    /// Yield to other tasks before each piece.
    turn: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    list: List,
}

base::debug!(Text { bytes });

impl Text {
    /// Makes a text of entries that are made from `list`. Measures its length first.
    pub(crate) async fn of(mut entries: impl Entries, list: List) -> Self {
        let (mut measured, mut bytes) = (entries.clone(), 0);
        let mut entry = String::new();
        for number in 1.. {
            entry.clear();
            if !measured.next(&mut entry) {
                break;
            }
            bytes += entry.len() as u64;
            if number % IN_ONE_GO == 0 {
                yield_now().await;
            }
        }
        Self {
            write: Box::new(move |out| entries.next(out)),
            bytes,
            turn: None,
            list,
        }
    }

    /// Returns the total length in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the next piece; `None` at the end.
    pub(crate) fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let turn = self.turn.get_or_insert_with(|| Box::pin(yield_now()));
        ready!(turn.as_mut().poll(cx));
        self.turn = None;
        let mut piece = String::new();
        while (piece.len() as u64) < PIECE_BYTES && (self.write)(&mut piece) {}
        Poll::Ready((!piece.is_empty()).then(|| self.list.count(piece.into())))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::fmt::Write;
    use std::future::poll_fn;

    use base::holdings::{Holdings, Kind};

    use super::*;
    use crate::reads::Reads;

    /// Returns all of a text.
    pub(crate) fn whole(mut entries: impl Entries) -> String {
        let mut out = String::new();
        while entries.next(&mut out) {}
        out
    }

    #[derive(Clone)]
    struct Numbers(u32);

    impl Entries for Numbers {
        fn next(&mut self, out: &mut String) -> bool {
            if self.0 == 100_000 {
                return false;
            }
            self.0 += 1;
            let _written = writeln!(out, "{}", self.0);
            true
        }
    }

    #[tokio::test]
    async fn a_text_comes_in_pieces_and_is_as_long_as_it_says() {
        let account = Holdings::new(0);
        let list = Reads::new(&account).list(1_000).expect("room");
        let mut text = Text::of(Numbers(0), list).await;
        let mut got = Vec::new();
        while let Some(piece) = poll_fn(|cx| text.poll_piece(cx)).await {
            assert!((piece.len() as u64) < PIECE_BYTES + 100);
            // The list, and the piece that its client has yet to take.
            assert_eq!(account.bytes(Kind::Files), 1_000 + piece.len());
            got.extend_from_slice(&piece);
        }
        assert_eq!(got.len() as u64, text.bytes());
        assert!(got == whole(Numbers(0)).into_bytes());
        drop(text);
        assert_eq!(account.bytes(Kind::Files), 0);
    }

    #[tokio::test]
    async fn others_have_their_turns_meanwhile() {
        let turns = async {
            for _ in 0..10 {
                yield_now().await;
            }
        };
        let text = async {
            let list = Reads::new(&Holdings::new(0)).list(0).expect("room");
            let mut text = Text::of(Numbers(0), list).await;
            while poll_fn(|cx| text.poll_piece(cx)).await.is_some() {}
        };
        tokio::select! {
            biased;
            () = text => panic!("nobody else had a turn"),
            () = turns => {}
        }
    }
}
