//! Record of a stream as one client received it: versions of the playlist, and every response.

use std::time::Duration;

use super::playlist::{MediaPlaylist, Segment, resolve};
use crate::http::Response;

/// Record of one media playlist as a client received it, in order. Times are relative to the client's start.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// Path of the media playlist.
    pub playlist: String,
    /// Versions of the playlist, one for each change.
    pub versions: Vec<Version>,
    /// All responses.
    pub answers: Vec<Answer>,
    /// Delta updates between whole playlists.
    pub deltas: Vec<DeltaTrial>,
    /// Compressed responses next to plain ones.
    pub codings: Vec<CodingTrial>,
    /// Other media playlists of the same presentation, as this playlist's reports should name them.
    pub others: Vec<String>,
    /// Texts that are not playlists, with the reasons.
    pub unreadable: Vec<String>,
}

/// One version of the playlist.
#[derive(Clone, Debug)]
pub struct Version {
    /// Time at which its response was complete.
    pub at: Duration,
    /// Its text.
    pub text: String,
    /// Its content.
    pub playlist: MediaPlaylist,
}

/// Purpose of a request.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Subject {
    /// The multivariant playlist.
    Multivariant,
    /// A playlist in its current state.
    Playlist,
    /// A playlist, once it has a certain part.
    BlockingPlaylist,
    /// A segment, a part, or a resource needed before them.
    Media,
}

/// A request and its response.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Time at which the request was sent.
    pub asked: Duration,
    /// Time at which the response was complete.
    pub answered: Duration,
    /// Subject of the request.
    pub subject: Subject,
    /// Path with the query.
    pub path: String,
    /// `If-None-Match` of the request.
    pub condition: Option<String>,
    /// The response; the body of a compressed response is uncompressed.
    pub response: Response,
}

/// A delta update that was requested between two whole playlists, of which the second has the same end.
#[derive(Clone, Debug)]
pub struct DeltaTrial {
    /// Playlist that the client had.
    pub before: MediaPlaylist,
    /// Delta update that the server sent.
    pub delta: MediaPlaylist,
    /// Whole playlist after the update.
    pub whole: MediaPlaylist,
}

/// A compressed response between two equal plain ones.
#[derive(Clone, Debug)]
pub struct CodingTrial {
    /// Coding in `Accept-Encoding`.
    pub coding: String,
    /// Plain response.
    pub plain: Response,
    /// Compressed response, with its body uncompressed.
    pub coded: Response,
}

impl History {
    /// Resolves `uri` of the playlist to a path.
    pub fn path(&self, uri: &str) -> String {
        resolve(&self.playlist, uri)
    }

    /// Returns the body of the first response with status 200 for a path.
    pub fn body(&self, path: &str) -> Option<&[u8]> {
        let is_it = |answer: &&Answer| answer.path == path && answer.response.status == 200;
        let answer = self.answers.iter().find(is_it)?;
        Some(&answer.response.body)
    }

    /// Returns the body of the first response with status 200 for an address in the playlist.
    pub(super) fn fetched(&self, uri: &str) -> Option<&[u8]> {
        self.body(&self.path(uri))
    }

    /// Returns each segment as each version lists it.
    pub(super) fn segments(&self) -> impl Iterator<Item = &Segment> {
        let versions = self.versions.iter();
        versions.flat_map(|version| &version.playlist.segments)
    }

    /// Adds a version, unless it equals the previous one.
    pub fn see(&mut self, at: Duration, text: String, playlist: MediaPlaylist) {
        if self.versions.last().is_some_and(|last| last.text == text) {
            return;
        }
        self.versions.push(Version { at, text, playlist });
    }

    /// Returns the target duration of the newest version.
    pub fn target(&self) -> Option<Duration> {
        Some(self.versions.last()?.playlist.target)
    }
}
