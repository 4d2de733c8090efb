//! The relay as a whole: everything that belongs neither to one protocol nor to the core.
//!
//! ```text
//!  cli ──► config ──► Relay::load ──► Relay::start ──► Running ──► drain
//!                                         │
//!                core (workers, streams, permissions, logs) ──► assembly (the front door) ──► services, doors
//!                                         │
//!              doors (accept, first bytes) ──► web | net::rtmp ──► ingest | egress-rtmp
//!              services (the ports, the links, the recorder, housekeeping: one list, started and ended in order)
//! ```
//!
//! Every connection goes through a door, every permission through the one gate of `auth`, and every address that this server
//! serves is a row of [`routes`]. `web` handles requests over HTTP; `operator` handles the operator's port.

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
