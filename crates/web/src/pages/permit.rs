//! Whether the client of a request may play a stream, and what it is answered if not.

use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use config::Config;
use fanout::Protocol;
use fanout::gate::{self, Authorized, Denied, Gate, Play};
use http1::Password;
use media::StreamName;

use crate::sent;
use crate::visitor::Visitor;

/// Asks the gate whether the client may play the stream.
pub(super) async fn permit(
    gate: &impl Gate,
    visitor: Visitor,
    name: &StreamName,
    headers: &HeaderMap,
    uri: &Uri,
) -> Result<Authorized<Play>, Denied> {
    let text = |name: header::HeaderName| {
        let value = headers.get(name).and_then(|value| value.to_str().ok());
        value.unwrap_or_default()
    };
    let authorization = text(header::AUTHORIZATION);
    let basic = http1::basic(authorization);
    let bearer = http1::bearer(authorization);
    let query = uri.query().unwrap_or_default();
    let key = http1::key_in(query);
    let request = gate::Request {
        agent: text(header::USER_AGENT),
        referer: match text(header::REFERER) {
            "" => text(header::ORIGIN),
            referer => referer,
        },
        user: basic.as_ref().map(|basic| &basic.user[..]),
        password: basic.as_ref().map(|basic| basic.password.reveal()),
        token: bearer.as_ref().or(key.as_ref()).map(Password::reveal),
        query,
        headers: Some(&Sent(headers)),
        ..gate::Request::new(name, Protocol::Http.label(), visitor.remote())
    };
    gate.play(&request).await?.only_for(name)
}

/// The headers of a request, as the gate asks for them.
struct Sent<'a>(&'a HeaderMap);

impl gate::Headers for Sent<'_> {
    fn header(&self, name: &str) -> Option<&str> {
        sent::sent(self.0, name)
    }
}

/// Whether no cache may give an answer about a stream to others: the client has shown a credential, or it depends on who it
/// is.
pub(super) fn is_private(
    config: &Config,
    name: &StreamName,
    headers: &HeaderMap,
    uri: &Uri,
) -> bool {
    let shows_credential = headers.contains_key(header::AUTHORIZATION) || uri.query().is_some();
    shows_credential || config.is_judged_by_client(name)
}

/// Without a challenge: a browser would ask for a password in the midst of a list.
pub(super) fn refuse(denied: Denied) -> Response {
    let status = match denied {
        Denied::Missing | Denied::Wrong | Denied::Unfit | Denied::InUse | Denied::Excluded(_) => {
            StatusCode::FORBIDDEN
        }
        Denied::TooManyAttempts => StatusCode::TOO_MANY_REQUESTS,
        Denied::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
    };
    (status, format!("{denied}\n")).into_response()
}
