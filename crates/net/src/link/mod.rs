//! Connections that the server itself makes, to other servers: where streams are pushed to and pulled
//! from.
//!
//! [`Connector`] makes one, [`Backoff`] says when to try again, and [`Status`] is where the task that
//! does so tells everybody how it fares. Called by the pushing and the pulling crates; `server` reads
//! the status.

mod backoff;
mod connector;
mod resolver;
mod status;

pub use backoff::{Backoff, DELAY_FIRST, DELAY_MAX, LASTED};
pub use connector::{CONNECT_TIMEOUT, ConnectError, Connector, Link};
pub use status::{Report, State, Status};
