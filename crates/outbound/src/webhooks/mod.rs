//! Webhooks: events are posted to the operator's receivers, by [Standard Webhooks] 1.0.0.
//!
//! ```text
//!  server ─Message─► Teller ─bounded channel─► Courier ─► Queue (what is due when; no IO)
//!                                                 │  ▲        │
//!                                                 │  └outcome─┼── post: one delivery over HTTP
//!                                                 └─────────► Journal: one file, before the first attempt
//! ```
//!
//! * Messages about one stream have increasing sequence numbers, and are delivered in that order.
//! * A message is in the journal from before its first post until it is delivered or given up. So a delivery survives the end
//!   of the process, however it ends, and is repeated with the same `webhook-id`. While the disk fails, messages are delivered
//!   all the same; once it works again, all waiting messages are written.
//! * Nothing waits for a receiver. A teller drops messages that the channel does not accept, and a full queue drops its oldest;
//!   both are counted and logged.
//! * One task owns the queue and the journal. Blocking work runs on tokio's blocking threads.
//! * URLs come only from the operator's configuration, so any may be used, including private ones; redirections are not
//!   followed.
//!
//! The caller supplies the body of a message: nothing here reads or writes JSON, except for the sequence number put in front.
//! Called by `server`; `config` checks keys with [`SigningKey`].
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

pub use crate::webhooks::journal::{OpenError, look};
pub use counts::{Counts, Outcome};
pub use courier::{Courier, Endpoint, Settings, Wants};
pub use key::{NotAKey, SigningKey};
pub use teller::{Message, Teller};
