//! Cache of recently received playlists, each parsed once for all players that received the same text.

use std::collections::VecDeque;
use std::rc::Rc;

use super::parser::{Document, PlaylistError, parse};
use super::playlist::Playlist;

/// Maximum number of versions in use at a time: two or three for each of a few streams.
const PLAYLISTS_MAX: usize = 32;

/// Cache of parsed playlists; call [`read`](Self::read) for each received text.
#[derive(Debug, Default)]
pub(super) struct Shelf {
    /// Playlists, the most recent first.
    playlists: VecDeque<Rc<Playlist>>,
}

impl Shelf {
    /// Parses a playlist of either kind, or returns the cached one.
    pub(super) fn read(&mut self, body: &[u8]) -> Result<Document<Rc<Playlist>>, PlaylistError> {
        let is_same = |known: &&Rc<Playlist>| known.text.as_bytes() == body;
        if let Some(known) = self.playlists.iter().find(is_same) {
            return Ok(Document::Media(Rc::clone(known)));
        }
        let text = std::str::from_utf8(body).map_err(|_| PlaylistError::NoText)?;
        match parse(text)? {
            Document::Multivariant(uri) => Ok(Document::Multivariant(uri)),
            Document::Media(playlist) => {
                let playlist = Rc::new(playlist);
                self.playlists.truncate(PLAYLISTS_MAX - 1);
                self.playlists.push_front(Rc::clone(&playlist));
                Ok(Document::Media(playlist))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(shelf: &mut Shelf, number: usize) -> Rc<Playlist> {
        let text = format!("#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXT-X-MEDIA-SEQUENCE:{number}\n");
        match shelf.read(text.as_bytes()) {
            Ok(Document::Media(playlist)) => playlist,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_same_text_is_the_same_playlist() {
        let mut shelf = Shelf::default();
        let first = read(&mut shelf, 0);
        assert!(Rc::ptr_eq(&first, &read(&mut shelf, 0)));
        (1..=PLAYLISTS_MAX).for_each(|number| drop(read(&mut shelf, number)));
        assert_eq!(shelf.playlists.len(), PLAYLISTS_MAX);
        let again = read(&mut shelf, 0);
        assert!(!Rc::ptr_eq(&first, &again) && first == again);
        assert_eq!(shelf.read(b"\xFF"), Err(PlaylistError::NoText));
    }
}
