//! Connections that threads carry: the answers to viewers there, and what goes back to their tasks.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use base::holdings::Kind;
use http::{HeaderMap, HeaderValue};
use media::StreamName;
use tokio::task::JoinHandle;

use super::{TestServer, attribute, body, name, play, tags, text};
use crate::Resource;
use crate::threads::{Carried, RequestThreads, Site};

/// For anything that is to come.
const DEADLINE: Duration = Duration::from_secs(20);

/// Follows each target.
const TAIL: &str = " HTTP/1.1\r\nHost: h\r\nUser-Agent: player\r\n\r\n";

/// A server that may be about to leave.
#[derive(Default)]
struct TestSite(AtomicBool);

impl Site for TestSite {
    fn resource(&self, path: &str) -> Option<(StreamName, Resource)> {
        let (stream, resource) = Resource::of(path)?;
        Some((name(stream), resource))
    }

    fn headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert("x-server", HeaderValue::from_static("test"));
        headers
    }

    fn is_leaving(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

struct Threads {
    site: Arc<TestSite>,
    threads: Arc<RequestThreads>,
}

/// A client of a connection that is carried.
struct Client {
    socket: TcpStream,
    task: JoinHandle<Option<Carried>>,
}

impl Threads {
    fn start(server: &TestServer) -> Self {
        let site = Arc::new(TestSite::default());
        let shown: Arc<dyn Site> = Arc::clone(&site) as _;
        let threads = RequestThreads::start(1, &server.context, &shown).expect("a thread");
        Self {
            site,
            threads: Arc::new(threads),
        }
    }

    /// Carries a connection of which `unread` has been read.
    fn carry(&self, unread: &str) -> Client {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let address = listener.local_addr().expect("an address");
        let socket = TcpStream::connect(address).expect("a connection");
        socket.set_read_timeout(Some(DEADLINE)).expect("a timeout");
        let (near, peer) = listener.accept().expect("a connection");
        let carried = Carried {
            socket: near,
            unread: unread.into(),
            peer,
            until: Instant::now() + Duration::from_secs(3_600),
        };
        let threads = Arc::clone(&self.threads);
        let task = tokio::spawn(async move { threads.carry(carried).await });
        Client { socket, task }
    }
}

impl Client {
    fn send(&mut self, target: &str) {
        let request = format!("GET {target}{TAIL}");
        self.socket.write_all(request.as_bytes()).expect("room");
    }

    /// Head and body of the next answer.
    fn answer(&mut self) -> (String, Vec<u8>) {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            self.socket.read_exact(&mut byte).expect("a head");
            head.push(byte[0]);
        }
        let head = String::from_utf8(head).expect("text");
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("Content-Length: "));
        let length = length.expect("a length").parse().expect("a number");
        let mut body = vec![0; length];
        self.socket.read_exact(&mut body).expect("a body");
        (head, body)
    }

    async fn returned(self) -> Option<String> {
        let carried = tokio::time::timeout(DEADLINE, self.task).await;
        let carried = carried.expect("in time").expect("no panic")?;
        Some(String::from_utf8(carried.unread).expect("text"))
    }
}

