//! Heads of the requests on a thread's connections.
//!
//! A player's requests differ only in their target. The bytes after the request line are parsed once, and recognized
//! afterwards by comparing bytes.

use std::collections::HashMap;
use std::sync::Arc;

use http::{HeaderMap, HeaderName, HeaderValue, header};
use http1::{Body, Head, HeadReader, Version};

use crate::encoding::Coding;

/// Longest head in bytes, as on the server's other connections.
pub(super) const HEAD_BYTES_MAX: usize = 16 * 1024;

/// Most bytes that a thread remembers of heads after their request lines: some thousand versions of players and hosts,
/// which take some four times as much. If there are more, all are forgotten; connections keep theirs.
const KINDS_BYTES_MAX: usize = 512 << 10;

/// Required parts of a request line, around its target.
const GET: &[u8] = b"GET ";
const HTTP: &[u8] = b" HTTP/1.1\r\n";

/// Head of a request after its request line, with its meaning.
#[derive(Debug)]
pub(super) struct Profile {
    /// Bytes up to and including the empty line.
    bytes: Box<[u8]>,
    pub(super) headers: HeaderMap,
    pub(super) coding: Coding,
    /// Whether the answer is for this client only, so that caches may not give it to others.
    pub(super) is_private: bool,
}

impl Profile {
    /// Makes the profile of a parsed head; `None` if a thread does not serve such a request.
    fn of(head: &Head, bytes: &[u8]) -> Option<Self> {
        let is_plain = head.method() == "GET"
            && head.version() == Version::Http11
            && head.conforms().is_ok()
            && head.keeps_alive()
            && matches!(head.body(), Body::None | Body::Length(0))
            && !head.expects_continue();
        if !is_plain {
            return None;
        }
        let mut headers = HeaderMap::new();
        for (name, value) in head.headers() {
            let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
            headers.append(name, HeaderValue::from_bytes(value.as_bytes()).ok()?);
        }
        // Each answer to the first header differs, and the second requests another protocol.
        if headers.contains_key(header::IF_NONE_MATCH) || headers.contains_key(header::UPGRADE) {
            return None;
        }
        Some(Self {
            bytes: bytes.into(),
            coding: Coding::accepted(&headers),
            is_private: headers.contains_key(header::AUTHORIZATION),
            headers,
        })
    }
}

/// Result of parsing the beginning of a connection's bytes.
pub(super) enum Found<'a> {
    /// Part of a head.
    Incomplete,
    /// Request with this target, `len` bytes long.
    Request {
        target: &'a [u8],
        profile: Arc<Profile>,
        len: usize,
    },
    /// Bytes that the connection's task has to answer.
    Other,
}

/// Profiles of the heads that a thread has seen.
#[derive(Debug, Default)]
pub(super) struct Profiles {
    kinds: HashMap<Box<[u8]>, Arc<Profile>>,
    /// Bytes of the keys.
    bytes: usize,
}

impl Profiles {
    /// Parses a request at the beginning of `bytes`, on a connection whose last request had the profile `last`.
    pub(super) fn take<'a>(&mut self, bytes: &'a [u8], last: Option<&Arc<Profile>>) -> Found<'a> {
        let Some(line_len) = bytes
            .iter()
            .position(|byte| *byte == b'\n')
            .map(|at| at + 1)
        else {
            return match bytes.len() > HEAD_BYTES_MAX {
                true => Found::Other,
                false => Found::Incomplete,
            };
        };
        let (line, rest) = bytes.split_at(line_len);
        let target = line
            .strip_prefix(GET)
            .and_then(|line| line.strip_suffix(HTTP));
        let Some(target) = target.filter(|target| is_plain(target)) else {
            return Found::Other;
        };
        if let Some(last) = last
            && rest.starts_with(&last.bytes)
        {
            return Found::Request {
                target,
                profile: Arc::clone(last),
                len: line_len + last.bytes.len(),
            };
        }
        match HeadReader::default().push(bytes) {
            Ok(Some((head, len))) => match self.profile(&head, &bytes[line_len..len]) {
                Some(profile) => Found::Request {
                    target,
                    profile,
                    len,
                },
                None => Found::Other,
            },
            Ok(None) => Found::Incomplete,
            Err(_) => Found::Other,
        }
    }

    /// Forgets all profiles; connections keep theirs.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }

    /// Returns the number of bytes remembered, approximately: each head twice as it arrived, and once parsed.
    pub(super) fn bytes(&self) -> usize {
        4 * self.bytes
    }

    fn profile(&mut self, head: &Head, bytes: &[u8]) -> Option<Arc<Profile>> {
        if let Some(known) = self.kinds.get(bytes) {
            return Some(Arc::clone(known));
        }
        let profile = Arc::new(Profile::of(head, bytes)?);
        if self.bytes + bytes.len() > KINDS_BYTES_MAX {
            self.kinds.clear();
            self.bytes = 0;
        }
        self.bytes += bytes.len();
        self.kinds.insert(bytes.into(), Arc::clone(&profile));
        Some(profile)
    }
}

