//! PROXY protocol (haproxy's `proxy-protocol.txt`), versions 1 and 2: a proxy's statement about its client
//! before the first byte of the connection that it passes on.
//!
//! Sans-IO: [`read`] is passed all bytes received so far. It needs at most [`BYTES_MAX`] bytes and allocates
//! nothing. The caller decides which peers to believe: anyone can send such a header.
//!
//! Called by the doors of `server`, before TLS and before the protocol of the connection is known.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

/// Longest header: the fields of version 2 with as many extensions as proxies add (a certificate's name, an
/// identifier). A line of version 1 has 107 bytes at most.
pub const BYTES_MAX: usize = 2_048;

/// Longest line of version 1, with its end.
const LINE_BYTES_MAX: usize = 107;

const LINE_START: &[u8] = b"PROXY ";

/// First bytes of version 2, which begin no HTTP, TLS or RTMP.
const SIGNATURE: &[u8; 12] = b"\r\n\r\n\0\r\nQUIT\n";

/// Length of the fixed part of version 2: signature, version and command, family and protocol, length of the
/// rest.
const FIXED_BYTES: usize = 16;

/// Parse result of a header.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Header {
    /// The header is incomplete.
    NeedMore,
    /// The header is complete.
    Complete {
        /// Address of the client; `None` if the proxy connects for itself, as for a health check, or does not
        /// know it.
        client: Option<SocketAddr>,
        /// Length of the header in bytes.
        bytes: usize,
    },
}

/// Reason why the bytes are no header.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Malformed {
    /// The bytes begin with no header.
    #[error("the connection begins with no PROXY header")]
    Absent,
    /// The line of version 1 cannot be read.
    #[error("the line of the PROXY protocol cannot be read")]
    Line,
    /// The bytes of version 2 cannot be read.
    #[error("the PROXY header is of no version, command or family that is known")]
    Fields,
    /// The header is longer than any that makes sense.
    #[error("the PROXY header is too long")]
    TooLong,
}

/// Reads the header from all bytes received so far.
///
/// # Errors
/// The received bytes begin no header.
pub fn read(received: &[u8]) -> Result<Header, Malformed> {
    let begins = |with: &[u8]| {
        let both = received.len().min(with.len());
        received[..both] == with[..both]
    };
    if begins(LINE_START) {
        read_line(received)
    } else if begins(SIGNATURE) {
        read_fields(received)
    } else {
        Err(Malformed::Absent)
    }
}

fn read_line(received: &[u8]) -> Result<Header, Malformed> {
    let within = &received[..received.len().min(LINE_BYTES_MAX)];
    let Some(end) = within.iter().position(|byte| *byte == b'\n') else {
        return match received.len() {
            ..LINE_BYTES_MAX => Ok(Header::NeedMore),
            _ => Err(Malformed::TooLong),
        };
    };
    let line = within[..end].strip_suffix(b"\r").ok_or(Malformed::Line)?;
    let line = str::from_utf8(line).map_err(|_| Malformed::Line)?;
    Ok(Header::Complete {
        client: line_client(line).ok_or(Malformed::Line)?,
        bytes: end + 1,
    })
}

/// Returns the client of a line, if the line is valid.
#[expect(
    clippy::option_option,
    reason = "whether it is a line, and whether it names a client"
)]
fn line_client(line: &str) -> Option<Option<SocketAddr>> {
    let mut fields = line.split(' ');
    fields.next().filter(|word| *word == "PROXY")?;
    let client = match fields.next()? {
        // The rest of the line is to be ignored.
        "UNKNOWN" => return Some(None),
        "TCP4" => addresses::<Ipv4Addr>(&mut fields)?,
        "TCP6" => addresses::<Ipv6Addr>(&mut fields)?,
        _ => return None,
    };
    fields.next().is_none().then_some(Some(client))
}

