//! Webhooks: what has happened is posted to receivers of the operator's, by [Standard Webhooks] 1.0.0.
//!
//! ```text
//!  server ─Message─► Teller ─bounded channel─► Courier ─► Queue (what is due when; no IO)
//!                                                 │  ▲        │
//!                                                 │  └outcome─┼── post: one delivery over HTTP
//!                                                 └─────────► Journal: one file, before the first attempt
//! ```
//!
//! * Messages about one stream have growing sequence numbers, and are delivered in that order.
//! * A message is in the journal before it is posted, and until it is delivered or given up. So a delivery survives the
//!   end of the process however it comes, and is repeated with the same `webhook-id`. While the disk takes nothing,
//!   messages are delivered all the same; when it does again, all that still wait are written down.
//! * Nothing waits for a receiver. A teller drops what the channel does not take, and the queue its oldest when it is
//!   full; both are counted and logged.
//! * One task owns the queue and the journal. What blocks is done on tokio's threads for that.
//! * Addresses come from the operator's configuration alone, so any may be named, private ones too; redirections are
//!   not followed.
//!
//! The body of a message is the caller's: nothing here reads or writes JSON, but for the sequence number that is put in
//! front. Called by `server`; `config` checks keys
//! with [`SigningKey`].
//!
//! [Standard Webhooks]: https://www.standardwebhooks.com/

mod clock;
mod counts;
mod courier;
mod journal;
mod key;
mod post;
mod queue;
mod receiver;
mod schedule;
mod sequence;
mod teller;

pub use crate::journal::{OpenError, look};
pub use counts::{Counts, Outcome};
pub use courier::{Courier, Endpoint, Settings, Wants};
pub use key::{NotAKey, SigningKey};
pub use teller::{Message, Teller};
