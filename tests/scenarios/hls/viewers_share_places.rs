//! Viewers behind one address get that address's share of the places and no more, however many they claim to be; and many
//! honest viewers behind one address all watch.

use std::io::{Read, Write};

use testkit::http::Response;
use testkit::{Clip, Server};

use crate::support::{connect_from, metric, repeat_rtmp};

const PLAYLIST: &str = "/live/show/hls/live.m3u8";
const LISTENERS: &str = "200";
const PER_IP: usize = 10;
/// Number of viewers that one address claims to be.
const CLAIMED: usize = 300;
/// Number of viewers behind one address, as in a school or behind a provider's NAT.
const BEHIND_ONE: usize = 500;

#[test]
fn one_address_leaves_places_to_others() {
    let server = Server::builder()
        .set("limits", "listeners", LISTENERS)
        .set("limits", "per_ip", &PER_IP.to_string())
        .start();
    let _publisher = repeat_rtmp(&server, Clip::Flv, "live/show");
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
    metric(server, "carillon_listeners", "protocol=hls") as usize
}

/// Sends a request from a loopback address and returns the status of the reply.
fn ask(server: &Server, host: u8, path: &str, headers: &str) -> u16 {
    let socket = connect_from([127, 0, 0, host], server.addr("http"), false);
    let mut socket = socket.expect("a connection");
    let head = format!("GET {path} HTTP/1.1\r\nHost: h\r\n{headers}Connection: close\r\n\r\n");
    socket.write_all(head.as_bytes()).expect("a request");
    let mut answer = Vec::new();
    socket.read_to_end(&mut answer).expect("an answer");
    Response::parse(&answer).status
}