/// A server with twelve seconds of audio, its publisher, and its newest playlist.
async fn playing() -> (TestServer, fanout::Publisher, String) {
    let (server, mut publisher) = super::playing("live/show", 1_000);
    server.text("/live/show/hls/live.m3u8?_parts").await;
    play(&mut publisher, 1_000, 13_000);
    let listing = server.text("/live/show/hls/live.m3u8").await;
    (server, publisher, listing)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_there_is_answered_as_by_a_task() {
    let (server, _publisher, listing) = playing().await;
    let threads = Threads::start(&server);
    let mut client = threads.carry("");
    let part = attribute(tags(&listing, "#EXT-X-PART")[0], "URI");
    let init = attribute(tags(&listing, "#EXT-X-MAP")[0], "URI");
    let targets = ["live.m3u8", part, init].map(|file| format!("/live/show/hls/{file}"));
    // All at once: one answer follows the other.
    for target in &targets {
        client.send(target);
    }
    for target in &targets {
        let (head, found) = client.answer();
        let expected = server.ask(target).await;
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
        assert!(head.contains("x-server: test\r\n"), "{head}");
        for (name, value) in &expected.headers {
            let line = format!("{name}: {}\r\n", value.to_str().expect("text"));
            assert!(head.contains(&line), "{line} is not in {head}");
        }
        assert_eq!(found, body(&expected), "{target}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn all_who_wait_for_a_part_get_it() {
    let (server, mut publisher, listing) = playing().await;
    let threads = Threads::start(&server);
    let hint = attribute(tags(&listing, "#EXT-X-PRELOAD-HINT")[0], "URI");
    let (number, part) = hint
        .trim_end_matches(".m4s")
        .split_once('.')
        .expect("a part");
    let reload = format!("/live/show/hls/live.m3u8?_HLS_msn={number}&_HLS_part={part}");
    let hint = format!("/live/show/hls/{hint}");
    let mut clients: Vec<_> = (0..20).map(|_| threads.carry("")).collect();
    for (index, client) in clients.iter_mut().enumerate() {
        client.send(if index % 2 == 0 { &hint } else { &reload });
    }
    // One of them leaves meanwhile.
    let Client { socket, task } = clients.swap_remove(0);
    drop(socket);
    let returned = tokio::time::timeout(DEADLINE, task).await.expect("in time");
    assert!(returned.expect("no panic").is_none());
    play(&mut publisher, 13_000, 15_000);
    let (part, listing) = (server.ask(&hint).await, server.ask(&reload).await);
    let mut playlists = 0;
    for client in &mut clients {
        let (head, found) = client.answer();
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
        if head.contains("mpegurl") {
            playlists += 1;
            let found = String::from_utf8(found).expect("text");
            let line = format!("URI=\"{}\"", hint.rsplit('/').next().expect("a name"));
            assert!(found.contains(&line) && text(&listing).contains(&line));
        } else {
            assert_eq!(found, body(&part));
        }
    }
    assert_eq!(playlists, 10);
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_that_nobody_will_ask_for_again_are_let_go_of() {
    let (server, _publisher, _) = playing().await;
    let threads = Threads::start(&server);
    let mut client = threads.carry("");
    let held = |kind| server.context.holdings.bytes(kind);
    for viewer in 0..50 {
        let target = format!("/live/show/hls/live.m3u8?k={viewer}");
        let expected = server.text(&target).await;
        client.send(&target);
        let (_, found) = client.answer();
        assert_eq!(String::from_utf8(found).as_deref(), Ok(&expected[..]));
    }
    let begun = Instant::now();
    while held(Kind::Answers) > 0 {
        assert!(begun.elapsed() < DEADLINE, "{} bytes", held(Kind::Answers));
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    // A part of a head is counted while it is unread.
    client.socket.write_all(&[b'a'; 10_000]).expect("room");
    while held(Kind::Threads) < 10_000 {
        assert!(begun.elapsed() < DEADLINE, "{} bytes", held(Kind::Threads));
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_others_have_to_answer_goes_back_as_it_came() {
    let (server, _publisher, listing) = playing().await;
    let threads = Threads::start(&server);
    let missing = format!("GET /live/show/hls/9999.m4s{TAIL}");
    let page = format!("GET /live/show/{TAIL}");
    let multivariant = format!("GET /live/show/index.m3u8{TAIL}");
    let stranger =
        "GET /live/show/hls/live.m3u8 HTTP/1.1\r\nHost: h\r\nUser-Agent: x\r\n\r\n".to_owned();
    let last =
        "GET /live/show/hls/live.m3u8 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n".to_owned();
    let other = "\x16\x03\x01 no request\n".to_owned();
    for request in [missing, page, multivariant, stranger, last, other] {
        let mut client = threads.carry("");
        client.socket.write_all(request.as_bytes()).expect("room");
        assert_eq!(client.returned().await.as_deref(), Some(&request[..]));
        // The task has already read the bytes.
        let client = threads.carry(&request);
        assert_eq!(client.returned().await.as_deref(), Some(&request[..]));
    }
    // Behind one that is answered.
    let part = attribute(tags(&listing, "#EXT-X-PART")[0], "URI");
    let mut client = threads.carry("");
    client.send(&format!("/live/show/hls/{part}"));
    client.answer();
    client.send("/live/show/info.json");
    let expected = format!("GET /live/show/info.json{TAIL}");
    assert_eq!(client.returned().await, Some(expected));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_leaves_gets_its_connections_back() {
    let (server, _publisher, listing) = playing().await;
    let threads = Threads::start(&server);
    let hint = attribute(tags(&listing, "#EXT-X-PRELOAD-HINT")[0], "URI");
    let target = format!("/live/show/hls/{hint}");
    let (idle, mut waiting) = (threads.carry(""), threads.carry(""));
    waiting.send(&target);
    threads.site.0.store(true, Ordering::Relaxed);
    assert_eq!(idle.returned().await, Some(String::new()));
    let expected = format!("GET {target}{TAIL}");
    assert_eq!(waiting.returned().await, Some(expected));
}

/// The socket of a client that has been answered, and whose connection's task is gone.
fn abandoned(threads: &Threads) -> TcpStream {
    let mut client = threads.carry("");
    client.send("/live/show/hls/live.m3u8");
    client.answer();
    client.task.abort();
    client.socket
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_whose_task_is_gone_ends() {
    let (server, _publisher, _) = playing().await;
    let threads = Threads::start(&server);
    let mut socket = abandoned(&threads);
    assert_eq!(socket.read(&mut [0]).expect("an end"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn threads_end_with_the_last_who_may_call_them() {
    let (server, _publisher, _) = playing().await;
    let others = Arc::strong_count(&server.context);
    let threads = Threads::start(&server);
    // Each thread has the context until it ends.
    assert!(Arc::strong_count(&server.context) > others);
    let mut socket = abandoned(&threads);
    drop(threads);
    let begun = Instant::now();
    while Arc::strong_count(&server.context) > others {
        assert!(begun.elapsed() < DEADLINE, "a thread goes on");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(socket.read(&mut [0]).expect("an end"), 0);
}
