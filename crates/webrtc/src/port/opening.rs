//! Start of a TCP connection: a connectivity check, or the connection is refused.

use crate::framing::HEADER_LEN;
use crate::ice::{CHECK_LEN_MAX, username};

/// Content at the start of a connection.
#[derive(Debug, Eq, PartialEq)]
pub(super) enum Opening<'a> {
    /// Too few bytes to decide.
    Incomplete,
    /// A check of the session with this name of ours, not yet verified.
    Check(&'a str),
    /// Something else.
    Foreign,
}

/// Parses the first frame. Foreign data is recognised long before the frame is complete.
pub(super) fn read(bytes: &[u8]) -> Opening<'_> {
    let Some((header, rest)) = bytes.split_first_chunk::<HEADER_LEN>() else {
        return Opening::Incomplete;
    };
    let len = usize::from(u16::from_be_bytes(*header));
    if len > CHECK_LEN_MAX || rest.first().is_some_and(|kind| *kind > 3) {
        return Opening::Foreign;
    }
    let Some(frame) = rest.get(..len) else {
        return Opening::Incomplete;
    };
    username(frame).map_or(Opening::Foreign, |(ours, _)| Opening::Check(ours))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framing;
    use crate::ice::{Credentials, RANDOM_LEN};
    use crate::testing::check_request;

    #[test]
    fn a_check_is_known_however_it_is_cut() {
        let credentials = Credentials::generate(&[3; RANDOM_LEN]);
        let check = check_request(&credentials, "them", &[]);
        let mut bytes = framing::header(check.len()).expect("short").to_vec();
        bytes.extend(&check);
        for cut in 0..bytes.len() {
            assert_eq!(read(&bytes[..cut]), Opening::Incomplete, "{cut}");
        }
        assert_eq!(read(&bytes), Opening::Check(credentials.ufrag()));
        bytes.extend([0, 9]);
        assert_eq!(read(&bytes), Opening::Check(credentials.ufrag()));
    }

    #[test]
    fn anything_else_is_foreign() {
        for bytes in [
            &b"GET / HTTP/1.1\r\n"[..],
            b"\x16\x03\x01\x02\x00\x01",
            &[0, 0],
            &[0, 1, 0],
            &[0, 40, 22],
            &[255, 255],
        ] {
            assert_eq!(read(bytes), Opening::Foreign, "{bytes:?}");
        }
    }
}
