//! A relay on ports of the system's choosing, and clients that are plain sockets.

mod admission;
mod anonymous;
pub(crate) mod authorities;
mod doors;
mod events;
mod gate;
mod held;
mod hooks;
mod keep_alive;
mod lifecycle;
mod links;
mod operator;
mod pages;
pub(crate) mod permissions;
mod private;
mod rtc;
mod secure;
mod smuggling;
mod strangers;
mod upgrades;
mod variants;
mod viewer;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use auth::Authority;
use config::Config;
use limits::Marks;
use net::tls::testing::TestTls;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::ports::Port;
use crate::relay::Relay;

/// For anything that should happen at once.
const SOON: Duration = Duration::from_secs(60);

/// Configuration of most tests.
const AUTH: &str = "[auth]\npublish_key = \"bells-at-noon-41\"\n";

const KEY: &str = "bells-at-noon-41";
const PASSWORD: &str = "tower-warden-77";

/// A frame of MPEG-1 layer III, 128 kbit/s at 44.1 kHz: 417 bytes that hold silence.
fn mp3_frame() -> Vec<u8> {
    let mut frame = vec![0xff, 0xfb, 0x90, 0x00];
    frame.resize(417, 0);
    frame
}

/// A running relay. It ends on request.
struct TestServer {
    rtmp: SocketAddr,
    http: SocketAddr,
    admin: SocketAddr,
    https: Option<SocketAddr>,
    rtmps: Option<SocketAddr>,
    notice: String,
    registry: Arc<fanout::Registry>,
    ingest: Arc<ingest::Context>,
    shutdown: oneshot::Sender<()>,
    hurry: oneshot::Sender<()>,
    ended: JoinHandle<()>,
}

impl TestServer {
    async fn open(toml: &str) -> Self {
        Self::start("", toml, |relay| relay).await
    }

    /// With an authority instead of the keys.
    async fn guarded(toml: &str, authority: Arc<dyn Authority>) -> Self {
        let relay = Self::load("", toml).with_authority(authority);
        Self::run(relay).await
    }

    /// With keys before all sections.
    async fn open_before(keys: &str, toml: &str) -> Self {
        Self::start(keys, toml, |relay| relay).await
    }

    async fn open_with_demo(toml: &str) -> Self {
        Self::start("", toml, |relay| relay.with_demo(true)).await
    }

    /// With the stream `radio.mp3`, and its source.
    async fn on_air(toml: &str) -> (Self, TcpStream) {
        let server = Self::open(toml).await;
        let source = server.publish("radio.mp3").await;
        (server, source)
    }

    /// With the demo and other marks for refusing new listeners.
    async fn open_with_demo_and_marks(marks: Marks) -> Self {
        let change = |relay: Relay| relay.with_demo(true).with_marks(marks);
        Self::start("", "", change).await
    }

    async fn start(keys: &str, toml: &str, change: impl FnOnce(Relay) -> Relay) -> Self {
        Self::run(change(Self::load(keys, toml))).await
    }

    fn load(keys: &str, toml: &str) -> Relay {
        let mut source = format!("{keys}[admin]\nlisten = \"127.0.0.1:0\"\n");
        for section in [
            "[rtmp]\nlisten = [\"127.0.0.1:0\"]\n",
            "[http]\nlisten = [\"127.0.0.1:0\"]\n",
            "[webrtc]\nlisten = \"127.0.0.1:0\"\n",
        ] {
            let (name, _) = section.split_once('\n').expect("a line");
            if !toml.contains(name) {
                source.push_str(section);
            }
        }
        source.push_str(toml);
        let config = Config::parse("test", &source, std::iter::empty()).expect("valid");
        Relay::load(config).expect("loaded")
    }

