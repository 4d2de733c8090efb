//! WHIP and WHEP over HTTP: every status, every header, and hostile requests.

use super::*;

pub(super) const SDP: &str = "Content-Type: application/sdp\r\n";
const FRAGMENT: &str = "Content-Type: application/trickle-ice-sdpfrag\r\n";

/// A description with ordinary DTLS parameters and these media sections.
pub(super) fn offer(sections: &[&str]) -> String {
    let mids: String = (0..sections.len()).map(|mid| format!(" {mid}")).collect();
    let mut text = format!(
        "v=0\r\no=- 4611732854375898212 2 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\n\
         a=group:BUNDLE{mids}\r\na=msid-semantic: WMS\r\n"
    );
    for (mid, section) in sections.iter().enumerate() {
        text.push_str(section);
        text.push_str(&format!(
            "c=IN IP4 0.0.0.0\r\na=mid:{mid}\r\na=rtcp-mux\r\na=setup:actpass\r\n\
             a=ice-ufrag:TdB7\r\na=ice-pwd:ZxVHyLxWTDEZdb7pUvXZVLAY\r\n\
             a=fingerprint:sha-256 7B:8B:F0:65:5F:78:E2:51:3B:AC:6F:F3:3F:46:1B:35:\
             DC:B8:5F:64:1A:24:C2:43:F0:A1:58:D0:A1:2C:19:08\r\n"
        ));
    }
    text
}

const AUDIO: &str = "m=audio 9 UDP/TLS/RTP/SAVPF 111\r\na=rtpmap:111 opus/48000/2\r\n\
    a=fmtp:111 minptime=10;useinbandfec=1\r\n";
pub(super) const PICTURE: &str = "m=video 9 UDP/TLS/RTP/SAVPF 96 107\r\na=rtpmap:96 VP8/90000\r\n\
    a=rtpmap:107 H264/90000\r\na=rtcp-fb:107 nack\r\na=rtcp-fb:107 nack pli\r\n\
    a=fmtp:107 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f\r\n";
const UNKNOWN: &str = "m=audio 9 UDP/TLS/RTP/SAVPF 0\r\na=rtpmap:0 PCMU/8000\r\n";

fn listener() -> String {
    offer(&[AUDIO]) + "a=recvonly\r\n"
}

fn publisher() -> String {
    offer(&[AUDIO]) + "a=sendonly\r\n"
}

/// One request with a body.
fn request(method: &str, path: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let length = format!("Content-Length: {}\r\n", body.len());
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{headers}{length}\r\n"
    );
    [head.as_bytes(), body].concat()
}

/// The answer to one request with a body.
pub(super) async fn send(
    server: &TestServer,
    method: &str,
    path: &str,
    headers: &str,
    body: &str,
) -> String {
    let request = request(method, path, headers, body.as_bytes());
    exchange(server.http, &request).await
}

fn bearer(key: &str) -> String {
    format!("{SDP}Authorization: Bearer {key}\r\n")
}

/// Asserts what all refusals have in common.
pub(super) fn assert_problem(answer: &str, expected: u16, words: &str) {
    assert_eq!(status(answer), expected, "{answer}");
    for (name, value) in [
        ("content-type", "application/problem+json"),
        ("access-control-allow-origin", "*"),
    ] {
        assert_eq!(header(answer, name), Some(value), "{answer}");
    }
    let problem = json(answer);
    assert_eq!(problem["status"], expected, "{answer}");
    let detail = problem["detail"].as_str().unwrap_or_default();
    assert!(detail.contains(words), "{words:?} is not said: {answer}");
    let comes_again = header(answer, "retry-after").is_some();
    assert_eq!(comes_again, matches!(expected, 409 | 429 | 503), "{answer}");
}

