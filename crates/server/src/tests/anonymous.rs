//! Every endpoint, requested without a credential.

use tokio::io::AsyncWrite;
use web::routes::{self, Demand, Endpoint, Surface};

use super::*;

const CONFIG: &str = "[rtmp]\nlisten = [\"127.0.0.1:0\"]\nplay_wait = \"0s\"\n\
    [auth]\npublish_key = \"bells-at-noon-41\"\nadmin_password = \"tower-warden-77\"\n\
    [[files]]\npath = \"vod\"\ndirectory = \"/\"\n";

/// Bytes that an RTMP client sends up to its request: the simple handshake, then AMF0.
pub(super) mod rtmp_bytes {
    use bytes::BytesMut;
    use rtmp::amf0::Encoder;

    /// A command in one chunk of format 0. The bodies are shorter than the first chunk size, 128.
    fn command(stream: u8, write: impl FnOnce(&mut Encoder<'_>)) -> Vec<u8> {
        let mut body = BytesMut::new();
        write(&mut Encoder::new(&mut body));
        assert!(body.len() <= 128);
        let mut out = vec![3, 0, 0, 0, 0, 0, body.len() as u8, 20, stream, 0, 0, 0];
        out.extend(body);
        out
    }

    pub(in crate::tests) fn c0_c1() -> Vec<u8> {
        let mut out = vec![3];
        out.resize(1 + 1536, 0);
        out
    }

    /// `wish` is `publish` or `play`; the application is `live`.
    pub(in crate::tests) fn conversation(wish: &str, name: &str) -> Vec<u8> {
        let connect = command(0, |amf| {
            amf.string("connect").number(1.0);
            amf.object().key("app").string("live");
            // Enhanced RTMP: it can be asked to connect again.
            amf.key("capsEx").number(1.0).end();
        });
        let create = command(0, |amf| {
            amf.string("createStream").number(2.0).null();
        });
        let request = command(1, |amf| {
            amf.string(wish).number(3.0).null().string(name);
            if wish == "publish" {
                amf.string("live");
            }
        });
        [connect, create, request].concat()
    }
}

async fn rtmp(address: SocketAddr, wish: &str, name: &str) -> String {
    read_all(&mut rtmp_asking(address, wish, name).await).await
}

/// A connection over RTMP that has said what it wants, in the application `live`.
pub(super) async fn rtmp_asking(address: SocketAddr, wish: &str, name: &str) -> TcpStream {
    let mut socket = connect(address).await;
    ask_rtmp(&mut socket, wish, name).await;
    socket
}

/// Says over RTMP what it wants.
pub(super) async fn ask_rtmp(
    socket: &mut (impl AsyncRead + AsyncWrite + Unpin),
    wish: &str,
    name: &str,
) {
    let mut reply = shake_hands(socket).await;
    reply.extend(rtmp_bytes::conversation(wish, name));
    socket.write_all(&reply).await.expect("written");
}

/// Returns C2, which ends the handshake.
pub(super) async fn shake_hands(socket: &mut (impl AsyncRead + AsyncWrite + Unpin)) -> Vec<u8> {
    let sent = socket.write_all(&rtmp_bytes::c0_c1()).await;
    sent.expect("written");
    let s0_s1_s2 = hear(socket, 1 + 2 * 1536).await;
    s0_s1_s2[1..1537].to_vec()
}

/// The requested stream: one that exists, where a client without a credential may ask for it.
fn stream(endpoint: Endpoint) -> &'static str {
    match endpoint.demand {
        Demand::Nothing => "radio.mp3",
        _ => "live/show",
    }
}

/// Whether a reply is that of a public row. Requests without a row get 404 or 405.
fn is_served(endpoint: Endpoint, answer: &str) -> bool {
    match (endpoint.method, endpoint.path) {
        // There is no session of that name, and only the handler of the row says so.
        (_, "/{stream}/whep/{id}") => {
            let kind = header(answer, "content-type");
            let is_problem = kind == Some("application/problem+json");
            is_problem && matches!(status(answer), 404 | 415)
        }
        (_, "/{stream}/still.mp4") => body(answer).contains("no picture"),
        (_, "/{folder}/{file}") => body(answer).contains("no such file"),
        (_, path) if path.contains("/recordings/{recording}") => {
            body(answer).contains("no such recording")
        }
        (_, "/{stream}/hls/{piece}") => body(answer).contains("no such piece"),
        _ => !matches!(status(answer), 404 | 405 | 501),
    }
}

