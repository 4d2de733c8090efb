//! Parts of a request of WHIP or WHEP: its key, its type, its body.

use axum::body::Body;
use axum::http::{HeaderMap, Uri, header};
use config::Secret;
use http_body_util::BodyExt;
use http1::Password;

use super::refused::Refused;

/// Longest body. A browser's offer has 7 KiB; the SDP library refuses more than this as well.
const BODY_BYTES_MAX: usize = 64 * 1024;

/// Bytes read of a body that is too long before it is answered: a client that is still sending when the
/// connection closes does not see the answer.
const DISCARDED_BYTES_MAX: usize = 256 * 1024;

/// A request's credential.
#[derive(Debug)]
pub(super) struct Key {
    secret: Option<Password>,
    /// It was in the query, so the addresses of what it opened need it there as well.
    pub(super) is_in_query: bool,
}

impl Key {
    /// The header takes precedence over the query.
    pub(super) fn of(headers: &HeaderMap, uri: &Uri) -> Self {
        let bearer = headers
            .get(header::AUTHORIZATION)
            .and_then(|value| http1::bearer(value.to_str().ok()?));
        if bearer.is_some() {
            return Self {
                secret: bearer,
                is_in_query: false,
            };
        }
        let secret = http1::key_in(uri.query().unwrap_or_default());
        Self {
            is_in_query: secret.is_some(),
            secret,
        }
    }

    /// Whether it is what was presented before.
    pub(super) fn is(&self, presented: Option<&Secret>) -> bool {
        match (self.reveal(), presented) {
            (Some(key), Some(presented)) => presented.matches(key),
            (None, None) => true,
            _ => false,
        }
    }

    /// The key itself.
    pub(super) fn reveal(&self) -> Option<&str> {
        self.secret.as_ref().map(Password::reveal)
    }
}

/// Whether the body is of this media type, with any parameters.
pub(super) fn is_of_type(headers: &HeaderMap, expected: &str) -> bool {
    let value = headers.get(header::CONTENT_TYPE);
    let text = value.and_then(|value| value.to_str().ok());
    let essence = text.and_then(|text| text.split(';').next());
    essence.is_some_and(|essence| essence.trim().eq_ignore_ascii_case(expected))
}

/// The whole body, up to its bound.
pub(super) async fn body(mut body: Body) -> Result<Vec<u8>, Refused> {
    let mut whole = Vec::new();
    let mut arrived = 0_usize;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| Refused::Broken)?;
        let Ok(data) = frame.into_data() else {
            continue;
        };
        arrived = arrived.saturating_add(data.len());
        if arrived <= BODY_BYTES_MAX {
            whole.extend_from_slice(&data);
        } else if arrived > DISCARDED_BYTES_MAX {
            break;
        }
    }
    if arrived > BODY_BYTES_MAX {
        return Err(Refused::TooLong(BODY_BYTES_MAX));
    }
    Ok(whole)
}

/// Whether a request's condition holds for an entity tag; `None` when it has no condition.
///
/// Clients write `"*"` in quotes as RFC 9725 §4.3.2 has it, without them as RFC 9110 §13.1.1 has it, and
/// tags with a `W/` before them or without their quotes; all mean the same.
pub(super) fn matches(headers: &HeaderMap, tag: &str) -> Option<bool> {
    let mut values = headers.get_all(header::IF_MATCH).iter().peekable();
    values.peek()?;
    let holds = values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|one| {
            let one = one.trim();
            one.strip_prefix("W/").unwrap_or(one).trim_matches('"')
        })
        .any(|one| one == "*" || one == tag);
    Some(holds)
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};

    use super::*;

    fn headers(name: HeaderName, values: &[&'static str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(name.clone(), HeaderValue::from_static(value));
        }
        headers
    }

    #[test]
    fn keys_come_in_the_header_or_in_the_query() {
        for (authorization, target, expected, in_query) in [
            ("Bearer K", "/a/whip?key=Q", Some("K"), false),
            ("bearer  K ", "/a/whip", Some("K"), false),
            ("", "/a/whip?key=Q", Some("Q"), true),
            ("", "/a/whip?x=1&token=a%2Bb", Some("a+b"), true),
            ("", "/a/whip?token=T&key=K", Some("K"), true),
            ("Basic eDp5", "/a/whip", None, false),
            ("Basic eDp5", "/a/whip?key=Q", Some("Q"), true),
            ("Bearer", "/a/whip", None, false),
            ("", "/a/whip", None, false),
        ] {
            let headers = match authorization {
                "" => HeaderMap::new(),
                value => headers(header::AUTHORIZATION, &[value]),
            };
            let key = Key::of(&headers, &target.parse().expect("a target"));
            let secret = key.secret.as_ref().map(Password::reveal);
            assert_eq!((secret, key.is_in_query), (expected, in_query), "{target}");
        }
    }

    #[test]
    fn types_are_compared_without_their_parameters() {
        for (value, expected) in [
            ("application/sdp", true),
            ("Application/SDP; charset=utf-8", true),
            ("application/sdpx", false),
            ("text/plain", false),
        ] {
            let headers = headers(header::CONTENT_TYPE, &[value]);
            assert_eq!(is_of_type(&headers, "application/sdp"), expected, "{value}");
        }
        assert!(!is_of_type(&HeaderMap::new(), "application/sdp"));
    }

    #[test]
    fn conditions_are_read_as_clients_write_them() {
        for (values, expected) in [
            (&["\"tag\""][..], Some(true)),
            (&["tag"], Some(true)),
            (&["W/\"tag\""], Some(true)),
            (&["*"], Some(true)),
            (&["\"*\""], Some(true)),
            (&["\"old\", \"tag\""], Some(true)),
            (&["\"old\"", "\"tag\""], Some(true)),
            (&["\"old\""], Some(false)),
            (&[""], Some(false)),
            (&["\"Tag\""], Some(false)),
            (&[], None),
        ] {
            let headers = headers(header::IF_MATCH, values);
            assert_eq!(matches(&headers, "tag"), expected, "{values:?}");
        }
    }

    #[tokio::test]
    async fn bodies_end_at_their_limit() {
        let of = |length: usize| Body::from(vec![b'v'; length]);
        let exact = body(of(BODY_BYTES_MAX)).await.expect("as long as may be");
        assert_eq!(exact.len(), BODY_BYTES_MAX);
        for length in [BODY_BYTES_MAX + 1, DISCARDED_BYTES_MAX * 2] {
            let refused = body(of(length)).await;
            assert!(matches!(refused, Err(Refused::TooLong(_))), "{length}");
        }
    }
}
