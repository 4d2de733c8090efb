//! Entries of streams in public directories of radio stations, by the protocol YP that Icecast speaks.
//!
//! ```text
//!  what is on the air ─► keeper: a look a second ─► registration, one for each stream and directory
//!                                                        │ what is due
//!                                                        ▼
//!                                              one request at a time and directory
//! ```
//!
//! A stream is added when it has been on the air for a while, its entry is touched as often as the directory wishes, and
//! removed when the stream has gone. Nothing waits for a directory. `registration` decides and knows no clock and no socket;
//! `request` has the forms; [`keep`] is the task.
//!
//! Called by `server`, which says what is on the air and shows the [`Board`].

mod board;
mod keeper;
mod registration;
mod request;

use std::time::Duration;

use net::url::Url;

pub use board::{Board, Outcome};
pub use keeper::keep;

/// A directory.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Directory {
    /// Where it is asked, such as `http://dir.xiph.org/cgi-bin/yp-cgi`.
    pub url: Url,
    /// How long a stream is on the air before it is added.
    pub after: Duration,
    /// How often an entry is touched if the directory does not say so.
    pub interval: Duration,
}

/// A stream that is to be in a directory, and what is told of it. Untrusted text.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Entry {
    /// The stream.
    pub stream: String,
    /// What it calls itself.
    pub name: String,
    /// What kind of programme it is.
    pub genre: String,
    /// In a sentence or two.
    pub description: String,
    /// Its page.
    pub url: String,
    /// Where it is heard.
    pub listen_url: String,
    /// The media type.
    pub media_type: String,
    /// The codec within it, where the type leaves that open.
    pub subtype: String,
    /// In kilobits per second.
    pub bitrate: String,
    /// Pairs such as `samplerate=44100&channels=2`.
    pub audio_info: String,
    /// What is playing.
    pub title: String,
    /// How many listen.
    pub listeners: usize,
    /// How many may.
    pub listeners_max: usize,
}
