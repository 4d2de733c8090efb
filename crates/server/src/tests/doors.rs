//! What the doors admit, and what they answer to the rest.

use super::anonymous::rtmp_asking;
use super::*;

const AUTH: &str = "[auth]\npublish_key = \"bells-at-noon-41\"\n";

#[tokio::test]
async fn a_source_is_heard_and_listed() {
    let server = TestServer::open(AUTH).await;
    let mut source = server.publish("radio.mp3").await;

    let mut listener = connect(server.http).await;
    listener
        .write_all(b"GET /radio.mp3 HTTP/1.0\r\n\r\n")
        .await
        .expect("written");
    let mut heard = vec![0; 2_000];
    let read = tokio::time::timeout(SOON, listener.read_exact(&mut heard)).await;
    read.expect("in time").expect("a stream");
    assert!(heard.starts_with(b"HTTP/1.0 200 OK\r\n"));

    let page = ask(server.http, "GET", "/", "").await;
    assert!(body(&page).contains("&lt;b&gt;Tower&lt;/b&gt;"), "{page}");
    assert!(!body(&page).contains("<b>"), "{page}");
    let player = ask(server.http, "GET", "/radio.mp3/", "").await;
    assert_eq!(status(&player), 200);
    assert!(player.contains("\"path\":\"../radio.mp3\""), "{player}");
    assert!(header(&player, "content-security-policy").is_some());
    let missing = ask(server.http, "GET", "/live/none/", "").await;
    assert_eq!(status(&missing), 404);
    assert!(body(&missing).contains("Not live"), "{missing}");

    // Set by the key, and in the charset of the request.
    let update = "/admin/metadata?mode=updinfo&mount=/radio.mp3&song=Gr%FCn&charset=ISO-8859-1";
    let authorization = format!("Authorization: Basic {}\r\n", basic("source", KEY));
    let answer = ask(server.http, "GET", update, &authorization).await;
    assert_eq!(status(&answer), 200, "{answer}");
    let state = ask(server.http, "GET", "/status-json.xsl", "").await;
    let json: serde_json::Value = serde_json::from_str(body(&state)).expect("JSON");
    let told = &json["icestats"]["source"];
    assert_eq!(told["title"], "Grün");
    assert_eq!(
        told["listenurl"],
        format!("http://{}/radio.mp3", server.http)
    );

    source.write_all(&mp3_frame()).await.expect("still there");
    drop((source, listener));
    server.close().await;
}

#[tokio::test]
async fn a_half_closed_client_gets_its_answer() {
    let server = TestServer::open(AUTH).await;
    let mut socket = connect(server.http).await;
    let request = format!(
        "GET /admin/metadata?mode=updinfo&mount=/none&song=x HTTP/1.0\r\n\
         Authorization: Basic {}\r\n\r\n",
        basic("source", KEY)
    );
    socket.write_all(request.as_bytes()).await.expect("written");
    socket.shutdown().await.expect("half closed");
    assert!(read_all(&mut socket).await.starts_with("HTTP/1.0 "));
    server.close().await;
}

#[tokio::test]
async fn a_form_sets_the_title() {
    let server = TestServer::open(AUTH).await;
    let _source = server.publish("radio.mp3").await;
    let form = "mode=updinfo&mount=/radio.mp3&song=From+a+form";
    let headers = format!(
        "Authorization: Basic {}\r\nContent-Type: application/x-www-form-urlencoded\r\n\
         Content-Length: {}\r\n",
        basic("source", KEY),
        form.len()
    );
    let request = format!("POST /admin/metadata HTTP/1.1\r\nHost: x\r\n{headers}\r\n{form}");
    let answer = exchange(server.http, request.as_bytes()).await;
    assert_eq!(status(&answer), 200, "{answer}");
    let title = server.registry.list()[0].info().title.expect("a title");
    assert_eq!(title.text, "From a form");
    server.close().await;
}

