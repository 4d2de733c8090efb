//! Rendition reports (RFC 8216bis §4.4.5.4): the ends of the other media playlists of a presentation, so that a player
//! that switches requests the right part at once.
//!
//! A playlist reports the streams that a player may switch to and whose channel is open; the others have no playlist
//! yet. Reports are part of a playlist's version, but no waiting request is woken by them.

use std::fmt;

use fanout::LaneIndex;
use media::StreamName;

use crate::promise::Promise;
use crate::relative::relative;
use crate::resource::{Piece, Resource};
use crate::template::OWN;

/// End of another media playlist.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Report {
    pub(crate) stream: StreamName,
    /// Playlist of that stream which is reported.
    pub(crate) playlist: Piece,
    /// Number of the segment with the newest part, and that part's index in it.
    pub(crate) last: (u64, usize),
}

impl Report {
    /// Makes the report of a stream's lane; `None` before it has a part, and once it has ended.
    pub(crate) fn of(stream: StreamName, playlist: Piece, index: &LaneIndex) -> Option<Self> {
        let mut newest = index.segments.iter().rev().filter(|_| !index.is_ended);
        let segment = newest.find(|segment| !segment.parts.is_empty())?;
        let last = (segment.number, segment.parts.len() - 1);
        Some(Self {
            stream,
            playlist,
            last,
        })
    }

    /// Writes the tag into a playlist with this promise, with the place for a viewer's query after the address.
    pub(crate) fn write(&self, f: &mut fmt::Formatter<'_>, within: &Promise) -> fmt::Result {
        let folder = format!("{}/{}", within.stream.name(), within.packaging.folder());
        let playlist = Resource::Media(within.packaging, self.playlist.clone());
        let playlist = format!("{}/{playlist}", self.stream);
        let address = relative(&folder, &playlist);
        let (number, part) = self.last;
        writeln!(
            f,
            "#EXT-X-RENDITION-REPORT:URI=\"{address}{OWN}\",LAST-MSN={number},LAST-PART={part}"
        )
    }
}
