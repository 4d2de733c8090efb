//! What many crates need and the standard library lacks. It knows nothing of streams.
//!
//! * [`Counter`] and [`Labelled`]: numbers that some threads write and any thread reads, alone or one for each case of an
//!   enum; [`labels!`] declares such an enum with the words that metrics and the API have for its cases.
//! * [`Published`]: numbers that one thread counts without sharing, for others; [`numbers!`] declares them.
//! * [`Bounded`]: a map of so many entries, of which the oldest gives way.
//! * [`Lock`]: a mutex that goes on after a panic of its user.
//! * [`debug!`]: the debug form of a type of which the rest has none, or is secret.
//! * [`date`]: dates as RFC 3339 has them.
//!
//! Nothing here reads a clock, opens a socket or spawns anything. Every other crate may use it.

mod bounded;
mod counter;
pub mod date;
mod debug;
mod labelled;
mod lock;
mod numbers;

pub use bounded::Bounded;
pub use counter::Counter;
pub use labelled::{Label, Labelled};
pub use lock::Lock;
pub use numbers::{Numbers, Published};
