//! Parts of a WHIP or WHEP request: media type, body, condition.

use http::{HeaderMap, header};

use super::refused::Refused;
use crate::request::Request;

/// Maximum body length in bytes. A browser's offer has 7 KiB; the SDP library refuses more than this as well.
pub(crate) const BODY_BYTES_MAX: usize = 64 * 1024;

/// Whether the body is of this media type, with any parameters.
pub(super) fn is_of_type(headers: &HeaderMap, expected: &str) -> bool {
    let value = headers.get(header::CONTENT_TYPE);
    let text = value.and_then(|value| value.to_str().ok());
    let essence = text.and_then(|text| text.split(';').next());
    essence.is_some_and(|essence| essence.trim().eq_ignore_ascii_case(expected))
}

/// Returns the whole body.
///
/// # Errors
/// If the body is too long: its transport has kept one byte more than allowed.
pub(super) fn body<'a>(request: &'a Request<'_>) -> Result<&'a [u8], Refused> {
    match request.body.len() {
        ..=BODY_BYTES_MAX => Ok(&request.body),
        _ => Err(Refused::TooLong(BODY_BYTES_MAX)),
    }
}

/// Checks a request's condition against an entity tag; `None` if the request has no condition.
///
/// Clients write `"*"` in quotes as in RFC 9725 §4.3.2, or without them as in RFC 9110 §13.1.1, and tags with a `W/` before
/// them or without their quotes; all mean the same.
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
    use http::{HeaderName, HeaderValue};

    use super::*;

    fn headers(name: HeaderName, values: &[&'static str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(name.clone(), HeaderValue::from_static(value));
        }
        headers
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
}
