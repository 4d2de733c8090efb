//! The relay as a whole: what belongs neither to one protocol nor to the core.
//!
//! ```text
//!  cli ──► config ──► Relay::load ──► Relay::start ──► Running ──► drain
//!                                         │
//!              doors (accept, limits, TLS, first bytes) ──► http | rtmp-io ──► ingest | egress-rtmp
//!              http (requests, the router, pages) ──► ingest | listen | signalling
//!              signalling (WHIP and WHEP, one UDP port) ──► ingest | egress-webrtc
//!              links (pushes and pulls) ──► egress-rtmp | ingest
//!              derived-audio (Opus beside AAC and MP3)
//!              services (these ports, the links, housekeeping: one list, started and ended in order)
//!              admin (metrics, health, API, events)     gate (permissions)     access (access log)
//! ```
//!
//! Every connection goes through a door, every permission through the one gate, and every address
//! this server answers on is a row of [`routes`]. `http::route` finds what a request over HTTP is for.

mod assembly;
mod backends;
pub mod cli;
mod core;
mod door;
mod import_command;
mod intros;
mod journals;
mod keys;
mod ports;
mod rec;
mod relay;
mod reload;
mod running;
mod services;
mod sign;
mod signals;
mod start_error;
mod stations;
mod who;

#[cfg(test)]
mod tests;

pub use auth::{Authority, Grant, Verdict};
pub use links::TrustError;
pub use ports::{Bound, Port};
pub use relay::Relay;
pub use running::Running;
pub use start_error::StartError;
pub use web::routes;
pub use web::signalling::OpenError;
