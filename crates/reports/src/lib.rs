//! Reports of what happens, as lines and documents: the server's messages, the access log, the records of sessions,
//! the messages of webhooks, and the views of streams and recordings that all documents share.
//!
//! Nothing here waits for a disk or a receiver on behalf of who reports: lines go to bounded queues whose threads alone
//! write ([`log`]), messages to the queue of `webhooks`. Called by `server` and by what answers its ports.

pub mod access;
pub mod hooks;
pub mod log;
pub mod sessions;
pub mod stamp;
pub mod view;
