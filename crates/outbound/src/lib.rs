//! Everything that the server sends to others on its own account: webhooks, directory entries, copies of recordings.
//!
//! * [`webhooks`]: events to receivers over HTTP, from a durable queue.
//! * [`directory`]: entries of streams in public directories of radio stations (YP).
//! * [`uploads`]: recordings to object storage.
//! * `journal`: a database in one file for work that survives a restart.
//!
//! None of them delays a stream: each has tasks or threads of its own, bounded queues, and retries with pauses. Callers: `server`, which
//! starts them; `web`, `reports` and `operator`, which show their state.

pub mod directory;
pub mod journal;
pub mod uploads;
pub mod webhooks;
