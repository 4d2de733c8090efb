//! HLS and low-latency HLS: players, each with two connections of its own (RFC 8216; draft-pantos-hls-rfc8216bis).
//!
//! ```text
//! playlists:  GET index.m3u8 ─► GET live.m3u8 ─► GET live.m3u8?_HLS_msn=… (held until it is listed) ─► …
//! media:                          map ─► part, part, …, each as soon as it is listed
//! ```
//!
//! A player is a state machine without a socket (`player`); its connections (`client`) and a group's loop (`audience`) carry
//! out its requests. Players of one stream receive the same playlists, which are parsed once (`shelf`). The rules for a
//! playlist and its successor are checked for every player (`changes`). For most players, the kernel discards the media;
//! players that are checked examine every frame (`judge`).
//!
//! Not followed: renditions besides the variant (`EXT-X-MEDIA`), other variants, `EXT-X-KEY`, compressed playlists.

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
