//! Publishers against servers that take what they receive.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread::JoinHandle;
use std::time::Duration;

use rml_rtmp::handshake::{Handshake, HandshakeProcessResult, PeerType};
use rml_rtmp::sessions::{
    ServerSession, ServerSessionConfig, ServerSessionEvent, ServerSessionResult,
};

use super::*;
use crate::plan::{Plan, Work};
use crate::publish::synthetic::{Audio, Program};
use crate::tally::Tally;

const PUBLISHERS: u64 = 3;

/// Returns the tally of publishers at `url` of a server that treats each connection with `serve`, and what that returned.
fn published<T: Send + 'static>(
    url: &str,
    audio: Audio,
    serve: fn(TcpStream) -> T,
) -> (Tally, Vec<T>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a socket");
    let addr: SocketAddr = listener.local_addr().expect("an address");
    let accept = std::thread::spawn(move || {
        let connections = listener.incoming().take(PUBLISHERS as usize);
        let threads: Vec<JoinHandle<T>> = connections
            .map(|socket| socket.expect("a connection"))
            .map(|socket| std::thread::spawn(move || serve(socket)))
            .collect();
        let joined = threads.into_iter().map(|one| one.join().expect("no panic"));
        joined.collect::<Vec<T>>()
    });
    let source = Source::Synthetic(Program::of(audio, 128_000, None));
    let url = url.replace("SERVER", &addr.to_string());
    let plan = Plan {
        settle: Duration::from_millis(100),
        window: Duration::from_millis(800),
        ..Plan::alone(&url, PUBLISHERS, Work::Publish(source))
    };
    (plan.carried_out(), accept.join().expect("no panic"))
}

/// Reads the request of a source, and answers it. Returns the bytes that follow, up to `max`.
fn icecast(mut socket: TcpStream, answer: &str, max: usize) -> usize {
    let (mut head, mut buffer) = (Vec::new(), [0; 4_096]);
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        socket.read_exact(&mut byte).expect("a request");
        head.extend_from_slice(&byte);
    }
    socket.write_all(answer.as_bytes()).expect("it listens");
    let mut taken = 0;
    while taken < max {
        match socket.read(&mut buffer).expect("no reset") {
            0 => break,
            length => taken += length,
        }
    }
    taken
}

#[test]
fn sources_send_frames_in_their_time() {
    let serve = |socket| icecast(socket, "HTTP/1.1 100 Continue\r\n\r\n", usize::MAX);
    let url = "icecast://source:key@SERVER/radio{n}.mp3";
    let (tally, taken) = published(url, Audio::Mp3, serve);
    let members = tally.members;
    assert_eq!((members.joined, members.alive), (PUBLISHERS, PUBLISHERS));
    assert_eq!((tally.join.count(), tally.lost.total()), (PUBLISHERS, 0));
    // 384 bytes each 24 ms, after the request.
    let media = taken.iter().sum::<usize>() as u64;
    assert_eq!(media, tally.frames_sent * 384);
    assert!(tally.bytes > media, "{tally:?}");
    assert_eq!(tally.lateness.count(), tally.frames_sent);
    let seconds = tally.frames_sent as f64 * 0.024 / PUBLISHERS as f64;
    assert!((0.8..1.2).contains(&seconds), "{seconds}");
    assert!(tally.window_bytes > tally.bytes / 2, "{tally:?}");
}

#[test]
fn a_source_that_is_refused_or_dropped_says_why() {
    let url = "icecast://source:key@SERVER/radio{n}.mp3";
    let refuse = |socket| icecast(socket, "HTTP/1.1 403 Forbidden\r\n\r\n", 0);
    let (tally, _) = published(url, Audio::Mp3, refuse);
    assert_eq!(tally.members.joined, 0);
    let failed: Vec<_> = tally.failed.iter().collect();
    assert_eq!(failed, [("status 403", PUBLISHERS)]);
    let drop = |socket| icecast(socket, "HTTP/1.1 200 OK\r\n\r\n", 1_000);
    let (tally, _) = published(url, Audio::Mp3, drop);
    assert_eq!((tally.members.joined, tally.members.alive), (PUBLISHERS, 0));
    assert_eq!(tally.lost.total(), PUBLISHERS, "{:?}", tally.lost);
}

/// Accepts a publisher. Returns the number of audio tags that it sends.
fn rtmp(mut socket: TcpStream) -> u64 {
    let mut buffer = [0; 4_096];
    let mut handshake = Handshake::new(PeerType::Server);
    let mut bytes = loop {
        let length = socket.read(&mut buffer).expect("a handshake");
        let processed = handshake.process_bytes(&buffer[..length]);
        match processed.expect("a handshake") {
            HandshakeProcessResult::InProgress { response_bytes } => {
                socket.write_all(&response_bytes).expect("it listens");
            }
            HandshakeProcessResult::Completed {
                response_bytes,
                remaining_bytes,
            } => {
                socket.write_all(&response_bytes).expect("it listens");
                break remaining_bytes;
            }
        }
    };
    let (mut session, results) = ServerSession::new(ServerSessionConfig::new()).expect("a session");
    let (mut results, mut tags) = (VecDeque::from(results), 0);
    loop {
        results.extend(session.handle_input(&bytes).expect("RTMP"));
        while let Some(result) = results.pop_front() {
            match result {
                // It may be gone by now.
                ServerSessionResult::OutboundResponse(packet) => {
                    socket.write_all(&packet.bytes).ok();
                }
                ServerSessionResult::RaisedEvent(
                    ServerSessionEvent::ConnectionRequested { request_id, .. }
                    | ServerSessionEvent::PublishStreamRequested { request_id, .. },
                ) => results.extend(session.accept_request(request_id).expect("a request")),
                ServerSessionResult::RaisedEvent(ServerSessionEvent::AudioDataReceived {
                    ..
                }) => tags += 1,
                _ => {}
            }
        }
        bytes = match socket.read(&mut buffer) {
            Ok(0) | Err(_) => return tags,
            Ok(length) => buffer[..length].to_vec(),
        };
    }
}

#[test]
fn encoders_send_tags_over_rtmp() {
    let url = "rtmp://SERVER/live/show{n}?key=k";
    let (tally, tags) = published(url, Audio::Aac, rtmp);
    let (members, reasons) = (tally.members, (&tally.failed, &tally.lost));
    assert_eq!(members.joined, PUBLISHERS, "{reasons:?}");
    assert_eq!(members.alive, PUBLISHERS, "{reasons:?}");
    // Each begins with the tag that configures a decoder.
    assert_eq!(tags.iter().sum::<u64>(), tally.frames_sent + PUBLISHERS);
    assert!(tally.frames_sent > 30 * PUBLISHERS, "{tally:?}");
}

#[test]
fn a_source_asks_with_its_password() {
    let target = "icecast://source:key@127.0.0.1:8000/radio{n}.mp3";
    let request = put(&target.parse().expect("an address"), 3, "audio/mpeg");
    assert!(request.starts_with("PUT /radio3.mp3 HTTP/1.1\r\nHost: 127.0.0.1:8000\r\n"));
    assert!(request.contains("Authorization: Basic c291cmNlOmtleQ==\r\n"));
}
