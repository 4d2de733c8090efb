//! Requests on real sockets, from the first byte of the answer to the listener's departure.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use fanout::{Expected, ListenerId, Located, Origin, Permit, Reason, Settings};
use http1::{Head, Status};
use media::{Codec, Container, Framing, Item, Kind, StreamName, Track, TrackId};
use net::TransportStream;
use net::tls::testing::TestTls;
use packagers::Extension;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_rustls::client::TlsStream;

use super::patience::CHECK_INTERVAL;
use super::{Context, LiveReply, Outcome, reply, serve};
use crate::listen::testing::{
    PASSWORD, TestServer, assert_same, audio_track, mp3_frame, mp3_items, name, no_burst, parse,
    published, read_head, sample, sockets, soon, until, video_track, write,
};
use crate::listen::{Target, addresses};

fn find(context: &Context, head: &Head) -> Target {
    Target::find(&head.path(), &context.registry).expect("the path of a stream")
}

fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: h\r\n\r\n")
}

/// Makes a request. Returns the client's end, and the request's outcome to come.
async fn ask(server: &TestServer, request: &str) -> (TcpStream, JoinHandle<Outcome>) {
    let (client, socket, peer) = sockets().await;
    (client, begin(server, request, socket, peer))
}

/// Serves a request on a connection.
fn begin<S: TransportStream + Sync>(
    server: &TestServer,
    request: &str,
    socket: S,
    peer: SocketAddr,
) -> JoinHandle<Outcome> {
    let (context, head) = (server.context.clone(), parse(request));
    let (target, permit) = (find(&context, &head), Permit::new(()));
    tokio::spawn(async move { serve(&context, socket, target, head, peer, permit).await })
}

/// Makes a request that becomes a listener.
async fn listen(server: &TestServer, request: &str) -> (TcpStream, ListenerId) {
    let (client, serving) = ask(server, request).await;
    match serving.await.unwrap() {
        Outcome::Listening(id) => (client, id),
        other => panic!("it may listen: {other:?}"),
    }
}

/// The whole answer to a request that does not become a listener.
async fn answer_to(server: &TestServer, request: &str) -> (Status, String) {
    let (mut client, serving) = ask(server, request).await;
    let mut bytes = Vec::new();
    soon(client.read_to_end(&mut bytes)).await.unwrap();
    drop(client);
    let outcome = serving.await.unwrap();
    let (status, sent) = match outcome {
        Outcome::Answered { status, bytes } => (status, bytes),
        other => panic!("it is answered: {other:?}"),
    };
    assert_eq!(sent, bytes.len());
    assert_eq!(server.context.registry.fanout().listeners(), 0);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    assert!(text.contains("Access-Control-Allow-Origin: *"), "{text}");
    assert!(text.contains("Connection: Close"), "{text}");
    (status, text)
}

async fn read_until(client: &mut (impl AsyncReadExt + Unpin), end: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    while !bytes.ends_with(end) {
        let count = soon(client.read_buf(&mut bytes)).await.unwrap();
        assert!(count > 0, "the stream goes on");
    }
    bytes
}

#[tokio::test]
async fn a_listener_is_recorded_without_its_key_and_leaves_with_a_reason() {
    let (server, mut publisher) = published(no_burst(), "secret/radio", Container::Mp3);
    let path = format!("/secret/radio?key={}", PASSWORD.replace(' ', "%20"));
    let request = format!("GET {path} HTTP/1.1\r\nUser-Agent: x\r\nIcy-MetaData: 1\r\n\r\n");
    let (mut client, id) = listen(&server, &request).await;
    let head = read_head(&mut client).await;
    assert!(head.starts_with("HTTP/1.0 200 OK\r\n") && head.contains("\r\nicy-metaint: 16000\r\n"));
    write(&mut publisher, &mp3_items(10));
    read_until(&mut client, &mp3_frame(9)).await;
    let directory = server.context.registry.fanout().directory();
    let record = directory.get(id).unwrap();
    assert_eq!(record.request, "GET /secret/radio HTTP/1.1");
    assert_eq!((&record.agent[..], record.format.name), ("x", "icy"));
    drop(client);
    let departure = server.departure();
    assert_eq!((departure.id, departure.reason), (id, Reason::Left));
}