    async fn run(relay: Relay) -> Self {
        let running = relay.start().await.expect("started");
        let address = |port| running.address(port).expect("bound");
        let (shutdown, shut) = oneshot::channel();
        let (hurry, hurried) = oneshot::channel();
        Self {
            rtmp: address(Port::Rtmp),
            http: address(Port::Http),
            admin: address(Port::Admin),
            https: running.address(Port::Https),
            rtmps: running.address(Port::Rtmps),
            notice: running.notice().to_owned(),
            registry: Arc::clone(running.registry()),
            ingest: Arc::clone(running.ingest()),
            shutdown,
            hurry,
            ended: tokio::spawn(running.run_until(shut, hurried)),
        }
    }

    /// Asks the relay to end and waits for it.
    async fn close(self) {
        drop((self.shutdown, self.hurry));
        soon(self.ended).await.expect("no panic");
    }

    /// Asks the relay to end. What is returned hurries it when dropped, and ends with it.
    fn leave(self) -> (oneshot::Sender<()>, JoinHandle<()>) {
        drop(self.shutdown);
        (self.hurry, self.ended)
    }

    /// Publishes `name` as an Icecast source and writes half a second of it.
    async fn publish(&self, name: &str) -> TcpStream {
        let head = format!(
            "PUT /{name} HTTP/1.1\r\nHost: x\r\n{}\
             Content-Type: audio/mpeg\r\nice-name: <b>Tower</b>\r\n\r\n",
            authorization("source", KEY)
        );
        let mut source = saying(self.http, head.as_bytes()).await;
        assert_eq!(hear(&mut source, 12).await, b"HTTP/1.1 200");
        let sent = source.write_all(&mp3_frame().repeat(20)).await;
        sent.expect("written");
        source
    }

    /// The answer of the public port to a plain request, which must have this status.
    async fn get(&self, path: &str, expected: u16) -> String {
        answered(self.http, "GET", path, "", expected).await
    }
}

/// Waits for what should happen at once.
async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(SOON, what).await.expect("in time")
}

/// Tries until something is found, which should happen at once.
async fn found<T>(what: &str, mut tried: impl AsyncFnMut() -> Option<T>) -> T {
    let found = async {
        loop {
            if let Some(found) = tried().await {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let found = tokio::time::timeout(SOON, found).await;
    found.unwrap_or_else(|_| panic!("{what} does not come"))
}

/// Waits until something holds.
async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    found(what, async || holds().await.then_some(())).await;
}

/// A certificate for `localhost`, in files, and the keys of [http] that name them.
fn certificate(folder: &Path) -> (TestTls, String) {
    let made = TestTls::new();
    let (chain, key) = (folder.join("cert.pem"), folder.join("key.pem"));
    std::fs::write(&chain, &made.certificate).expect("written");
    std::fs::write(&key, &made.key).expect("written");
    let keys = format!("certificate = {chain:?}\nprivate_key = {key:?}\n");
    (made, keys)
}

async fn connect(address: SocketAddr) -> TcpStream {
    TcpStream::connect(address).await.expect("connected")
}

/// Connects, and sends these bytes.
async fn saying(address: SocketAddr, bytes: &[u8]) -> TcpStream {
    let mut socket = connect(address).await;
    socket.write_all(bytes).await.expect("written");
    socket
}

/// Connects from another loopback address.
async fn connect_from(host: u8, address: SocketAddr) -> TcpStream {
    let socket = tokio::net::TcpSocket::new_v4().expect("a socket");
    let here = SocketAddr::from(([127, 0, 0, host], 0));
    socket.bind(here).expect("an address of the loopback");
    socket.connect(address).await.expect("connected")
}

/// Waits until the server has closed the connection.
async fn read_end(socket: &mut TcpStream) {
    let mut rest = Vec::new();
    // A connection that is closed with unread bytes is reset.
    soon(socket.read_to_end(&mut rest)).await.ok();
}

/// Whether the server has not closed the connection.
fn is_open(socket: &TcpStream) -> bool {
    let read = socket.try_read(&mut [0; 1]);
    read.is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock)
}

fn basic(user: &str, password: &str) -> String {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.encode(format!("{user}:{password}"))
}

/// The header with a user's password.
fn authorization(user: &str, password: &str) -> String {
    format!("Authorization: Basic {}\r\n", basic(user, password))
}

/// Sends bytes and reads until the server closes.
async fn exchange(address: SocketAddr, request: &[u8]) -> String {
    read_all(&mut saying(address, request).await).await
}

/// Reads until `words` have arrived.
async fn read_until(socket: &mut (impl AsyncRead + Unpin), words: &str) {
    let mut heard = Vec::new();
    let read = async {
        while !String::from_utf8_lossy(&heard).contains(words) {
            let count = socket.read_buf(&mut heard).await.expect("read");
            assert_ne!(count, 0, "closed before {words} was said");
        }
    };
    soon(read).await;
}

async fn read_all(socket: &mut (impl AsyncRead + Unpin)) -> String {
    let mut answer = Vec::new();
    let read = soon(socket.read_to_end(&mut answer)).await;
    read.expect("closed in order");
    String::from_utf8_lossy(&answer).into_owned()
}

/// Begins to listen, and waits until it is let in.
async fn listening(server: &TestServer, path: &str) -> TcpStream {
    let head = format!("GET /{path} HTTP/1.0\r\n\r\n");
    let mut listener = saying(server.http, head.as_bytes()).await;
    read_until(&mut listener, " 200 OK\r\n").await;
    listener
}

/// Reads this many bytes of what a listener hears.
async fn hear(listener: &mut (impl AsyncRead + Unpin), bytes: usize) -> Vec<u8> {
    let mut heard = vec![0; bytes];
    let read = soon(listener.read_exact(&mut heard)).await;
    read.expect("a stream");
    heard
}

/// One request with some headers.
async fn ask(address: SocketAddr, method: &str, path: &str, headers: &str) -> String {
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{headers}\r\n"
    );
    exchange(address, request.as_bytes()).await
}

