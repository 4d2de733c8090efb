//! Accounting of bytes held for clients that begin something and do not continue: counted while they are there, released when
//! they have left.

use super::*;

/// Bytes of a kind that the account has.
async fn held(server: &TestServer, kind: &str) -> f64 {
    let page = ask(server.admin, "GET", "/metrics", "").await;
    let name = format!("carillon_held_bytes{{kind=\"{kind}\"}} ");
    let value = page.lines().find_map(|line| line.strip_prefix(&name));
    value.expect("a kind").parse().expect("a number")
}

/// Waits until at least so many are held, or none.
async fn until(server: &TestServer, kind: &str, is: impl Fn(f64) -> bool) {
    let so = async {
        while !is(held(server, kind).await) {
            tokio::task::yield_now().await;
        }
    };
    soon(so).await;
}

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
        assert_eq!(held(&server, kind).await, 0.0);
        let mut socket = connect(address).await;
        socket.write_all(said).await.expect("written");
        until(&server, kind, |bytes| bytes >= least).await;
        drop(socket);
        until(&server, kind, |bytes| bytes == 0.0).await;
    }
    server.close().await;
}