#[tokio::test]
async fn a_listener_that_says_much_of_itself_is_recorded_in_few_words() {
    let (server, _publisher) = published(no_burst(), "radio", Container::Mp3);
    // Characters of two bytes, of which the limit would split one.
    let long = format!("x{}", "ö".repeat(1000));
    let request = format!("GET /radio HTTP/1.1\r\nUser-Agent: {long}\r\nReferer: {long}\r\n\r\n");
    let (_client, id) = listen(&server, &request).await;
    let directory = server.context.registry.fanout().directory();
    let record = directory.get(id).unwrap();
    for text in [&record.agent, &record.referer] {
        assert_eq!((text.len(), text.capacity()), (511, 511));
        assert!(long.starts_with(&text[..]));
    }
}

#[tokio::test]
async fn a_source_cannot_make_its_stream_a_page() {
    const OLD_OGG: &str = "application/x-ogg";
    const SCRIPT: &str = "application/javascript";
    const BYTES: &str = "application/octet-stream";
    let server = TestServer::new(Settings::default());
    let mut publishers = Vec::new();
    for (path, container, content_type, expected) in [
        ("page", Container::Other, "text/html", BYTES),
        ("svg", Container::Other, "image/svg+xml", BYTES),
        ("old", Container::Ogg, OLD_OGG, OLD_OGG),
        ("script", Container::Other, SCRIPT, BYTES),
        ("tv", Container::Other, "video/nsv", "video/nsv"),
    ] {
        publishers.push(server.publish_as(path, container, content_type));
        let (status, head) = answer_to(&server, &format!("HEAD /{path} HTTP/1.1\r\n\r\n")).await;
        assert_eq!(status, Status::OK);
        let types = head.lines().filter(|l| l.starts_with("Content-Type:"));
        let types: Vec<_> = types.collect();
        assert_eq!(types, [format!("Content-Type: {expected}")]);
        let nosniff = "\r\nX-Content-Type-Options: nosniff\r\n";
        assert!(head.contains(nosniff), "{head}");
    }
}

#[tokio::test]
async fn errors_say_why() {
    let (server, _publisher) = published(Settings::default(), "secret/radio", Container::Mp3);
    let _ogg = server.publish("music", Container::Ogg);
    for row in [
        "404 GET /nothing.flv > There is no stream nothing.",
        "404 GET /nothing.ts > There is no stream nothing.",
        "401 GET /secret/radio > WWW-Authenticate: Basic",
        "401 GET /secret/nothing.flv > a credential is required",
        "406 GET /music.mp3 > music carries Ogg, which cannot be sent as .mp3; it can be heard at /music.",
        "406 GET /music.webm > music carries Ogg, which cannot be sent as .webm; it can be heard at /music.",
        "406 GET /music.mp4 > music carries Ogg, which cannot be sent as .mp4; it can be heard at /music.",
        "405 DELETE /music > Allow: GET, HEAD, OPTIONS",
        "204 OPTIONS /music > Access-Control-Allow-Headers: ",
    ] {
        let (request, words) = row.split_once(" > ").unwrap();
        let (status, request) = request.split_once(' ').unwrap();
        let request = format!("{request} HTTP/1.1\r\nHost: h\r\nOrigin: http://x\r\n\r\n");
        let (got, text) = answer_to(&server, &request).await;
        assert_eq!(got.code().to_string(), status, "{row}");
        assert!(text.contains(words), "{row}: {text}");
    }
    let bearer = "GET /secret/radio HTTP/1.0\r\nAuthorization: Bearer x\r\n\r\n";
    let (got, text) = answer_to(&server, bearer).await;
    assert_eq!(got, Status::UNAUTHORIZED);
    assert!(text.contains("the credential is wrong"), "{text}");
}