#[tokio::test]
async fn requests_are_refused_with_their_reason() {
    let (server, _source) = TestServer::on_air(AUTH).await;
    let key = bearer(KEY);
    let (listener, publisher) = (listener(), publisher());
    let data = offer(&["m=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\n"]);
    let plain = listener.replace("a=fingerprint", "a=nothing");
    let no_picture = offer(&[PICTURE]);
    let mute = offer(&[AUDIO]) + "a=inactive\r\n";
    let unknown = offer(&[UNKNOWN]) + "a=sendonly\r\n";
    let twice = offer(&[AUDIO, AUDIO]);
    let apart = twice.replace("a=group:BUNDLE", "a=nothing");
    let long = "v".repeat(64 * 1024 + 1);
    let huge = "v".repeat(200_000);
    let (whep, whip) = ("/radio.mp3/whep", "/live/show/whip");
    let [viewer, sender] = ["/live/show/whep/0123", "/live/show/whip/0123"];
    let guessed = "/live/show/whip?key=wrong";
    let (plain_text, guess) = ("Content-Type: text/plain\r\n", bearer("wrong"));
    let (not_sdp, unknown_session) = ("application/sdp", "no such session");
    for (method, path, headers, body, expected, words) in [
        ("POST", whep, "", &listener[..], 415, not_sdp),
        ("POST", whep, plain_text, &listener, 415, not_sdp),
        ("POST", whep, SDP, "", 400, "not SDP"),
        ("POST", whep, SDP, "hello", 400, "not SDP"),
        ("POST", whep, SDP, &plain, 400, "fingerprint"),
        ("POST", whep, SDP, &data, 422, "usable media section"),
        ("POST", whep, SDP, &no_picture, 422, ""),
        ("POST", whep, SDP, &apart, 422, "max-bundle"),
        ("POST", whep, SDP, &long, 413, "65536"),
        ("POST", whep, SDP, &huge, 413, "65536"),
        ("POST", "/live/none/whep", SDP, &listener, 409, "live/none"),
        ("PATCH", whep, FRAGMENT, "", 405, "POST"),
        ("DELETE", whep, "", "", 405, "POST"),
        ("POST", whip, SDP, &publisher, 401, "Bearer KEY"),
        ("POST", whip, "", "", 401, "Bearer KEY"),
        ("POST", guessed, SDP, &publisher, 401, "wrong"),
        ("POST", whip, &guess, &publisher, 401, "wrong"),
        ("POST", whip, &key, "hello", 400, "not SDP"),
        ("POST", whip, &key, &mute, 422, ""),
        ("POST", whip, &key, &unknown, 422, "Opus"),
        ("POST", whip, &key, &twice, 422, ""),
        ("POST", "/admin/show/whip", &key, &publisher, 404, "pages"),
        ("POST", viewer, SDP, &listener, 405, "PATCH"),
        ("DELETE", viewer, "", "", 404, unknown_session),
        ("PATCH", viewer, FRAGMENT, "", 404, unknown_session),
        ("GET", viewer, "", "", 404, unknown_session),
        ("DELETE", sender, "", "", 401, "key"),
        ("PATCH", sender, FRAGMENT, "", 401, "key"),
    ] {
        let answer = send(&server, method, path, headers, body).await;
        assert_problem(&answer, expected, words);
        match expected {
            401 => {
                let challenge = header(&answer, "www-authenticate").expect("a challenge");
                assert!(challenge.starts_with("Bearer "), "{answer}");
                let is_wrong = challenge.contains("invalid_token");
                assert_eq!(is_wrong, words == "wrong", "{answer}");
            }
            405 => assert!(header(&answer, "allow").is_some(), "{answer}"),
            415 => assert_eq!(header(&answer, "accept-post"), Some(not_sdp), "{answer}"),
            _ => {}
        }
    }
    let [stream] = &server.registry.list()[..] else {
        panic!("a publisher was admitted");
    };
    assert_eq!(stream.name().as_str(), "radio.mp3");
    server.close().await;
}

/// An origin that cannot say of any stream whether it exists.
struct Silent;

impl fanout::Origin for Silent {
    fn expects(&self, _: &media::StreamName) -> fanout::Expected {
        fanout::Expected::Perhaps
    }

    fn locate(
        &self,
        _: &media::StreamName,
    ) -> std::pin::Pin<Box<dyn Future<Output = fanout::Located> + Send>> {
        Box::pin(std::future::ready(fanout::Located::Unavailable))
    }
}

#[tokio::test]
async fn a_stream_that_cannot_be_fetched_now_is_not_taken_for_one_without_a_publisher() {
    let server = TestServer::open(AUTH).await;
    server.registry.set_origin(Arc::new(Silent));
    let answer = send(&server, "POST", "/live/none/whep", SDP, &listener()).await;
    assert_problem(&answer, 503, "live/none cannot be fetched");
    server.close().await;
}

