//! A connection that carries one request after another, and is reopened after the server has closed it.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use rustix::event::epoll::EventFlags;

use super::request::{Failure, Request};
use crate::answer::Answer;
use crate::reading::{Keep, Reading, ReadingError};
use crate::socket;

/// Bytes taken at once of a response whose body is of no interest: its head, and the start of the body.
const HEAD_BYTES: usize = 4 << 10;
/// Maximum number of consecutive reads of a connection: a part of an ordinary bit rate.
const READS_PER_EVENT: usize = 8;

/// Parameters for opening a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link<'a> {
    pub(super) addr: SocketAddr,
    /// Number of the player in the load, from which its address follows.
    pub(super) number: u64,
    pub(super) epoll: &'a OwnedFd,
    /// Token that identifies the connection's events.
    pub(super) token: usize,
}

/// A player's connection to the server; send requests with [`ask`](Self::ask) and pass socket events to
/// [`attend`](Self::attend).
#[derive(Debug, Default)]
pub(super) struct Connection {
    socket: Option<OwnedFd>,
    /// Number of times that the connection was opened.
    made: u32,
    /// Whether a request was answered on this socket; from then on the server may close it at any time.
    is_used: bool,
    exchange: Option<Box<Exchange>>,
}

/// A request in progress.
#[derive(Debug)]
struct Exchange {
    request: Vec<u8>,
    is_sent: bool,
    at: u64,
    /// Time at which the response's first byte arrived.
    heard: Option<u64>,
    /// Wall clock at which the latest byte reached the socket, if the entire response is kept.
    arrived: Option<u64>,
    reading: Reading,
}

/// Result of handling a socket event.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// Number of requested body bytes that arrived, possibly of the response that is complete.
    pub(super) body: usize,
    pub(super) outcome: Option<Result<Answered, Failure>>,
}

/// A complete response.
#[derive(Debug)]
pub(super) struct Answered {
    pub(super) status: u16,
    /// The part of the body that was kept.
    pub(super) body: Vec<u8>,
    /// Time at which the first byte of the response arrived.
    pub(super) heard: u64,
    /// Wall clock at which its last byte reached the socket, if all of the response was to be kept.
    pub(super) arrived: Option<u64>,
}

impl Connection {
    /// Sends a request; there must be no other in progress. `authority` is the server's.
    pub(super) fn ask(
        &mut self,
        request: &Request,
        authority: &str,
        keep: Keep,
        link: Link<'_>,
        now: u64,
    ) -> Result<(), Failure> {
        let exchange = self.exchange.insert(Box::new(Exchange {
            request: words(request, authority),
            is_sent: false,
            at: now,
            heard: None,
            arrived: None,
            reading: Reading::new(keep),
        }));
        if let Some(socket) = &self.socket
            && socket::say(socket, &exchange.request).is_ok()
        {
            exchange.is_sent = true;
            return Ok(());
        }
        self.connect(link)
    }

    /// Returns the time of the request in progress.
    pub(super) fn asked_at(&self) -> Option<u64> {
        self.exchange.as_ref().map(|exchange| exchange.at)
    }

    /// Returns the number of times that the connection was reopened.
    pub(super) fn remade(&self) -> u64 {
        self.made.saturating_sub(1).into()
    }

    /// Gives up the request in progress, and the connection with it.
    pub(super) fn abandon(&mut self) {
        self.socket = None;
        self.exchange = None;
    }

    /// Handles an event on the socket.
    pub(super) fn attend(&mut self, link: Link<'_>, buffer: &mut [u8], now: u64) -> Progress {
        let mut progress = Progress::default();
        let Some(socket) = &self.socket else {
            return progress;
        };
        let Some(exchange) = &mut self.exchange else {
            // The server closes the connection, or sends something unrequested.
            self.socket = None;
            return progress;
        };
        if !exchange.is_sent {
            let greeted = socket::greet(socket, &exchange.request, link.epoll, link.token);
            exchange.is_sent = true;
            if let Err(reason) = greeted {
                progress.outcome = Some(Err(self.fail(reason)));
            }
            return progress;
        }
        for _ in 0..READS_PER_EVENT {
            match read(socket, exchange, buffer, now) {
                // The body of a refusal was not requested.
                Ok(Some(body)) if exchange.reading.is_success() => progress.body += body,
                Ok(Some(_)) => {}
                Ok(None) => return progress,
                Err(Broken::Gone(why)) => {
                    self.gone(why, link, &mut progress);
                    return progress;
                }
                Err(Broken::Answer(error)) => {
                    progress.outcome = Some(Err(self.fail(error.to_string())));
                    return progress;
                }
            }
            if exchange.reading.is_complete() {
                progress.outcome = self.finish().map(Ok);
                return progress;
            }
        }
        progress
    }

