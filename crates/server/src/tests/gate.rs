//! An authority that takes its time, and requests that do not wait for it.

use std::sync::Arc;

use fanout::Phase;
use media::StreamName;

use super::authorities::Late;
use super::*;

async fn server() -> (TestServer, Arc<Late>) {
    let late = Arc::new(Late::new(KEY));
    let server = TestServer::guarded("", Arc::clone(&late) as _).await;
    (server, late)
}

/// Waits until so many questions are pending.
async fn asked(late: &Late, count: usize) {
    until("the question", async || late.waiting() == count).await;
}

/// A source of `name`, whose answer is not waited for.
async fn source(server: &TestServer, name: &str) -> TcpStream {
    let key = authorization("studio", KEY);
    let head = format!("PUT /{name} HTTP/1.1\r\nHost: x\r\n{key}Content-Type: audio/mpeg\r\n\r\n");
    saying(server.http, head.as_bytes()).await
}

#[tokio::test]
async fn a_slow_authority_delays_its_own_publisher_and_listener_alone() {
    let (server, late) = server().await;
    let mut waits = source(&server, "late/a").await;
    asked(&late, 1).await;
    let mut others = Vec::new();
    for number in 0..100 {
        let name = format!("radio{number}.mp3");
        let source = server.publish(&name).await;
        let mut listener = listening(&server, &name).await;
        hear(&mut listener, 1_000).await;
        others.push((source, listener));
    }
    assert_eq!(late.waiting(), 1, "nothing has been decided");
    late.open();
    assert_eq!(hear(&mut waits, 12).await, b"HTTP/1.1 200");
    let name = StreamName::parse("late/a").expect("a name");
    let info = server.registry.stream(&name).expect("it is there").info();
    assert_eq!(info.phase, Phase::Live);
    let reported = json(&ask(server.admin, "GET", "/api/v1/streams", "").await);
    let streams = reported["streams"].as_array().expect("a list");
    let late = streams.iter().find(|one| one["name"] == "late/a");
    assert_eq!(late.expect("it is listed")["identity"], "studio");
    drop((waits, others));
    server.close().await;
}

/// Something that is no offer, for WHIP or WHEP.
async fn offer(server: &TestServer, address: &str) -> TcpStream {
    let head = format!(
        "POST /late/a/{address}?key={KEY} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\
         Content-Type: application/sdp\r\nContent-Length: 5\r\n\r\nhello"
    );
    saying(server.http, head.as_bytes()).await
}

#[tokio::test]
async fn a_client_of_webrtc_that_hangs_up_waits_for_no_permission() {
    let (server, late) = server().await;
    for address in ["whep", "whip"] {
        let client = offer(&server, address).await;
        asked(&late, 1).await;
        drop(client);
        asked(&late, 0).await;
    }
    server.close().await;
}

#[tokio::test]
async fn a_viewer_and_a_publisher_over_webrtc_wait_for_their_own_answers() {
    let (server, late) = server().await;
    let clients = [offer(&server, "whep").await, offer(&server, "whip").await];
    asked(&late, 2).await;
    late.open();
    for mut client in clients {
        let answer = read_all(&mut client).await;
        assert_eq!(status(&answer), 400, "the offer is none: {answer}");
    }
    server.close().await;
}

#[tokio::test]
async fn a_streams_recordings_are_for_whom_the_gate_lets_listen() {
    let (server, late) = server().await;
    let id = "006b0a5f2000010203040506";
    let paths = [
        "recordings.json".to_owned(),
        format!("recordings/{id}.mp4"),
        format!("recordings/{id}/index.m3u8"),
        format!("recordings/{id}/from-0.m3u8"),
        format!("recordings/{id}/init.mp4"),
        format!("recordings/{id}/0-6.m4s"),
        "index.m3u8?at=start".to_owned(),
        "clip.mp4?from=-60".to_owned(),
    ];
    let mut waiting = Vec::new();
    for path in &paths {
        let head = format!("GET /late/a/{path} HTTP/1.1\r\nHost: x\r\n\r\n");
        waiting.push(saying(server.http, head.as_bytes()).await);
        asked(&late, waiting.len()).await;
    }
    late.open();
    for (mut viewer, path) in waiting.into_iter().zip(&paths) {
        let expected = match &path[..] {
            "recordings.json" => b"HTTP/1.1 200",
            _ => b"HTTP/1.1 404",
        };
        assert_eq!(hear(&mut viewer, 12).await, expected, "{path}");
    }
    server.close().await;
}
