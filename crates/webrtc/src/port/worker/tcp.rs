//! Peers that connect over TCP: their connections, from the first check to the last frame.

use std::io::ErrorKind;
use std::net::{SocketAddr, TcpStream};
use std::time::Instant;

use net::accept::{self, EXHAUSTED_BACKOFF, Failure};

use super::Worker;
use crate::framing::Deframer;
use crate::ice::Path;
use crate::mux::Claim;
use crate::port::Role;
use crate::port::connections::Heard;
use crate::port::opening::{self, Opening};
use crate::port::shared::Mail;

/// Connections accepted before the role has a turn.
const ACCEPTS_PER_TURN: usize = 16;

/// Bytes read from a connection at once, and the number of consecutive reads.
const READ_BYTES: usize = 4 * 1024;
const READS_PER_TURN: usize = 4;

impl<R: Role> Worker<R> {
    pub(super) fn accept(&mut self, now: Instant) {
        for _ in 0..ACCEPTS_PER_TURN {
            let Some(listener) = &self.wire.listener else {
                return;
            };
            match listener.accept() {
                Ok((stream, remote)) => self.admit(stream, remote, now),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) => match accept::classify(&error) {
                    Failure::Connection => {}
                    Failure::Exhausted | Failure::Unknown => {
                        tracing::warn!(worker = self.number, %error, "connections cannot be accepted");
                        self.listen(false);
                        self.accept_again = Some(now + EXHAUSTED_BACKOFF);
                        return;
                    }
                },
            }
        }
    }

    pub(super) fn listen(&self, on: bool) {
        if let Err(error) = self.wire.listen(on) {
            tracing::error!(worker = self.number, %error, "the listener cannot be watched");
        }
    }

    fn admit(&mut self, stream: TcpStream, remote: SocketAddr, now: Instant) {
        let local = stream.local_addr().ok();
        let remote = SocketAddr::new(remote.ip().to_canonical(), remote.port());
        let path = Path::tcp(remote).to_local(local.map(|local| local.ip().to_canonical()));
        if let Some(oldest) = self.wire.connections.oldest_of_too_many() {
            self.refuse(oldest);
        }
        let wire = &mut self.wire;
        let connections = &mut wire.connections;
        match connections.insert(stream, path, Vec::new(), now, &wire.poller) {
            Some(_) => self.counters.connections += 1,
            None => self.counters.connections_refused += 1,
        }
    }

    pub(super) fn read(&mut self, connection: u64, now: Instant) {
        let mut room = [0; READ_BYTES];
        for _ in 0..READS_PER_TURN {
            match self.wire.connections.read(connection, &mut room) {
                Heard::Bytes(len) => {
                    if !self.hear(connection, &mut room[..len], now) {
                        self.refuse(connection);
                        return;
                    }
                    if len < READ_BYTES {
                        return;
                    }
                }
                Heard::Nothing => return,
                Heard::Over => {
                    self.hang_up(connection);
                    return;
                }
            }
        }
    }

    /// Processes bytes that were read from a connection; returns false if it must be closed.
    fn hear(&mut self, connection: u64, bytes: &mut [u8], now: Instant) -> bool {
        if let Some((path, deframer)) = self.wire.connections.lend_deframer(connection) {
            return self.take_frames(connection, path, deframer, bytes, now);
        }
        self.wire.connections.said(connection, bytes);
        self.place(connection, true, now)
    }

    /// Opens a connection whose first check names a session of this worker; passes it on to the session's worker if `may_pass`.
    /// Returns false if no session has that name.
    pub(super) fn place(&mut self, connection: u64, may_pass: bool, now: Instant) -> bool {
        let Some(said) = self.wire.connections.said(connection, &[]) else {
            return false;
        };
        let ufrag: Box<str> = match opening::read(said) {
            Opening::Incomplete => return true,
            Opening::Foreign => return false,
            Opening::Check(ufrag) => ufrag.into(),
        };
        if self.mux.find(&ufrag).is_none() {
            match self.shared.directory.claim(&ufrag, self.index()) {
                Claim::Adopted(expected) => {
                    if !self.adopt(expected, now) {
                        return false;
                    }
                }
                Claim::Owned(worker) if may_pass => {
                    if let Some((stream, path, bytes)) = self.wire.connections.remove(connection) {
                        // The connection is not closed, so it must be removed from this worker's poller.
                        self.wire.poller.unwatch(&stream).ok();
                        let mail = Mail::Connection {
                            stream,
                            path,
                            bytes,
                        };
                        self.pass(worker, mail);
                    }
                    return true;
                }
                Claim::Owned(_) | Claim::Unknown => return false,
            }
        }
        let Some(mut said) = self.wire.connections.open(connection) else {
            return false;
        };
        match self.wire.connections.lend_deframer(connection) {
            Some((path, deframer)) => self.take_frames(connection, path, deframer, &mut said, now),
            None => false,
        }
    }

    /// Processes the datagrams in the bytes read from an open connection. Returns false if the connection is useless: its
    /// framing is broken, or no session has its path.
    fn take_frames(
        &mut self,
        connection: u64,
        path: Path,
        mut deframer: Deframer,
        bytes: &mut [u8],
        now: Instant,
    ) -> bool {
        let taken = deframer.push(bytes, |datagram| self.take(path, datagram, 0, now));
        self.wire.connections.return_deframer(connection, deframer);
        taken.is_ok() && self.mux.knows(path)
    }

    /// Closes a connection that belongs to no session.
    pub(super) fn refuse(&mut self, connection: u64) {
        self.counters.connections_refused += 1;
        self.hang_up(connection);
    }

    pub(super) fn hang_up(&mut self, connection: u64) {
        if let Some((_, path, _)) = self.wire.connections.remove(connection) {
            self.mux.forget_path(path);
        }
    }
}