#[tokio::test]
async fn a_client_of_the_wrong_protocol_is_told_or_closed() {
    let server = TestServer::open(AUTH).await;
    let answer = exchange(server.rtmp, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await;
    assert_eq!(status(&answer), 400);
    assert!(
        answer.contains(&format!("port {}", server.http.port())),
        "{answer}"
    );
    for garbage in [&b"\x16\x03\x01\x00\x05hello"[..], b"\0\0\0\0"] {
        assert_eq!(exchange(server.rtmp, garbage).await, "");
        assert_eq!(exchange(server.http, garbage).await, "");
    }
    assert_eq!(exchange(server.http, b"\x03rtmp").await, "");
    let answer = exchange(server.http, b"hackme\r\n").await;
    assert!(answer.contains("SHOUTcast v1 is not supported"), "{answer}");
    server.close().await;
}

#[tokio::test]
async fn slow_and_large_heads_are_refused() {
    let toml = "[http]\nlisten = [\"127.0.0.1:0\"]\nhead_timeout = \"100ms\"\n";
    let server = TestServer::open(toml).await;
    let answer = exchange(server.http, b"GET / HTTP/1.1\r\nHost:").await;
    assert_eq!(status(&answer), 408, "{answer}");
    let large = format!("GET / HTTP/1.1\r\nA: {}\r\n\r\n", "a".repeat(20_000));
    assert_eq!(status(&exchange(server.http, large.as_bytes()).await), 431);
    let many = format!("GET / HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(200));
    assert_eq!(status(&exchange(server.http, many.as_bytes()).await), 431);
    let probe = ask(server.http, "OPTIONS", "*", "").await;
    assert!(
        header(&probe, "allow").is_some_and(|allow| allow.contains("SOURCE")),
        "{probe}"
    );
    server.close().await;
}

#[tokio::test]
async fn limits_are_answered_with_their_reason() {
    let server = TestServer::open(&format!("{AUTH}[limits]\nlisteners = 1\n")).await;
    let _source = server.publish("radio.mp3").await;
    let mut first = connect(server.http).await;
    first
        .write_all(b"GET /radio.mp3 HTTP/1.0\r\n\r\n")
        .await
        .expect("written");
    let mut byte = [0];
    first.read_exact(&mut byte).await.expect("let in");
    let refused = ask(server.http, "GET", "/radio.mp3", "").await;
    assert_eq!(status(&refused), 503, "{refused}");
    assert!(header(&refused, "retry-after").is_some() && body(&refused).contains("listeners"));
    assert_eq!(
        status(&ask(server.http, "HEAD", "/radio.mp3", "").await),
        200,
        "it may still ask"
    );
    server.close().await;
}

#[tokio::test]
async fn refused_clients_are_told_when_to_come_again() {
    let server = TestServer::open(&format!("{AUTH}[limits]\nlisteners = 1\n")).await;
    let _source = server.publish("radio.mp3").await;
    let mut first = connect(server.http).await;
    first
        .write_all(b"GET /radio.mp3 HTTP/1.0\r\n\r\n")
        .await
        .expect("written");
    let mut byte = [0];
    first.read_exact(&mut byte).await.expect("let in");
    let mut told = std::collections::BTreeSet::new();
    for headers in ["", "Icy-MetaData: 1\r\n"].repeat(10) {
        let refused = ask(server.http, "GET", "/radio.mp3", headers).await;
        assert_eq!(status(&refused), 503, "{refused}");
        assert!(body(&refused).contains("as many listeners as"), "{refused}");
        let seconds = header(&refused, "retry-after").expect("it says when");
        told.insert(seconds.parse::<u64>().expect("seconds"));
    }
    assert!(told.len() > 2, "they would all come at once: {told:?}");
    assert!(told.iter().all(|seconds| (5..=15).contains(seconds)));
    let mut player = rtmp_asking(server.rtmp, "play", "radio.mp3").await;
    read_until(&mut player, "NetStream.Play.Failed").await;
    let mut player = rtmp_asking(server.rtmp, "play", "radio.mp3").await;
    read_until(
        &mut player,
        "as many listeners as it may have; try again in",
    )
    .await;
    let page = ask(server.admin, "GET", "/metrics", "").await;
    let counted = "carillon_rejected_total{reason=\"limit_listeners\"} 22";
    assert!(page.contains(counted), "{page}");
    assert!(
        page.contains("carillon_pressure{kind=\"descriptors\"} 0"),
        "{page}"
    );
    first.read_exact(&mut byte).await.expect("still there");
    server.close().await;
}

#[tokio::test]
async fn proxies_are_believed_if_they_are_trusted() {
    let http = "[http]\nlisten = [\"127.0.0.1:0\"]\ntrusted_proxies = [\"127.0.0.0/8\"]\n";
    let server = TestServer::open(&format!("{http}{AUTH}[limits]\nper_ip = 2\n")).await;
    let _source = server.publish("radio.mp3").await;
    let mut listeners = Vec::new();
    for address in ["192.0.2.1", "203.0.113.9, 192.0.2.1", "198.51.100.7"] {
        let mut socket = connect(server.http).await;
        let head = format!("GET /radio.mp3 HTTP/1.0\r\nX-Forwarded-For: {address}\r\n\r\n");
        socket.write_all(head.as_bytes()).await.expect("written");
        let mut byte = [0];
        socket.read_exact(&mut byte).await.expect("let in");
        listeners.push(socket);
    }
    let third = ask(
        server.http,
        "GET",
        "/radio.mp3",
        "X-Forwarded-For: 192.0.2.1\r\n",
    )
    .await;
    assert_eq!(status(&third), 429, "{third}");
    let answer = ask(server.admin, "GET", "/api/v1/listeners", "").await;
    assert!(
        answer.contains("198.51.100.7") && !answer.contains("203.0.113.9"),
        "{answer}"
    );
    server.close().await;
}

/// What a browser remembers of the operator goes with whatever a page asks for.
#[tokio::test]
async fn pages_of_other_sites_administrate_nothing() {
    let auth = format!("{AUTH}admin_password = \"tower-warden-77\"\n");
    let server = TestServer::open(&auth).await;
    let _source = server.publish("radio.mp3").await;
    let credential = format!(
        "Authorization: Basic {}\r\n",
        basic("admin", "tower-warden-77")
    );
    let end = "/admin/killsource?mount=/radio.mp3";
    for page in [
        "Origin: http://elsewhere.example\r\n",
        "Referer: http://elsewhere.example/page\r\n",
        "Sec-Fetch-Site: cross-site\r\n",
    ] {
        let answer = ask(server.http, "GET", end, &format!("{credential}{page}")).await;
        assert_eq!(status(&answer), 403, "{page}: {answer}");
    }
    let own = format!("{credential}Referer: http://{}/admin/\r\n", server.http);
    assert_eq!(status(&ask(server.http, "GET", end, &own).await), 200);
    server.close().await;
}
