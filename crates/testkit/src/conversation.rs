//! Dialogue of an RTMP player with a server before the media arrives, spoken by `rml_rtmp`.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use rml_rtmp::handshake::{Handshake, HandshakeProcessResult, PeerType};
use rml_rtmp::sessions::{
    ClientSession, ClientSessionConfig, ClientSessionEvent, ClientSessionResult,
};

/// Time limit for the whole dialogue, on a loaded machine.
const DEADLINE: Duration = crate::DEADLINE;
/// Read buffer size, more than all replies together.
const READ_BYTES: usize = 16 << 10;

/// Requests `stream` (`app/name`) and returns the socket as soon as the server has accepted. Bytes after the acceptance are
/// lost: the socket is somewhere in the middle of the media.
///
/// # Errors
/// Returns a description if there is no connection, or if the server refuses or is too slow.
pub(crate) fn play(addr: SocketAddr, stream: &str) -> Result<TcpStream, String> {
    let (app, name) = stream.split_once('/').ok_or("not an app and a name")?;
    let mut socket = open(addr).map_err(|error| format!("{addr}: {error}"))?;
    let mut input = shake_hands(&mut socket)?;
    let mut config = ClientSessionConfig::new();
    config.tc_url = Some(format!("rtmp://{addr}/{app}"));
    let (mut session, mut results) = ClientSession::new(config).map_err(broken)?;
    results.push(session.request_connection(app.to_owned()).map_err(broken)?);
    loop {
        for result in results {
            let event = match result {
                ClientSessionResult::OutboundResponse(packet) => {
                    send(&mut socket, &packet.bytes)?;
                    continue;
                }
                ClientSessionResult::RaisedEvent(event) => event,
                ClientSessionResult::UnhandleableMessageReceived(_) => continue,
            };
            match event {
                ClientSessionEvent::ConnectionRequestAccepted => {
                    let asked = session.request_playback(name.to_owned());
                    if let ClientSessionResult::OutboundResponse(packet) = asked.map_err(broken)? {
                        send(&mut socket, &packet.bytes)?;
                    }
                }
                ClientSessionEvent::PlaybackRequestAccepted => return Ok(socket),
                ClientSessionEvent::ConnectionRequestRejected { description } => {
                    return Err(format!("the server says no: {description}"));
                }
                ClientSessionEvent::UnhandleableOnStatusCode { code } if is_refusal(&code) => {
                    return Err(format!("the server says no: {code}"));
                }
                _ => {}
            }
        }
        if input.is_empty() {
            input = receive(&mut socket)?;
        }
        results = session.handle_input(&input).map_err(broken)?;
        input.clear();
    }
}

fn open(addr: SocketAddr) -> io::Result<TcpStream> {
    let socket = TcpStream::connect_timeout(&addr, DEADLINE)?;
    socket.set_read_timeout(Some(DEADLINE))?;
    socket.set_write_timeout(Some(DEADLINE))?;
    socket.set_nodelay(true)?;
    Ok(socket)
}

/// Performs the handshake. Returns the bytes that followed it.
fn shake_hands(socket: &mut TcpStream) -> Result<Vec<u8>, String> {
    let mut handshake = Handshake::new(PeerType::Client);
    let opening = handshake.generate_outbound_p0_and_p1();
    send(socket, &opening.map_err(broken)?)?;
    loop {
        let input = receive(socket)?;
        match handshake.process_bytes(&input).map_err(broken)? {
            HandshakeProcessResult::InProgress { response_bytes } => {
                send(socket, &response_bytes)?;
            }
            HandshakeProcessResult::Completed {
                response_bytes,
                remaining_bytes,
            } => {
                send(socket, &response_bytes)?;
                return Ok(remaining_bytes);
            }
        }
    }
}

/// Returns whether a status code is a refusal; `Play.Reset` and similar codes precede the acceptance.
fn is_refusal(code: &str) -> bool {
    ["Failed", "StreamNotFound", "Rejected", "Denied"]
        .iter()
        .any(|end| code.ends_with(end))
}

fn send(socket: &mut TcpStream, bytes: &[u8]) -> Result<(), String> {
    let sent = socket.write_all(bytes);
    sent.map_err(|error| format!("the server takes nothing: {error}"))
}

fn receive(socket: &mut TcpStream) -> Result<Vec<u8>, String> {
    let mut buffer = vec![0; READ_BYTES];
    match socket.read(&mut buffer) {
        Ok(0) => Err("the server hung up".to_owned()),
        Ok(length) => {
            buffer.truncate(length);
            Ok(buffer)
        }
        Err(error) => Err(format!("the server does not answer: {error}")),
    }
}

fn broken(error: impl fmt::Debug) -> String {
    format!("the server's bytes make no sense: {error:?}")
}
