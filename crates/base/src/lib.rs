//! Basics that many crates need and the standard library lacks; independent of streams.
//!
//! * [`Counter`] and [`Labelled`]: numbers that some threads write and any thread reads, alone or one for each case of
//!   an enum; [`labels!`] declares such an enum with the labels of its cases in metrics and the API.
//! * [`Published`]: numbers that one thread counts without sharing, for others; [`numbers!`] declares them.
//! * [`Bounded`]: a map with a bounded number of entries; a new entry replaces the oldest.
//! * [`Lock`]: a mutex that stays usable after a panic of its user.
//! * [`debug!`]: `Debug` for a type some of whose parts do not implement it, or are secret.
//! * [`date`]: dates in the form of RFC 3339.
//! * [`shares`] and [`holdings`]: bounds of the places and the memory that peers take, by address.
//! * [`Quota`]: a maximum per period. [`Jitter`]: numbers that keep clients apart in time.
//!
//! Nothing here reads a clock, opens a socket or spawns anything. Every other crate may use it.

mod bounded;
mod counter;
pub mod date;
mod debug;
pub mod holdings;
mod jitter;
mod labelled;
mod lock;
mod numbers;
mod quota;
pub mod shares;

pub use bounded::Bounded;
pub use counter::Counter;
pub use jitter::Jitter;
pub use labelled::{Label, Labelled};
pub use lock::Lock;
pub use numbers::{Numbers, Published};
pub use quota::Quota;