/// Returns the source of a line's source and destination.
fn addresses<'a, A>(fields: &mut impl Iterator<Item = &'a str>) -> Option<SocketAddr>
where
    A: FromStr + Into<std::net::IpAddr>,
{
    let source: A = fields.next()?.parse().ok()?;
    let _: A = fields.next()?.parse().ok()?;
    let source_port = port(fields.next()?)?;
    port(fields.next()?)?;
    Some(SocketAddr::new(source.into(), source_port))
}

fn port(text: &str) -> Option<u16> {
    let is_plain = text == "0" || !text.starts_with(['0', '+']);
    text.parse().ok().filter(|_| is_plain)
}

fn read_fields(received: &[u8]) -> Result<Header, Malformed> {
    let Some((fixed, rest)) = received.split_at_checked(FIXED_BYTES) else {
        return Ok(Header::NeedMore);
    };
    let (command, family) = (fixed[12], fixed[13]);
    let length = usize::from(u16::from_be_bytes([fixed[14], fixed[15]]));
    let bytes = FIXED_BYTES + length;
    let is_local = match command {
        0x20 => true,
        0x21 => false,
        _ => return Err(Malformed::Fields),
    };
    if bytes > BYTES_MAX {
        return Err(Malformed::TooLong);
    }
    let Some(fields) = rest.get(..length) else {
        return Ok(Header::NeedMore);
    };
    let client = match (is_local, family) {
        (true, _) => None,
        (false, 0x11) => Some(client::<Ipv4Addr, 4>(fields).ok_or(Malformed::Fields)?),
        (false, 0x21) => Some(client::<Ipv6Addr, 16>(fields).ok_or(Malformed::Fields)?),
        // Unspecified, datagrams and sockets of the proxy's own host: no client address is known.
        (false, 0x00 | 0x12 | 0x22 | 0x31 | 0x32) => None,
        (false, _) => return Err(Malformed::Fields),
    };
    Ok(Header::Complete { client, bytes })
}

