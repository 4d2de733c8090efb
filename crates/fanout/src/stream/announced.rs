//! A publisher's announcements: its tracks, the header and metadata of its container, and a title.
//!
//! A stream holds those in force in the current epoch. A publisher that is [set aside](super::aside) has its own, and a
//! reader that was too slow has those that it [missed](super::missed).

use std::sync::Arc;

use bytes::Bytes;
use media::{Item, Kind, Script, Title, Track, TrackId};

/// Announcements of one publisher.
#[derive(Clone, Debug, Default)]
pub(super) struct Announced {
    /// Tracks in the order in which they appeared.
    pub(super) tracks: Vec<Arc<Track>>,
    pub(super) header: Option<Bytes>,
    pub(super) metadata: Option<Script>,
    pub(super) title: Option<Arc<Title>>,
}

/// Result of recording an announced track.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Noted {
    /// The track is new.
    New,
    /// The track has replaced one with its number.
    Changed,
    /// There is no room for the track.
    Full,
}

impl Announced {
    /// Returns the first track of a kind.
    pub(super) fn first(&self, kind: Kind) -> Option<&Arc<Track>> {
        self.tracks.iter().find(|track| track.kind == kind)
    }

    /// Returns the id of the video track.
    pub(super) fn video(&self) -> Option<TrackId> {
        self.first(Kind::Video).map(|track| track.id)
    }

    /// Returns the kind of a track.
    pub(super) fn kind(&self, id: TrackId) -> Option<Kind> {
        let track = self.tracks.iter().find(|track| track.id == id);
        track.map(|track| track.kind)
    }

    /// Whether the metadata announces video that has no track.
    pub(super) fn lacks_pictures(&self) -> bool {
        let metadata = self.metadata.as_ref();
        let are_announced =
            metadata.is_some_and(|script| Script::announces(&script.body, Kind::Video));
        are_announced && self.video().is_none()
    }

    /// Records the announcement in an item, with up to `tracks_max` tracks. Samples, events and data messages announce
    /// nothing.
    pub(super) fn note(&mut self, item: Item, tracks_max: usize) {
        match item {
            Item::Track(track) => {
                self.note_track(&track, tracks_max);
            }
            Item::Header(header) => self.header = Some(header),
            Item::Metadata(script) => self.metadata = Some(script),
            Item::Title(title) => self.title = Some(title),
            Item::Sample(_) | Item::Script(_) | Item::Event(_) | Item::Epoch => {}
        }
    }

    /// Records a track, if it replaces another or there are fewer than `max`.
    pub(super) fn note_track(&mut self, track: &Arc<Track>, max: usize) -> Noted {
        let count = self.tracks.len();
        match self.tracks.iter_mut().find(|known| known.id == track.id) {
            Some(known) => {
                *known = Arc::clone(track);
                Noted::Changed
            }
            None if count < max => {
                self.tracks.push(Arc::clone(track));
                Noted::New
            }
            None => Noted::Full,
        }
    }

    /// Returns the items that repeat all announcements, in order.
    pub(super) fn into_items(self) -> impl DoubleEndedIterator<Item = Item> {
        let tracks = self.tracks.into_iter().map(Item::Track);
        tracks
            .chain(self.header.map(Item::Header))
            .chain(self.metadata.map(Item::Metadata))
            .chain(self.title.map(Item::Title))
    }
}
