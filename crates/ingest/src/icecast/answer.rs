//! Replies to sources.

use std::time::SystemTime;

use fanout::PublishRefused;
use fanout::gate::Denied;
use http1::{CONTINUE, CORS, Head, HttpDate, NO_CACHE, ResponseHead, SOURCE_OK, Status, Version};

use crate::{Error, Settings};

/// Methods that a source may use. libshout prefers `PUT` when it is listed, and would send titles by `POST`
/// if that were listed.
const ALLOW: &str = "GET, HEAD, PUT, SOURCE, OPTIONS";

/// Protocols that the connection may upgrade to (RFC 2817 §4.2), in the form that libshout looks for.
const TLS_OFFERED: &str = "TLS/1.0, HTTP/1.1";

/// Reply that an x-audiocast source waits for; it does not use HTTP.
const AUDIOCAST_OK: &[u8] = b"OK\r\n\r\n";

/// Seconds after which a source refused for lack of capacity may retry. Sources are few, so their retries
/// need no spreading.
const RETRY_AFTER_SECONDS: &str = "5";

/// Returns the HTTP status and the text for an error; no other code decides this.
pub fn status_of(error: &Error) -> (Status, String) {
    let status = match error {
        Error::Name(_) | Error::ParameterMissing(_) | Error::ModeUnknown | Error::NoSuchStream => {
            Status::BAD_REQUEST
        }
        Error::Denied(Denied::Missing | Denied::Wrong) => Status::UNAUTHORIZED,
        Error::NameReserved
        | Error::OtherSite
        | Error::Denied(Denied::Unfit | Denied::InUse | Denied::Excluded(_))
        | Error::Expired
        | Error::Refused(
            PublishRefused::Busy | PublishRefused::Replaced | PublishRefused::Blocked(_),
        ) => Status::FORBIDDEN,
        Error::Denied(Denied::TooManyAttempts) => Status::TOO_MANY_REQUESTS,
        // Icecast sends 403 for too many sources; but a later attempt may well succeed.
        Error::Denied(Denied::Unavailable)
        | Error::Refused(PublishRefused::TooMany | PublishRefused::Ended)
        | Error::Ended
        | Error::Superseded => Status::SERVICE_UNAVAILABLE,
        Error::Protocol(error) => match error.cause::<http1::Error>() {
            Some(error) => http1::status_of(*error),
            None => Status::INTERNAL_SERVER_ERROR,
        },
        Error::NotMedia(_) => Status::UNSUPPORTED_MEDIA_TYPE,
        Error::NoMedia(_) | Error::Silent(_) | Error::NotConnected(_) => Status::REQUEST_TIMEOUT,
        Error::Panicked | Error::Io(_) => Status::INTERNAL_SERVER_ERROR,
    };
    // Wording of Icecast 2.4.4, which people search for.
    let words = match error {
        Error::Denied(Denied::Missing | Denied::Wrong) => "You need to authenticate",
        Error::Refused(PublishRefused::Busy) => "Mountpoint in use",
        Error::Refused(PublishRefused::TooMany) => "too many sources connected",
        Error::NoSuchStream => "Source does not exist",
        _ => return (status, error.to_string()),
    };
    (status, words.to_owned())
}

/// Writes the refusal of a request.
pub(super) fn refusal(settings: &Settings, head: &Head, error: &Error) -> Vec<u8> {
    let (status, words) = status_of(error);
    if head.version() == Version::Shoutcast {
        return shoutcast_refusal(error);
    }
    let mut response = begin(settings, head, status);
    if status == Status::UNAUTHORIZED {
        response = response.header("WWW-Authenticate", "Basic realm=\"Icecast2 Server\"");
    }
    if matches!(
        status,
        Status::SERVICE_UNAVAILABLE | Status::TOO_MANY_REQUESTS
    ) {
        response = response.header("Retry-After", RETRY_AFTER_SECONDS);
    }
    finish(
        response,
        "text/plain; charset=utf-8",
        &format!("{words}\r\n"),
    )
}

/// Writes the refusal of a SHOUTcast source, a protocol that knows one reason only.
pub(super) fn shoutcast_refusal(error: &Error) -> Vec<u8> {
    match error {
        Error::Denied(Denied::Missing | Denied::Wrong) => http1::SHOUTCAST_REFUSED.to_vec(),
        _ => format!("{}\r\n", status_of(error).1).into_bytes(),
    }
}

/// Writes the reply to a request that was carried out.
pub(super) fn done(settings: &Settings, head: &Head, content_type: &str, body: &str) -> Vec<u8> {
    finish(begin(settings, head, Status::OK), content_type, body)
}

/// Writes the reply that admits a source. It has no length: it ends with the connection, like the body.
pub(super) fn accepted(settings: &Settings, head: &Head) -> Vec<u8> {
    match head.version() {
        Version::XAudiocast => return AUDIOCAST_OK.to_vec(),
        // The password was answered before the headers arrived.
        Version::Shoutcast => return Vec::new(),
        _ => {}
    }
    if head.method() != "PUT" {
        return SOURCE_OK.to_vec();
    }
    let mut answer = Vec::new();
    if head.expects_continue() {
        answer.extend_from_slice(CONTINUE);
    }
    answer.extend_from_slice(&begin(settings, head, Status::OK).finish());
    answer
}

/// Writes the reply to a source with the right credential that sends no body yet.
pub(super) fn probe(settings: &Settings, head: &Head) -> Vec<u8> {
    begin(settings, head, Status::OK).content_length(0).finish()
}

/// Possible continuations of a connection after its `OPTIONS` request.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Prospects {
    /// The connection may carry another request.
    pub persists: bool,
    /// The connection may switch to TLS.
    pub upgrades: bool,
}

/// Writes the reply to `OPTIONS`, which libshout sends first, and browsers before they fetch.
///
/// libshout takes 404, 501 or a closed connection as a sign that the server requires TLS. A libshout that
/// accepts nothing but TLS sends one such request per connection, so a connection that ends with the reply
/// would make it retry for ever.
pub fn answer_options(settings: &Settings, head: &Head, prospects: Prospects) -> Vec<u8> {
    let connection = match (prospects.persists, prospects.upgrades) {
        (true, true) => "Keep-Alive, Upgrade",
        (true, false) => "Keep-Alive",
        (false, true) => "Close, Upgrade",
        (false, false) => "Close",
    };
    let response = ResponseHead::new(head.version(), Status::OK)
        .header("Server", &settings.server_name)
        .date(HttpDate::from(SystemTime::now()))
        .header("Connection", connection);
    let response = match prospects.upgrades {
        true => response.header("Upgrade", TLS_OFFERED),
        false => response,
    };
    response
        .header("Allow", ALLOW)
        .headers(CORS)
        .content_length(0)
        .finish()
}

fn begin(settings: &Settings, head: &Head, status: Status) -> ResponseHead {
    ResponseHead::new(head.version(), status)
        .header("Server", &settings.server_name)
        .header("Connection", "Close")
        .date(HttpDate::from(SystemTime::now()))
}

fn finish(response: ResponseHead, content_type: &str, body: &str) -> Vec<u8> {
    let mut answer = response
        .header("Content-Type", content_type)
        .headers(NO_CACHE)
        .headers(CORS)
        .content_length(body.len() as u64)
        .finish();
    answer.extend_from_slice(body.as_bytes());
    answer
}
