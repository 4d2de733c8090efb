//! Wrong keys, bad names and hostile bytes: each gets a clear refusal on the wire and a line in the log; nothing panics and
//! memory stays bounded.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use testkit::http::{self, Listener};
use testkit::{Clip, Server, Tool};

use crate::support::wire::{hello, message};
use crate::support::{
    DEADLINE, connect, publish_icecast, publish_rtmp, repeat_to, wait_for_stream, wait_until,
};

/// Memory in bytes by which a server may grow from one hostile connection.
const GROWTH_MAX: u64 = 24 << 20;

/// Publishes a second of the clip to `url`, and returns ffmpeg's complaint.
fn complaint(url: &str, format: &str) -> String {
    let clip = match format {
        "flv" => Clip::Flv,
        _ => Clip::Mp3,
    };
    let output = Tool::ffmpeg()
        .args(["-loglevel", "verbose", "-re", "-i"])
        .arg(clip.seconds(8))
        .args(["-c", "copy", "-f", format, url])
        .finish(DEADLINE);
    assert!(!output.status.success(), "{url} was accepted");
    output.stderr
}

#[test]
fn wrong_and_missing_keys() {
    let server = Server::start();
    const WRONG: &str = "no-key-of-this-server";
    for key in [WRONG, ""] {
        let said = complaint(&server.rtmp_url("live/show", key), "flv");
        assert!(said.contains("credential is"), "{said}");
    }
    let said = complaint(&server.icecast_url("radio.mp3", WRONG), "mp3");
    assert!(said.contains("401") || said.contains("403"), "{said}");
    server.wait_for_log("credential", DEADLINE);
    assert!(!server.log().contains(WRONG), "keys are not logged");
    assert!(server.metrics().sum("carillon_rejected_total", &[]) >= 3.0);
    assert_eq!(server.metrics().sum("carillon_publishers", &[]), 0.0);
}

#[test]
fn the_default_configuration_refuses_publishers_without_the_key() {
    let server = Server::builder().set("auth", "publish_key", "\"\"").start();
    complaint(&format!("rtmp://{}/live/show", server.addr("rtmp")), "flv");
    complaint(&server.rtmp_url("live/show", "hackme"), "flv");
    complaint(&server.icecast_url("radio.mp3", "hackme"), "mp3");
}

#[test]
fn a_second_publisher_with_another_key() {
    let server = Server::builder()
        .toml("[[stream]]\nmatch = \"live/*\"\npublish_key = \"first-secret-key\"")
        .set("ingest", "takeover", "\"never\"")
        .start();
    let url = server.rtmp_url("live/show", "first-secret-key");
    let mut first = repeat_to(&url, Clip::Flv);
    wait_for_stream(&server, "live/show");
    let said = complaint(&url, "flv");
    assert!(
        said.contains("BadName") || said.contains("published"),
        "{said}"
    );
    assert!(first.is_running());
    // Icecast and RTMP share one name space.
    let said = complaint(&server.icecast_url("live/show", "first-secret-key"), "mp3");
    assert!(said.contains("403"), "{said}");
}

#[test]
fn unknown_streams_and_bad_names() {
    let server = Server::start();
    let absent = server.get("/no/such/stream.mp3");
    assert_eq!(absent.status, 404);
    assert!(absent.header("access-control-allow-origin").is_some());
    let _publisher = publish_icecast(&server, Clip::Mp3, 20, "radio.mp3");
    let answer = server.get("/radio.mp3.aac");
    assert!(matches!(answer.status, 404 | 406), "{}", answer.status);
    for name in "a//b .. a/../b b%00c %2e%2e/x spa%20ce \u{fc}ml".split(' ') {
        let request = format!(
            "SOURCE /{name} HTTP/1.0\r\nAuthorization: Basic c291cmNlOnRlc3RraXQtcHVibGlzaC1rZXk=\r\n\
             Content-Type: audio/mpeg\r\n\r\n"
        );
        let answer = Listener::send(server.addr("http"), request.as_bytes());
        let status = answer.status();
        assert!((400..500).contains(&status), "{name}: {status}");
    }
}

