//! The relay as a whole: what is not one protocol's or the core's business.
//!
//! ```text
//!  cli ──► config ──► Relay::load ──► Relay::start ──► Running ──► drain
//!                                         │
//!              doors (accept, limits, TLS, head) ──► ingest | egress-http | egress-rtmp | pages
//!              rtc (WHIP and WHEP, one UDP port) ──► ingest | egress-webrtc
//!              links (pushes and pulls) ──► egress-rtmp | ingest
//!              audio (Opus beside AAC and MP3)
//!              admin (metrics, health, API, events)     gate (who may)     access (who was here)
//! ```
//!
//! Every connection goes through a door, every permission through the one gate, and every address
//! this server answers on is a row of [`routes`]. What a request over HTTP is for is found by `route`.

mod access;
mod address;
mod admin;
mod allowance;
mod audio;
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
mod pages;
mod pulse;
mod relay;
mod reload;
mod route;
pub mod routes;
mod rtc;
mod running;
mod signals;
mod stamp;
mod status;
mod stream_view;
mod track_view;
mod workload;

#[cfg(test)]
mod tests;

pub use links::TrustError;
pub use relay::{Bound, Port, Relay, StartError};
pub use rtc::OpenError;
pub use running::Running;
