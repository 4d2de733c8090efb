//! Input of a worker from other workers and the rest of the program.

use std::time::Instant;

use super::Worker;
use crate::mux::CloseReason;
use crate::port::Role;
use crate::port::shared::{Command, Mail};

/// Limits of the items from other workers, and of the commands, handled before the role has a turn.
const MAIL_PER_TURN: usize = 256;
const COMMANDS_PER_TURN: usize = 64;

impl<R: Role> Worker<R> {
    pub(super) fn take_mail(&mut self, now: Instant) {
        for _ in 0..MAIL_PER_TURN {
            match self.inbox.mail.try_recv() {
                Ok(Mail::Datagram {
                    path,
                    mut bytes,
                    hops,
                }) => self.take(path, &mut bytes, hops, now),
                Ok(Mail::Connection {
                    stream,
                    path,
                    bytes,
                }) => {
                    let wire = &mut self.wire;
                    let connections = &mut wire.connections;
                    match connections.insert(stream, path, bytes, now, &wire.poller) {
                        Some(connection) => {
                            if !self.place(connection, false, now) {
                                self.refuse(connection);
                            }
                        }
                        None => self.counters.connections_refused += 1,
                    }
                    self.settle(now);
                }
                Err(_) => return,
            }
        }
        // Work may be left whose rings are already answered.
        self.inbox.bell.ring();
    }

    pub(super) fn take_commands(&mut self, now: Instant) {
        for _ in 0..COMMANDS_PER_TURN {
            match self.inbox.commands.try_recv() {
                Ok(Command::Restart {
                    ufrag,
                    local,
                    remote_ufrag,
                }) => {
                    let new = Box::<str>::from(local.ufrag());
                    let session = self.mux.find(&ufrag);
                    let restart = |session| self.mux.restart(session, local, &remote_ufrag);
                    if !session.is_some_and(restart) {
                        self.shared.directory.remove(&new);
                    }
                }
                Ok(Command::Close { ufrag }) => {
                    if let Some(session) = self.mux.find(&ufrag)
                        && self.mux.close(session, now)
                    {
                        self.closed(session, CloseReason::Requested);
                    }
                }
                Err(_) => {
                    self.settle(now);
                    return;
                }
            }
        }
        self.settle(now);
        // Work may be left whose rings are already answered.
        self.inbox.bell.ring();
    }
}
