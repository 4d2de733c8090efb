//! What an RTMP publisher is told about the end of its connection.

use ::rtmp::server::Rejection;
use fanout::PublishRefused;
use fanout::gate::Denied;

use crate::Error;

/// The status and its description; `None` when the session has said its own words, or when nobody
/// is left to hear any. OBS and ffmpeg show the description to the broadcaster.
pub(super) fn of(error: &Error) -> Option<(Rejection, String)> {
    let rejection = match error {
        Error::Denied(Denied::Missing | Denied::Wrong) => Rejection::Denied,
        Error::Refused(PublishRefused::Busy | PublishRefused::Replaced) | Error::Superseded => {
            Rejection::BadName
        }
        Error::Name(_)
        | Error::NameReserved
        | Error::Denied(Denied::TooManyAttempts)
        | Error::Refused(
            PublishRefused::TooMany | PublishRefused::Ended | PublishRefused::Blocked(_),
        )
        | Error::ParameterMissing(_)
        | Error::ModeUnknown => Rejection::Rejected,
        Error::NoSuchStream => Rejection::StreamNotFound,
        Error::NoMedia(_) | Error::Silent(_) | Error::NotConnected(_) | Error::Ended => {
            Rejection::Failed
        }
        Error::Rtmp(_) | Error::Http(_) | Error::Panicked | Error::Io(_) => return None,
    };
    Some((rejection, error.to_string()))
}
