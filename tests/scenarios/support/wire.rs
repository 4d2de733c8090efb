//! Minimal RTMP client that sends what no available program sends.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use testkit::Server;

use crate::support::{DEADLINE, connect, find};

/// A player's connection, and all bytes that the server has sent on it.
pub(crate) struct Wire {
    socket: TcpStream,
    heard: Vec<u8>,
}

impl Wire {
    /// Completes a handshake and connects to app `live` with additional properties: name and AMF0 number.
    pub(crate) fn connect(addr: SocketAddr, more: &[(&str, f64)]) -> Self {
        let mut socket = connect(addr);
        let echo = hello(&mut socket).unwrap();
        socket.write_all(&echo).unwrap();
        let mut wire = Self {
            socket,
            heard: Vec::new(),
        };
        let mut body = [string("connect"), number(1.0), vec![3]].concat();
        for (name, value) in [("app", "live"), ("tcUrl", "rtmp://h/live")] {
            body.extend([key(name), string(value)].concat());
        }
        for (name, value) in more {
            body.extend([key(name), number(*value)].concat());
        }
        body.extend([0, 0, 9]);
        wire.command(0, &body);
        wire.hear("NetConnection.Connect.Success", DEADLINE);
        wire
    }

    /// Plays `name`, pauses, and seeks to a position in milliseconds.
    pub(crate) fn paused_at(server: &Server, name: &str, millis: f64) -> Self {
        let mut wire = Self::connect(server.addr("rtmp"), &[]);
        wire.play(name);
        wire.hear("NetStream.Play.Start", DEADLINE);
        wire.hear("onMetaData", DEADLINE);
        wire.pause(true);
        wire.hear("NetStream.Pause.Notify", DEADLINE);
        wire.seek(millis);
        wire.hear("NetStream.Seek.Notify", DEADLINE);
        wire
    }

    /// Requests a message stream and plays `name` on it.
    pub(crate) fn play(&mut self, name: &str) {
        self.command(0, &[string("createStream"), number(2.0), vec![5]].concat());
        self.command(
            1,
            &[string("play"), number(3.0), vec![5], string(name)].concat(),
        );
    }

    /// Pauses playback, or resumes it.
    pub(crate) fn pause(&mut self, is_paused: bool) {
        let flag = vec![1, u8::from(is_paused)];
        self.command(
            1,
            &[string("pause"), number(0.0), vec![5], flag, number(0.0)].concat(),
        );
    }

    /// Seeks to another position, in milliseconds.
    pub(crate) fn seek(&mut self, millis: f64) {
        self.command(
            1,
            &[string("seek"), number(0.0), vec![5], number(millis)].concat(),
        );
    }

    /// Reads until the server has sent `text`.
    pub(crate) fn hear(&mut self, text: &str, deadline: Duration) {
        let end = Instant::now() + deadline;
        while !self.has_heard(text) {
            assert!(Instant::now() < end, "{text}: not within {deadline:?}");
            assert!(self.read(), "the server hung up before `{text}`");
        }
    }

    /// Reads until the server closes the connection.
    pub(crate) fn hear_all(&mut self, deadline: Duration) {
        let end = Instant::now() + deadline;
        while self.read() {
            assert!(Instant::now() < end, "no end within {deadline:?}");
        }
    }

    /// Returns whether the server has sent `text`.
    pub(crate) fn has_heard(&self, text: &str) -> bool {
        find(&self.heard, text.as_bytes()).is_some()
    }

    fn read(&mut self) -> bool {
        let mut buffer = [0; 64 << 10];
        match self.socket.read(&mut buffer) {
            Ok(0) => false,
            Ok(length) => {
                self.heard.extend_from_slice(&buffer[..length]);
                true
            }
            Err(error) if error.kind() == ErrorKind::ConnectionReset => false,
            Err(error) => panic!("{error}"),
        }
    }

    /// Sends one command; no chunk of it is longer than RTMP's initial chunk size of 128 bytes.
    fn command(&mut self, stream: u8, body: &[u8]) {
        self.socket.write_all(&message(20, stream, body)).unwrap();
    }
}

/// Sends the first part of a handshake; returns what is to be echoed of the reply.
pub(crate) fn hello(socket: &mut TcpStream) -> std::io::Result<Vec<u8>> {
    let mut hello = [0; 1537];
    hello[0] = 3;
    socket.write_all(&hello)?;
    let mut answer = [0; 3073];
    socket.read_exact(&mut answer)?;
    Ok(answer[1..1537].to_vec())
}

/// Encodes a message on chunk stream 3.
pub(crate) fn message(kind: u8, stream: u8, body: &[u8]) -> Vec<u8> {
    let [_, high, middle, low] = (body.len() as u32).to_be_bytes();
    let mut bytes = vec![3, 0, 0, 0, high, middle, low, kind, stream, 0, 0, 0];
    for (index, chunk) in body.chunks(128).enumerate() {
        if index > 0 {
            bytes.push(0xc3);
        }
        bytes.extend_from_slice(chunk);
    }
    bytes
}

fn string(text: &str) -> Vec<u8> {
    [&[2], &key(text)[..]].concat()
}

fn key(text: &str) -> Vec<u8> {
    [&[0, text.len() as u8], text.as_bytes()].concat()
}

fn number(value: f64) -> Vec<u8> {
    [&[0], &value.to_be_bytes()[..]].concat()
}
