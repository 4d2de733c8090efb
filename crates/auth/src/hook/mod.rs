//! Permission by HTTP hook: an HTTP server of the operator's is asked whether a client may publish or listen.
//!
//! ```text
//!  gate ─Question─► Asker ─► Cache (verdicts, by what was asked)
//!                     │  └──► Breaker (is it worth asking?)
//!                     └─────► Dialect: Question → request, answer → Verdict   (no IO)
//! ```
//!
//! * The question goes out in the [`Dialect`] of another server, so that a hook which was written for that server
//!   works unchanged, or in our own.
//! * An answer comes within [`Settings::timeout`] or is [`Unanswered`]. At most [`IN_FLIGHT_MAX`] questions are under way;
//!   others wait for their turn, shared out by address (`net::turns`), so no client keeps another one's question back.
//! * After some failures in a row nothing is asked for a while: a hook that is down is not kept down by
//!   everyone who waits for it.
//! * A verdict is kept for as long as the operator says. A denial is asked anew each time, for a client may have got
//!   its right in between.
//! * Where the operator says so, the hook is told of the end of what it has permitted. Ends wait in a queue that is bounded, and
//!   those of a server that stops are not told.
//! * Where the operator says so, the hook is told at intervals of what goes on, and may end it.
//! * Where the operator says so, the hook is told of each publisher that comes and goes, one after another, whoever has permitted it.
//! * Secrets are in the request, where the hook needs them, and nowhere else: the cache has digests of them, the log nothing.
//!
//! Called by `server`'s gate.

mod asker;
mod breaker;
mod cache;
mod dialect;
mod ends;
mod exchange;
mod form;
mod mounts;
mod question;
#[cfg(test)]
mod tests;
mod updates;

pub use asker::{Asker, IN_FLIGHT_MAX};
pub(crate) use asker::{PassedHeader, Settings, Unanswered};
pub use dialect::Dialect;
pub(crate) use ends::Permitted;
pub(crate) use exchange::fetch;
pub use mounts::Mount;
pub(crate) use question::{Question, Verdict};
pub(crate) use updates::Updated;
