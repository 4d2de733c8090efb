//! Viewers of one address take its share of the places, and no more, however many they say they are; and many honest ones
//! behind one address all watch.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};

use socket2::{Domain, Socket, Type};
use testkit::http::Response;
use testkit::{Clip, Server};

use crate::support::{DEADLINE, repeat_rtmp, wait_for_stream};

const PLAYLIST: &str = "/live/show/hls/live.m3u8";
const LISTENERS: &str = "200";
const PER_IP: usize = 10;
/// Viewers that one address claims to be.
const CLAIMED: usize = 300;
/// A school, or a provider's NAT.
const BEHIND_ONE: usize = 500;

#[test]
fn one_address_leaves_places_to_others() {
    let server = Server::builder()
        .set("limits", "listeners", LISTENERS)
        .set("limits", "per_ip", &PER_IP.to_string())
        .start();
    let _publisher = repeat_rtmp(&server, Clip::Flv, "live/show");
    wait_for_stream(&server, "live/show");
    let flood: Vec<_> = (0..CLAIMED)
        .map(|number| ask(&server, 2, &format!("{PLAYLIST}?x={number}"), ""))
        .collect();
    let served = flood.iter().filter(|status| **status == 200).count();
    assert_eq!(served, PER_IP, "{flood:?}");
    assert_eq!(listeners(&server), PER_IP);
    assert_eq!(ask(&server, 3, PLAYLIST, ""), 200, "another address");
}

#[test]
fn all_viewers_behind_one_address_watch() {
    let server = Server::builder()
        .set("http", "trusted_proxies", "[\"127.0.0.9\"]")
        .start();
    let _publisher = repeat_rtmp(&server, Clip::Flv, "live/show");
    wait_for_stream(&server, "live/show");
    let behind_nat = "";
    let behind_proxy = "X-Forwarded-For: 192.0.2.1\r\n";
    for (host, said) in [(2, behind_nat), (9, behind_proxy)] {
        for number in 0..BEHIND_ONE {
            let agent = format!("{said}User-Agent: viewer-{number}\r\n");
            assert_eq!(ask(&server, host, PLAYLIST, &agent), 200, "{number}");
        }
    }
    assert_eq!(listeners(&server), 2 * BEHIND_ONE);
}

fn listeners(server: &Server) -> usize {
    server
        .metrics()
        .sum("carillon_listeners", &["protocol=\"hls\""]) as usize
}

/// The status of the answer to a request from a loopback address.
fn ask(server: &Server, host: u8, path: &str, headers: &str) -> u16 {
    let addr = server.addr("http");
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
    let from = SocketAddr::from((Ipv4Addr::new(127, 0, 0, host), 0));
    socket.bind(&from.into()).expect("a loopback address");
    socket.connect(&addr.into()).expect("a connection");
    let head = format!("GET {path} HTTP/1.1\r\nHost: h\r\n{headers}Connection: close\r\n\r\n");
    let mut socket = TcpStream::from(socket);
    socket.set_read_timeout(Some(DEADLINE)).expect("a timeout");
    socket.write_all(head.as_bytes()).expect("a request");
    let mut answer = Vec::new();
    socket.read_to_end(&mut answer).expect("an answer");
    Response::parse(&answer).status
}
