//! A small blocking HTTP client that records when each byte arrived.
//!
//! [`Listener`] follows a live body and keeps the time of every read, so that a test can query the longest gap. [`get`] fetches
//! a whole response. [`deinterleave`] removes ICY metadata from a body.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// Time limit for connecting, for sending the request, and for the head of the response.
const HEAD_DEADLINE: Duration = crate::DEADLINE;
/// Maximum length of a head; a longer one is not our server's.
const HEAD_BYTES_MAX: usize = 64 << 10;
/// Read buffer size in bytes.
const READ_BYTES: usize = 64 << 10;

/// A whole response.
#[derive(Clone, Debug)]
pub struct Response {
    /// The status code.
    pub status: u16,
    /// Header fields in order, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body, chunked coding undone.
    pub body: Vec<u8>,
}

/// Time and size of a read of the body.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// The time of the read.
    pub at: Instant,
    /// Number of bytes received.
    pub bytes: usize,
}

/// A listener of a live stream: the head of the response, and the body as far as it was read.
///
/// It reads only when called, and otherwise stalls, as a stuck player does.
#[derive(Debug)]
pub struct Listener {
    socket: TcpStream,
    response: Response,
    arrivals: Vec<Arrival>,
    ended: bool,
}

impl Listener {
    /// Sends `GET path` by HTTP/1.1.
    #[must_use]
    pub fn get(addr: SocketAddr, path: &str) -> Self {
        let head = format!("GET {path} HTTP/1.1\r\nHost: {addr}\r\n\r\n");
        Self::send(addr, head.as_bytes())
    }

    /// Sends `GET path` as a player that shows titles.
    #[must_use]
    pub fn get_icy(addr: SocketAddr, path: &str) -> Self {
        let head = format!("GET {path} HTTP/1.1\r\nHost: {addr}\r\nIcy-MetaData: 1\r\n\r\n");
        Self::send(addr, head.as_bytes())
    }

    /// Sends any request, byte for byte.
    ///
    /// # Panics
    /// Panics if there is no connection, or no head of a response in time.
    #[must_use]
    pub fn send(addr: SocketAddr, request: &[u8]) -> Self {
        let socket = TcpStream::connect_timeout(&addr, HEAD_DEADLINE)
            .unwrap_or_else(|error| panic!("{addr}: connect: {error}"));
        Self::over(socket, request)
    }

    /// Sends any request on a connection supplied by the caller.
    ///
    /// # Panics
    /// Panics if there is no head of a response in time.
    #[must_use]
    pub fn over(mut socket: TcpStream, request: &[u8]) -> Self {
        let addr = socket.peer_addr();
        let addr = addr.unwrap_or_else(|error| panic!("no connection: {error}"));
        let failed = |what: &str, error: io::Error| -> ! { panic!("{addr}: {what}: {error}") };
        socket
            .set_read_timeout(Some(HEAD_DEADLINE))
            .and_then(|()| socket.set_write_timeout(Some(HEAD_DEADLINE)))
            .and_then(|()| socket.write_all(request))
            .unwrap_or_else(|error| failed("request", error));
        let mut head = Vec::new();
        while find(&head, b"\r\n\r\n").is_none() {
            assert!(
                head.len() < HEAD_BYTES_MAX,
                "{addr}: the answer's head does not end"
            );
            let mut buffer = [0; 4 << 10];
            match socket.read(&mut buffer) {
                Ok(0) => panic!("{addr}: closed after {:?}", String::from_utf8_lossy(&head)),
                Ok(length) => head.extend_from_slice(&buffer[..length]),
                Err(error) => failed("head", error),
            }
        }
        let mut response = Response::parse(&head);
        let body = std::mem::take(&mut response.body);
        let mut listener = Self {
            socket,
            response,
            arrivals: Vec::new(),
            ended: false,
        };
        if !body.is_empty() {
            listener.take(&body);
        }
        listener
    }

    /// Returns the status code.
    pub fn status(&self) -> u16 {
        self.response.status
    }

    /// Returns the header fields in order, names in lower case.
    pub fn headers(&self) -> &[(String, String)] {
        &self.response.headers
    }

