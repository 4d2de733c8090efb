//! Login of a SHOUTcast v1 source: a line with the password, and, once that is answered, headers.
//!
//! ```text
//!   source   hackme\r\n                   or  user:hackme, /mount:hackme, hackme:#2, user:hackme:#2
//!   server   OK2\r\nicy-caps:11\r\n\r\n   or  invalid password\r\n
//!   source   icy-name: …\r\ncontent-type: audio/mpeg\r\n\r\n and the audio, until it hangs up
//! ```
//!
//! A password cannot contain a colon. Sources send nothing between their first line and the reply.

use crate::Error;
use crate::auth::{Credentials, Password};
use crate::head::{HeadBuilder, Version};
use crate::reader::HeadReader;
use crate::text::utf8_or_latin1;

/// Reply to the right password: headers may follow, and titles are accepted beside the stream.
pub const SHOUTCAST_OK: &[u8] = b"OK2\r\nicy-caps:11\r\n\r\n";

/// Reply to any other password, by which programs distinguish it from a broken connection.
pub const SHOUTCAST_REFUSED: &[u8] = b"invalid password\r\n";

const POKE: &[u8] = b"!POKE";

/// Maximum length in bytes of the first line. A login is far shorter; a request that sets a percent-encoded title may be this
/// long.
const LINE_BYTES_MAX: usize = 4 * 1024;

/// Contents of a source's first line.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ShoutcastLogin {
    /// Stream's path, if the line names it. Untrusted text.
    pub mount: Option<String>,
    /// Stream's number, if the line names that.
    pub sid: Option<u32>,
    /// User and password; the user is `source` if the line names none.
    pub credentials: Credentials,
}

/// Kind of the first line on a SHOUTcast port's connection.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ShoutcastLine {
    /// The line has no end yet.
    NeedMore,
    /// libshout's probe for the protocol of the port. It is no password guess, but is answered as a wrong password.
    Poke,
    /// An HTTP request: titles are sent to the same port.
    Http,
    /// A source's login, and its length in bytes.
    Login(ShoutcastLogin, usize),
}

impl ShoutcastLogin {
    /// Reads everything received on a connection so far.
    ///
    /// # Errors
    /// If the line is not text, or too long.
    pub fn read(received: &[u8]) -> Result<ShoutcastLine, Error> {
        let Some(end) = received.iter().position(|byte| *byte == b'\n') else {
            return match received.len() {
                0..LINE_BYTES_MAX => Ok(ShoutcastLine::NeedMore),
                _ => Err(Error::HeadTooLong),
            };
        };
        if end >= LINE_BYTES_MAX {
            return Err(Error::HeadTooLong);
        }
        let line = received[..end].trim_ascii_end();
        if is_request(line) {
            return Ok(ShoutcastLine::Http);
        }
        if line == POKE {
            return Ok(ShoutcastLine::Poke);
        }
        if line.is_empty() || line.iter().any(u8::is_ascii_control) {
            return Err(Error::RequestLineMalformed);
        }
        let login = Self::of(&utf8_or_latin1(line)).ok_or(Error::RequestLineMalformed)?;
        Ok(ShoutcastLine::Login(login, end + 1))
    }

    /// Parses a password, which also accompanies titles in the query. Returns `None` if its number is invalid.
    pub fn of(line: &str) -> Option<Self> {
        let (line, sid) = match line.rsplit_once(":#") {
            Some((line, sid)) => (line, Some(sid.parse().ok()?)),
            None => (line, None),
        };
        let (first, password) = match line.rsplit_once(':') {
            Some((first, password)) => (first, password),
            None => ("", line),
        };
        let mount = first.starts_with('/').then(|| first.to_owned());
        let user = if mount.is_some() { "" } else { first };
        Some(Self {
            mount,
            sid,
            credentials: Credentials::new(user, password),
        })
    }

    /// Returns the password.
    pub fn password(&self) -> &Password {
        &self.credentials.password
    }