#[test]
fn oversized_slow_and_lying_heads() {
    let server = Server::builder()
        .set("http", "head_timeout", "\"1s\"")
        .start();
    let addr = server.addr("http");
    let refused = |head: &str| http::request(addr, head.as_bytes(), DEADLINE).status;
    let long = format!("GET / HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(40_000));
    assert_eq!(refused(&long), 431);
    let many = format!("GET / HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(500));
    assert_eq!(refused(&many), 431);
    let smuggled = "POST / HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n";
    assert_eq!(refused(smuggled), 400);
    let begun = Instant::now();
    assert_eq!(refused("GET / HTTP/1.1\r\nHos"), 408);
    assert!(begun.elapsed() >= Duration::from_secs(1));
    // A length larger than any number type.
    let lying = "PUT /r.mp3 HTTP/1.1\r\nAuthorization: Basic c291cmNlOnRlc3RraXQtcHVibGlzaC1rZXk=\r\n\
                 Content-Type: audio/mpeg\r\nContent-Length: 99999999999999999999\r\n\r\n";
    assert_eq!(refused(lying), 400);
}

/// Sends bytes until the server closes the connection; returns its reply.
fn converse(socket: &mut TcpStream, bytes: &[u8]) -> Vec<u8> {
    for part in bytes.chunks(8 << 10) {
        if socket.write_all(part).is_err() {
            break;
        }
    }
    let mut said = Vec::new();
    match socket.read_to_end(&mut said) {
        Ok(_) => said,
        Err(error) if error.kind() == ErrorKind::ConnectionReset => said,
        Err(error) => panic!("the connection stays open: {error}"),
    }
}

/// Completes a simple handshake.
fn handshake(server: &Server) -> TcpStream {
    let mut socket = connect(server.addr("rtmp"));
    let echo = hello(&mut socket).unwrap();
    socket.write_all(&echo).unwrap();
    socket
}

fn assert_survives(what: &str, server: &Server, before: u64) {
    let grown = server.resident_bytes().saturating_sub(before);
    assert!(grown < GROWTH_MAX, "{what}: {grown} bytes more");
    assert_eq!(server.admin_get("/livez").status, 200, "{what}");
    let log = server.log();
    assert!(!log.contains("panicked"), "{what}: {log}");
}

#[test]
fn a_length_that_is_a_lie() {
    let server = Server::builder()
        .set("ingest", "source_timeout", "\"1s\"")
        .start();
    let mut source = connect(server.addr("http"));
    source
        .write_all(
            b"PUT /r.mp3 HTTP/1.1\r\nAuthorization: Basic c291cmNlOnRlc3RraXQtcHVibGlzaC1rZXk=\r\n\
              Content-Type: audio/mpeg\r\nContent-Length: 1000000\r\n\r\nten bytes.",
        )
        .unwrap();
    // The rest never arrives: a timeout ends the source.
    let mut answer = Vec::new();
    source.read_to_end(&mut answer).ok();
    let answer = String::from_utf8_lossy(&answer);
    assert!(answer.contains(" 200 "), "{answer}");
    wait_until("the source to be given up", || {
        server.metrics().sum("carillon_publishers", &[]) == 0.0
    });
}

#[test]
fn lies_and_excess_over_rtmp() {
    let connect = b"\x02\x00\x07connect\x00\x3f\xf0\x00\x00\x00\x00\x00\x00";
    let nested = [&connect[..], &b"\x03\x00\x01a".repeat(10_000)].concat();
    let announced = [3, 0, 0, 0, 0xff, 0xff, 0xff, 20, 0, 0, 0, 0];
    let chunk_streams = (64..65_599_u32).flat_map(|csid| {
        let id = csid - 64;
        let head = [1, id as u8, (id >> 8) as u8, 0, 0, 0, 0, 1];
        [&head[..], &[0, 9, 0, 0, 0, 0], &[0; 128]].concat()
    });
    let announced = [&announced[..], &[0x41; 128]].concat();
    let refused = "NetConnection.";
    for (what, bytes, words, logged) in [
        ("nested AMF", message(20, 0, &nested), refused, "nested"),
        ("16 MiB", announced, refused, "16777215"),
        ("65,000 chunk streams", chunk_streams.collect(), "", ""),
    ] {
        let server = Server::start();
        let before = server.resident_bytes();
        let answer = converse(&mut handshake(&server), &bytes);
        let answer = String::from_utf8_lossy(&answer);
        assert!(answer.contains(words), "{what}: {answer}");
        server.wait_for_log(logged, DEADLINE);
        assert_survives(what, &server, before);
    }
}

/// A chunk size of one is legal, but its headers are needless work, so the server limits how much of it a peer may cause.
#[test]
fn a_chunk_size_of_one() {
    let server = Server::start();
    let before = server.resident_bytes();
    let mut bytes = vec![2, 0, 0, 0, 0, 0, 4, 1, 0, 0, 0, 0, 0, 0, 0, 1];
    bytes.extend_from_slice(&[3, 0, 0, 0, 0, 0xff, 0xff, 20, 0, 0, 0, 0]);
    for _ in 0..200_000 {
        bytes.extend_from_slice(&[0x41, 0xc3]);
    }
    let cpu = server.cpu_time();
    let mut socket = handshake(&server);
    // The server may or may not read all of it.
    socket.write_all(&bytes).ok();
    drop(socket);
    assert_survives("chunks of 1", &server, before);
    assert!(server.cpu_time() - cpu < Duration::from_secs(2));
}

#[test]
fn strangers_own_little_memory() {
    const STRANGERS: u64 = 50;
    // Before authentication a connection owns at most this much.
    const EACH_MAX: u64 = 256 << 10;
    let server = Server::start();
    // The first connection loads what the program loads only once.
    drop(handshake(&server));
    let before = server.resident_bytes();
    let strangers: Vec<TcpStream> = (0..STRANGERS)
        .map(|_| {
            let mut socket = handshake(&server);
            // The messages are as many unfinished ones at once as are allowed.
            for csid in 3..40_u8 {
                let mut bytes = vec![csid, 0, 0, 0, 0, 0xff, 0xf0, 20, 0, 0, 0, 0];
                bytes.extend_from_slice(&[0; 128]);
                for _ in 0..300 {
                    bytes.push(0xc0 | csid);
                    bytes.extend_from_slice(&[0; 128]);
                }
                if socket.write_all(&bytes).is_err() {
                    break;
                }
            }
            socket
        })
        .collect();
    // Some of the bytes may still be in the kernel, so the maximum over a second counts.
    let looks = (0..20).map(|_| {
        std::thread::sleep(Duration::from_millis(50));
        server.resident_bytes()
    });
    let most = looks.max().unwrap_or_default();
    let grown = most.saturating_sub(before);
    assert!(
        grown <= STRANGERS * EACH_MAX,
        "{grown} bytes for {STRANGERS} strangers"
    );
    drop(strangers);
    assert_survives("strangers", &server, before);
}

/// Sends all of it, and listens to the end.
fn say_all(mut socket: TcpStream, bytes: &[u8]) {
    socket.write_all(bytes).ok();
    socket.shutdown(std::net::Shutdown::Write).ok();
    socket.read_to_end(&mut Vec::new()).ok();
}

#[test]
fn noise_on_every_port() {
    let server = Server::start();
    let before = server.resident_bytes();
    let mut noise = 0x2545_f491_4f6c_dd1d_u64;
    for round in 0..40 {
        let mut bytes = Vec::new();
        for _ in 0..2_000 {
            noise ^= noise << 13;
            noise ^= noise >> 7;
            noise ^= noise << 17;
            bytes.push(noise as u8);
        }
        if round % 2 == 0 {
            // The noise follows a handshake.
            say_all(handshake(&server), &bytes);
        } else {
            for port in ["rtmp", "http"] {
                say_all(connect(server.addr(port)), &bytes);
            }
        }
    }
    assert_survives("noise", &server, before);
    let _publisher = publish_rtmp(&server, &Clip::Flv.seconds(8), "live/after");
}

#[test]
fn too_many_connections_from_one_address() {
    let server = Server::builder().set("limits", "per_ip", "5").start();
    let mut held: Vec<TcpStream> = Vec::new();
    for _ in 0..5 {
        let mut socket = connect(server.addr("http"));
        socket.write_all(b"GET / HT").unwrap();
        held.push(socket);
    }
    wait_until("the sixth to be refused", || {
        answer(&server).starts_with(b"HTTP/1.1 429")
    });
    drop(held);
    wait_until("room again", || {
        String::from_utf8_lossy(&answer(&server)).contains(" 200")
    });
}

/// Returns what another connection is answered, if anything.
fn answer(server: &Server) -> Vec<u8> {
    let mut socket = connect(server.addr("http"));
    socket.write_all(b"GET / HTTP/1.0\r\n\r\n").ok();
    let mut said = Vec::new();
    socket.read_to_end(&mut said).ok();
    said
}
