//! Questions to a hook on a socket, and what becomes of them when it fails.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use aws_lc_rs::hmac;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use net::holdings::Holdings;
use net::link::Connector;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::hook::asker::WAITING;
use crate::hook::breaker::FAILURES;
use crate::hook::exchange::Failure;
use crate::hook::{
    Asker, Dialect, IN_FLIGHT_MAX, Mount, PassedHeader, Question, Settings, Unanswered, Verdict,
};
use fanout::gate::Action;

/// Longer than anything takes that is to happen.
const LONG: Duration = Duration::from_secs(60);
/// For answers that do not come.
const SHORT: Duration = Duration::from_millis(50);

const YES: &str = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

pub(crate) fn question(number: u64) -> Question<'static> {
    Question {
        action: Action::Play,
        stream: "live/show",
        protocol: "rtmp",
        peer: SocketAddr::from(([192, 0, 2, 7], 4711)),
        agent: "VLC",
        user: None,
        password: None,
        token: Some("secret"),
        query: "",
        headers: &[],
        time: "",
        number,
    }
}

fn asker(port: u16, timeout: Duration, cache: Duration) -> Asker {
    let settings = settings(port, timeout, cache);
    Asker::new(settings, connector())
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

fn settings(port: u16, timeout: Duration, cache: Duration) -> Settings {
    let url = format!("http://ann:pw@127.0.0.1:{port}/may?x=1");
    Settings {
        url: url.parse().expect("an address"),
        play_url: None,
        connect_url: None,
        end_url: None,
        update_url: None,
        update_every: LONG,
        mount_url: None,
        headers: Vec::new(),
        secret: "".into(),
        dialect: Dialect::Carillon,
        host: "localhost".to_owned(),
        timeout,
        cache,
        holdings: Holdings::new(0),
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

/// Asks once; the hook answers this.
async fn answered(
    asker: &Asker,
    listener: &TcpListener,
    answer: &str,
) -> Result<Verdict, Unanswered> {
    let hook = async {
        let (mut socket, _) = asked(listener).await;
        socket.write_all(answer.as_bytes()).await.expect("written");
    };
    let question = question(1);
    tokio::join!(asker.ask(&question), hook).0
}

#[tokio::test]
async fn a_question_is_one_request_with_the_operator_s_credentials() {
    let (listener, port) = hook().await;
    let asker = asker(port, LONG, Duration::ZERO);
    let hook = async {
        let (mut socket, text) = asked(&listener).await;
        socket.write_all(YES.as_bytes()).await.expect("written");
        text
    };
    let question = question(1);
    let (verdict, text) = tokio::join!(asker.ask(&question), hook);
    assert_eq!(verdict.expect("answered"), Verdict::ALLOWED);
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
    let long = format!(
        "HTTP/1.1 200 OK\r\nContent-Length: 10000000\r\n\r\n{}",
        " ".repeat(100_000)
    );
    for answer in [
        "HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes",
        "HTTP/1.1 200 OK\r\nContent-Length: 300\r\n\r\n{}",
        "nonsense\r\n\r\n",
        "",
        &long,
    ] {
        let told = answered(&asker, &listener, answer).await;
        assert!(
            matches!(told, Err(Unanswered::Failed(_))),
            "{told:?}: {answer:.80}"
        );
    }
    let told = answered(&asker, &listener, YES).await;
    assert_eq!(told.expect("answered"), Verdict::ALLOWED);
}

#[tokio::test]
async fn a_permission_is_asked_for_once_while_it_is_kept() {
    let (listener, port) = hook().await;
    let asker = asker(port, LONG, LONG);
    let no = "HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n";
    for answer in [no, no, YES] {
        let told = answered(&asker, &listener, answer).await.expect("answered");
        assert_eq!(told == Verdict::ALLOWED, answer == YES);
    }
    // The hook would have to be asked, and is gone.
    drop(listener);
    let again = asker.ask(&question(2)).await;
    assert_eq!(again.expect("kept"), Verdict::ALLOWED);
}

/// The same of a client at another address.
fn question_of(host: u8) -> Question<'static> {
    Question {
        peer: SocketAddr::from(([192, 0, 2, host], 4711)),
        ..question(1)
    }
}

#[tokio::test]
async fn a_hook_that_hangs_is_asked_so_much_and_who_waits_gives_way_by_address() {
    let (listener, port) = hook().await;
    let asker = Arc::new(asker(port, LONG, Duration::ZERO));
    let mut asking = JoinSet::new();
    let mut hanging = Vec::new();
    for number in 0..IN_FLIGHT_MAX as u64 {
        let asker = Arc::clone(&asker);
        asking.spawn(async move { asker.ask(&question(number)).await });
        hanging.push(asked(&listener).await.0);
    }
    let (own, other) = (question_of(7), question_of(8));
    let mut honest = Box::pin(asker.ask(&other));
    assert!(net::wait::at_once(&mut honest).is_none());
    let crowd = (0..WAITING.share + 3).map(|_| {
        let mut waits = Box::pin(asker.ask(&own));
        assert!(net::wait::at_once(&mut waits).is_none());
        waits
    });
    let mut crowd: Vec<_> = crowd.collect();
    let away: Vec<_> = crowd.iter_mut().filter_map(net::wait::at_once).collect();
    let is_away = |told: &Result<_, _>| matches!(told, Err(Unanswered::TooMany(_)));
    assert!(away.len() == 3 && away.iter().all(is_away), "{away:?}");
    drop(crowd);
    for mut socket in hanging {
        socket.write_all(YES.as_bytes()).await.expect("written");
    }
    while let Some(told) = asking.join_next().await {
        assert_eq!(told.expect("no panic").expect("answered"), Verdict::ALLOWED);
    }
    let hook = async {
        let (mut socket, _) = asked(&listener).await;
        socket.write_all(YES.as_bytes()).await.expect("written");
    };
    let (told, ()) = tokio::join!(honest, hook);
    assert_eq!(told.expect("answered"), Verdict::ALLOWED);
}

#[tokio::test]
async fn a_hook_that_hangs_again_and_again_is_left_alone() {
    let (listener, port) = hook().await;
    let asker = asker(port, SHORT, Duration::ZERO);
    let mut hanging = Vec::new();
    for _ in 0..FAILURES {
        let question = question(1);
        let (told, socket) = tokio::join!(asker.ask(&question), listener.accept());
        hanging.push(socket);
        let is_timeout = matches!(told, Err(Unanswered::Failed(Failure::Timeout)));
        assert!(is_timeout, "{told:?}");
    }
    let told = asker.ask(&question(1)).await;
    assert!(matches!(told, Err(Unanswered::Resting)), "{told:?}");
}

#[tokio::test]
async fn a_hook_that_is_not_there_gives_no_verdict() {
    let (listener, port) = hook().await;
    drop(listener);
    let told = asker(port, LONG, LONG).ask(&question(1)).await;
    let is_refused = matches!(
        told,
        Err(Unanswered::Failed(Failure::Exchange(
            http_client::ExchangeError::Connect(_)
        )))
    );
    assert!(is_refused, "{told:?}");
}

#[tokio::test]
async fn an_end_is_told_where_ends_are_told_and_again_if_nobody_answers() {
    let (listener, port) = hook().await;
    let (ends, end_port) = hook().await;
    let end_url = format!("http://127.0.0.1:{end_port}/ended");
    let settings = Settings {
        end_url: Some(end_url.parse().expect("an address")),
        ..settings(port, LONG, Duration::ZERO)
    };
    let asker = Arc::new(Asker::new(settings, connector()));
    let told = answered(&asker, &listener, YES).await;
    assert_eq!(told.expect("answered"), Verdict::ALLOWED);
    let permitted = asker.permitted(&question(1)).expect("ends are told");
    permitted.ended(Duration::from_millis(1_500), "then".to_owned());
    for answer in ["HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n", YES] {
        let (mut socket, text) = asked(&ends).await;
        assert!(text.starts_with("POST /ended HTTP/1.1\r\n"), "{text}");
        assert!(text.contains(r#""action":"play_ended""#), "{text}");
        assert!(text.contains(r#""seconds":1.5"#), "{text}");
        socket.write_all(answer.as_bytes()).await.expect("written");
    }
}

#[tokio::test]
async fn publishers_are_told_of_in_order_and_not_once_more_as_ends() {
    let (listener, port) = hook().await;
    let url = |path: &str| {
        Some(
            format!("http://127.0.0.1:{port}{path}")
                .parse()
                .expect("an address"),
        )
    };
    let settings = Settings {
        end_url: url("/ended"),
        mount_url: url("/mount"),
        dialect: Dialect::Icecast,
        ..settings(port, LONG, Duration::ZERO)
    };
    let asker = Arc::new(Asker::new(settings, connector()));
    assert!(asker.tells_of_mounts());
    let publishes = Question {
        action: Action::Publish,
        ..question(1)
    };
    assert!(asker.permitted(&publishes).is_none());
    assert!(asker.permitted(&question(1)).is_some());
    let telling = async {
        asker.tell_of_mount("live/show", Mount::Added).await;
        asker.tell_of_mount("live/show", Mount::Removed).await;
    };
    let hook = async {
        let no = "HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n";
        for (action, answer) in [("add", no), ("add", YES), ("remove", YES)] {
            let (mut socket, text) = asked(&listener).await;
            assert!(text.starts_with("POST /mount HTTP/1.1\r\n"), "{text}");
            let form = format!(
                "\r\n\r\naction=mount_{action}&mount=%2Flive%2Fshow&server=localhost&port="
            );
            assert!(text.ends_with(&form), "{text}");
            socket.write_all(answer.as_bytes()).await.expect("written");
        }
    };
    tokio::join!(telling, hook);
}

#[test]
fn headers_are_passed_under_the_names_of_their_fields() {
    let passed = |name: &str| PassedHeader {
        name: name.to_owned(),
        field: format!("ClientHeader.{name}"),
    };
    let settings = Settings {
        headers: vec![passed("referer"), passed("x-pragma")],
        ..settings(1, LONG, Duration::ZERO)
    };
    let asker = Asker::new(settings, connector());
    let passed = asker.passed(|name| (name == "referer").then_some("http://a/"));
    assert_eq!(passed, [("ClientHeader.referer", "http://a/")]);
}

#[tokio::test]
async fn what_goes_on_is_told_until_it_is_not_permitted_any_more() {
    let (listener, port) = hook().await;
    let update_url = format!("http://127.0.0.1:{port}/update");
    let settings = Settings {
        update_url: Some(update_url.parse().expect("an address")),
        update_every: SHORT,
        ..settings(port, LONG, Duration::ZERO)
    };
    let asker = Arc::new(Asker::new(settings, connector()));
    let permitted = asker.permitted(&question(1)).expect("updates are told");
    let (end, ended) = tokio::sync::oneshot::channel();
    let _updated = permitted.begun(|| end.send(()).expect("the test waits"));
    let no = "HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n";
    // A hook that fails ends nothing.
    for answer in [
        YES,
        "HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n",
        "",
        no,
    ] {
        let (mut socket, text) = asked(&listener).await;
        assert!(text.starts_with("POST /update HTTP/1.1\r\n"), "{text}");
        assert!(text.contains(r#""action":"play_update""#), "{text}");
        socket.write_all(answer.as_bytes()).await.expect("written");
    }
    ended.await.expect("ended");
}

#[tokio::test]
async fn a_client_of_rtmp_is_asked_about_when_it_connects() {
    let (listener, port) = hook().await;
    let connect_url = format!("http://127.0.0.1:{port}/connect");
    let settings = Settings {
        connect_url: Some(connect_url.parse().expect("an address")),
        dialect: Dialect::Srs,
        ..settings(port, LONG, Duration::ZERO)
    };
    let asker = Asker::new(settings, connector());
    let code =
        |code: u32| format!("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{{\"code\":{code}}}");
    for (connects, expected) in [(1, Verdict::DENIED), (0, Verdict::ALLOWED)] {
        let hook = async {
            let (mut socket, text) = asked(&listener).await;
            assert!(text.starts_with("POST /connect HTTP/1.1\r\n"), "{text}");
            assert!(text.contains(r#""action":"on_connect""#), "{text}");
            let answer = code(connects);
            socket.write_all(answer.as_bytes()).await.expect("written");
            if connects == 0 {
                let (mut socket, text) = asked(&listener).await;
                assert!(text.contains(r#""action":"on_play""#), "{text}");
                socket.write_all(code(0).as_bytes()).await.expect("written");
            }
        };
        let question = question(1);
        let (verdict, ()) = tokio::join!(asker.ask(&question), hook);
        assert_eq!(verdict.expect("answered"), expected);
    }
    // Others do not connect before they ask for something.
    let question = Question {
        protocol: "http",
        ..question(1)
    };
    let hook = async {
        let (mut socket, text) = asked(&listener).await;
        assert!(text.contains(r#""action":"on_play""#), "{text}");
        socket.write_all(code(0).as_bytes()).await.expect("written");
    };
    let (verdict, ()) = tokio::join!(asker.ask(&question), hook);
    assert_eq!(verdict.expect("answered"), Verdict::ALLOWED);
}

#[tokio::test]
async fn listeners_are_asked_about_elsewhere_and_bodies_signed_where_the_dialect_does() {
    let (listener, port) = hook().await;
    let play_url = format!("http://127.0.0.1:{port}/play");
    let settings = Settings {
        play_url: Some(play_url.parse().expect("an address")),
        secret: "key".into(),
        dialect: Dialect::Ome,
        ..settings(port, LONG, Duration::ZERO)
    };
    let asker = Asker::new(settings, connector());
    let hook = async {
        let (mut socket, text) = asked(&listener).await;
        let answer = "HTTP/1.1 200 OK\r\nContent-Length: 16\r\n\r\n{\"allowed\":true}";
        socket.write_all(answer.as_bytes()).await.expect("written");
        text
    };
    let question = question(1);
    let (verdict, text) = tokio::join!(asker.ask(&question), hook);
    assert_eq!(verdict.expect("answered"), Verdict::ALLOWED);
    assert!(text.starts_with("POST /play HTTP/1.1\r\n"), "{text}");
    let (head, body) = text.split_once("\r\n\r\n").expect("a head");
    let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, b"key");
    let signature = URL_SAFE_NO_PAD.encode(hmac::sign(&key, body.as_bytes()));
    assert!(
        head.contains(&format!("x-ome-signature: {signature}")),
        "{text}"
    );
}
