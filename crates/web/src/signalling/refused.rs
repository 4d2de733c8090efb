//! Reasons to refuse a request of WHIP or WHEP, and the one function that turns them into replies.

use fanout::gate::{Denied, Excluded};
use fanout::{LaneRefused, PublishRefused};
use http::{HeaderName, StatusCode, header};
use ingest::whip::Unusable;
use limits::Rejected;
use media::StreamName;
use serde_json::json;
use webrtc::port;
use webrtc::sdp::{FragmentError, OfferError};

use super::{SDP, SDP_FRAGMENT, Way};
use crate::reply::Reply;

/// Reason why a request is refused, sorted by cause.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refused {
    // The client requested a resource that does not exist.
    /// The operator has disabled WebRTC.
    #[error("WebRTC is switched off on this server: `webrtc.listen` is empty in its configuration")]
    Off,
    /// A path that belongs to the server's own pages.
    #[error("a stream cannot have this name: it belongs to the server's own pages")]
    NameReserved,
    /// An endpoint with a slash after it; the address without the slash is right.
    // The address may contain a key, so the message does not repeat it.
    #[error("this address ends with a slash too many; `Location` is the right one")]
    Beside(String),
    /// The session has ended, or never existed.
    #[error("there is no such session; it may have ended, and a new POST opens another")]
    NoSession,
    /// The method is not possible at this address.
    #[error("this cannot be done here; the methods that can are: {0}")]
    Method(&'static str),

    // The client lacks a permission.
    /// The gate refuses.
    #[error("{}", denied(*.0, *.1))]
    Denied(Denied, Way),
    /// More requests from one address than any honest client makes.
    #[error("too many requests from this address")]
    TooFast,

    // The client's request is invalid.
    /// The body's media type is not supported.
    #[error("the body must be of the type {0}")]
    ContentType(&'static str),
    /// The body is too long.
    #[error("the body is longer than {0} bytes")]
    TooLong(usize),
    /// The offer cannot be answered.
    #[error("{0}")]
    Offer(#[from] OfferError),
    /// The fragment is invalid.
    #[error("{0}")]
    Fragment(#[from] FragmentError),
    /// A change without an entity tag.
    #[error(
        "If-Match is missing: send the ETag of the session, or \"*\" to restart ICE whatever it is"
    )]
    Unconditional,
    /// A change with an outdated entity tag.
    #[error("the session has another ETag by now: ICE was restarted since")]
    Outdated,

    // Client and stream have nothing in common.
    /// The listener accepts none of the stream's tracks.
    #[error("{0}")]
    Unplayable(String),
    /// The publisher offers nothing that we accept.
    #[error("{0}")]
    Unusable(#[from] Unusable),

    // The request is not possible at the moment.
    /// The stream has no publisher.
    #[error("{0} has no publisher at the moment; try again when it is live")]
    NotLive(StreamName),
    /// The stream's publisher has announced no tracks yet.
    #[error("{0} has begun, but its publisher has not said yet what it sends; try again")]
    NoTracks(StreamName),
    /// The stream is on another server, and cannot be pulled now.
    #[error("{0} cannot be fetched at the moment; try again")]
    Unavailable(StreamName),
    /// The stream is full.
    #[error("{0} has as many listeners as it may; try again later")]
    NoPlace(StreamName),
    /// Another publisher has the stream, or a limit is reached.
    #[error("{0}")]
    Publish(#[from] PublishRefused),
    /// A limit of the server.
    #[error("{0}")]
    Limit(#[from] Rejected),
    /// A lane for the listener cannot be opened.
    #[error("{0}")]
    Lane(#[from] LaneRefused),
    /// The number of sessions is at its limit.
    #[error("the server has as many WebRTC sessions as it may have")]
    Full,
    /// Another reason to refuse a publisher.
    #[error("{0}")]
    Publisher(ingest::Error),
    /// The system has no random bytes.
    #[error("the system has no randomness to give")]
    Randomness,
}

/// Explains a denial.
fn denied(denied: Denied, way: Way) -> &'static str {
    match (denied, way) {
        (Denied::Missing, Way::In) => {
            "publishing needs the stream's key: send it as `Authorization: Bearer KEY`, or as ?key=KEY"
        }
        (Denied::Missing, Way::Out) => {
            "listening needs a key: send it as `Authorization: Bearer KEY`, or as ?key=KEY"
        }
        (Denied::Wrong, _) => "the key is wrong for this stream",
        (Denied::Unfit, _) => "the key or link has expired, or is for something else",
        (Denied::InUse, _) => "as many players as may use this link at a time",
        (Denied::Excluded(Excluded::Address), _) => "not from this address",
        (Denied::Excluded(Excluded::Agent), _) => "not with this program",
        (Denied::Excluded(Excluded::Referer), _) => "not from this page",
        (Denied::Excluded(Excluded::Country), _) => "not from this country",
        (Denied::TooManyAttempts, _) => {
            "too many wrong keys came from this address; wait a minute, even if the key is right now"
        }
        (Denied::Unavailable, _) => {
            "it could not be found out whether this is permitted; try again later"
        }
    }
}

impl From<ingest::Error> for Refused {
    fn from(error: ingest::Error) -> Self {
        match error {
            ingest::Error::Name(_) | ingest::Error::NameReserved => Self::NameReserved,
            ingest::Error::Denied(denied) => Self::Denied(denied, Way::In),
            ingest::Error::Refused(refused) => Self::Publish(refused),
            other => Self::Publisher(other),
        }
    }
}

impl From<port::Full> for Refused {
    fn from(_: port::Full) -> Self {
        Self::Full
    }
}

impl Refused {
    pub(super) fn status(&self) -> StatusCode {
        match self {
            Self::Off | Self::NoSession | Self::NameReserved => StatusCode::NOT_FOUND,
            Self::Beside(_) => StatusCode::TEMPORARY_REDIRECT,
            Self::Method(_) => StatusCode::METHOD_NOT_ALLOWED,
            Self::Denied(denied, _) => auth::status_of(*denied),
            Self::TooFast => StatusCode::TOO_MANY_REQUESTS,
            Self::ContentType(_) => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::TooLong(_) | Self::Offer(OfferError::TooLong) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Fragment(FragmentError::TooLong) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Fragment(_) => StatusCode::BAD_REQUEST,
            // Valid SDP, but unusable (RFC 9725 §4.2).
            Self::Offer(
                OfferError::NoMedia
                | OfferError::Setup
                | OfferError::NoRtcpMux
                | OfferError::NoBundle,
            ) => StatusCode::UNPROCESSABLE_ENTITY,
            Self::Offer(_) => StatusCode::BAD_REQUEST,
            Self::Unconditional => StatusCode::PRECONDITION_REQUIRED,
            Self::Outdated => StatusCode::PRECONDITION_FAILED,
            Self::Unplayable(_) | Self::Unusable(_) => StatusCode::UNPROCESSABLE_ENTITY,
            Self::NotLive(_) | Self::NoTracks(_) => StatusCode::CONFLICT,
            Self::Publish(
                PublishRefused::Busy | PublishRefused::Replaced | PublishRefused::Ended,
            ) => StatusCode::CONFLICT,
            Self::Publish(PublishRefused::Blocked(_)) => StatusCode::FORBIDDEN,
            Self::Publish(PublishRefused::TooMany) => StatusCode::SERVICE_UNAVAILABLE,
            Self::Lane(LaneRefused::Ended) => StatusCode::CONFLICT,
            Self::Limit(_)
            | Self::Lane(_)
            | Self::Unavailable(_)
            | Self::NoPlace(_)
            | Self::Full
            | Self::Publisher(_)
            | Self::Randomness => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// Returns the headers besides the status and the problem document.
    fn headers(&self, retry_after: u64) -> Vec<(HeaderName, String)> {
        let mut headers = Vec::new();
        match self {
            Self::Method(allow) => headers.push((header::ALLOW, (*allow).to_owned())),
            Self::Beside(path) => headers.push((header::LOCATION, path.clone())),
            Self::Denied(Denied::Missing, _) => {
                headers.push((header::WWW_AUTHENTICATE, CHALLENGE.to_owned()));
            }
            Self::Denied(Denied::Wrong, _) => {
                let challenge = format!("{CHALLENGE}, error=\"invalid_token\"");
                headers.push((header::WWW_AUTHENTICATE, challenge));
            }
            Self::ContentType(SDP) => headers.push((ACCEPT_POST, SDP.to_owned())),
            Self::ContentType(_) => headers.push((ACCEPT_PATCH, SDP_FRAGMENT.to_owned())),
            _ => {}
        }
        let comes_again = matches!(
            self.status(),
            StatusCode::CONFLICT | StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE
        );
        if comes_again {
            let seconds = match self {
                // The publisher is about to announce them.
                Self::NoTracks(_) => 2,
                _ => retry_after,
            };
            headers.push((header::RETRY_AFTER, seconds.to_string()));
        }
        headers
    }

    /// Builds the reply: a problem document (RFC 9457). `retry_after` is in seconds.
    pub(super) fn answer(self, retry_after: u64) -> Reply {
        let status = self.status();
        let document = json!({
            "type": "about:blank",
            "title": status.canonical_reason(),
            "status": status.as_u16(),
            "detail": self.to_string(),
        });
        let mut reply = Reply::full(status, PROBLEM, document.to_string());
        for (name, value) in self.headers(retry_after) {
            reply = reply.with(name, value);
        }
        reply
    }
}

const PROBLEM: &str = "application/problem+json";

const CHALLENGE: &str = "Bearer realm=\"Carillon\"";

pub(super) const ACCEPT_POST: HeaderName = HeaderName::from_static("accept-post");

pub(super) const ACCEPT_PATCH: HeaderName = HeaderName::from_static("accept-patch");