/// Returns whether a target is a path and a query in visible ASCII, as RFC 9112 §3.2.1 requires.
fn is_plain(target: &[u8]) -> bool {
    target.first() == Some(&b'/') && target.iter().all(u8::is_ascii_graphic)
}

/// Returns the bytes of a request as they arrived.
pub(super) fn written(target: &str, profile: &Profile) -> Vec<u8> {
    [GET, target.as_bytes(), HTTP, &profile.bytes].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAIL: &str = "Host: h\r\nAccept-Encoding: gzip\r\n\r\n";

    fn target(found: Found<'_>) -> Option<(String, usize, Arc<Profile>)> {
        match found {
            Found::Request {
                target,
                profile,
                len,
            } => Some((String::from_utf8_lossy(target).into_owned(), len, profile)),
            Found::Incomplete | Found::Other => None,
        }
    }

    #[test]
    fn requests_that_differ_in_their_target_share_a_profile() {
        let mut profiles = Profiles::default();
        let first = format!("GET /a?b HTTP/1.1\r\n{TAIL}");
        let (name, len, profile) = target(profiles.take(first.as_bytes(), None)).expect("one");
        assert_eq!((&name[..], len), ("/a?b", first.len()));
        assert_eq!(profile.coding, Coding::Gzip);
        let both = format!("GET /c HTTP/1.1\r\n{TAIL}GET /d HTTP/1.1\r\n");
        let (name, len, again) =
            target(profiles.take(both.as_bytes(), Some(&profile))).expect("one");
        assert_eq!(&name[..], "/c");
        assert!(Arc::ptr_eq(&profile, &again));
        let rest = &both.as_bytes()[len..];
        assert!(matches!(
            profiles.take(rest, Some(&profile)),
            Found::Incomplete
        ));
        assert_eq!(written("/a?b", &profile), first.as_bytes());
        // Another connection of the thread sends the same bytes.
        let (_, _, other) = target(profiles.take(first.as_bytes(), None)).expect("one");
        assert!(Arc::ptr_eq(&profile, &other));
    }

    #[test]
    fn heads_are_remembered_in_a_bounded_number_of_bytes() {
        let mut profiles = Profiles::default();
        for number in 0..100 {
            let padding = "a".repeat(HEAD_BYTES_MAX - 200);
            let head = format!("GET /a HTTP/1.1\r\nHost: h{number}\r\nX-A: {padding}\r\n\r\n");
            target(profiles.take(head.as_bytes(), None)).expect("one");
            assert!(profiles.bytes() <= 4 * KINDS_BYTES_MAX, "{number}");
            assert!(!profiles.kinds.is_empty());
        }
    }

    #[test]
    fn a_longer_head_is_not_taken_for_the_last_one() {
        let mut profiles = Profiles::default();
        let first = format!("GET /a HTTP/1.1\r\n{TAIL}");
        let (_, _, profile) = target(profiles.take(first.as_bytes(), None)).expect("one");
        let longer = "GET /a HTTP/1.1\r\nHost: h\r\nAccept-Encoding: gzip\r\nAuthorization: Basic eA==\r\n\r\n";
        let (_, len, other) =
            target(profiles.take(longer.as_bytes(), Some(&profile))).expect("one");
        assert_eq!(len, longer.len());
        assert!(other.is_private && !profile.is_private);
    }

    #[test]
    fn what_is_not_a_plain_get_is_left_to_the_task() {
        for head in [
            "POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n",
            "HEAD /a HTTP/1.1\r\nHost: h\r\n\r\n",
            "GET /a HTTP/1.0\r\nHost: h\r\n\r\n",
            "GET /a HTTP/1.1\nHost: h\n\n",
            "GET /a HTTP/1.1\r\nHost: h\n\r\n",
            "GET http://h/a HTTP/1.1\r\nHost: h\r\n\r\n",
            "GET /a b HTTP/1.1\r\nHost: h\r\n\r\n",
            "GET /\u{e4} HTTP/1.1\r\nHost: h\r\n\r\n",
            "GET /a HTTP/1.1\r\n\r\n",
            "GET /a HTTP/1.1\r\nHost: h\r\nHost: i\r\n\r\n",
            "GET /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
            "GET /a HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc",
            "GET /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "GET /a HTTP/1.1\r\nHost: h\r\nIf-None-Match: \"a\"\r\n\r\n",
            "GET /a HTTP/1.1\r\nHost: h\r\nUpgrade: h2c\r\n\r\n",
            "GET /a HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n\r\n",
            "\r\nGET /a HTTP/1.1\r\nHost: h\r\n\r\n",
        ] {
            let found = Profiles::default().take(head.as_bytes(), None);
            assert!(matches!(found, Found::Other), "{head:?}");
        }
    }

    #[test]
    fn a_head_that_has_not_come_whole_is_waited_for() {
        let whole = format!("GET /a HTTP/1.1\r\n{TAIL}");
        for end in 0..whole.len() {
            let found = Profiles::default().take(&whole.as_bytes()[..end], None);
            assert!(matches!(found, Found::Incomplete), "{end}");
        }
        let endless = vec![b'a'; HEAD_BYTES_MAX + 1];
        let found = Profiles::default().take(&endless, None);
        assert!(matches!(found, Found::Other));
    }
}
