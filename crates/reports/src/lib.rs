//! Reports of events, as lines and documents: the server's messages, the access log, the session log, webhook messages, and the
//! views of streams and recordings that all documents share.
//!
//! Nothing here makes a reporting caller wait for a disk or a receiver: lines are put in bounded queues whose threads alone
//! write ([`log`]), and messages in the queue of `webhooks`. Called by `server` and by the services on its ports.

pub mod access;
pub mod hooks;
pub mod log;
pub mod sessions;
pub mod stamp;
pub mod view;