/// Returns the client among fields with addresses of `N` bytes: source, destination, and the ports of both.
fn client<A, const N: usize>(fields: &[u8]) -> Option<SocketAddr>
where
    A: From<[u8; N]> + Into<std::net::IpAddr>,
{
    let (source, rest) = fields.split_first_chunk::<N>()?;
    // Extensions follow, none of which is needed.
    let ports = rest.get(N..N + 4)?;
    let port = u16::from_be_bytes([ports[0], ports[1]]);
    Some(SocketAddr::new(A::from(*source).into(), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the result for all bytes, after checking that no prefix of them gives any other result.
    fn whole(bytes: &[u8]) -> Result<Header, Malformed> {
        let all = read(bytes);
        let mut answers = (0..=bytes.len()).map(|end| read(&bytes[..end]));
        let first = answers.find(|answer| *answer != Ok(Header::NeedMore));
        assert_eq!(first.unwrap_or(Ok(Header::NeedMore)), all, "{bytes:?}");
        all
    }

    fn complete(client: Option<&str>, bytes: usize) -> Result<Header, Malformed> {
        let client = client.map(|client| client.parse().expect("an address"));
        Ok(Header::Complete { client, bytes })
    }

    fn fields(command: u8, family: u8, fields: &[u8]) -> Vec<u8> {
        let length = u16::try_from(fields.len()).expect("short");
        let length = length.to_be_bytes();
        [&SIGNATURE[..], &[command, family], &length, fields].concat()
    }

    /// Addresses and ports of IPv4.
    const FOUR: [u8; 12] = [192, 0, 2, 1, 198, 51, 100, 1, 0x16, 0x2e, 7, 0x8f];

    #[test]
    fn lines_name_a_client() {
        for row in [
            "PROXY TCP4 192.0.2.1 198.51.100.1 5678 1935 > 192.0.2.1:5678",
            "PROXY TCP4 255.255.255.255 255.255.255.255 65535 65535 > 255.255.255.255:65535",
            "PROXY TCP6 2001:db8::1 2001:db8::2 5678 443 > [2001:db8::1]:5678",
            "PROXY UNKNOWN > ",
            "PROXY UNKNOWN ffff::1 ffff::2 65535 65535 > ",
        ] {
            let (line, client) = row.split_once(" > ").expect("a client, or none");
            let client = (!client.is_empty()).then_some(client);
            let sent = format!("{line}\r\nGET / HTTP/1.1\r\n");
            let expected = complete(client, line.len() + 2);
            assert_eq!(whole(sent.as_bytes()), expected, "{line}");
        }
    }

    #[test]
    fn other_lines_are_refused() {
        for line in [
            "PROXY TCP4 192.0.2.1 198.51.100.1 5678 1935\n",
            "PROXY TCP4 192.0.2.1 198.51.100.1 5678\r\n",
            "PROXY TCP4 192.0.2.1 198.51.100.1 5678 1935 1\r\n",
            "PROXY TCP4 192.0.2.1 198.51.100.1 65536 1935\r\n",
            "PROXY TCP4 192.0.2.1 198.51.100.1 +567 1935\r\n",
            "PROXY TCP4 192.0.2.1 198.51.100.1 0567 1935\r\n",
            "PROXY TCP4 2001:db8::1 2001:db8::2 5678 443\r\n",
            "PROXY TCP6 192.0.2.1 198.51.100.1 5678 1935\r\n",
            "PROXY TCP4  192.0.2.1 198.51.100.1 5678 1935\r\n",
            "PROXY UDP4 192.0.2.1 198.51.100.1 5678 1935\r\n",
            "PROXY \r\n",
            "PROXY TCP4\r\n",
            "PROXY \u{e9}\r\n",
        ] {
            assert_eq!(whole(line.as_bytes()), Err(Malformed::Line), "{line}");
        }
        let endless = [LINE_START, &[b'x'; LINE_BYTES_MAX]].concat();
        assert_eq!(whole(&endless), Err(Malformed::TooLong));
        for other in ["GET / HTTP/1.1\r\n", "PROXYTCP4", "\r\n\r\nGET", "\x03\0\0"] {
            assert_eq!(whole(other.as_bytes()), Err(Malformed::Absent), "{other:?}");
        }
        assert_eq!(read(b""), Ok(Header::NeedMore));
    }

    #[test]
    fn fields_name_a_client() {
        let (four, unix) = (FOUR, [0; 216]);
        let with_extension = [&four[..], &[0x04, 0, 1, 0]].concat();
        let six = [
            &Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1).octets()[..],
            &Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 2).octets()[..],
            &[0x16, 0x2e, 7, 0x8f],
        ]
        .concat();
        for (command, family, of, client) in [
            (0x21, 0x11, &four[..], Some("192.0.2.1:5678")),
            (0x21, 0x11, &with_extension, Some("192.0.2.1:5678")),
            (0x21, 0x21, &six, Some("[2001:db8::1]:5678")),
            (0x20, 0x11, &four, None),
            (0x20, 0x00, &[], None),
            (0x21, 0x00, &[], None),
            (0x21, 0x12, &four, None),
            (0x21, 0x31, &unix, None),
        ] {
            let header = fields(command, family, of);
            let sent = [&header[..], b"\x03rest"].concat();
            let expected = complete(client, header.len());
            assert_eq!(whole(&sent), expected, "{command} {family}");
        }
    }

    #[test]
    fn other_fields_are_refused() {
        let four = FOUR;
        for (command, family, of) in [
            (0x11, 0x11, &four[..]),
            (0x22, 0x11, &four),
            (0x21, 0x11, &four[..11]),
            (0x21, 0x11, &[]),
            (0x21, 0x21, &four),
            (0x21, 0x41, &four),
            (0x21, 0x13, &four),
        ] {
            let sent = fields(command, family, of);
            assert_eq!(whole(&sent), Err(Malformed::Fields), "{command} {family}");
        }
        let long = fields(0x21, 0x11, &[0; BYTES_MAX]);
        assert_eq!(whole(&long), Err(Malformed::TooLong));
    }
}
