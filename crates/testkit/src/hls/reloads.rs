//! Many blocking reloads of one playlist that wait at the same time.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpStream};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{self, AddressFamily, SocketType};

use super::playlist::MediaPlaylist;
use crate::http::{self, Response};
use crate::{DEADLINE, wait_until};

/// Time without change after which a playlist counts as standing still: three parts.
const STILL_FOR: Duration = Duration::from_millis(1_500);
/// Read buffer size: the head of a response with a playlist.
const READ_BYTES: usize = 16 << 10;

/// Number of connections per address: servers refuse more waiting connections than that.
const PER_ADDRESS: usize = 500;

/// Returns the loopback address of a viewer.
fn source(index: usize) -> Ipv4Addr {
    let [_, _, high, low] = u32::try_from(1 + index / PER_ADDRESS)
        .unwrap_or(u32::MAX)
        .to_be_bytes();
    Ipv4Addr::new(127, 0, high, low)
}

fn connect(source: Ipv4Addr, addr: SocketAddr) -> std::io::Result<TcpStream> {
    let socket = net::socket(AddressFamily::INET, SocketType::STREAM, None)?;
    net::bind(&socket, &SocketAddrV4::new(source, 0))?;
    net::connect(&socket, &addr)?;
    Ok(socket.into())
}

/// Requests in progress for the next part of a stream.
#[derive(Debug)]
pub struct BlockedReloads {
    waiting: Vec<TcpStream>,
}

/// Result of the requests.
#[derive(Clone, Copy, Debug)]
pub struct Answered {
    /// Time from the first byte of the first response to the last byte of the last.
    pub took: Duration,
    /// Number of responses whose playlist lists more than before.
    pub good: usize,
}

/// Waits until the media playlist at `playlist` stands still, because its publisher has paused. Returns its address with the
/// query that waits for the next part.
///
/// # Panics
/// Panics if there is no such playlist, or if it does not come to rest.
pub fn reload_at_rest(addr: SocketAddr, playlist: &str) -> String {
    let mut last = String::new();
    let mut since = Instant::now();
    wait_until("the playlist to stand still", DEADLINE, || {
        let now = http::get(addr, playlist, DEADLINE).text();
        if now != last {
            (last, since) = (now, Instant::now());
        }
        since.elapsed() > STILL_FOR
    });
    let parsed = MediaPlaylist::parse(&last);
    let parsed = parsed.unwrap_or_else(|error| panic!("{error}\n{last}"));
    let (segment, part) = parsed.next_part();
    format!("{playlist}?_HLS_msn={segment}&_HLS_part={part}")
}

impl BlockedReloads {
    /// Sends `count` requests for `path`, each on its own connection and with its own program name, so that each counts as
    /// another viewer; 500 from one loopback address.
    ///
    /// # Panics
    /// Panics if a connection is refused.
    #[must_use]
    pub fn begin(addr: SocketAddr, path: &str, count: usize) -> Self {
        let waiting = (0..count).map(|index| {
            let begin = || -> std::io::Result<TcpStream> {
                let mut socket = connect(source(index), addr)?;
                socket.set_read_timeout(Some(DEADLINE))?;
                let head = format!(
                    "GET {path} HTTP/1.1\r\nHost: {addr}\r\nUser-Agent: viewer-{index}\r\n\
                     Connection: close\r\n\r\n"
                );
                socket.write_all(head.as_bytes())?;
                Ok(socket)
            };
            begin().unwrap_or_else(|error| panic!("viewer {index}: {error}"))
        });
        Self {
            waiting: waiting.collect(),
        }
    }

    /// Waits until one of the requests is answered, or for `span`. Returns whether one is.
    pub fn is_answered_within(&self, span: Duration) -> bool {
        let mut sockets: Vec<_> = self
            .waiting
            .iter()
            .map(|socket| PollFd::new(socket, PollFlags::IN))
            .collect();
        let timeout = Timespec {
            tv_sec: i64::try_from(span.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(span.subsec_nanos()),
        };
        matches!(poll(&mut sockets, Some(&timeout)), Ok(1..))
    }

    /// Waits for all responses.
    ///
    /// # Panics
    /// Panics if a response is missing.
    pub fn finish(self) -> Answered {
        assert!(self.is_answered_within(DEADLINE), "no request is answered");
        let began = Instant::now();
        let mut good = 0;
        for mut socket in self.waiting {
            let mut answer = Vec::with_capacity(READ_BYTES);
            let read = socket.read_to_end(&mut answer);
            assert!(read.is_ok(), "an answer does not end: {read:?}");
            good += usize::from(Response::parse(&answer).status == 200);
        }
        Answered {
            took: began.elapsed(),
            good,
        }
    }
}