#[tokio::test]
async fn a_session_is_opened_changed_and_ended() {
    let server = TestServer::open(AUTH).await;
    let _source = server.publish("radio.mp3").await;
    let answer = send(&server, "POST", "/radio.mp3/whep", SDP, &listener()).await;
    assert_eq!(status(&answer), 201, "{answer}");
    assert_eq!(header(&answer, "content-type"), Some("application/sdp"));
    let exposed = header(&answer, "access-control-expose-headers").expect("CORS");
    for name in ["Location", "ETag", "Link", "Accept-Patch", "Retry-After"] {
        assert!(exposed.contains(name), "{answer}");
    }
    let sdp = body(&answer).to_owned();
    for line in [
        "a=ice-lite\r\n",
        "a=setup:passive\r\n",
        "a=group:BUNDLE 0\r\n",
        "a=sendonly\r\n",
        "a=rtcp-mux\r\n",
        "a=end-of-candidates\r\n",
        "a=candidate:1 1 udp ",
        "typ host tcptype passive\r\n",
        "a=rtpmap:111 opus/48000/2\r\n",
    ] {
        assert!(sdp.contains(line), "{line:?}: {sdp}");
    }
    let location = header(&answer, "location").expect("a session").to_owned();
    let id = location.strip_prefix("/radio.mp3/whep/").expect("a path");
    let is_hexadecimal = id.bytes().all(|byte| byte.is_ascii_hexdigit());
    assert!(id.len() == 32 && is_hexadecimal, "{location}");
    let etag = header(&answer, "etag").expect("a tag").to_owned();
    let tagged = format!("a=ice-ufrag:{}\r\n", etag.trim_matches('"'));
    assert!(sdp.contains(&tagged), "{etag}");

    // Nobody listens before its peer has connected.
    let listed = ask(server.admin, "GET", "/api/v1/listeners", "").await;
    assert!(body(&listed).contains("\"listeners\":[]"), "{listed}");

    let candidates = "a=ice-ufrag:TdB7\r\na=ice-pwd:ZxVHyLxWTDEZdb7pUvXZVLAY\r\n\
        m=audio 9 RTP/AVP 0\r\na=mid:0\r\n\
        a=candidate:1 1 udp 1 192.0.2.1 5000 typ host\r\na=end-of-candidates\r\n";
    let restart = "a=ice-ufrag:NewOne\r\na=ice-pwd:ZxVHyLxWTDEZdb7pUvXZVLAZ\r\n";
    let patch = async |condition: &str, body: &str| {
        let headers = match condition {
            "" => FRAGMENT.to_owned(),
            tag => format!("{FRAGMENT}If-Match: {tag}\r\n"),
        };
        send(&server, "PATCH", &location, &headers, body).await
    };
    assert_problem(&patch("", restart).await, 428, "If-Match");
    assert_problem(&patch("", "v=0\r\n").await, 400, "fragment");
    assert_problem(&patch("\"other\"", candidates).await, 412, "ETag");
    assert_problem(&patch("\"other\"", restart).await, 412, "ETag");
    assert_problem(&patch(&etag, "v=0\r\n").await, 400, "fragment");
    assert_problem(
        &patch(&etag, "a=ice-ufrag:NewOne\r\n").await,
        400,
        "credentials",
    );
    let wrong = send(
        &server,
        "PATCH",
        &location,
        &format!("{SDP}If-Match: *\r\n"),
        "",
    )
    .await;
    assert_problem(&wrong, 415, "trickle-ice-sdpfrag");
    assert_eq!(
        header(&wrong, "accept-patch"),
        Some("application/trickle-ice-sdpfrag")
    );
    for condition in [&etag[..], "*", "\"*\"", ""] {
        let answer = patch(condition, candidates).await;
        assert_eq!(status(&answer), 204, "{answer}");
        assert_eq!(header(&answer, "etag"), None, "{answer}");
    }

    let restarted = patch("\"*\"", restart).await;
    assert_eq!(status(&restarted), 200, "{restarted}");
    assert_eq!(
        header(&restarted, "content-type"),
        Some("application/trickle-ice-sdpfrag")
    );
    let new = header(&restarted, "etag").expect("a tag");
    assert_ne!(new, etag);
    let ufrag = format!("a=ice-ufrag:{}\r\n", new.trim_matches('"'));
    assert!(body(&restarted).contains(&ufrag), "{restarted}");
    assert!(body(&restarted).contains("a=mid:0\r\n"), "{restarted}");
    assert_problem(&patch(&etag, candidates).await, 412, "ETag");

    assert_eq!(status(&ask(server.http, "GET", &location, "").await), 204);
    let head = ask(server.http, "HEAD", &location, "").await;
    assert_eq!(
        (status(&head), header(&head, "content-type")),
        (200, Some("application/sdp"))
    );
    for elsewhere in [
        format!("/radio.mp3/whip/{id}"),
        format!("/live/show/whep/{id}"),
    ] {
        let headers = bearer(KEY);
        let answer = send(&server, "DELETE", &elsewhere, &headers, "").await;
        assert_problem(&answer, 404, "no such session");
    }
    let condition = "If-Match: \"whatever\"\r\n";
    let ended = ask(server.http, "DELETE", &location, condition).await;
    assert_eq!(status(&ended), 200, "{ended}");
    for method in ["DELETE", "GET"] {
        let answer = ask(server.http, method, &location, "").await;
        assert_problem(&answer, 404, "no such session");
    }
    assert_problem(&patch("*", candidates).await, 404, "no such session");
    server.close().await;
}

