//! Refusals of pages and of the operator's addresses, and the table that maps limits and denials to HTTP statuses.
//!
//! Listeners are refused in Icecast's words ([`listen`](crate::listen)), WHIP and WHEP by problem documents
//! ([`signalling`](crate::signalling)), HLS in words of its own; all of them use the statuses of this table.

use std::net::SocketAddr;

use auth::status_of;
use fanout::gate::Denied;
use http::{StatusCode, header};
use http1::Status;
use limits::Rejected;

use crate::admission::ListenerAdmission;
use crate::reply::Reply;

/// Maps limits to statuses; the only function that does.
pub(crate) const fn status_of_limit(reason: Rejected) -> Status {
    match reason {
        Rejected::Address | Rejected::PendingShare | Rejected::Viewers | Rejected::Requests => {
            Status::TOO_MANY_REQUESTS
        }
        Rejected::HeadTimeout => Status::REQUEST_TIMEOUT,
        Rejected::HeadMalformed | Rejected::Protocol | Rejected::Tls => Status::BAD_REQUEST,
        Rejected::Pending
        | Rejected::PendingSessions
        | Rejected::Holdings
        | Rejected::Listeners
        | Rejected::Joins
        | Rejected::Egress
        | Rejected::Turn
        | Rejected::WebrtcTurn
        | Rejected::Lateness
        | Rejected::SocketMemory
        | Rejected::Memory
        | Rejected::Descriptors
        | Rejected::Draining => Status::SERVICE_UNAVAILABLE,
    }
}

/// Builds the reply to a client of a page that may not play its stream: without a challenge, as a browser would open a password
/// dialog in the middle of a list.
pub(crate) fn denied(denied: Denied) -> Reply {
    let status = match status_of(denied) {
        StatusCode::UNAUTHORIZED => StatusCode::FORBIDDEN,
        other => other,
    };
    Reply::text(status, format!("{denied}\n"))
}

/// Builds the reply to a client that is not the operator.
pub fn not_the_operator(denied: Denied) -> Reply {
    let status = status_of(denied);
    let reply = Reply::text(status, format!("{denied}\n"));
    match status {
        StatusCode::UNAUTHORIZED => {
            reply.with(header::WWW_AUTHENTICATE, "Basic realm=\"Carillon\"")
        }
        _ => reply,
    }
}

/// Builds the reply to a client for which there is no room.
pub(crate) fn limited(reason: Rejected, admission: &ListenerAdmission, peer: SocketAddr) -> Reply {
    admission.counts.reject(reason, peer);
    let status = StatusCode::from_u16(status_of_limit(reason).code());
    let status = status.unwrap_or(StatusCode::SERVICE_UNAVAILABLE);
    Reply::text(status, format!("{reason}\n"))
        .with(header::RETRY_AFTER, admission.drain.retry_after())
}
