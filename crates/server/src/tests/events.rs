//! The event stream of the operator's port.

use std::collections::VecDeque;

use ::operator::EVENT_STREAMS_MAX;
use fanout::events::{EventKind, RECENT_MAX};
use serde_json::Value;

use super::*;

/// A client of an event stream.
struct Follower {
    socket: TcpStream,
    head: String,
    /// Bytes that were read and are not yet an event.
    text: String,
    events: VecDeque<(String, Value)>,
}

impl Follower {
    async fn open(server: &TestServer, query: &str, headers: &str) -> Self {
        Self::on(connect(server.admin).await, server, query, headers).await
    }

    async fn on(mut socket: TcpStream, server: &TestServer, query: &str, headers: &str) -> Self {
        let host = server.admin;
        let request =
            format!("GET /api/v1/events{query} HTTP/1.1\r\nHost: {host}\r\n{headers}\r\n");
        socket.write_all(request.as_bytes()).await.expect("written");
        let mut follower = Self {
            socket,
            head: String::new(),
            text: String::new(),
            events: VecDeque::new(),
        };
        while follower.head.is_empty() {
            follower.read().await.expect("an answer");
        }
        follower
    }

    /// Reads once. `None` at the end.
    async fn read(&mut self) -> Option<()> {
        let mut bytes = vec![0; 64 * 1024];
        let count = soon(self.socket.read(&mut bytes)).await.expect("read");
        // All events here are ASCII.
        self.text
            .push_str(std::str::from_utf8(&bytes[..count]).expect("text"));
        if self.head.is_empty()
            && let Some((head, rest)) = self.text.split_once("\r\n\r\n")
        {
            (self.head, self.text) = (head.to_owned(), rest.to_owned());
        }
        (count > 0).then_some(())
    }

    /// The next event's kind and data; `None` at the end.
    async fn next(&mut self) -> Option<(String, Value)> {
        loop {
            // Chunks contain whole events, so their sizes come between events.
            while let Some((event, rest)) = self.text.split_once("\n\n") {
                let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name));
                if let Some(kind) = field("event: ") {
                    let data = field("data: ").expect("data");
                    let mut data: Value = serde_json::from_str(data).expect("JSON");
                    data["id"] = field("id: ").expect("an id").into();
                    self.events.push_back((kind.to_owned(), data));
                }
                self.text = rest.to_owned();
            }
            if let Some(event) = self.events.pop_front() {
                return Some(event);
            }
            self.read().await?;
        }
    }

    /// The next event, which must be of this kind.
    async fn expect(&mut self, kind: &str) -> Value {
        let (found, data) = self.next().await.expect("an event");
        assert_eq!(found, kind, "{data}");
        data
    }
}

/// Publishes and listens for a moment, with a title in between; then ends the stream.
async fn broadcast(server: &TestServer, follower: &mut Follower) -> Vec<Value> {
    let mut all = Vec::new();
    let source = server.publish("radio.mp3").await;
    for kind in ["began", "epoch", "tracks"] {
        all.push(follower.expect(kind).await);
    }
    set_title(server, "radio.mp3", "Noon").await;
    all.push(follower.expect("title").await);
    let listener = listening(server, "radio.mp3").await;
    all.push(follower.expect("listener_joined").await);
    drop(listener);
    all.push(follower.expect("listener_left").await);
    drop(source);
    all.push(follower.expect("publisher_left").await);
    let path = "/api/v1/streams/radio.mp3";
    answered(server.admin, "DELETE", path, "", 204).await;
    all.push(follower.expect("ended").await);
    all
}

#[tokio::test]
async fn a_broadcast_is_reported_from_its_beginning_to_its_end() {
    let server = TestServer::open(AUTH).await;
    let mut follower = Follower::open(&server, "?stream=*.mp3", "").await;
    for (name, expected) in [
        ("content-type", "text/event-stream"),
        ("cache-control", "no-store"),
        ("x-accel-buffering", "no"),
    ] {
        assert_eq!(header(&follower.head, name), Some(expected));
    }
    let all = broadcast(&server, &mut follower).await;
    let [_, epoch, tracks, title, joined, left, away, ended] = &all[..] else {
        unreachable!("{all:?}");
    };
    assert_eq!(epoch["epoch"], 1);
    assert_eq!(epoch["protocol"], "icecast");
    assert_eq!(tracks["tracks"][0]["codec"], "mp3");
    assert_eq!(title["title"], "Noon");
    assert_eq!(joined["listener"], left["listener"]);
    assert_eq!(joined["protocol"], "http");
    assert_eq!(left["reason"], "left");
    assert!(left["bytes"].as_u64() > Some(0), "{left}");
    assert_eq!(away["linger_seconds"], 15.0);
    assert_eq!(ended["reason"], "operator");
    for (event, next) in all.iter().zip(&all[1..]) {
        assert_eq!(event["stream"], "radio.mp3");
        let number = |event: &Value| event["sequence"].as_u64();
        assert!(number(event) < number(next));
        assert_eq!(event["id"].as_str(), Some(&*event["sequence"].to_string()));
    }

    // A client that comes later, after the last event it has seen, receives the same events.
    let last = tracks["id"].as_str().expect("an id");
    let headers = format!("Last-Event-ID: {last}\r\n");
    let mut later = Follower::open(&server, "?stream=radio.mp3&kind=title,ended", &headers).await;
    assert_eq!(&later.expect("title").await, title);
    assert_eq!(&later.expect("ended").await, ended);
    server.close().await;
}

