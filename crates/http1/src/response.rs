//! Writing of response heads.
//!
//! Titles, stream names and header values that one peer sent are written to others here, so bytes that could end a line are
//! removed here.

use crate::text::is_token;
use crate::{HttpDate, Version};

/// Interim reply to `Expect: 100-continue`.
pub const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// Reply that lets a client continue within TLS (RFC 2817 §3.3).
pub const SWITCHING_TO_TLS: &[u8] =
    b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: TLS/1.0, HTTP/1.1\r\n\r\n";

/// Reply that every `SOURCE` client understands; DarkIce compares its first 12 bytes.
pub const SOURCE_OK: &[u8] = b"HTTP/1.0 200 OK\r\n\r\n";

/// Headers that let players on any page fetch streams and read their ICY headers.
pub const CORS: &[(&str, &str)] = &[
    ("Access-Control-Allow-Origin", "*"),
    ("Access-Control-Allow-Methods", "GET, HEAD, OPTIONS"),
    (
        "Access-Control-Allow-Headers",
        "Origin, Accept, X-Requested-With, Content-Type, Authorization, Icy-MetaData, Range",
    ),
    (
        "Access-Control-Expose-Headers",
        "icy-metaint, icy-name, icy-description, icy-genre, icy-url, icy-br, icy-pub, \
         ice-audio-info, Server, Content-Type",
    ),
    ("Access-Control-Max-Age", "86400"),
];

/// Headers that keep caches away from live media, in the words of Icecast 2.4.4.
pub const NO_CACHE: &[(&str, &str)] = &[
    ("Cache-Control", "no-cache, no-store"),
    ("Expires", "Mon, 26 Jul 1997 05:00:00 GMT"),
    ("Pragma", "no-cache"),
];

/// Status code.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Status(u16);

macro_rules! statuses {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $reason:literal;)*) => {
        impl Status {
            $($(#[$doc])* pub const $name: Self = Self($code);)*

            /// Returns the words beside the number (RFC 9110 §15).
            pub const fn reason(self) -> &'static str {
                match self.0 {
                    $($code => $reason,)*
                    _ => "",
                }
            }
        }
    };
}

statuses! {
    /// 101.
    SWITCHING_PROTOCOLS = 101, "Switching Protocols";
    /// 200.
    OK = 200, "OK";
    /// 204.
    NO_CONTENT = 204, "No Content";
    /// 302.
    FOUND = 302, "Found";
    /// 400.
    BAD_REQUEST = 400, "Bad Request";
    /// 401.
    UNAUTHORIZED = 401, "Unauthorized";
    /// 403.
    FORBIDDEN = 403, "Forbidden";
    /// 404.
    NOT_FOUND = 404, "Not Found";
    /// 405.
    METHOD_NOT_ALLOWED = 405, "Method Not Allowed";
    /// 406.
    NOT_ACCEPTABLE = 406, "Not Acceptable";
    /// 408.
    REQUEST_TIMEOUT = 408, "Request Timeout";
    /// 409.
    CONFLICT = 409, "Conflict";
    /// 413.
    CONTENT_TOO_LARGE = 413, "Content Too Large";
    /// 414.
    URI_TOO_LONG = 414, "URI Too Long";
    /// 415.
    UNSUPPORTED_MEDIA_TYPE = 415, "Unsupported Media Type";
    /// 426.
    UPGRADE_REQUIRED = 426, "Upgrade Required";
    /// 429.
    TOO_MANY_REQUESTS = 429, "Too Many Requests";
    /// 431.
    HEADER_FIELDS_TOO_LARGE = 431, "Request Header Fields Too Large";
    /// 500.
    INTERNAL_SERVER_ERROR = 500, "Internal Server Error";
    /// 501.
    NOT_IMPLEMENTED = 501, "Not Implemented";
    /// 503.
    SERVICE_UNAVAILABLE = 503, "Service Unavailable";
    /// 505.
    VERSION_NOT_SUPPORTED = 505, "HTTP Version Not Supported";
}

impl Status {
    /// Returns the number.
    pub const fn code(self) -> u16 {
        self.0
    }
}