    /// Handles a connection that the server has closed while a request is in progress.
    fn gone(&mut self, why: &str, link: Link<'_>, progress: &mut Progress) {
        self.socket = None;
        let Some(exchange) = &mut self.exchange else {
            return;
        };
        if exchange.heard.is_none() && self.is_used {
            // The server was closing the connection when the request was sent.
            exchange.is_sent = false;
            progress.outcome = self.connect(link).err().map(Err);
            return;
        }
        progress.outcome = match exchange.reading.close() {
            Ok(()) => self.finish().map(Ok),
            Err(_) => Some(Err(self.fail(why.to_owned()))),
        };
    }

    fn connect(&mut self, link: Link<'_>) -> Result<(), Failure> {
        self.socket = None;
        self.is_used = false;
        self.made = self.made.saturating_add(1);
        let connected = socket::connect(link.addr, link.number, None).and_then(|socket| {
            net::arrival::note(&socket)
                .map_err(|error| format!("its times are not reported: {error}"))?;
            socket::watch(link.epoll, &socket, link.token, EventFlags::OUT)?;
            Ok(socket)
        });
        self.socket = Some(connected.map_err(|reason| self.fail(reason))?);
        Ok(())
    }

    /// Returns the complete response.
    fn finish(&mut self) -> Option<Answered> {
        let exchange = self.exchange.take()?;
        let (Answer { status, closes, .. }, body) = exchange.reading.finish();
        self.is_used = true;
        if closes {
            self.socket = None;
        }
        Some(Answered {
            status,
            body,
            heard: exchange.heard.unwrap_or(exchange.at),
            arrived: exchange.arrived,
        })
    }

    /// Gives up the response, and the connection, which is of no further use.
    fn fail(&mut self, reason: String) -> Failure {
        self.abandon();
        Failure::Broken(reason)
    }
}

/// Reasons why a connection yields no response.
#[derive(Debug)]
enum Broken {
    /// The server has closed the connection.
    Gone(&'static str),
    Answer(ReadingError),
}

/// Reads once. Returns the number of body bytes that arrived.
fn read(
    socket: &OwnedFd,
    exchange: &mut Exchange,
    buffer: &mut [u8],
    now: u64,
) -> Result<Option<usize>, Broken> {
    let reading = &mut exchange.reading;
    let skippable = reading.skippable().min(buffer.len());
    if skippable > 0 {
        let moved = socket::discard(socket, &mut buffer[..skippable]);
        let moved = moved.map_err(Broken::Gone)?;
        reading.skip(moved.unwrap_or(0));
        return Ok(moved);
    }
    let moved = if reading.keeps_all() {
        let (moved, arrived) = socket::receive_timed(socket, buffer);
        exchange.arrived = arrived.or(exchange.arrived);
        moved
    } else {
        let space = buffer.len().min(HEAD_BYTES);
        socket::receive(socket, &mut buffer[..space])
    };
    let Some(length) = moved.map_err(Broken::Gone)? else {
        return Ok(None);
    };
    exchange.heard.get_or_insert(now);
    let body = reading.push(&buffer[..length]);
    body.map(Some).map_err(Broken::Answer)
}

fn words(request: &Request, authority: &str) -> Vec<u8> {
    let Request { path, range } = request;
    let range = range.map_or_else(String::new, |range| {
        format!("Range: bytes={}-{}\r\n", range.begin, range.end - 1)
    });
    let words = format!(
        "GET /{path} HTTP/1.1\r\nHost: {authority}\r\nUser-Agent: carillon-load\r\nAccept: */*\r\n{range}\r\n"
    );
    words.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::super::playlist::ByteRange;
    use super::*;

    #[test]
    fn a_request_is_http() {
        let mut request = Request {
            path: "live/show/p1.mp4?t=1".to_owned(),
            range: None,
        };
        let head = "GET /live/show/p1.mp4?t=1 HTTP/1.1\r\nHost: host:80\r\n\
            User-Agent: carillon-load\r\nAccept: */*\r\n";
        let text = |request: &Request| String::from_utf8(words(request, "host:80"));
        assert_eq!(text(&request), Ok(format!("{head}\r\n")));
        request.range = Some(ByteRange { begin: 5, end: 10 });
        assert_eq!(
            text(&request),
            Ok(format!("{head}Range: bytes=5-9\r\n\r\n"))
        );
    }

    #[test]
    fn a_connection_is_small() {
        // The connection between two requests; a player has two connections.
        assert!(size_of::<Connection>() <= 24, "{}", size_of::<Connection>());
    }
}
