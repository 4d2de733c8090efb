//! Outgoing connections to other servers, which streams are pushed to and pulled from.
//!
//! [`Connector`] makes one, [`Backoff`] determines the wait before the next attempt, and the task that makes
//! the attempts publishes its state in [`Status`]. Called by the pushing and the pulling crates; `server`
//! reads the status.

mod backoff;
mod connector;
mod resolver;
mod status;

pub use backoff::{Backoff, DELAY_FIRST, DELAY_MAX, LASTED};
pub use connector::{CONNECT_TIMEOUT, ConnectError, Connector, Link};
pub use status::{LinkReport, State, Status};
