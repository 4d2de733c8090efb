//! Connections that the doors admit, and the replies to all others.

use super::anonymous::rtmp_asking;
use super::*;

#[tokio::test]
async fn a_half_closed_client_gets_its_answer() {
    let server = TestServer::open(AUTH).await;
    let request = format!(
        "GET /admin/metadata?mode=updinfo&mount=/none&song=x HTTP/1.0\r\n{}\r\n",
        authorization("source", KEY)
    );
    let mut socket = saying(server.http, request.as_bytes()).await;
    socket.shutdown().await.expect("half closed");
    assert!(read_all(&mut socket).await.starts_with("HTTP/1.0 "));
    server.close().await;
}

#[tokio::test]
async fn a_form_sets_the_title() {
    let (server, _source) = TestServer::on_air(AUTH).await;
    let form = "mode=updinfo&mount=/radio.mp3&song=From+a+form";
    let kind = "Content-Type: application/x-www-form-urlencoded\r\n";
    let headers = authorization("source", KEY) + kind;
    let answer = rtc::send(&server, "POST", "/admin/metadata", &headers, form).await;
    assert_eq!(status(&answer), 200, "{answer}");
    let title = server.registry.list()[0].info().title.expect("a title");
    assert_eq!(title.text, "From a form");
    server.close().await;
}

#[tokio::test]
async fn a_client_of_the_wrong_protocol_is_reported_or_closed() {
    let server = TestServer::open(AUTH).await;
    let answer = exchange(server.rtmp, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await;
    let is_named = answer.contains(&format!("port {}", server.http.port()));
    assert!(status(&answer) == 400 && is_named, "{answer}");
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
async fn refused_clients_learn_when_to_come_again() {
    let (server, _source) = TestServer::on_air(&format!("{AUTH}[limits]\nlisteners = 1\n")).await;
    let mut first = listening(&server, "radio.mp3").await;
    // Others may still ask.
    answered(server.http, "HEAD", "/radio.mp3", "", 200).await;
    let mut reported = std::collections::BTreeSet::new();
    for headers in ["", "Icy-MetaData: 1\r\n"].repeat(10) {
        let refused = answered(server.http, "GET", "/radio.mp3", headers, 503).await;
        assert!(body(&refused).contains("as many listeners as"), "{refused}");
        let seconds = header(&refused, "retry-after").expect("it says when");
        reported.insert(seconds.parse::<u64>().expect("seconds"));
    }
    // Otherwise they would all come at once.
    assert!(reported.len() > 2, "{reported:?}");
    assert!(reported.iter().all(|seconds| (5..=15).contains(seconds)));
    let words = "as many listeners as it may have; try again in";
    for said in ["NetStream.Play.Failed", words] {
        let mut player = rtmp_asking(server.rtmp, "play", "radio.mp3").await;
        read_until(&mut player, said).await;
    }
    let counted = "carillon_rejected_total{reason=\"limit_listeners\"} 22";
    let pressure = "carillon_pressure{kind=\"descriptors\"} 0";
    assert_counted(&server, &[counted, pressure]).await;
    hear(&mut first, 1).await;
    server.close().await;
}

/// A browser sends what it remembers of the operator with whatever request a page makes.
#[tokio::test]
async fn pages_of_other_sites_administrate_nothing() {
    let auth = format!("{AUTH}admin_password = \"tower-warden-77\"\n");
    let (server, _source) = TestServer::on_air(&auth).await;
    let credential = authorization("admin", PASSWORD);
    let end = "/admin/killsource?mount=/radio.mp3";
    for page in [
        "Origin: http://elsewhere.example\r\n",
        "Referer: http://elsewhere.example/page\r\n",
        "Sec-Fetch-Site: cross-site\r\n",
    ] {
        let headers = format!("{credential}{page}");
        answered(server.http, "GET", end, &headers, 403).await;
    }
    let own = format!("{credential}Referer: http://{}/admin/\r\n", server.http);
    answered(server.http, "GET", end, &own, 200).await;
    server.close().await;
}
