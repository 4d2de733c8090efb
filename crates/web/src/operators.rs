//! The operator's password in a request, and the answer to who has it not: on the operator's port and in Icecast's
//! administration alike.

use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use fanout::gate::Denied;

/// The answer to a client that is not the operator.
pub fn refusal(denied: Denied) -> Response {
    let status = match denied {
        Denied::Missing | Denied::Wrong => {
            let challenge = [(header::WWW_AUTHENTICATE, "Basic realm=\"Carillon\"")];
            return (StatusCode::UNAUTHORIZED, challenge, format!("{denied}\n")).into_response();
        }
        Denied::Unfit | Denied::InUse | Denied::Excluded(_) => StatusCode::FORBIDDEN,
        Denied::TooManyAttempts => StatusCode::TOO_MANY_REQUESTS,
        Denied::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
    };
    (status, format!("{denied}\n")).into_response()
}

/// The password of a request; the user may have any name.
pub fn password(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, encoded) = value.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let text = String::from_utf8(STANDARD.decode(encoded.trim()).ok()?).ok()?;
    Some(text.split_once(':')?.1.to_owned())
}