async fn try_it(server: &TestServer, endpoint: Endpoint) -> String {
    let path = endpoint
        .path
        .replace("{stream}", stream(endpoint))
        .replace("{*name}", "radio.mp3");
    let path = path.replace("{id}", "1").replace("{piece}", "1.m4s");
    let path = path.replace("{folder}", "vod").replace("{file}", "a.mp4");
    let path = path.replace("{recording}", "006b0a5f2000010203040506");
    let path = path.replace("{fragments}", "0-6.m4s");
    let (method, query) = (endpoint.method, "?mode=updinfo&mount=/radio.mp3&song=x");
    match endpoint.surface {
        Surface::Rtmp => rtmp(server.rtmp, method, "show").await,
        Surface::Live if path.contains("admin") => {
            let form = match method {
                "POST" => "Content-Length: 0\r\n",
                _ => "",
            };
            ask(server.http, method, &format!("{path}{query}"), form).await
        }
        // A probe is answered as a listener would be, and ends.
        Surface::Live => ask(server.http, method, &path, "Range: bytes=0-1\r\n").await,
        // An answer without an end is asked for its head.
        Surface::Page if path.ends_with("/titles") => ask(server.http, "HEAD", &path, "").await,
        Surface::Page => ask(server.http, method, &path, "").await,
        Surface::Admin => ask(server.admin, method, &path, "").await,
    }
}

#[tokio::test]
async fn what_needs_a_credential_is_refused_without_one() {
    let (server, _source) = TestServer::on_air(CONFIG).await;
    for endpoint in routes::all().chain(::operator::ENDPOINTS) {
        let answer = try_it(&server, endpoint).await;
        let is_refused = match endpoint.surface {
            Surface::Rtmp => {
                assert!(!answer.contains("NetStream.Publish.Start"), "{answer:?}");
                // Playing is permitted; the answer is that there is nothing to play.
                answer.contains("error") && !answer.contains("NetStream.Play.StreamNotFound")
            }
            _ => matches!(status(&answer), 401 | 403),
        };
        let is_guarded = endpoint.demand != Demand::Nothing;
        assert_eq!(is_refused, is_guarded, "{endpoint:?}: {answer:?}");
        if !is_guarded && endpoint.surface != Surface::Rtmp {
            assert!(is_served(endpoint, &answer), "{endpoint:?}: {answer:?}");
        }
    }
    let [stream] = &server.registry.list()[..] else {
        panic!("a publisher was admitted");
    };
    assert_eq!(stream.name().as_str(), "radio.mp3");
    let info = stream.info();
    let unchanged = (fanout::Phase::Live, None);
    assert_eq!((info.phase, info.title), unchanged);
    server.close().await;
}

#[tokio::test]
async fn every_public_answer_can_be_read_by_pages_of_others() {
    let server = TestServer::open(CONFIG).await;
    for endpoint in routes::all() {
        if endpoint.surface != Surface::Rtmp {
            let answer = try_it(&server, endpoint).await;
            let origin = header(&answer, "access-control-allow-origin");
            assert_eq!(origin, Some("*"), "{endpoint:?}: {answer}");
        }
    }
    for (request, expected) in [
        (&b"GET / HTTP/1.1\r\n broken\r\n\r\n"[..], 400),
        (b"GET / HTTP/7.1\r\n\r\n", 505),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
        (b"POST / HTTP/1.0\r\nContent-Length: 0\r\n\r\n", 405),
        (b"GET /nothing/here HTTP/1.0\r\nHost: x\r\n\r\n", 404),
    ] {
        let answer = exchange(server.http, request).await;
        assert_eq!(status(&answer), expected, "{answer}");
        let origin = header(&answer, "access-control-allow-origin");
        assert_eq!(origin, Some("*"), "{answer}");
    }
    server.close().await;
}