    /// Returns the first header field with a name, in any case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.response.header(name)
    }

    /// Returns the body read so far.
    pub fn body(&self) -> &[u8] {
        &self.response.body
    }

    /// Returns the times at which the body arrived.
    pub fn arrivals(&self) -> &[Arrival] {
        &self.arrivals
    }

    /// Returns whether the server has closed the connection.
    pub fn ended(&self) -> bool {
        self.ended
    }

    /// Returns the socket, for shrinking its buffers or closing it abruptly.
    pub fn socket(&self) -> &TcpStream {
        &self.socket
    }

    /// Reads until `done` returns true for the body, or the server closes. Returns whether it did.
    ///
    /// # Panics
    /// Panics if `deadline` passes first.
    pub fn read_until(&mut self, deadline: Duration, done: impl Fn(&[u8]) -> bool) -> bool {
        let end = Instant::now() + deadline;
        while !done(self.body()) {
            if self.ended {
                return false;
            }
            let had = self.body().len();
            assert!(
                self.read_before(end),
                "after {had} bytes: nothing more within {deadline:?}"
            );
        }
        true
    }

    /// Reads until the body has `length` bytes or more.
    ///
    /// # Panics
    /// Panics if the server closes or `deadline` passes before that.
    pub fn read_bytes(&mut self, length: usize, deadline: Duration) -> &[u8] {
        let complete = self.read_until(deadline, |body| body.len() >= length);
        let had = self.body().len();
        assert!(complete, "closed after {had} of {length} bytes");
        self.body()
    }

    /// Reads everything that arrives during `span`.
    pub fn read_for(&mut self, span: Duration) -> &[u8] {
        let end = Instant::now() + span;
        while !self.ended && self.read_before(end) {}
        self.body()
    }

    /// Reads until the server closes.
    ///
    /// # Panics
    /// Panics if `deadline` passes first.
    pub fn read_to_end(&mut self, deadline: Duration) -> &[u8] {
        self.read_until(deadline, |_| false);
        self.body()
    }

    /// Returns the longest time between two arrivals after `since`; the pause up to the first of them counts from `since`.
    pub fn longest_gap(&self, since: Instant) -> Duration {
        let mut last = since;
        let mut longest = Duration::ZERO;
        for arrival in self.arrivals.iter().filter(|arrival| arrival.at >= since) {
            longest = longest.max(arrival.at - last);
            last = arrival.at;
        }
        longest
    }

    /// Reads once; returns false if `end` comes first. A reset counts as the end of the body.
    fn read_before(&mut self, end: Instant) -> bool {
        let mut buffer = [0; READ_BYTES];
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() || self.socket.set_read_timeout(Some(left)).is_err() {
                return false;
            }
            match self.socket.read(&mut buffer) {
                Ok(0) => self.ended = true,
                Ok(length) => self.take(&buffer[..length]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if is_timeout(&error) => return false,
                Err(_) => self.ended = true,
            }
            return true;
        }
    }

    fn take(&mut self, piece: &[u8]) {
        self.response.body.extend_from_slice(piece);
        self.arrivals.push(Arrival {
            at: Instant::now(),
            bytes: piece.len(),
        });
    }
}

impl Response {
    /// Parses a response as `curl --include` writes it: the head, and the body without any coding.
    ///
    /// # Panics
    /// Panics if there is no head.
    pub fn parse(bytes: &[u8]) -> Self {
        let end = find(bytes, b"\r\n\r\n").unwrap_or_else(|| panic!("an answer without a head"));
        let head = String::from_utf8_lossy(&bytes[..end]);
        let mut lines = head.split("\r\n");
        let first = lines.next().unwrap_or_default();
        let status = first.split(' ').nth(1).and_then(|code| code.parse().ok());
        let headers = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()));
        Self {
            status: status.unwrap_or_else(|| panic!("not a status line: {first:?}")),
            headers: headers.collect(),
            body: bytes[end + 4..].to_vec(),
        }
    }

    /// Returns the first header field with a name, in any case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let found = headers.find(|(own, _)| own.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// Returns the body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// Fetches a whole response to `GET path`.
///
/// # Panics
/// Panics if the response is not complete within `deadline`.
pub fn get(addr: SocketAddr, path: &str, deadline: Duration) -> Response {
    let head = format!("GET {path} HTTP/1.1\r\nHost: {addr}\r\nConnection: close\r\n\r\n");
    request(addr, head.as_bytes(), deadline)
}

/// Fetches a whole response to any request; the request should ask for the connection to be closed.
///
/// # Panics
/// Panics if the response is not complete within `deadline`, or if its chunks do not parse.
pub fn request(addr: SocketAddr, bytes: &[u8], deadline: Duration) -> Response {
    let mut listener = Listener::send(addr, bytes);
    let length = listener
        .header("content-length")
        .and_then(|text| text.parse::<usize>().ok());
    let bodiless = bytes.starts_with(b"HEAD ") || matches!(listener.status(), 100..200 | 204 | 304);
    match length {
        _ if bodiless => {}
        Some(length) => {
            listener.read_bytes(length, deadline);
        }
        None => {
            listener.read_to_end(deadline);
        }
    }
    let mut response = listener.response;
    if !bodiless && response.header("transfer-encoding") == Some("chunked") {
        response.body = unchunk(&response.body);
    }
    response
}

