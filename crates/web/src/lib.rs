//! Front door of HTTP: requests on the public ports, and their replies.
//!
//! ```text
//!   connection (HTTP/1, h2) ─► route ─┬─ listener, source, title ─► listen, ingest: they take the socket
//!                                     └─ page, WHIP, WHEP ─► Request ─► pages | signalling ─► Reply
//! ```
//!
//! [`routes`] lists every address, [`route`] finds what a request is for, and [`pages`] and [`signalling`] answer it from the
//! state in [`FrontDoor`]. Called by the doors of `server`.

pub mod address;
pub mod admission;
mod base_url;
pub mod connection;
pub mod copies;
pub mod counts;
pub mod drain;
mod endpoint;
mod front_door;
pub mod head;
pub mod http2;
pub mod listen;
pub mod listeners;
pub mod operators;
pub mod page;
pub mod pages;
pub mod refusal;
pub mod reply;
mod request;
pub mod route;
pub mod routes;
pub mod secure;
mod sendable;
pub mod signalling;
pub mod sse;
pub mod status;
pub mod tls;
pub mod visitor;

pub use front_door::FrontDoor;
