//! The client's side of a session, as a viewer's or a publisher's program implements it; for load generators and tests.
//!
//! ```text
//! write_offer ─► POST ─► Answer::parse ─► Peer ─┬─ checks (controlling, USE-CANDIDATE, consent)
//!                                               ├─ DTLS, the client's side
//!                                               └─ Event::Connected(keys) ─► srtp::{Opener, Sealer}
//! ```
//!
//! A [`Peer`] is one session: datagrams and the clock go in, datagrams and events come out. It processes everything except
//! media, which the caller opens or counts. It uses one address of the server, chosen by the caller from the answer.
//!
//! The server is trusted as far as its answer goes, since the operator named it. The server's own code path uses nothing of
//! this.

mod answer;
mod checks;
mod identity;
mod offer;
mod peer;
#[cfg(test)]
mod tests;

use thiserror::Error;

use crate::dtls;

pub use answer::{Accepted, Answer, AnswerError};
pub use identity::ClientIdentity;
pub use offer::{OfferedFormat, OfferedMedia, write_offer};
pub use peer::{Event, Peer, is_media};

/// Reason why a session with a server ended or never began.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
pub enum Error {
    /// The server answered no check.
    #[error("no check was answered")]
    NotReached,
    /// The server answered a check with an error.
    #[error("a check was refused")]
    Refused,
    /// The server no longer answers checks.
    #[error("the server fell silent")]
    Silent,
    /// The handshake failed.
    #[error("{0}")]
    Dtls(#[from] dtls::Error),
}
