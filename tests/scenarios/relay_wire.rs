//! How datagrams reach the relay: over UDP, or framed on TCP connections.

use std::collections::HashMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::time::Duration;

use webrtc::framing::{self, Deframer};
use webrtc::ice::{Path, Transport};

/// How long a turn waits for datagrams.
const TURN: Duration = Duration::from_millis(2);

pub(crate) enum Wire {
    Udp(UdpSocket),
    Tcp {
        listener: TcpListener,
        connections: HashMap<SocketAddr, (TcpStream, Deframer)>,
    },
}

impl Wire {
    pub(crate) fn open(transport: Transport) -> Self {
        let any = (Ipv4Addr::LOCALHOST, 0);
        match transport {
            Transport::Udp => {
                let socket = UdpSocket::bind(any).unwrap();
                socket.set_read_timeout(Some(TURN)).unwrap();
                Self::Udp(socket)
            }
            Transport::Tcp => {
                let listener = TcpListener::bind(any).unwrap();
                listener.set_nonblocking(true).unwrap();
                Self::Tcp {
                    listener,
                    connections: HashMap::new(),
                }
            }
        }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        match self {
            Self::Udp(socket) => socket.local_addr().unwrap(),
            Self::Tcp { listener, .. } => listener.local_addr().unwrap(),
        }
    }

    /// Waits for a moment and hands on what has arrived.
    pub(crate) fn receive(&mut self, mut each: impl FnMut(Path, &mut [u8])) {
        let mut buffer = [0; 2_048];
        match self {
            Self::Udp(socket) => {
                if let Ok((len, from)) = socket.recv_from(&mut buffer) {
                    each(Path::udp(from), &mut buffer[..len]);
                }
            }
            Self::Tcp {
                listener,
                connections,
            } => {
                if let Ok((stream, from)) = listener.accept() {
                    stream.set_nodelay(true).unwrap();
                    stream.set_read_timeout(Some(TURN)).unwrap();
                    connections.insert(from, (stream, Deframer::default()));
                }
                connections.retain(|from, (stream, deframer)| {
                    let len = match stream.read(&mut buffer) {
                        Ok(0) => return false,
                        Ok(len) => len,
                        Err(error) => {
                            return matches!(
                                error.kind(),
                                ErrorKind::WouldBlock | ErrorKind::TimedOut
                            );
                        }
                    };
                    let path = Path::tcp(*from);
                    deframer
                        .push(&mut buffer[..len], |datagram| each(path, datagram))
                        .is_ok()
                });
                if connections.is_empty() {
                    std::thread::sleep(TURN);
                }
            }
        }
    }

    pub(crate) fn send(&mut self, path: Path, datagram: &[u8]) {
        match self {
            Self::Udp(socket) => {
                socket.send_to(datagram, path.remote).unwrap();
            }
            Self::Tcp { connections, .. } => {
                let header = framing::header(datagram.len()).unwrap();
                if let Some((stream, _)) = connections.get_mut(&path.remote) {
                    // A peer that has hung up is noticed when it is read from.
                    drop(stream.write_all(&[&header, datagram].concat()));
                }
            }
        }
    }
}