/// Builder of a response head.
///
/// ```
/// # use carillon_http1::{HttpDate, ResponseHead, Status, Version};
/// let head = ResponseHead::new(Version::Http10, Status::OK)
///     .header("Content-Type", "audio/mpeg")
///     .date(HttpDate(784_111_777))
///     .finish();
/// assert!(head.starts_with(b"HTTP/1.0 200 OK\r\nContent-Type: audio/mpeg\r\nDate: Sun, 06 "));
/// ```
#[derive(Clone, Debug)]
pub struct ResponseHead(Vec<u8>);

impl ResponseHead {
    /// Begins with the status line, in the version that the peer spoke; ICE and x-audiocast peers understand HTTP/1.0.
    pub fn new(version: Version, status: Status) -> Self {
        let version = version.of_reply();
        Self(format!("{version} {} {}\r\n", status.code(), status.reason()).into_bytes())
    }

    /// Adds a header. Control characters are dropped from the value, so that it stays one line; a header whose name is no token
    /// is left out.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        if is_token(name.as_bytes()) {
            self.0.extend_from_slice(name.as_bytes());
            self.0.extend_from_slice(b": ");
            self.0.extend(
                value
                    .bytes()
                    .filter(|byte| *byte == b'\t' || !byte.is_ascii_control()),
            );
            self.0.extend_from_slice(b"\r\n");
        }
        self
    }

    /// Adds several headers, such as [`CORS`].
    pub fn headers(self, headers: &[(&str, &str)]) -> Self {
        headers
            .iter()
            .fold(self, |head, (name, value)| head.header(name, value))
    }

    /// Adds the Date header.
    pub fn date(self, now: HttpDate) -> Self {
        self.header("Date", &now.to_string())
    }

    /// Adds Content-Length.
    pub fn content_length(self, bytes: u64) -> Self {
        self.header("Content-Length", &bytes.to_string())
    }

    /// Ends the head and returns its bytes.
    pub fn finish(mut self) -> Vec<u8> {
        self.0.extend_from_slice(b"\r\n");
        self.0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_listener_gets_what_icecast_would_send() {
        let head = ResponseHead::new(Version::Ice10, Status::OK)
            .header("Server", "Icecast 2.4.4")
            .headers(NO_CACHE)
            .content_length(0)
            .finish();
        let expected = "HTTP/1.0 200 OK\r\nServer: Icecast 2.4.4\r\n\
            Cache-Control: no-cache, no-store\r\nExpires: Mon, 26 Jul 1997 05:00:00 GMT\r\n\
            Pragma: no-cache\r\nContent-Length: 0\r\n\r\n";
        assert_eq!(String::from_utf8_lossy(&head), expected);
    }

    #[test]
    fn metadata_cannot_add_headers() {
        let head = ResponseHead::new(Version::Http11, Status::OK)
            .header("icy-name", "Radio\r\nSet-Cookie: a=b\r\n\r\n<script>\0\x7f")
            .header("icy-x: 1\r\nSet-Cookie", "a=b")
            .header("", "x")
            .finish();
        let expected = "HTTP/1.1 200 OK\r\nicy-name: RadioSet-Cookie: a=b<script>\r\n\r\n";
        assert_eq!(String::from_utf8_lossy(&head), expected);
    }

    #[test]
    fn every_status_has_words() {
        for error in [crate::Error::ControlByte, crate::Error::VersionUnsupported] {
            assert!(!crate::status_of(error).reason().is_empty());
        }
        assert_eq!(Status::HEADER_FIELDS_TOO_LARGE.code(), 431);
    }

    proptest! {
        #[test]
        fn each_header_is_exactly_one_line(name in ".*", value in ".*") {
            let head = ResponseHead::new(Version::Http11, Status::OK).header(&name, &value).finish();
            let lines = head.iter().filter(|byte| **byte == b'\n').count();
            prop_assert!(lines <= 3);
            prop_assert_eq!(head.iter().filter(|byte| **byte == b'\r').count(), lines);
        }
    }
}
