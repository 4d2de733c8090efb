//! The proxy for byte streams: for each direction of each connection, a thread that reads and one that writes when it is time.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Instant;

use super::Shared;
use crate::relay::{self, Direction};

/// Number of bytes taken from a stream at once: few, so that a throttled stream flows evenly.
const PIECE_BYTES: usize = 4 << 10;
/// Maximum number of pieces in flight in one direction of a connection; beyond it, the reader waits, as with a network's
/// window.
const UNDER_WAY_MAX: usize = 1_024;

struct Piece {
    at: Instant,
    bytes: Vec<u8>,
}

/// Runs until the owner is gone. A connection ends with the first of its two ends.
pub(super) fn run(listener: &TcpListener, upstream: SocketAddr, shared: &Arc<Shared>) {
    let ends = || shared.ends();
    relay::run(listener, upstream, ends, |directions| {
        for Direction { is_up, from, to } in directions {
            let (give, take) = sync_channel(UNDER_WAY_MAX);
            let shared = shared.clone();
            std::thread::spawn(move || read(from, is_up, &shared, &give));
            std::thread::spawn(move || write(to, &take));
        }
    });
}

fn read(mut from: TcpStream, is_up: bool, shared: &Shared, give: &SyncSender<Piece>) {
    let mut buffer = [0; PIECE_BYTES];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        let mut link = if is_up { shared.up() } else { shared.down() };
        let at = link.pass_in_order(length, Instant::now());
        drop(link);
        let bytes = buffer[..length].to_vec();
        if give.send(Piece { at, bytes }).is_err() {
            break;
        }
    }
}

fn write(mut to: TcpStream, take: &Receiver<Piece>) {
    for piece in take {
        std::thread::sleep(piece.at.saturating_duration_since(Instant::now()));
        if to.write_all(&piece.bytes).is_err() {
            return;
        }
    }
    // A peer that has left need not be notified.
    to.shutdown(Shutdown::Write).ok();
}
