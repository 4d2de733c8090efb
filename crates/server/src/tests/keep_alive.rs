//! Connections that carry one request after another.

use super::*;

const ICON: &str = "/_/icon.svg";

/// Longer than the server lets a connection wait for its next request.
const IDLE: Duration = Duration::from_secs(100);

/// A client that keeps its connection.
struct Kept {
    socket: TcpStream,
    received: Vec<u8>,
}

impl Kept {
    async fn open(server: &TestServer) -> Self {
        Self {
            socket: connect(server.http).await,
            received: Vec::new(),
        }
    }

    async fn send(&mut self, text: &str) {
        let sent = self.socket.write_all(text.as_bytes()).await;
        sent.expect("written");
    }

    /// One answer: its head, and the body that its length announces. `method` is the request's.
    async fn answer(&mut self, method: &str) -> String {
        let end = loop {
            let end = self.received.windows(4).position(|end| end == b"\r\n\r\n");
            if let Some(end) = end {
                break end + 4;
            }
            self.read().await;
        };
        let head = String::from_utf8_lossy(&self.received[..end]).into_owned();
        let length = header(&head, "content-length").filter(|_| method != "HEAD");
        let length: usize = length.map_or(0, |text| text.parse().expect("a length"));
        while self.received.len() < end + length {
            self.read().await;
        }
        let answer: Vec<u8> = self.received.drain(..end + length).collect();
        String::from_utf8_lossy(&answer).into_owned()
    }

    async fn read(&mut self) {
        let read = self.socket.read_buf(&mut self.received);
        let count = soon(read).await.expect("read");
        assert_ne!(count, 0, "closed: {}", self.received.escape_ascii());
    }

    async fn ask(&mut self, method: &str, path: &str, headers: &str) -> String {
        let request = format!("{method} {path} HTTP/1.1\r\nHost: x\r\n{headers}\r\n");
        self.send(&request).await;
        self.answer(method).await
    }

    /// Asks for the icon, which is there.
    async fn icon(&mut self) {
        let answer = self.ask("GET", ICON, "").await;
        assert_eq!(status(&answer), 200, "{answer}");
    }

    async fn is_closed(&mut self) {
        read_end(&mut self.socket).await;
        assert_eq!(self.received.escape_ascii().to_string(), "");
    }
}

/// Lets time pass for every task of the test's runtime.
pub(super) async fn pass(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
}

/// The number that follows these words in the metrics.
pub(super) async fn gauge(server: &TestServer, name: &str) -> f64 {
    let page = ask(server.admin, "GET", "/metrics", "").await;
    let value = page.lines().find_map(|line| line.strip_prefix(name));
    value.expect("a metric").parse().expect("a number")
}

/// Whether a connection to the HTTP port is open.
async fn has_connections(server: &TestServer) -> bool {
    gauge(server, "carillon_connections{door=\"http\"} ").await > 0.0
}

/// Number of connections that wait for their next request.
pub(super) async fn idle_connections(server: &TestServer) -> f64 {
    gauge(server, "carillon_idle_connections ").await
}

#[tokio::test]
async fn one_connection_fetches_a_thousand_pages_and_then_a_stream() {
    let (server, _source) = TestServer::on_air(AUTH).await;
    let mut kept = Kept::open(&server).await;
    for number in 0..1_000 {
        let path = ["/", ICON, "/radio.mp3/", "/radio.mp3/info.json"][number % 4];
        let answer = kept.ask("GET", path, "").await;
        assert_eq!(status(&answer), 200, "{number}: {answer}");
        assert_eq!(header(&answer, "connection"), None, "{answer}");
    }
    kept.send("GET /radio.mp3 HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n")
        .await;
    let head = kept.answer("HEAD").await;
    assert_eq!(header(&head, "content-type"), Some("audio/mpeg"), "{head}");
    while kept.received.len() < 2_000 {
        kept.read().await;
    }
    assert_eq!(kept.received[..4], mp3_frame()[..4]);
    drop(kept);
    server.close().await;
}

#[tokio::test]
async fn pipelined_requests_are_answered_in_order() {
    let server = TestServer::open(AUTH).await;
    let mut kept = Kept::open(&server).await;
    let all: String = (0..50)
        .map(|number| match number % 3 {
            0 => format!("GET /none-{number}/ HTTP/1.1\r\nHost: x\r\n\r\n"),
            1 => format!("HEAD /none-{number}/ HTTP/1.1\r\nHost: x\r\n\r\n"),
            _ => format!(
                "POST /none-{number}/whep HTTP/1.1\r\nHost: x\r\nContent-Type: application/sdp\r\n\
                 Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
            ),
        })
        .collect();
    kept.send(&all).await;
    for number in 0..50 {
        let (method, expected) = [("GET", 404), ("HEAD", 404), ("POST", 400)][number % 3];
        let answer = kept.answer(method).await;
        assert_eq!(status(&answer), expected, "{number}: {answer}");
        let is_named = answer.contains(&format!("none-{number}"));
        assert_eq!(is_named, method == "GET", "{number}: {answer}");
    }
    drop(kept);
    server.close().await;
}