/// Knows all streams below `far/`, and one by its name; gives the same answer for all.
struct Far(Located);

impl Origin for Far {
    fn expects(&self, name: &StreamName) -> Expected {
        match name.as_str() {
            "far/named.flv" => Expected::Named,
            name if name.starts_with("far/") => Expected::Perhaps,
            _ => Expected::No,
        }
    }

    fn locate(&self, _: &StreamName) -> Pin<Box<dyn Future<Output = Located> + Send>> {
        Box::pin(std::future::ready(self.0))
    }
}

#[tokio::test]
async fn what_an_origin_says_decides_about_a_stream_that_is_not_here() {
    let unknown = "There is no stream far/show.\n";
    let unavailable = "The stream cannot be fetched at the moment.\n";
    for (located, status, words) in [
        (Located::Unknown, 404, unknown),
        (Located::Unavailable, 503, unavailable),
    ] {
        let server = TestServer::new(Settings::default());
        server.context.registry.set_origin(Arc::new(Far(located)));
        let (got, text) = answer_to(&server, &get("/far/show.flv")).await;
        assert_eq!(got.code(), status);
        assert!(text.ends_with(words), "{text}");
        let comes_again = text.contains("\r\nRetry-After: ");
        assert_eq!(comes_again, located == Located::Unavailable, "{text}");
    }
    let server = TestServer::new(Settings::default());
    let registry = &server.context.registry;
    registry.set_origin(Arc::new(Far(Located::Coming)));
    let (mut client, _serving) = ask(&server, &get("/far/show.flv")).await;
    let _publisher = server.publish("far/show", Container::Tracks);
    assert!(read_head(&mut client).await.contains(" 200 OK\r\n"));
}

/// A server of mounts below `far/`, which has some of them.
struct Master(&'static [&'static str]);

impl Origin for Master {
    fn expects(&self, name: &StreamName) -> Expected {
        match name.as_str().starts_with("far/") {
            true => Expected::Mount,
            false => Expected::No,
        }
    }

    fn locate(&self, name: &StreamName) -> Pin<Box<dyn Future<Output = Located> + Send>> {
        Box::pin(std::future::ready(match self.0.contains(&name.as_str()) {
            true => Located::Coming,
            false => Located::Unknown,
        }))
    }
}

#[tokio::test]
async fn a_mount_elsewhere_has_its_whole_name_and_else_that_without_extension() {
    for (published, path) in [("far/a.mp3", "/far/a.mp3"), ("far/b", "/far/b.mp3")] {
        let server = TestServer::new(no_burst());
        let mounts = Box::leak(Box::new([published]));
        server.context.registry.set_origin(Arc::new(Master(mounts)));
        let (status, text) = answer_to(&server, &get("/far/none.ogg")).await;
        assert_eq!(status, Status::NOT_FOUND);
        let words = "There is no stream far/none.ogg.\n";
        assert!(text.ends_with(words), "{text}");
        let (mut client, _serving) = ask(&server, &get(path)).await;
        let _publisher = server.publish(published, Container::Mp3);
        let head = read_head(&mut client).await;
        assert!(head.contains(" 200 OK\r\n"), "{path}: {head}");
    }
}

#[test]
fn what_is_here_or_is_no_mount_is_asked_for_without_extension() {
    let server = TestServer::new(Settings::default());
    let registry = &server.context.registry;
    registry.set_origin(Arc::new(Master(&[])));
    let _here = server.publish("far/here", Container::Mp3);
    for (path, named, extension) in [
        ("/far/1.mp3", "far/1.mp3", None),
        ("/far/here.mp3", "far/here", Some(Extension::Mp3)),
        ("/far/1.flv", "far/1", Some(Extension::Flv)),
        ("/near/1.mp3", "near/1", Some(Extension::Mp3)),
    ] {
        let target = Target::find(path, registry).expect("a stream's address");
        let found = (target.name(), target.extension());
        assert_eq!(found, (&name(named), extension));
    }
}

