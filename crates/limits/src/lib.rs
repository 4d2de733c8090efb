//! Limits on connections, listeners, joins and bandwidth, in total and by address, and the load of the host.
//!
//! ```text
//!  accepted connection ─► Limits::connection ─► ConnectionPermit (pending, at rest, handed over)
//!  listener            ─► Limits::listener   ─► ListenerPermit
//!  Host, workers       ─► Pressure           ─► refusals, before present listeners suffer
//! ```
//!
//! Invariants: a permit is a value whose drop returns its place; nothing here waits, and each lock is held for a few lookups.
//! The data kept about addresses is bounded by the permits they hold or by a constant.
//!
//! Called by the doors of `server` and by `web`, which request a permit before any work is done, and by the watch of the host
//! in `operator`.

mod admission;
mod allowance;
mod bucket;
mod egress;
pub mod host;
mod permits;
mod pressure;
mod publishers;
mod rejected;
mod tally;

pub use admission::{Limits, ListenerPermit, Settings};
pub use allowance::Allowances;
pub use bucket::Bucket;
pub use permits::{ConnectionPermit, Evict, Handover, Pool};
pub use pressure::{Kind, Marks, Pressure, Transport};
pub use rejected::Rejected;
pub use tally::{AddressShare, SharePlace};
