//! Counters of listeners stay exact: ten thousand listeners join and leave, in every way that is possible over HTTP; in the end
//! every listener was counted, and none is still counted as present.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread;

use socket2::SockRef;
use testkit::{Clip, Server};

use crate::support::titles::facts;
use crate::support::{DEADLINE, repeat_icecast, wait_until};

const JOINS: usize = 10_000;
/// Number of concurrent clients, each of which joins again and again.
const THREADS: usize = 8;

/// Joins, waits for the reply, and leaves.
fn join(addr: SocketAddr, number: usize) {
    let mut socket = TcpStream::connect(addr).unwrap();
    socket.set_read_timeout(Some(DEADLINE)).unwrap();
    let titles = if number.is_multiple_of(3) {
        "Icy-MetaData: 1\r\n"
    } else {
        ""
    };
    let request = format!("GET /radio.mp3 HTTP/1.0\r\n{titles}\r\n");
    socket.write_all(request.as_bytes()).unwrap();
    let mut answer = [0; 16 << 10];
    let length = socket.read(&mut answer).unwrap();
    assert!(answer[..length].starts_with(b"HTTP/1.0 200"));
    match number % 4 {
        // The client leaves in the middle of the body: the rest is lost.
        0..=2 => {
            let socket = SockRef::from(&socket);
            socket.set_linger(Some(std::time::Duration::ZERO)).unwrap();
        }
        _ => socket.shutdown(std::net::Shutdown::Write).unwrap(),
    }
}

#[test]
fn ten_thousand_joins_and_leaves_add_up() {
    let server = Server::builder()
        .with_admin_password()
        .toml("[[stream]]\nmatch = \"radio.mp3\"\nlisteners_max = 5000\n")
        .start();
    let addr = server.addr("http");
    // The source lasts as long as the listeners keep coming.
    let _radio = repeat_icecast(&server, Clip::Mp3, "radio.mp3");
    wait_until("the mount", || {
        server.get("/status-json.xsl").text().contains("radio.mp3")
    });
    thread::scope(|scope| {
        for thread in 0..THREADS {
            scope.spawn(move || {
                for number in 0..JOINS / THREADS {
                    join(addr, number + thread);
                }
            });
        }
    });
    wait_until("everybody to have left", || {
        let metrics = server.metrics();
        metrics.sum("carillon_listeners", &[]) == 0.0
            && metrics.sum("carillon_stream_listeners", &[]) == 0.0
            && server.api("listeners")["listeners"] == serde_json::json!([])
    });
    let stats = server.get("/stats?json=1").text();
    let stats: serde_json::Value = serde_json::from_str(&stats).unwrap();
    assert_eq!(stats["streamhits"], JOINS, "{stats:#}");
    assert_eq!(stats["currentlisteners"], 0, "{stats:#}");
    let peak = stats["peaklisteners"].as_u64().unwrap();
    assert!((1..=JOINS as u64).contains(&peak), "{stats:#}");
    let public = facts(addr, "radio.mp3");
    assert_eq!(public["listeners"], 0, "{public:#}");
    let stats = server.operator_get("/admin/stats").text();
    for reported in [
        format!("<listener_connections>{JOINS}</listener_connections>"),
        "<listeners>0</listeners>".to_owned(),
        "<slow_listeners>0</slow_listeners>".to_owned(),
        "<max_listeners>5000</max_listeners>".to_owned(),
    ] {
        assert!(stats.contains(&reported), "{reported}: {stats}");
    }
}
