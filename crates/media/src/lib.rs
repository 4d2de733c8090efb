//! Vocabulary of all other crates.
//!
//! A publisher's connection becomes a sequence of [`Item`]s: its tracks, the data that a player needs before the first
//! sample, and the samples themselves. Nothing here opens a socket, reads a clock or keeps a queue; the types are plain
//! values that may be cloned freely, because the bytes inside them are reference counted.
//!
//! Codec configuration and frame headers are parsed in [`codec`].

mod charset;
pub mod codec;
mod description;
mod event;
mod glob;
mod item;
mod name;
mod time;
mod track;

pub use charset::Charset;
pub use description::Description;
pub use event::{Caption, Cue, CueAction, EventContent, TimedEvent};
pub use glob::Glob;
pub use item::{Item, Sample, Script, SongTitle, Title};
pub use name::{NameError, StreamName};
pub use time::{Span, TICKS_PER_SECOND, Timestamp};
pub use track::{Codec, Container, FourCc, Framing, Kind, Track, TrackId};
