//! What one client of a stream has seen: versions of the playlist, and every answer.

use std::time::Duration;

use super::playlist::{MediaPlaylist, resolve};
use crate::http::Response;

/// What a client has seen of one media playlist, in the order in which it did. Times are since its start.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// The path of the media playlist.
    pub playlist: String,
    /// The playlist each time that it had changed.
    pub versions: Vec<Version>,
    /// Every answer.
    pub answers: Vec<Answer>,
    /// Delta updates between whole playlists.
    pub deltas: Vec<DeltaTrial>,
    /// Compressed answers beside plain ones.
    pub codings: Vec<CodingTrial>,
    /// Media playlists of the same presentation other than this one, as its reports should name them.
    pub others: Vec<String>,
    /// Texts that are no playlists, with the reason.
    pub unreadable: Vec<String>,
}

/// One version of the playlist.
#[derive(Clone, Debug)]
pub struct Version {
    /// When its answer was complete.
    pub at: Duration,
    /// Its text.
    pub text: String,
    /// Its content.
    pub playlist: MediaPlaylist,
}

/// What a request was for.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Subject {
    /// The multivariant playlist.
    Multivariant,
    /// A playlist as it is now.
    Playlist,
    /// A playlist, once it has a certain part.
    BlockingPlaylist,
    /// A segment, a part, or what is needed before them.
    Media,
}

/// A request and its answer.
#[derive(Clone, Debug)]
pub struct Answer {
    /// When the request was sent.
    pub asked: Duration,
    /// When the answer was complete.
    pub answered: Duration,
    /// What was requested.
    pub subject: Subject,
    /// The path with its query.
    pub path: String,
    /// `If-None-Match` of the request.
    pub condition: Option<String>,
    /// The answer; of a compressed one the body is uncompressed.
    pub response: Response,
}

/// A delta update that was requested between two whole playlists, of which the second has the same end.
#[derive(Clone, Debug)]
pub struct DeltaTrial {
    /// What the client had.
    pub before: MediaPlaylist,
    /// What it was answered.
    pub delta: MediaPlaylist,
    /// The whole playlist.
    pub whole: MediaPlaylist,
}

/// A compressed answer between two equal plain ones.
#[derive(Clone, Debug)]
pub struct CodingTrial {
    /// The coding in `Accept-Encoding`.
    pub coding: String,
    /// The plain answer.
    pub plain: Response,
    /// The compressed one, its body uncompressed.
    pub coded: Response,
}

impl History {
    /// The path of what the playlist names `uri`.
    #[must_use]
    pub fn path(&self, uri: &str) -> String {
        resolve(&self.playlist, uri)
    }

    /// The body of the first answer of 200 for that path.
    #[must_use]
    pub fn body(&self, path: &str) -> Option<&[u8]> {
        let is_it = |answer: &&Answer| answer.path == path && answer.response.status == 200;
        let answer = self.answers.iter().find(is_it)?;
        Some(&answer.response.body)
    }

    /// Adds a version, unless it is the one before.
    pub fn see(&mut self, at: Duration, text: String, playlist: MediaPlaylist) {
        if self.versions.last().is_some_and(|last| last.text == text) {
            return;
        }
        self.versions.push(Version { at, text, playlist });
    }

    /// The target duration of the newest version.
    #[must_use]
    pub fn target(&self) -> Option<Duration> {
        Some(self.versions.last()?.playlist.target)
    }
}