#[test]
fn names_of_streams_elsewhere_mean_themselves_only_where_nothing_else_is_meant() {
    let server = TestServer::new(Settings::default());
    let registry = &server.context.registry;
    registry.set_origin(Arc::new(Far(Located::Unknown)));
    let found = |path| Target::find(path, registry).map(|target| (target.name, target.extension));
    assert_eq!(found("/far/named.flv"), Some((name("far/named.flv"), None)));
    let flv = Some(Extension::Flv);
    assert_eq!(found("/far/1.flv"), Some((name("far/1"), flv)));
    assert_eq!(found("/far/1"), None);
    let _here = server.publish("far/1.flv", Container::Mp3);
    assert_eq!(found("/far/1.flv"), Some((name("far/1.flv"), None)));
    let perhaps = |path| Target::perhaps(path, registry).map(|target| target.name);
    assert_eq!(perhaps("/far/1"), Some(name("far/1")));
    for path in ["/near/1", "/far/", "/far/..", "/"] {
        assert_eq!(perhaps(path), None, "{path}");
    }
}

#[tokio::test]
async fn a_listener_before_the_first_bytes_waits_for_their_type() {
    let server = TestServer::new(no_burst());
    let mut publisher = server.publish_as("radio", Container::Unknown, "audio/mpeg");
    // No bytes come, so no answer may promise any.
    let (status, text) = answer_to(&server, &get("/radio")).await;
    assert_eq!(status, Status::SERVICE_UNAVAILABLE);
    assert!(text.ends_with("The stream has not begun yet.\n"), "{text}");
    let (mut client, _serving) = ask(&server, &get("/radio")).await;
    publisher.identify(Container::Adts, "audio/aac").unwrap();
    let head = read_head(&mut client).await;
    assert!(head.contains("\r\nContent-Type: audio/aac\r\n"), "{head}");
}