    /// Returns a reader of the headers that follow, as the head of a source that publishes at `path` with these credentials.
    pub fn headers(&self, path: &str) -> HeadReader {
        let head = HeadBuilder::of_login(Version::Shoutcast, path, self.credentials.clone());
        HeadReader::of(head)
    }
}

/// Whether a line is an HTTP request line.
fn is_request(line: &[u8]) -> bool {
    let mut words = line.rsplit(|byte| *byte == b' ');
    words.next().is_some_and(|word| word.starts_with(b"HTTP/")) && words.next().is_some()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn each_form_of_the_line_is_read() {
        for (line, mount, sid, user) in [
            ("hackme\r\n", None, None, "source"),
            ("hackme\n", None, None, "source"),
            ("ann:hackme\r\n", None, None, "ann"),
            ("/live/a:hackme\r\r\n", Some("/live/a"), None, "source"),
            ("hackme:#2\r\n", None, Some(2), "source"),
            ("ann:hackme:#2\r\n", None, Some(2), "ann"),
        ] {
            let expected = ShoutcastLogin {
                mount: mount.map(str::to_owned),
                sid,
                credentials: Credentials::new(user, "hackme"),
            };
            let found = ShoutcastLogin::read(line.as_bytes());
            let expected = Ok(ShoutcastLine::Login(expected, line.len()));
            assert_eq!(found, expected, "{line:?}");
        }
    }

    #[test]
    fn what_is_no_login_is_distinguished() {
        let read = |bytes: &[u8]| ShoutcastLogin::read(bytes);
        assert_eq!(read(b"hack"), Ok(ShoutcastLine::NeedMore));
        assert_eq!(read(b"!POKE\n"), Ok(ShoutcastLine::Poke));
        let long = format!("GET /admin.cgi?song={} HTTP/1.1\r\n", "%20".repeat(600));
        for request in ["GET /admin.cgi HTTP/1.0\r\n", &long] {
            assert_eq!(read(request.as_bytes()), Ok(ShoutcastLine::Http));
        }
        assert!(read(&[b'a'; LINE_BYTES_MAX]).is_err());
        for bytes in [&b"\r\n"[..], b"a\0b\n", b"hackme:#x\r\n"] {
            assert_eq!(read(bytes), Err(Error::RequestLineMalformed), "{bytes:?}");
        }
        let shown = format!("{:?}", read(b"hackme\n"));
        assert!(!shown.contains("hackme"), "{shown}");
    }

    #[test]
    fn the_headers_make_a_head() {
        let Ok(ShoutcastLine::Login(login, _)) = ShoutcastLogin::read(b"ann:hackme\n") else {
            panic!("a login");
        };
        let mut reader = login.headers("/stream");
        let bytes = b"icy-name:My Radio\r\ncontent-type:audio/aacp\r\nicy-pub:0\r\n\r\nsound";
        let (head, used) = reader.push(bytes).expect("headers").expect("all");
        assert_eq!(&bytes[used..], b"sound");
        assert_eq!(head.version(), Version::Shoutcast);
        assert_eq!((head.path().as_ref(), head.method()), ("/stream", "SOURCE"));
        assert_eq!(head.body(), crate::Body::UntilClose);
        assert_eq!(head.header("content-type"), Some("audio/aacp"));
        let basic = head.basic_auth().expect("credentials");
        assert_eq!(basic, Credentials::new("ann", "hackme"));
        // None at all.
        let read = login.headers("/a").push(b"\r\n");
        let (head, used) = read.expect("headers").expect("all");
        assert_eq!((head.headers().count(), used), (0, 2));
    }

    proptest! {
        #[test]
        fn nothing_is_too_strange(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
            match ShoutcastLogin::read(&bytes) {
                Ok(ShoutcastLine::Login(_, used)) => prop_assert!(used <= bytes.len()),
                Ok(ShoutcastLine::NeedMore) => prop_assert!(bytes.len() < LINE_BYTES_MAX),
                Ok(ShoutcastLine::Http | ShoutcastLine::Poke) | Err(_) => {}
            }
        }
    }
}