#[tokio::test]
async fn endpoints_tell_what_they_are() {
    let server = TestServer::open(AUTH).await;
    for way in ["whep", "whip"] {
        let path = format!("/live/show/{way}");
        assert_eq!(body(&server.get(&path, 204).await), "");
        let answer = answered(server.http, "HEAD", &path, "", 200).await;
        assert_eq!(header(&answer, "content-type"), Some("application/sdp"));
        let preflight = "Origin: https://a.example\r\nAccess-Control-Request-Method: POST\r\n\
            Access-Control-Request-Headers: authorization,content-type\r\n";
        let answer = answered(server.http, "OPTIONS", &path, preflight, 204).await;
        for (name, word) in [
            ("access-control-allow-origin", "*"),
            ("access-control-allow-methods", "PATCH"),
            ("access-control-allow-methods", "DELETE"),
            ("access-control-allow-headers", "Authorization"),
            ("access-control-allow-headers", "If-Match"),
            ("access-control-expose-headers", "Location"),
            ("accept-post", "application/sdp"),
        ] {
            let value = header(&answer, name).unwrap_or_default();
            assert!(value.contains(word), "{name} {word}: {answer}");
        }
        assert_eq!(header(&answer, "link"), None);
        let beside = format!("{path}/?key=K");
        let answer = send(&server, "POST", &beside, SDP, &publisher()).await;
        assert_problem(&answer, 307, "a slash too many");
        let location = format!("{path}?key=K");
        assert_eq!(header(&answer, "location"), Some(&location[..]), "{answer}");
    }
    server.close().await;
}

#[tokio::test]
async fn publishers_show_their_key_wherever_they_can() {
    let server = TestServer::open(&format!("{AUTH}[ingest]\ntakeover = \"never\"\n")).await;
    let keys = [
        ("/live/a/whip", bearer(KEY)),
        ("/live/b/whip?key=bells-at-noon-41", SDP.to_owned()),
        ("/live/c/whip?token=bells-at-noon-41", SDP.to_owned()),
    ];
    for (path, headers) in &keys {
        let answer = send(&server, "POST", path, headers, &publisher()).await;
        assert_eq!(status(&answer), 201, "{answer}");
        assert!(body(&answer).contains("a=recvonly\r\n"), "{answer}");
        let location = header(&answer, "location").expect("a session");
        let query = |text: &str| text.split_once('?').map(|(_, query)| query.to_owned());
        assert_eq!(query(location), query(path), "{answer}");

        // An answer reserves nothing.
        let other = send(&server, "POST", path, headers, &publisher()).await;
        assert_eq!(status(&other), 201, "{other}");
        assert!(server.registry.list().is_empty(), "no media yet");
        let bare = location.split('?').next().unwrap_or_default();
        assert_problem(&ask(server.http, "DELETE", bare, "").await, 401, "key");
        answered(server.http, "DELETE", location, headers, 200).await;
    }
    let source = server.publish("live/a").await;
    let (path, headers) = &keys[0];
    let busy = send(&server, "POST", path, headers, &publisher()).await;
    assert_problem(&busy, 409, "published by another client");
    let path_of_stream = "/api/v1/streams/live/a?for=1m";
    answered(server.admin, "DELETE", path_of_stream, "", 204).await;
    let blocked = send(&server, "POST", path, headers, &publisher()).await;
    assert_problem(&blocked, 403, "operator has ended");
    drop(source);
    server.close().await;
}