#[tokio::test]
async fn codecs_decide_what_an_rtmp_stream_can_be() {
    let (server, mut publisher) = published(Settings::default(), "live/show", Container::Tracks);
    let (waiting, serving) = ask(&server, &get("/live/show.mp3")).await;
    write(&mut publisher, &[video_track(30), audio_track(Codec::Aac)]);
    drop(waiting);
    assert!(!matches!(serving.await.unwrap(), Outcome::Listening(_)));
    let (status, text) = answer_to(&server, &get("/live/show.mp3")).await;
    assert_eq!(status, Status::NOT_ACCEPTABLE);
    let words = "live/show carries H.264 and AAC, which cannot be sent as .mp3; \
        it can be heard at /live/show.flv and /live/show.ts and /live/show.aac.\n";
    assert!(text.ends_with(words), "{text}");
    // The size of its video cannot be read.
    for extension in [".ogg", ".webm", ".mp4"] {
        let (status, text) = answer_to(&server, &get(&format!("/live/show{extension}"))).await;
        assert_eq!(status, Status::NOT_ACCEPTABLE);
        let words = format!("cannot be sent as {extension}; ");
        assert!(text.contains(&words), "{text}");
    }

    let browser = "GET /live/show?key=a HTTP/1.1\r\nAccept: text/html,*/*;q=0.8\r\n\r\n";
    let (status, text) = answer_to(&server, browser).await;
    assert_eq!(status, Status::FOUND);
    assert!(text.contains("\r\nLocation: show/?key=a\r\n"));

    let picture = sample(TrackId::VIDEO, 0, true, vec![1; 50]);
    write(&mut publisher, &[picture]);
    for path in ["/live/show", "/live/show.flv"] {
        let (mut client, _) = ask(&server, &get(path)).await;
        let head = read_head(&mut client).await;
        assert!(head.contains("Content-Type: video/x-flv\r\n"), "{head}");
        let mut signature = [0; 3];
        client.read_exact(&mut signature).await.unwrap();
        assert_eq!(&signature, b"FLV");
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_has_not_begun_is_waited_for() {
    let (server, _publisher) = published(Settings::default(), "live/show", Container::Tracks);
    let request = parse(&get("/live/show.aac"));
    let asked = tokio::time::Instant::now();
    let target = find(&server.context, &request);
    let permit = Permit::new(());
    let replied = reply(&server.context, target, &request, HERE, permit).await;
    assert!(asked.elapsed() >= Duration::from_secs(2));
    let LiveReply::Whole { status, bytes } = replied else {
        panic!("{replied:?}");
    };
    assert_eq!(status, Status::SERVICE_UNAVAILABLE);
    let text = String::from_utf8(bytes).unwrap();
    assert!(text.contains("\r\nRetry-After: 2\r\n"), "{text}");
}

#[tokio::test]
async fn heads_and_probes_are_no_listeners() {
    let (server, mut publisher) = published(Settings::default(), "radio.mp3", Container::Mp3);
    write(&mut publisher, &mp3_items(10));
    let curl = "HEAD /radio.mp3 HTTP/1.1\r\nHost: h\r\nUser-Agent: curl/8\r\nAccept: */*\r\n\r\n";
    let (status, text) = answer_to(&server, curl).await;
    assert_eq!(status, Status::OK);
    assert!(text.ends_with("\r\n\r\n") && text.contains("Content-Type: audio/mpeg"));

    let probe = "GET /radio.mp3 HTTP/1.1\r\nRange: bytes=0-1\r\nIcy-MetaData: 1\r\n\
        User-Agent: AppleCoreMedia/1.0.0\r\n\r\n";
    let (mut client, serving) = ask(&server, probe).await;
    let head = read_head(&mut client).await;
    assert!(head.starts_with("HTTP/1.0 200 OK\r\n") && !head.contains("Content-Length"));
    let mut rest = Vec::new();
    client.read_to_end(&mut rest).await.unwrap();
    assert_eq!(rest, [0xFF, 0xFB]);
    drop(client);
    assert!(matches!(serving.await.unwrap(), Outcome::Answered { .. }));
    let info = server.context.registry.stream(&name("radio.mp3")).unwrap();
    assert_eq!(info.info().listeners_peak, 0);

    let open_ended = "GET /radio.mp3 HTTP/1.1\r\nRange: bytes=0-\r\n\r\n";
    let (mut client, _) = listen(&server, open_ended).await;
    let head = read_head(&mut client).await;
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    read_until(&mut client, &mp3_frame(9)).await;
}

#[tokio::test]
async fn a_listener_waits_for_its_permission_and_no_longer_than_it_is_there() {
    let (server, mut publisher) = published(no_burst(), "late/radio", Container::Mp3);
    write(&mut publisher, &mp3_items(20));
    let (mut client, _serving) = ask(&server, &get("/late/radio")).await;
    let (gone, serving) = ask(&server, &get("/late/radio")).await;
    let (mut secure, _secure_serving) = ask_secure(&server, &get("/late/radio")).await;
    let (gone_secure, serving_secure) = ask_secure(&server, &get("/late/radio")).await;
    let latch = &server.gate.latch;
    until(|| latch.waiting() == 4).await;
    drop((gone, gone_secure));
    for serving in [serving, serving_secure] {
        let outcome = soon(serving).await.unwrap();
        assert_eq!(outcome, Outcome::Gone);
    }
    until(|| latch.waiting() == 2).await;
    assert_eq!(server.context.registry.fanout().listeners(), 0);
    // What the client sends while it waits is ignored.
    client.write_all(b"hello?").await.unwrap();
    latch.open();
    assert!(read_head(&mut client).await.starts_with("HTTP/1.1 200"));
    assert!(read_head(&mut secure).await.starts_with("HTTP/1.1 200"));
}

/// Address of clients without a socket.
const HERE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 1);

/// Begins to listen over a secure connection.
async fn ask_secure(
    server: &TestServer,
    request: &str,
) -> (TlsStream<TcpStream>, JoinHandle<Outcome>) {
    let (client, socket) = TestTls::new().connect().await;
    (client, begin(server, request, socket, HERE))
}

#[tokio::test]
async fn a_secure_listener_hears_the_same_until_it_leaves() {
    let (server, mut publisher) = published(no_burst(), "radio", Container::Mp3);
    let items = mp3_items(300);
    write(&mut publisher, &items[..2]);
    let (mut client, serving) = ask_secure(&server, &get("/radio")).await;
    read_head(&mut client).await;
    let mut heard = read_until(&mut client, &mp3_frame(0)).await;
    for batch in items[2..].chunks(50) {
        write(&mut publisher, batch);
    }
    heard.extend(read_until(&mut client, &mp3_frame(299)).await);
    let all: Vec<u8> = (0..300).flat_map(mp3_frame).collect();
    assert_same(&heard, &all, "all of it");
    // The client sends something, which is ignored, and closes while nothing is being sent.
    client.write_all(b"hello?").await.unwrap();
    drop(client);
    let outcome = soon(serving).await.unwrap();
    let departure = server.departure();
    assert_eq!(outcome, Outcome::Listening(departure.id));
    assert_eq!(departure.reason, Reason::Left);
}

#[tokio::test]
async fn a_secure_listener_is_let_go_when_the_stream_ends_or_it_is_kicked() {
    let (server, mut publisher) = published(Settings::default(), "radio", Container::Mp3);
    write(&mut publisher, &mp3_items(5));
    for reason in [Reason::Kicked, Reason::Ended] {
        let (mut client, serving) = ask_secure(&server, &get("/radio")).await;
        read_head(&mut client).await;
        read_until(&mut client, &mp3_frame(4)).await;
        let registry = &server.context.registry;
        match reason {
            Reason::Kicked => server.kick(),
            _ => registry.end_all(),
        }
        let mut rest = Vec::new();
        soon(client.read_to_end(&mut rest)).await.unwrap();
        assert!(rest.is_empty());
        serving.await.unwrap();
        let departure = server.departure();
        assert_eq!(departure.reason, reason);
        registry.fanout().directory().leave(&departure);
    }
}

/// A listener that shares its connection with other requests, and what its connection takes.
async fn listen_shared(server: &TestServer, path: &str) -> mpsc::Receiver<Bytes> {
    let head = parse(&get(path));
    let target = find(&server.context, &head);
    let replied = reply(&server.context, target, &head, HERE, Permit::new(())).await;
    let LiveReply::Live { body, .. } = replied else {
        panic!("{replied:?}");
    };
    let (pieces, taken) = mpsc::channel(1);
    tokio::spawn(body.feed(pieces));
    taken
}

#[tokio::test]
async fn a_shared_listener_hears_the_same_until_it_leaves() {
    let (server, mut publisher) = published(no_burst(), "radio", Container::Mp3);
    let items = mp3_items(200);
    write(&mut publisher, &items[..2]);
    let mut taken = listen_shared(&server, "/radio").await;
    let mut heard = soon(taken.recv()).await.unwrap().to_vec();
    for batch in items[2..].chunks(50) {
        write(&mut publisher, batch);
    }
    let all: Vec<u8> = (0..200).flat_map(mp3_frame).collect();
    while heard.len() < all.len() {
        heard.extend_from_slice(&soon(taken.recv()).await.unwrap());
    }
    assert_same(&heard, &all, "all of it");
    drop(taken);
    until_none_listens(&server).await;
    assert_eq!(server.departure().reason, Reason::Left);
}

/// Waits until the tasks of all listeners are over.
async fn until_none_listens(server: &TestServer) {
    let fanout = server.context.registry.fanout();
    until(|| fanout.listeners() == 0).await;
}

#[tokio::test(start_paused = true)]
async fn a_shared_listener_that_takes_nothing_is_given_up() {
    let (server, mut publisher) = published(Settings::default(), "radio", Container::Mp3);
    write(&mut publisher, &mp3_items(50));
    let taken = listen_shared(&server, "/radio").await;
    // Two pieces: one is in the channel, the other waits for room in it.
    for batch in mp3_items(150)[51..].chunks(20) {
        write(&mut publisher, batch);
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    until_none_listens(&server).await;
    drop(taken);
    assert_eq!(server.departure().reason, Reason::Lag);
}

#[tokio::test(start_paused = true)]
async fn a_shared_listener_that_takes_nothing_can_be_kicked() {
    let (server, mut publisher) = published(Settings::default(), "radio", Container::Mp3);
    write(&mut publisher, &mp3_items(50));
    let taken = listen_shared(&server, "/radio").await;
    // Two pieces: one is in the channel, the other waits for room in it.
    until(|| !taken.is_empty()).await;
    write(&mut publisher, &mp3_items(70)[51..]);
    tokio::time::sleep(Duration::from_millis(100)).await;
    server.kick();
    let kicked = tokio::time::Instant::now();
    until_none_listens(&server).await;
    let waited = kicked.elapsed();
    assert!(waited <= CHECK_INTERVAL, "{waited:?}");
    drop(taken);
    assert_eq!(server.departure().reason, Reason::Kicked);
}

#[test]
fn only_streams_are_claimed() {
    let (server, _show) = published(Settings::default(), "live/show", Container::Tracks);
    let _flv = server.publish("odd.flv", Container::Mp3);
    let registry = &server.context.registry;
    let claimed = |path: &str| {
        let head = parse(&get(path));
        Target::find(&head.path(), registry).is_some()
    };
    let yes = "/live/show /live/show.flv /live/show.aac?x=1 http://h/live/show /live/show.ts \
        /live/show.mp4 /other.mp3 /odd.flv /live%2fshow";
    let no = "/ /live/show/ /live /status-json.xsl /.flv /live/../x.mp3 *";
    for (paths, expected) in [(yes, true), (no, false)] {
        for path in paths.split(' ') {
            assert_eq!(claimed(path), expected, "{path}");
        }
    }
}

#[test]
fn addresses_are_those_that_work() {
    let server = TestServer::new(Settings::default());
    let listed = |stream: &str| {
        let stream = server.context.registry.stream(&name(stream));
        let info = stream.unwrap().info();
        let addresses = addresses(&info);
        let lines = addresses.iter();
        let lines = lines.map(|a| format!("{} {} {}", a.label, a.path, a.media_type));
        lines.collect::<Vec<_>>().join(", ")
    };
    let mut show = server.publish("live/show", Container::Tracks);
    assert_eq!(listed("live/show"), "FLV /live/show.flv video/x-flv");
    write(&mut show, &[video_track(30), audio_track(Codec::Mp3)]);
    let expected = "FLV /live/show.flv video/x-flv, MPEG-TS /live/show.ts video/mp2t, \
        MP3 /live/show.mp3 audio/mpeg";
    assert_eq!(listed("live/show"), expected);
    let mut radio = server.publish("radio", Container::Mp3);
    write(&mut radio, &mp3_items(3));
    let expected = "MP3 /radio audio/mpeg, FLV /radio.flv video/x-flv, \
        MP4 /radio.mp4 audio/mp4; codecs=\"mp4a.6B\", MPEG-TS /radio.ts video/mp2t";
    assert_eq!(listed("radio"), expected);
    // FLV cannot carry Layer II.
    let mut old = server.publish("old", Container::Mp3);
    let track = Track {
        id: TrackId::AUDIO,
        kind: Kind::Audio,
        codec: Codec::UNKNOWN,
        framing: Framing::SelfFramed,
        config: Bytes::new(),
        sample_rate: 44_100,
        channels: 2,
        flv: None,
    };
    write(&mut old, &[Item::Track(Arc::new(track))]);
    assert_eq!(listed("old"), "MP3 /old audio/mpeg");
    let _ogg = server.publish("music", Container::Ogg);
    assert_eq!(listed("music"), "Ogg /music application/ogg");
    let _other = server.publish_as("tv", Container::Other, "video/nsv");
    assert_eq!(listed("tv"), "source /tv video/nsv");
}
