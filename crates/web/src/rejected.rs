//! How limits are told over HTTP.

use http1::Status;
use limits::Rejected;

/// The only function that maps limits to statuses.
pub(crate) const fn status_of(reason: Rejected) -> Status {
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
