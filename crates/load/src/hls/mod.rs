//! HLS and low-latency HLS: players, each with two connections of its own (RFC 8216; draft-pantos-hls-rfc8216bis).
//!
//! ```text
//! playlists:  GET index.m3u8 ─► GET live.m3u8 ─► GET live.m3u8?_HLS_msn=… (held until it is listed) ─► …
//! media:                          map ─► part, part, …, each as soon as it is listed
//! ```
//!
//! A player is a state machine without a socket (`player`); its connections (`client`) and a group's loop
//! (`audience`) do what it asks for. Players of one stream are answered the same playlists, which are parsed once
//! (`shelf`). The rules that a playlist and its successor keep are checked for every player (`changes`); of most
//! players the kernel discards the media, and those that are checked look at every frame (`judge`).
//!
//! Not followed: renditions beside the variant (`EXT-X-MEDIA`), other variants, `EXT-X-KEY`, compressed playlists.

mod attributes;
pub(crate) mod audience;
mod changes;
mod client;
mod flaw;
mod fragment;
mod judge;
mod location;
mod parser;
mod player;
mod playhead;
mod playlist;
pub(crate) mod record;
pub(crate) mod report;
mod request;
mod shelf;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod viewer;