#[tokio::test]
async fn guessing_ends_in_waiting() {
    let server = TestServer::open(AUTH).await;
    let guess = async |key: &str| {
        let path = "/live/show/whip";
        send(&server, "POST", path, &bearer(key), &publisher()).await
    };
    for _ in 0..20 {
        assert_eq!(status(&guess("wrong").await), 401);
    }
    assert_problem(&guess("wrong").await, 429, "too many wrong keys");
    assert_problem(&guess(KEY).await, 429, "too many wrong keys");
    server.close().await;
}

#[tokio::test]
async fn a_full_server_says_when_to_come_again() {
    let (server, _source) = TestServer::on_air(&format!("{AUTH}[limits]\nlisteners = 1\n")).await;
    let watch = async || send(&server, "POST", "/radio.mp3/whep", SDP, &listener()).await;
    let first = watch().await;
    assert_eq!(status(&first), 201, "{first}");
    assert_problem(&watch().await, 503, "as many listeners as");
    let counted = "carillon_rejected_total{reason=\"limit_listeners\"} 1";
    assert_counted(&server, &[counted]).await;
    let gone = "carillon_pending_connections 0.0\n";
    let waits = "carillon_pending_sessions 1.0\n";
    // The session waits for its peer, and the connection that asked for it is gone.
    until("the session alone", async || {
        let page = ask(server.admin, "GET", "/metrics", "").await;
        page.contains(gone) && page.contains(waits)
    })
    .await;
    let location = header(&first, "location").expect("a session");
    answered(server.http, "DELETE", location, "", 200).await;
    until("a free place", async || status(&watch().await) == 201).await;
    server.close().await;
}

#[tokio::test]
async fn abandoned_sessions_give_way_to_newer_ones() {
    // Half of the permits for sessions that wait, an eighth for one address.
    let limits = "[limits]\nlisteners = 16\n";
    let (server, _source) = TestServer::on_air(&format!("{AUTH}{limits}")).await;
    let request = request("POST", "/radio.mp3/whep", SDP, listener().as_bytes());
    // The permit of an ended session is free a moment later.
    let open = async |host: u8| {
        found("a session", async || {
            let mut socket = connect_from(host, server.http).await;
            socket.write_all(&request).await.expect("written");
            let answer = read_all(&mut socket).await;
            assert!(matches!(status(&answer), 201 | 503), "{answer}");
            let location = header(&answer, "location").filter(|_| status(&answer) == 201);
            location.map(ToOwned::to_owned)
        })
        .await
    };
    let is_there = async |location: &str| {
        let answer = ask(server.http, "GET", location, "").await;
        status(&answer) == 204
    };
    let honest = open(100).await;
    let mut sessions = Vec::new();
    for _ in 0..100 {
        for host in 2..6 {
            sessions.push(open(host).await);
        }
    }
    assert!(is_there(&honest).await, "it holds the least");
    let mut left = 0;
    for session in &sessions {
        left += usize::from(is_there(session).await);
    }
    assert!(left <= 7, "{left}");
    assert!(is_there(sessions.last().expect("some")).await);
    // An evicted session is gone at the port, and has returned its permit.
    let pending = "carillon_pending_sessions 8.0\n";
    let evicted = "carillon_rejected_total{reason=\"limit_pending_sessions\"} 393";
    assert_counted(&server, &[pending, evicted]).await;
    drop(listening(&server, "radio.mp3").await);
    server.close().await;
}

#[tokio::test]
async fn webrtc_can_be_switched_off() {
    let server = TestServer::open(&format!("{AUTH}[webrtc]\nlisten = \"\"\n")).await;
    assert!(!server.notice.contains("webrtc"), "{}", server.notice);
    for (path, headers) in [("/live/show/whep", SDP), ("/live/show/whip", &bearer(KEY))] {
        let answer = send(&server, "POST", path, headers, &listener()).await;
        assert_problem(&answer, 404, "switched off");
    }
    let page = server.get("/live/show/publish", 404).await;
    assert!(page.contains("switched off"), "{page}");
    server.close().await;
}

