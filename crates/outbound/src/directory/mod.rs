//! Directory entries: lists streams in public directories of radio stations, by Icecast's YP protocol.
//!
//! ```text
//!  streams on the air ─► keeper: a look a second ─► registration, one for each stream and directory
//!                                                        │ what is due
//!                                                        ▼
//!                                              one request at a time and directory
//! ```
//!
//! A stream is added when it has been on the air for a while. Its entry is touched as often as the directory wishes, and
//! removed when the stream has ended. Nothing waits for a directory. `registration` makes the decisions without a clock or a
//! socket; `request` builds the forms; [`keep`] is the task.
//!
//! Called by `server`, which supplies the streams on the air and shows the [`Board`].

mod board;
mod keeper;
mod registration;
mod request;

use std::time::Duration;

use net::url::Url;

pub use board::{Board, Outcome};
pub use keeper::keep;

/// Directory of radio stations.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Directory {
    /// URL for requests, such as `http://dir.xiph.org/cgi-bin/yp-cgi`.
    pub url: Url,
    /// Time that a stream is on the air before it is added.
    pub after: Duration,
    /// Interval between touches of an entry, if the directory names none.
    pub interval: Duration,
}

/// Stream to list in a directory, with the data for its entry. Untrusted text.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Entry {
    /// Name of the stream on this server.
    pub stream: String,
    /// Display name.
    pub name: String,
    /// Genre of the programme.
    pub genre: String,
    /// Description in a sentence or two.
    pub description: String,
    /// URL of the stream's web page.
    pub url: String,
    /// URL at which players listen.
    pub listen_url: String,
    /// Media type.
    pub media_type: String,
    /// Codec, where the media type leaves that open.
    pub subtype: String,
    /// Bit rate in kilobits per second.
    pub bitrate: String,
    /// Pairs such as `samplerate=44100&channels=2`.
    pub audio_info: String,
    /// Current title.
    pub title: String,
    /// Number of listeners.
    pub listeners: usize,
    /// Most listeners allowed.
    pub listeners_max: usize,
}
