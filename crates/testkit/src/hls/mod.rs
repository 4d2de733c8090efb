//! A strict HLS client that knows a server's obligations.
//!
//! [`MediaPlaylist`] and [`MultivariantPlaylist`] parse playlists strictly by RFC 8216bis. A [`Watch`] follows a live stream as
//! a low-latency player does, with a request for each part before it exists, and records the responses in a [`History`].
//! [`violations`] compares the history with the rules.
//!
//! The parser, the client and the rules share nothing with the server, so they are a second opinion.

mod attributes;
mod fragments;
mod history;
mod mirror;
mod multivariant;
mod parse;
mod playlist;
mod reloads;
mod rules;
mod watch;

pub use self::attributes::Attributes;
pub use self::history::{Answer, CodingTrial, DeltaTrial, History, Subject, Version};
pub use self::mirror::Mirror;
pub use self::multivariant::{MultivariantPlaylist, Variant};
pub use self::parse::SyntaxError;
pub use self::playlist::{
    DateRange, File, Hint, Key, Map, MediaPlaylist, Part, Segment, ServerControl, resolve,
};
pub use self::reloads::{Answered, BlockedReloads, reload_at_rest};
pub use self::rules::{Obligation, Rule, Sightings, Violation, latenesses, violations};
pub use self::watch::Watch;