#[tokio::test]
async fn old_clients_keep_a_connection_if_they_say_so() {
    let server = TestServer::open(AUTH).await;
    let mut kept = Kept::open(&server).await;
    let request = format!("GET {ICON} HTTP/1.0\r\n");
    for _ in 0..3 {
        kept.send(&format!("{request}Connection: Keep-Alive\r\n\r\n"))
            .await;
        let answer = kept.answer("GET").await;
        assert!(answer.starts_with("HTTP/1.0 200 OK\r\n"), "{answer}");
        assert_eq!(header(&answer, "connection"), Some("keep-alive"));
    }
    kept.send(&format!("{request}\r\n")).await;
    let answer = kept.answer("GET").await;
    assert_eq!(header(&answer, "connection"), Some("close"));
    kept.is_closed().await;
    let mut kept = Kept::open(&server).await;
    let answer = kept.ask("GET", ICON, "Connection: close\r\n").await;
    assert_eq!(header(&answer, "connection"), Some("close"));
    kept.is_closed().await;
    server.close().await;
}

#[tokio::test]
async fn answers_without_a_body_leave_the_connection_in_step() {
    let server = TestServer::open(AUTH).await;
    let mut kept = Kept::open(&server).await;
    let page = kept.ask("GET", "/", "").await;
    let head = kept.ask("HEAD", "/", "").await;
    let length = |answer: &str| header(answer, "content-length").map(ToOwned::to_owned);
    assert_eq!((status(&head), length(&head)), (200, length(&page)));
    let preflight = kept.ask("OPTIONS", "/", "Origin: http://y\r\n").await;
    assert_eq!((status(&preflight), length(&preflight)), (204, None));
    assert_eq!(header(&preflight, "access-control-allow-origin"), Some("*"));
    let icon = kept.ask("GET", ICON, "").await;
    let tag = header(&icon, "etag").expect("a tag");
    let known = format!("If-None-Match: {tag}\r\n");
    let same = kept.ask("GET", ICON, &known).await;
    assert_eq!((status(&same), body(&same)), (304, ""), "{same}");
    let probe = kept.ask("GET", "/live/show/whep", "").await;
    assert_eq!((status(&probe), length(&probe)), (204, None), "{probe}");
    let session = format!("/live/show/whep/{}", "0".repeat(32));
    let missing = kept.ask("DELETE", &session, "").await;
    assert_eq!(status(&missing), 404, "{missing}");
    let wrong = kept.ask("POST", "/", "Content-Length: 0\r\n").await;
    let allowed = header(&wrong, "allow");
    assert_eq!((status(&wrong), allowed), (405, Some("GET, HEAD, OPTIONS")));
    assert_eq!(status(&kept.ask("GET", "/", "").await), 200);
    drop(kept);
    server.close().await;
}

#[tokio::test]
async fn bodies_are_asked_for_where_they_are_read() {
    let server = TestServer::open(AUTH).await;
    let mut kept = Kept::open(&server).await;
    let (sdp, whep) = ("Content-Type: application/sdp\r\n", "/live/show/whep");
    let head = format!("{sdp}Content-Length: 5\r\nExpect: 100-continue\r\n");
    let interim = kept.ask("POST", whep, &head).await;
    assert_eq!(status(&interim), 100, "{interim}");
    kept.send("hello").await;
    assert_eq!(status(&kept.answer("POST").await), 400);
    // A body that no page reads comes between two requests.
    let with_body = "Content-Length: 5\r\n\r\nhello";
    let answer = kept.ask("GET", ICON, with_body).await;
    assert_eq!(status(&answer), 200, "{answer}");
    let long = format!("{sdp}Content-Length: 100000\r\n\r\n") + &"v".repeat(100_000 - 2);
    assert_eq!(status(&kept.ask("POST", whep, &long).await), 413);
    let answer = kept.ask("GET", ICON, &head).await;
    // Whether the body comes is unknown.
    assert_eq!(header(&answer, "connection"), Some("close"));
    kept.is_closed().await;

    let mut kept = Kept::open(&server).await;
    let endless = format!("{sdp}Content-Length: 1000000000\r\n\r\n") + &"v".repeat(300_000);
    let answer = kept.ask("POST", whep, &endless).await;
    let closes = header(&answer, "connection") == Some("close");
    assert!(status(&answer) == 413 && closes, "{answer}");

    let mut kept = Kept::open(&server).await;
    kept.send("POST /live/show/whep HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhe")
        .await;
    kept.socket.shutdown().await.expect("half closed");
    assert_eq!(status(&kept.answer("POST").await), 400);
    server.close().await;
}

