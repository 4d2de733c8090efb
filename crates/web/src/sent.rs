//! Headers of a request as its client sent them, for who asks the gate: in UTF-8, not in ASCII alone.

use axum::http::HeaderMap;

/// A header, if it is text.
pub(crate) fn sent<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    str::from_utf8(headers.get(name)?.as_bytes()).ok()
}
