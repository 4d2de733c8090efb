//! Questions to a hook on a socket, and what becomes of them when it fails.

mod memory;
mod reported;

use std::net::SocketAddr;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use aws_lc_rs::hmac;
use base::holdings::Holdings;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use fanout::gate::{Action, Request};
use media::StreamName;
use net::link::Connector;
use net::url::Url;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::hook::asker::{FAILURES, Failure, Unanswered, WAITING};
use crate::hook::*;
use crate::secret::Secret;

/// Longer than anything takes that is to happen.
const LONG: Duration = Duration::from_secs(60);
/// For answers that do not come.
const SHORT: Duration = Duration::from_millis(50);

const YES: &str = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
const NO: &str = "HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n";
const OOPS: &str = "HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n";

pub(super) static STREAM: LazyLock<StreamName> =
    LazyLock::new(|| StreamName::parse("live/show").expect("a name"));

pub(super) fn request(stream: &StreamName) -> Request<'_> {
    Request {
        agent: "VLC",
        token: Some("secret"),
        ..Request::new(stream, "rtmp", SocketAddr::from(([192, 0, 2, 7], 4711)))
    }
}

/// The occasion of a listener's question.
pub(super) fn began<'a>(request: &'a Request<'a>, settings: &'a AuthHook) -> Occasion<'a> {
    Occasion {
        request,
        action: Action::Play,
        moment: Moment::Begin,
        at: SystemTime::UNIX_EPOCH,
        number: 1,
        settings,
    }
}

/// A dialect by its name.
pub(super) fn dialect(name: &str) -> Dialect {
    let mut all = Dialect::all();
    all.find(|one| one.name() == name).expect("a dialect")
}

fn asker(port: u16, timeout: Duration, cache: Duration) -> Asker {
    asker_of(&settings(port, timeout, cache))
}

fn asker_of(settings: &AuthHook) -> Asker {
    Asker::new(settings, &connector(), &Holdings::new(0)).expect("a hook")
}

/// Asks about a listener.
async fn asks(asker: &Asker, request: &Request<'_>) -> Result<Answer, Unanswered> {
    asker.ask(&asker.begin(Action::Play, request)).await
}

/// Whether the hook permits it.
fn is_permitted(reported: Result<Answer, Unanswered>) -> bool {
    reported.expect("answered").is_ok()
}

fn connector() -> Connector {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    Connector::new(Arc::new(tls))
}

fn settings(port: u16, timeout: Duration, cache: Duration) -> AuthHook {
    let url = format!("http://ann:pw@127.0.0.1:{port}/may?x=1");
    AuthHook {
        url: Some(url.parse().expect("an address")),
        update_every: LONG,
        timeout,
        cache,
        ..AuthHook::default()
    }
}

async fn hook() -> (TcpListener, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("bound");
    let port = listener.local_addr().expect("an address").port();
    (listener, port)
}

/// Takes one connection and reads a request: behind the head one line of JSON, or a form that ends with the server's port, which
/// [`settings`] does not name.
async fn asked(listener: &TcpListener) -> (TcpStream, String) {
    let (mut socket, _) = listener.accept().await.expect("a connection");
    let mut text = Vec::new();
    while !text.ends_with(b"}") && !text.ends_with(b"port=") {
        let count = socket.read_buf(&mut text).await.expect("read");
        assert!(count > 0, "cut off");
    }
    (socket, String::from_utf8(text).expect("text"))
}

/// Takes one question and answers this; returns the question.
async fn answers(listener: &TcpListener, answer: &str) -> String {
    let (mut socket, text) = asked(listener).await;
    socket.write_all(answer.as_bytes()).await.expect("written");
    text
}

/// Asks once; the hook answers this.
async fn answered(
    asker: &Asker,
    listener: &TcpListener,
    answer: &str,
) -> Result<Answer, Unanswered> {
    let request = request(&STREAM);
    tokio::join!(asks(asker, &request), answers(listener, answer)).0
}

