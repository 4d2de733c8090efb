//! Playlists as live streams.
//!
//! ```text
//!  folders, playlists ─► library ─► scan ─► programme ─► playout ─► Publisher ─► stream
//!                        which files  which fit  which next   when it is due
//! ```
//!
//! A [`Station`] is one task that publishes one stream from files, without decoding them. It is a publisher of the
//! lowest priority: any other takes the stream over at once, and when that has gone, the station returns with the next
//! track. Listeners of the same format are kept all along.
//!
//! Invariants: nothing outside of the catalogue's folder is opened unless the operator allows it; all that is played in
//! one epoch is of one format; what is written is never more than a second ahead of the clock. Lists are bounded.
//!
//! Called by `server`, which makes the stations of the configuration, shows their reports and counts their tracks.

mod library;
pub mod playlist;
mod playout;
mod programme;
mod report;
mod scan;
mod station;
mod track;

pub use library::{Catalogue, Place, Refused};
pub use programme::{By, Distances, Hours, RequestRefused, Role, Rule};
pub use report::{Change, Outcome, Phase, Played, Playing, Report, Stats};
pub use station::{
    Command, Context, Handle, List, Overloaded, PROTOCOL, Permit, Settings, Station, Stations, Tell,
};
pub use track::Format;