/// The answer to such a request, which must have this status.
async fn answered(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &str,
    expected: u16,
) -> String {
    let answer = ask(address, method, path, headers).await;
    assert_eq!(status(&answer), expected, "{method} {path}: {answer}");
    answer
}

/// Asserts that a text has all these parts.
pub(crate) fn assert_has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in {text}");
    }
}

/// Asserts that the metrics have these lines.
async fn assert_counted(server: &TestServer, lines: &[&str]) {
    assert_has(&ask(server.admin, "GET", "/metrics", "").await, lines);
}

/// Sets the title of a stream by the key of its source.
async fn set_title(server: &TestServer, stream: &str, title: &str) {
    let path = format!("/admin/metadata?mode=updinfo&mount=/{stream}&song={title}");
    let headers = authorization("source", KEY);
    answered(server.http, "GET", &path, &headers, 200).await;
}

/// Asks until the answer is as it should be.
async fn ask_until(
    server: &TestServer,
    path: &str,
    headers: &str,
    fits: impl Fn(&str) -> bool,
) -> String {
    found(path, async || {
        let answer = ask(server.http, "GET", path, headers).await;
        fits(&answer).then_some(answer)
    })
    .await
}

/// The status of an answer.
fn status(answer: &str) -> u16 {
    let word = answer.split(' ').nth(1).unwrap_or_default();
    word.parse()
        .unwrap_or_else(|_| panic!("no status in {answer:?}"))
}

fn header<'a>(answer: &'a str, name: &str) -> Option<&'a str> {
    let head = answer.split("\r\n\r\n").next()?;
    head.lines().skip(1).find_map(|line| {
        let (key, value) = line.split_once(':')?;
        key.eq_ignore_ascii_case(name).then(|| value.trim())
    })
}

fn body(answer: &str) -> &str {
    answer.split_once("\r\n\r\n").map_or("", |(_, body)| body)
}

/// The document that an answer has.
fn json(answer: &str) -> serde_json::Value {
    serde_json::from_str(body(answer)).unwrap_or_else(|_| panic!("no JSON in {answer}"))
}