/// Another address of a hook at a port.
fn at(port: u16, path: &str) -> Option<Url> {
    let url = format!("http://127.0.0.1:{port}/{path}");
    Some(url.parse().expect("an address"))
}

#[tokio::test]
async fn a_question_is_one_request_with_the_operator_s_credentials() {
    let (listener, port) = hook().await;
    let asker = asker(port, LONG, Duration::ZERO);
    let request = request(&STREAM);
    let (reported, text) = tokio::join!(asks(&asker, &request), answers(&listener, YES));
    assert!(is_permitted(reported));
    let head = text.to_ascii_lowercase();
    assert!(head.starts_with("post /may?x=1 http/1.1\r\n"), "{text}");
    for line in [
        format!("host: 127.0.0.1:{port}"),
        "authorization: basic yw5uonb3".to_owned(),
        "content-type: application/json".to_owned(),
    ] {
        assert!(head.contains(&format!("\r\n{line}\r\n")), "{line}: {text}");
    }
    assert!(text.contains(r#""stream":"live/show""#), "{text}");
}

#[tokio::test]
async fn what_is_no_answer_gives_no_verdict() {
    let (listener, port) = hook().await;
    let asker = asker(port, LONG, Duration::ZERO);
    let spaces = " ".repeat(100_000);
    let long = format!("HTTP/1.1 200 OK\r\nContent-Length: 10000000\r\n\r\n{spaces}");
    for answer in [
        OOPS,
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes",
        "HTTP/1.1 200 OK\r\nContent-Length: 300\r\n\r\n{}",
        "nonsense\r\n\r\n",
        "",
        &long,
    ] {
        let reported = answered(&asker, &listener, answer).await;
        let is_none = matches!(reported, Err(Unanswered::Failed(_)));
        assert!(is_none, "{reported:?}: {answer:.80}");
    }
    let reported = answered(&asker, &listener, YES).await;
    assert!(is_permitted(reported));
}

#[tokio::test]
async fn a_permission_is_asked_for_once_while_it_is_kept() {
    let (listener, port) = hook().await;
    let asker = asker(port, LONG, LONG);
    for answer in [NO, NO, YES] {
        let reported = answered(&asker, &listener, answer).await;
        assert_eq!(is_permitted(reported), answer == YES);
    }
    // The hook would have to be asked, and is gone.
    drop(listener);
    assert!(is_permitted(asks(&asker, &request(&STREAM)).await), "kept");
}

/// The request of a client at this address.
fn request_of(host: u8) -> Request<'static> {
    let mut request = request(&STREAM);
    request.peer = ([192, 0, 2, host], 4711).into();
    request
}

#[tokio::test]
async fn a_hook_that_hangs_is_asked_so_much_and_who_waits_gives_way_by_address() {
    let (listener, port) = hook().await;
    let asker = Arc::new(asker(port, LONG, Duration::ZERO));
    let mut asking = JoinSet::new();
    let mut hanging = Vec::new();
    for _ in 0..IN_FLIGHT_MAX {
        let asker = Arc::clone(&asker);
        asking.spawn(async move { asks(&asker, &request(&STREAM)).await });
        hanging.push(asked(&listener).await.0);
    }
    let (own, other) = (request_of(7), request_of(8));
    let mut honest = Box::pin(asks(&asker, &other));
    assert!(net::wait::at_once(&mut honest).is_none());
    let crowd = (0..WAITING.share + 3).map(|_| {
        let mut waits = Box::pin(asks(&asker, &own));
        assert!(net::wait::at_once(&mut waits).is_none());
        waits
    });
    let mut crowd: Vec<_> = crowd.collect();
    let away: Vec<_> = crowd.iter_mut().filter_map(net::wait::at_once).collect();
    let is_away = |reported: &Result<_, _>| matches!(reported, Err(Unanswered::TooMany(_)));
    assert!(away.len() == 3 && away.iter().all(is_away), "{away:?}");
    drop(crowd);
    for mut socket in hanging {
        socket.write_all(YES.as_bytes()).await.expect("written");
    }
    while let Some(reported) = asking.join_next().await {
        assert!(is_permitted(reported.expect("no panic")));
    }
    let (reported, _) = tokio::join!(honest, answers(&listener, YES));
    assert!(is_permitted(reported));
}

#[tokio::test]
async fn a_hook_that_hangs_again_and_again_is_left_alone() {
    let (listener, port) = hook().await;
    let asker = asker(port, SHORT, Duration::ZERO);
    let mut hanging = Vec::new();
    for _ in 0..FAILURES {
        let request = request(&STREAM);
        let (reported, socket) = tokio::join!(asks(&asker, &request), listener.accept());
        hanging.push(socket);
        let is_timeout = matches!(reported, Err(Unanswered::Failed(Failure::Timeout)));
        assert!(is_timeout, "{reported:?}");
    }
    let reported = asks(&asker, &request(&STREAM)).await;
    assert!(matches!(reported, Err(Unanswered::Resting)), "{reported:?}");
}

#[tokio::test]
async fn a_hook_that_is_not_there_gives_no_verdict() {
    let (listener, port) = hook().await;
    drop(listener);
    let reported = asks(&asker(port, LONG, LONG), &request(&STREAM)).await;
    let Err(Unanswered::Failed(Failure::Exchange(error))) = reported else {
        panic!("{reported:?}");
    };
    let is_refused = matches!(error, net::http_client::ExchangeError::Connect(_));
    assert!(is_refused, "{error:?}");
}

#[tokio::test]
async fn a_client_of_rtmp_is_asked_about_when_it_connects() {
    let (listener, port) = hook().await;
    let mut settings = settings(port, LONG, Duration::ZERO);
    settings.connect_url = at(port, "connect");
    settings.dialect = dialect("srs");
    let asker = asker_of(&settings);
    let code =
        |code: u32| format!("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{{\"code\":{code}}}");
    let played = async || {
        let text = answers(&listener, &code(0)).await;
        assert!(text.contains(r#""action":"on_play""#), "{text}");
    };
    for (connects, expected) in [(1, false), (0, true)] {
        let hook = async {
            let text = answers(&listener, &code(connects)).await;
            assert!(text.starts_with("POST /connect HTTP/1.1\r\n"), "{text}");
            assert!(text.contains(r#""action":"on_connect""#), "{text}");
            if connects == 0 {
                played().await;
            }
        };
        let request = request(&STREAM);
        let (reported, ()) = tokio::join!(asks(&asker, &request), hook);
        assert_eq!(is_permitted(reported), expected);
    }
    // Others do not connect before they ask for something.
    let mut request = request(&STREAM);
    request.protocol = "http";
    let (reported, ()) = tokio::join!(asks(&asker, &request), played());
    assert!(is_permitted(reported));
}

#[tokio::test]
async fn listeners_are_asked_about_elsewhere_and_bodies_signed_where_the_dialect_does() {
    let (listener, port) = hook().await;
    let mut settings = settings(port, LONG, Duration::ZERO);
    settings.play_url = at(port, "play");
    settings.secret = Some(Secret::new("key"));
    settings.dialect = dialect("ome");
    let asker = asker_of(&settings);
    let answer = "HTTP/1.1 200 OK\r\nContent-Length: 16\r\n\r\n{\"allowed\":true}";
    let request = request(&STREAM);
    let (reported, text) = tokio::join!(asks(&asker, &request), answers(&listener, answer));
    assert!(is_permitted(reported));
    assert!(text.starts_with("POST /play HTTP/1.1\r\n"), "{text}");
    let (head, body) = text.split_once("\r\n\r\n").expect("a head");
    let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, b"key");
    let signature = URL_SAFE_NO_PAD.encode(hmac::sign(&key, body.as_bytes()));
    let line = format!("x-ome-signature: {signature}");
    assert!(head.contains(&line), "{text}");
}