#[tokio::test]
async fn a_session_is_where_the_outside_world_finds_it() {
    let listen = "[http]\nlisten = [\"127.0.0.1:0\"]\n";
    let named = "base_url = \"https://radio.example.com/tv\"\n";
    let trusted = "trusted_proxies = [\"127.0.0.1\"]\n";
    let prefix = "X-Forwarded-Prefix: /tv\r\n";
    for (http, headers, expected) in [
        (named, "", "/tv"),
        (trusted, prefix, "/tv"),
        (trusted, "X-Forwarded-Prefix: //evil.example\r\n", ""),
        ("", prefix, ""),
    ] {
        let (server, _source) = TestServer::on_air(&format!("{listen}{http}{AUTH}")).await;
        let headers = format!("{SDP}{headers}");
        let answer = send(&server, "POST", "/radio.mp3/whep", &headers, &listener()).await;
        let location = header(&answer, "location").expect("a session");
        let start = format!("{expected}/radio.mp3/whep/");
        assert!(location.starts_with(&start), "{location}");
        let answer = send(&server, "POST", "/radio.mp3/whep/", &headers, &listener()).await;
        let beside = format!("{expected}/radio.mp3/whep");
        assert_eq!(header(&answer, "location"), Some(&*beside), "{answer}");
        server.close().await;
    }
}

#[tokio::test]
async fn the_publish_page_is_framed_by_no_other_page() {
    let server = TestServer::open(AUTH).await;
    let page = server.get("/live/show/publish", 200).await;
    let policy = header(&page, "content-security-policy").expect("a policy");
    assert!(policy.contains("frame-ancestors 'none'"), "{policy}");
    let script = "/_/publish.js";
    assert!(page.contains(script), "{page}");
    server.get(script, 200).await;
    server.close().await;
}

#[tokio::test]
async fn strange_bodies_are_refused_and_nothing_breaks() {
    let (server, _source) = TestServer::on_air(AUTH).await;
    let good = listener();
    let section = "m=audio 9 UDP/TLS/RTP/SAVPF 111\r\n";
    let candidate = "a=candidate:1 1 udp 1 192.0.2.1 1 typ host\r\n";
    let mut bodies: Vec<Vec<u8>> = vec![
        vec![0; 1_000],
        vec![0xff; 60_000],
        section.repeat(1_500).into_bytes(),
        candidate.repeat(1_200).into_bytes(),
        format!("{good}a=x:{}\r\n", "y".repeat(50_000)).into_bytes(),
        good.replace("TdB7", &"u".repeat(10_000)).into_bytes(),
        good.replace("\r\n", "\n\u{0}\n").into_bytes(),
        good.replace("111", "4294967296").into_bytes(),
    ];
    // Cut at any length.
    let ends = (0..good.len()).step_by(17);
    bodies.extend(ends.map(|end| good.as_bytes()[..end].to_vec()));
    for body in &bodies {
        for path in ["/radio.mp3/whep", "/live/show/whip?key=bells-at-noon-41"] {
            let answer = exchange(server.http, &request("POST", path, SDP, body)).await;
            let is_fit = matches!(status(&answer), 201 | 400 | 409 | 413 | 422);
            assert!(is_fit, "{answer}");
        }
    }
    let answer = send(&server, "POST", "/radio.mp3/whep", SDP, &good).await;
    assert_eq!(status(&answer), 201, "{answer}");
    server.close().await;
}

#[tokio::test]
async fn sessions_are_not_named_in_the_access_log() {
    let folder = tempfile::tempdir().expect("a folder");
    let access = folder.path().join("access.log");
    let log = format!("{AUTH}[log]\naccess = {access:?}\n");
    let (server, _source) = TestServer::on_air(&log).await;
    let answer = send(&server, "POST", "/radio.mp3/whep", SDP, &listener()).await;
    let location = header(&answer, "location").expect("a session").to_owned();
    server.get(&location, 204).await;
    answered(server.http, "DELETE", &location, "", 200).await;
    server.close().await;
    let access = std::fs::read_to_string(access).expect("an access log");
    let id = location.rsplit('/').next().expect("a name");
    assert!(!access.contains(id), "{access}");
    let lines = [
        "\"POST /radio.mp3/whep HTTP/1.1\" 201",
        "\"DELETE /radio.mp3/whep/* HTTP/1.1\" 200",
        "\"PLAY /radio.mp3 WHEP/1.0\" 200 0",
    ];
    assert_has(&access, &lines);
}