/// Splits a body with ICY metadata: the audio, and each non-empty metadata block with the number of audio bytes before it. An
/// incomplete last block is left out.
///
/// # Panics
/// Panics if `interval` is 0.
pub fn deinterleave(body: &[u8], interval: usize) -> (Vec<u8>, Vec<(usize, String)>) {
    assert_ne!(interval, 0, "metadata must be apart");
    let mut audio = Vec::with_capacity(body.len());
    let mut blocks = Vec::new();
    let mut rest = body;
    while rest.len() > interval {
        let (run, after) = rest.split_at(interval);
        audio.extend_from_slice(run);
        // The block's length in units of 16 bytes, then the text, padded with zeros.
        let length = usize::from(after[0]) * 16;
        let Some(block) = after.get(1..1 + length) else {
            return (audio, blocks);
        };
        if !block.is_empty() {
            let text = String::from_utf8_lossy(block)
                .trim_end_matches('\0')
                .to_owned();
            blocks.push((audio.len(), text));
        }
        rest = &after[1 + length..];
    }
    audio.extend_from_slice(rest);
    (audio, blocks)
}

fn unchunk(mut body: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    loop {
        let end = find(body, b"\r\n").unwrap_or_else(|| panic!("a chunk without a size line"));
        let size = String::from_utf8_lossy(&body[..end]).into_owned();
        let digits = size.split(';').next().unwrap_or_default().trim();
        let length = usize::from_str_radix(digits, 16)
            .unwrap_or_else(|error| panic!("chunk size {size:?}: {error}"));
        if length == 0 {
            return out;
        }
        let data = body.get(end + 2..end + 2 + length);
        out.extend_from_slice(data.unwrap_or_else(|| panic!("a chunk cut short")));
        body = body.get(end + 2 + length + 2..).unwrap_or_default();
    }
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
    )
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack
        .windows(needle.len())
        .position(|window| window == needle)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread::JoinHandle;

    use super::*;

    const DEADLINE: Duration = crate::DEADLINE;

    /// Answers one connection with `parts`; each part is sent after the client has sent a byte for it.
    fn serve(parts: Vec<&'static [u8]>) -> (SocketAddr, JoinHandle<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a port");
        let addr = listener.local_addr().expect("bound");
        let thread = std::thread::spawn(move || {
            let (mut socket, _) = listener.accept().expect("a client");
            let mut request = Vec::new();
            while find(&request, b"\r\n\r\n").is_none() {
                let mut buffer = [0; 1024];
                let length = socket.read(&mut buffer).expect("a request");
                request.extend_from_slice(&buffer[..length]);
            }
            for (index, part) in parts.into_iter().enumerate() {
                if index > 0 {
                    socket.read_exact(&mut [0]).expect("the client's go-ahead");
                }
                socket.write_all(part).expect("the client reads");
            }
        });
        (addr, thread)
    }

    #[test]
    fn head_and_body_are_distinguished() {
        let (addr, thread) = serve(vec![
            b"HTTP/1.1 200 OK\r\nContent-Type: audio/mpeg\r\nicy-metaint: 16\r\n\r\nabc",
            b"def",
        ]);
        let mut listener = Listener::get(addr, "/radio.mp3");
        assert_eq!(listener.status(), 200);
        assert_eq!(listener.header("ICY-MetaInt"), Some("16"));
        assert_eq!(listener.read_bytes(3, DEADLINE), b"abc");
        let middle = Instant::now();
        listener.socket().write_all(b"!").expect("connected");
        assert_eq!(listener.read_to_end(DEADLINE), b"abcdef");
        assert!(listener.ended());
        assert!(listener.longest_gap(middle) <= middle.elapsed());
        assert!(listener.longest_gap(middle) > Duration::ZERO);
        thread.join().expect("the server thread is done");
    }

    #[test]
    fn chunked_answers_are_joined() {
        let (addr, thread) = serve(vec![
            b"HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\n\r\n",
        ]);
        let response = get(addr, "/", DEADLINE);
        assert_eq!(
            (response.status, response.text()),
            (404, "abc0123456789".to_owned())
        );
        thread.join().expect("the server thread is done");
    }

    #[test]
    fn a_length_ends_the_body_without_a_close() {
        let (addr, thread) = serve(vec![
            b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
            b"never asked for",
        ]);
        assert_eq!(get(addr, "/", DEADLINE).body, b"ok");
        assert!(
            thread.join().is_err(),
            "the client left without asking for more"
        );
    }

    #[test]
    fn metadata_is_taken_out() {
        let mut body = b"aaaa".to_vec();
        body.extend(b"\x01StreamTitle='x';");
        body.extend(b"bbbb\x00cccc\x02Stre");
        let (audio, blocks) = deinterleave(&body, 4);
        assert_eq!(audio, b"aaaabbbbcccc");
        assert_eq!(blocks, [(4, "StreamTitle='x';".to_owned())]);
    }
}
