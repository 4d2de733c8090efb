//! Accounting of bytes held for clients that begin something and do not continue: counted while they are there, released when
//! they have left.

use super::keep_alive::gauge;
use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn what_clients_begin_is_counted_until_they_are_gone() {
    let server = TestServer::open("").await;
    let begins = "GET /radio.mp3/?";
    let head = format!("{begins}{}", "a".repeat(8_000));
    let offers = "POST /live/show/whep HTTP/1.1\r\nHost: x\r\nContent-Type: application/sdp\r\n";
    let body = format!(
        "{offers}Content-Length: 60000\r\n\r\n{}",
        "a".repeat(30_000)
    );
    let handshake = [&[3][..], &[0; 1_536]].concat();
    for (address, said, kind, least) in [
        (server.http, head.as_bytes(), "requests", 8_000.0),
        (server.http, body.as_bytes(), "requests", 30_000.0),
        (server.rtmp, &handshake, "connections", 1_536.0),
    ] {
        let name = format!("carillon_held_bytes{{kind=\"{kind}\"}} ");
        let held = async || gauge(&server, &name).await;
        assert_eq!(held().await, 0.0);
        let socket = saying(address, said).await;
        until(kind, async || held().await >= least).await;
        drop(socket);
        until(kind, async || held().await == 0.0).await;
    }
    server.close().await;
}
