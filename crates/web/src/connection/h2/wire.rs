//! Conversion between HTTP/2 and HTTP/1 bytes: requests into heads, and replies back.

use http::request::Parts;
use http::{HeaderName, HeaderValue, StatusCode, header};
use http_body_util::{BodyExt, Full};
use http1::{Head, HeadReader};

use crate::reply::{Body, Reply};

/// Returns the head that HTTP/1 would have, marked as received over HTTP/2.
pub(super) fn head(parts: &Parts) -> Result<Head, http1::Error> {
    let target = parts.uri.path_and_query();
    let target = target.ok_or(http1::Error::TargetMalformed)?.as_str();
    let mut text = format!("{} {target} HTTP/1.1\r\n", parts.method).into_bytes();
    let mut add = |name: &[u8], value: &[u8]| {
        text.extend_from_slice(name);
        text.extend_from_slice(b": ");
        text.extend_from_slice(value);
        text.extend_from_slice(b"\r\n");
    };
    let authority = parts.uri.authority();
    if let Some(authority) = authority {
        add(b"host", authority.as_str().as_bytes());
    }
    for (name, value) in &parts.headers {
        if authority.is_none() || name != header::HOST {
            add(name.as_str().as_bytes(), value.as_bytes());
        }
    }
    text.extend_from_slice(b"\r\n");
    let read = HeadReader::default().push(&text)?;
    let (head, _) = read.ok_or(http1::Error::HeaderMalformed)?;
    head.conforms()?;
    Ok(head.over_http2())
}

/// Converts an HTTP/1 reply of ours, which has one header per line. `body` replaces its own body if given.
pub(super) fn from_wire(answer: &[u8], body: Option<Body>) -> Reply {
    let end = answer.windows(4).position(|end| end == b"\r\n\r\n");
    let (head, rest) = match end {
        Some(end) => (&answer[..end], &answer[end + 4..]),
        None => (answer, &[][..]),
    };
    let text = String::from_utf8_lossy(head);
    let mut lines = text.split("\r\n");
    let status = lines.next().and_then(|line| line.split(' ').nth(1));
    let status = status.and_then(|code| StatusCode::from_bytes(code.as_bytes()).ok());
    let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut reply = match body {
        Some(body) => Reply::of(status, body),
        None => Reply::of(
            status,
            Full::new(rest.to_vec().into()).map_err(|never| match never {}),
        ),
    };
    for (name, value) in lines.filter_map(|line| line.split_once(": ")) {
        let name = HeaderName::from_bytes(name.as_bytes());
        let value = HeaderValue::from_bytes(value.as_bytes());
        if let (Ok(name), Ok(value)) = (name, value)
            // Headers about the connection are not allowed in HTTP/2 (RFC 9113 §8.2.2).
            && name != header::CONNECTION
        {
            reply.headers.append(name, value);
        }
    }
    reply
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    #[test]
    fn a_request_is_the_head_that_http_1_would_have() {
        let request = Request::builder()
            .method("POST")
            .uri("https://radio:8443/a%20b?c=d")
            .header("host", "another")
            .header("x-a", "1")
            .header("x-a", "2");
        let (parts, ()) = request.body(()).expect("a request").into_parts();
        let head = head(&parts).expect("a head");
        assert_eq!((head.method(), &*head.path()), ("POST", "/a b"));
        assert!(head.version() == http1::Version::Http2 && head.keeps_alive());
        for (name, expected) in [("host", &["radio:8443"][..]), ("x-a", &["1", "2"])] {
            assert_eq!(head.header_values(name).collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn what_names_no_path_or_no_host_is_refused() {
        for (method, uri) in [("CONNECT", "radio:443"), ("GET", "/")] {
            let request = Request::builder().method(method).uri(uri);
            let (parts, ()) = request.body(()).expect("a request").into_parts();
            assert!(head(&parts).is_err(), "{method} {uri}");
        }
    }

    #[test]
    fn an_answer_keeps_all_but_what_is_about_the_connection() {
        let answer =
            b"HTTP/1.0 404 Not Found\r\nConnection: Close\r\nX-A: b: c\r\n\r\nwords\r\n\r\n";
        let reply = from_wire(answer, None);
        assert_eq!(reply.status, StatusCode::NOT_FOUND);
        assert_eq!(reply.headers["x-a"], "b: c");
        assert_eq!((reply.headers.len(), reply.length()), (1, Some(9)));
    }
}