#[tokio::test]
async fn refusals_are_reported() {
    let server = TestServer::open(AUTH).await;
    let mut follower = Follower::open(&server, "?kind=refused", "").await;
    let headers = authorization("source", "not-the-key") + "Content-Type: audio/mpeg\r\n";
    answered(server.http, "PUT", "/radio.mp3", &headers, 401).await;
    let reported = follower.expect("refused").await;
    assert_eq!(reported["reason"], "credential_wrong");
    assert_eq!(reported["protocol"], "icecast");
    assert_eq!(reported["stream"], "radio.mp3");
    let peer = reported["peer"].as_str().expect("an address");
    assert!(peer.starts_with("127.0.0.1:"), "{peer}");
    let broken = exchange(server.rtmp, b"GET / HTTP/1.1\r\n\r\n").await;
    assert!(broken.starts_with("HTTP/1.1 "), "{broken}");
    assert_eq!(follower.expect("refused").await["reason"], "wrong_protocol");
    server.close().await;
}

#[tokio::test]
async fn a_reader_that_stops_holds_nothing_up_and_learns_what_it_missed() {
    let server = TestServer::open(AUTH).await;
    let socket = tokio::net::TcpSocket::new_v4().expect("a socket");
    socket.set_recv_buffer_size(4_096).expect("set");
    let socket = socket.connect(server.admin).await.expect("connected");
    let mut idle = Follower::on(socket, &server, "?kind=title", "").await;
    let mut keen = Follower::open(&server, "?kind=began", "").await;
    let events = Arc::clone(server.registry.fanout().events());
    // Far more than its connection and the recent events hold.
    let (text, url) = ("x".repeat(4_000), String::new());
    let title = Arc::new(media::Title { text, url });
    for _ in 0..4 * RECENT_MAX {
        let title = Some(Arc::clone(&title));
        events.emit(None, EventKind::TitleChanged { title });
        // Lets the connections' tasks fill their buffers.
        tokio::task::yield_now().await;
    }
    events.emit(None, EventKind::Began);
    loop {
        // It reads at its own pace, and may itself have missed some.
        let (kind, _) = keen.next().await.expect("an event");
        match kind.as_str() {
            "began" => break,
            other => assert_eq!(other, "missed"),
        }
    }
    let mut last = None;
    let missed = loop {
        let (kind, data) = idle.next().await.expect("an event");
        if kind == "missed" {
            break data;
        }
        last = data["sequence"].as_u64();
    };
    let count = missed["count"].as_u64().expect("a number");
    let before = last.expect("some were in time");
    let reached = missed["id"].as_str().expect("an id");
    let reached: u64 = reached.parse().expect("a number");
    assert_eq!(before + count, reached);
    let next = idle.expect("title").await;
    assert_eq!(next["sequence"].as_u64(), Some(reached + 1));
    server.close().await;
}

#[tokio::test]
async fn event_streams_are_bounded_and_leave_room_for_other_requests() {
    let server = TestServer::open(AUTH).await;
    let mut all = Vec::new();
    for _ in 0..EVENT_STREAMS_MAX {
        let follower = Follower::open(&server, "", "").await;
        assert_eq!(status(&follower.head), 200);
        all.push(follower);
    }
    answered(server.admin, "GET", "/api/v1/events", "", 503).await;
    // Idle connections do not evict event streams, nor those the scrapers.
    let mut idle = Vec::new();
    for _ in 0..150 {
        idle.push(connect(server.admin).await);
    }
    assert_eq!(status(&ask(server.admin, "GET", "/livez", "").await), 200);
    let events = server.registry.fanout().events();
    events.emit(None, EventKind::Began);
    for follower in &mut all {
        follower.expect("began").await;
    }
    // One that leaves makes room for another.
    drop(all.pop());
    let room = async { while status(&Follower::open(&server, "", "").await.head) != 200 {} };
    soon(room).await;
    server.close().await;
}

#[tokio::test]
async fn event_streams_are_asked_for_in_order() {
    let server = TestServer::open("[auth]\nadmin_password = \"tower-warden-77\"\n").await;
    let right = authorization("admin", PASSWORD);
    let wrong = authorization("admin", "guess");
    let bad_id = format!("{right}Last-Event-ID: noon\r\n");
    for (method, query, headers, expected) in [
        ("GET", "", "", 401),
        ("GET", "", &wrong, 401),
        ("HEAD", "", right.as_str(), 200),
        ("POST", "", &right, 405),
        ("GET", "?kind=over", &right, 400),
        ("GET", "?stream=%2F", &right, 400),
        ("GET", "", &bad_id, 400),
    ] {
        let path = format!("/api/v1/events{query}");
        let answer = answered(server.admin, method, &path, headers, expected).await;
        if expected == 405 {
            assert_eq!(header(&answer, "allow"), Some("GET,HEAD"));
        }
    }
    server.close().await;
}

#[tokio::test]
async fn an_event_stream_ends_with_the_server_after_it_has_reported_the_end() {
    let (server, source) = TestServer::on_air(AUTH).await;
    let mut follower = Follower::open(&server, "?kind=ended", "").await;
    let ((), (ended, rest)) = tokio::join!(server.close(), async {
        let ended = follower.expect("ended").await;
        (ended, follower.next().await)
    });
    assert_eq!(ended["reason"], "shutdown");
    assert!(rest.is_none(), "{rest:?}");
    drop(source);
}
