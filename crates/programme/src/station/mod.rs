//! Playlists as live streams.
//!
//! ```text
//!  folders, playlists ─► library ─► scan ─► programme ─► playout ─► Publisher ─► stream
//!                        which files  which fit  which next   when it is due
//! ```
//!
//! A [`Station`] is one task that publishes one stream from files, without decoding them. It is a publisher of the
//! lowest priority: any other takes over the stream at once, and when that one has left, the station returns with the
//! next track. Listeners of the same format stay connected throughout.
//!
//! Invariants: nothing outside of the catalogue's folder is opened unless the operator allows it; everything played in
//! one epoch has one format; samples are written at most a second ahead of the clock. Lists are bounded.
//!
//! `server` calls this crate: it makes the stations of the configuration, shows their reports and counts their tracks.

mod library;
mod live;
pub mod playlist;
mod playout;
mod programme;
mod report;
mod scan;
mod track;

pub use self::programme::{By, Distances, Hours, RequestRefused, Role, Rule};
pub use library::{Catalogue, Place, Refused};
pub use live::{
    Command, Context, Handle, List, Overloaded, PROTOCOL, Permit, Settings, Station, Stations, Tell,
};
pub use report::{Change, Outcome, Phase, Played, Playing, Report, Stats};
pub use track::Format;
