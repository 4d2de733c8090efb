//! `[[station]]`: files that are played as a live stream.

use std::path::PathBuf;
use std::time::Duration;

use media::StreamName;

use crate::read::Section;

/// One `[[station]]`: a stream that is played from files.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct StationRule {
    /// What it is called.
    pub stream: StreamName,
    /// Where its files are.
    pub place: StationPlace,
    /// Files may lie outside of the folder.
    pub absolute_paths: bool,
    /// Their order.
    pub order: StationOrder,
    /// It begins again at the end.
    pub is_looped: bool,
    /// How long it waits after another publisher has left.
    pub linger: Duration,
    /// `station.0`, `station.1`, …, for problems with it.
    pub(crate) key: String,
}

/// Where the files of a station are.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum StationPlace {
    /// In a folder.
    Folder(PathBuf),
    /// In a playlist.
    Playlist(PathBuf),
}

/// In which order the files of a station are played.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum StationOrder {
    /// One after the other.
    Sequential,
    /// At random, each once in a turn.
    Shuffle,
}

impl StationRule {
    /// Reads one; `None` when it does not say what is played as what.
    pub(super) fn read(s: &mut Section<'_, '_>) -> Option<Self> {
        let mut stream = None;
        let mut folder = None;
        let mut playlist = None;
        let mut absolute_paths = false;
        let mut order = StationOrder::Sequential;
        let mut is_looped = true;
        let mut linger = Duration::from_secs(5);
        s.set_some("stream", &mut stream);
        s.set("folder", &mut folder);
        s.set("playlist", &mut playlist);
        s.set("absolute_paths", &mut absolute_paths);
        s.set("order", &mut order);
        s.set("loop", &mut is_looped);
        s.set("linger", &mut linger);
        if stream.is_none() {
            s.missing(
                "stream",
                "say what it is called, such as stream = \"radio.mp3\"",
            );
        }
        let place = match (folder, playlist) {
            (Some(folder), None) => Some(StationPlace::Folder(folder)),
            (None, Some(playlist)) => Some(StationPlace::Playlist(playlist)),
            (Some(_), Some(_)) => {
                s.require(
                    "playlist",
                    false,
                    "is set beside a folder: a station has one of both",
                );
                None
            }
            (None, None) => {
                s.missing(
                    "folder",
                    "say what is played, such as folder = \"/srv/music\" or playlist = \"/srv/music/day.m3u8\"",
                );
                None
            }
        };
        let key = s.path();
        Some(Self {
            stream: stream?,
            place: place?,
            absolute_paths,
            order,
            is_looped,
            linger,
            key,
        })
    }
}
