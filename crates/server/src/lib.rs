//! The relay as a whole: what belongs neither to one protocol nor to the core.
//!
//! ```text
//!  cli ──► config ──► Relay::load ──► Relay::start ──► Running ──► drain
//!                                         │
//!              doors (accept, limits, TLS, head) ──► ingest | egress-http | egress-rtmp | pages
//!              rtc (WHIP and WHEP, one UDP port) ──► ingest | egress-webrtc
//!              links (pushes and pulls) ──► egress-rtmp | ingest
//!              derived-audio (Opus beside AAC and MP3)
//!              admin (metrics, health, API, events)     gate (who may)     access (who was here)
//! ```
//!
//! Every connection goes through a door, every permission through the one gate, and every address
//! this server answers on is a row of [`routes`]. What a request over HTTP is for is found by `route`.

mod access;
mod address;
mod admin;
mod allowance;
mod backends;
pub mod cli;
mod demo;
mod door;
mod drain;
mod gate;
mod keys;
mod links;
mod log;
mod node;
mod notice;
mod overload;
mod pages;
mod relay;
mod reload;
mod route;
pub mod routes;
mod rtc;
mod running;
mod signals;
mod sockets;
mod stamp;
mod status;
mod stream_view;
mod track_view;

#[cfg(test)]
mod tests;

pub use gate::{Authority, Grant, Verdict};
pub use links::TrustError;
pub use relay::{Relay, StartError};
pub use rtc::OpenError;
pub use running::Running;
pub use sockets::{Bound, Port};
