//! Texts that inform an RTMP publisher of the end of its connection.

use ::rtmp::server::Rejection;
use container::flv::MultitrackError;
use fanout::PublishRefused;
use fanout::gate::Denied;
use media::StreamName;

use crate::Error;

/// Length of the shortest publish key that a configuration may have.
const KEY_CHARS_MIN: usize = 8;

/// Returns a stream's name for the log, where its last segment may be a publish key: encoders have a field
/// for the "stream key", and some broadcasters write the key there and no name.
pub(super) fn without_key(name: &StreamName) -> String {
    let (app, last) = name
        .as_str()
        .rsplit_once('/')
        .unwrap_or(("", name.as_str()));
    if last.chars().count() < KEY_CHARS_MIN {
        name.to_string()
    } else if app.is_empty() {
        "***".to_owned()
    } else {
        format!("{app}/***")
    }
}

/// Returns the status and its description; `None` when the session has sent its own words, or when the peer
/// has left. OBS and ffmpeg show the description to the broadcaster.
pub(super) fn of(error: &Error) -> Option<(Rejection, String)> {
    let rejection = match error {
        Error::Denied(
            Denied::Missing | Denied::Wrong | Denied::Unfit | Denied::InUse | Denied::Excluded(_),
        )
        | Error::Expired => Rejection::Denied,
        Error::Refused(PublishRefused::Busy | PublishRefused::Replaced) | Error::Superseded => {
            Rejection::BadName
        }
        Error::Name(_)
        | Error::NameReserved
        | Error::Denied(Denied::TooManyAttempts)
        | Error::Refused(
            PublishRefused::TooMany | PublishRefused::Ended | PublishRefused::Blocked(_),
        )
        | Error::OtherSite
        | Error::ParameterMissing(_)
        | Error::ModeUnknown => Rejection::Rejected,
        Error::NoSuchStream => Rejection::StreamNotFound,
        Error::Denied(Denied::Unavailable)
        | Error::NoMedia(_)
        | Error::Silent(_)
        | Error::NotConnected(_)
        | Error::Ended => Rejection::Failed,
        // The session does not know of this error.
        Error::Protocol(protocol) if protocol.cause::<MultitrackError>().is_some() => {
            Rejection::Failed
        }
        Error::Protocol(_) | Error::NotMedia(_) | Error::Panicked | Error::Io(_) => {
            return None;
        }
    };
    Some((rejection, error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_a_key_is_not_shown() {
        for (name, shown) in [
            ("live/show", "live/show"),
            ("live/bells-at-noon-41", "live/***"),
            ("bells-at-noon-41", "***"),
            ("radio", "radio"),
        ] {
            let name = StreamName::parse(name).unwrap();
            assert_eq!(without_key(&name), shown);
        }
    }
}