#[tokio::test]
async fn an_idle_connection_ends_after_a_while() {
    let server = TestServer::open(AUTH).await;
    let mut kept = Kept::open(&server).await;
    assert_eq!(idle_connections(&server).await, 0.0, "it has asked nothing");
    kept.icon().await;
    while idle_connections(&server).await != 1.0 {
        tokio::task::yield_now().await;
    }
    // An empty line after a request does not begin another.
    kept.send("\r\n").await;
    while has_connections(&server).await {
        pass(IDLE).await;
    }
    assert_eq!(idle_connections(&server).await, 0.0);
    kept.is_closed().await;
    server.close().await;
}

#[tokio::test]
async fn idle_connections_end_when_the_server_leaves() {
    let (server, _source) = TestServer::on_air(AUTH).await;
    let listener = listening(&server, "radio.mp3").await;
    let mut kept = Kept::open(&server).await;
    kept.icon().await;
    let (hurry, ended) = server.leave();
    kept.is_closed().await;
    drop((hurry, listener));
    soon(ended).await.expect("no panic");
}

#[tokio::test]
async fn slow_senders_are_given_up() {
    let server = TestServer::open(AUTH).await;
    for begun in [
        "GET / HTTP/1.1\r\nHost:",
        "POST /live/show/whep HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhe",
        "POST /live/show/whep HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhe",
    ] {
        let mut kept = Kept::open(&server).await;
        kept.icon().await;
        kept.send(begun).await;
        // One second at a time, so that the server reads what was sent before the deadline.
        while kept.socket.try_read_buf(&mut kept.received).is_err() {
            pass(Duration::from_secs(1)).await;
            ask(server.admin, "GET", "/livez", "").await;
        }
        let answer = kept.answer("POST").await;
        assert_eq!(status(&answer), 408, "{begun:?}: {answer}");
        kept.is_closed().await;
    }
    server.close().await;
}

#[tokio::test]
async fn clients_that_read_nothing_are_given_up() {
    let server = TestServer::open(AUTH).await;
    let mut kept = Kept::open(&server).await;
    let request = "GET /_/mpegts.js HTTP/1.1\r\nHost: x\r\n\r\n";
    // More than a socket's buffers take.
    kept.send(&request.repeat(300)).await;
    while has_connections(&server).await {
        pass(Duration::from_secs(10)).await;
    }
    drop(kept);
    server.close().await;
}

#[tokio::test]
async fn idle_connections_make_room_for_new_ones_of_their_address() {
    let server = TestServer::open(&format!("{AUTH}[limits]\nper_ip = 2\n")).await;
    let mut first = Kept::open(&server).await;
    let mut second = Kept::open(&server).await;
    first.icon().await;
    second.icon().await;
    // Both become idle soon; until then none gives way.
    let mut third = loop {
        let mut third = Kept::open(&server).await;
        let answer = third.ask("GET", ICON, "").await;
        if status(&answer) == 200 {
            break third;
        }
        assert_eq!(status(&answer), 429, "{answer}");
    };
    first.is_closed().await;
    // The newer ones stay.
    second.icon().await;
    third.icon().await;
    server.close().await;
}

#[tokio::test]
async fn each_request_through_a_proxy_is_its_clients() {
    let http = "[http]\nlisten = [\"127.0.0.1:0\"]\ntrusted_proxies = [\"127.0.0.0/8\"]\n";
    let limits = "[limits]\nper_ip = 1\n";
    let (server, _source) = TestServer::on_air(&format!("{http}{AUTH}{limits}")).await;
    let head = b"GET /radio.mp3 HTTP/1.0\r\nX-Forwarded-For: 192.0.2.1\r\n\r\n";
    let mut listener = saying(server.http, head).await;
    read_until(&mut listener, "200 OK").await;
    let mut proxy = Kept::open(&server).await;
    for (host, expected) in [(2, 200), (3, 200), (2, 200), (1, 429)] {
        let client = format!("X-Forwarded-For: 192.0.2.{host}\r\n");
        let answer = proxy.ask("GET", ICON, &client).await;
        assert_eq!(status(&answer), expected, "{host}: {answer}");
    }
    proxy.is_closed().await;
    server.close().await;
}
