//! The ports for SHOUTcast v1 sources. Such programs send titles, and read statistics, over HTTP on the same port or on the one
//! below.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::{Buf, BytesMut};
use http1::{SHOUTCAST_REFUSED, ShoutcastLine, ShoutcastLogin};
use ingest::icecast::ShoutcastSource;
use limits::ConnectionPermit;
use limits::Rejected;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::time::timeout;
use web::FrontDoor;
use web::connection::serve_begun;
use web::head;

/// Bytes per read of the first line.
const READ_BYTES: usize = 1_024;

/// Serves a newly accepted connection.
pub(super) async fn serve(
    front: &Arc<FrontDoor>,
    mut socket: TcpStream,
    mut permit: ConnectionPermit,
    peer: SocketAddr,
) {
    let patience = front.config.http.head_timeout;
    let mut received = BytesMut::with_capacity(READ_BYTES);
    let login = match timeout(patience, first_line(&mut socket, &mut received)).await {
        Err(_) => return front.counts.reject(Rejected::HeadTimeout, peer),
        Ok(First::Gone) => return,
        Ok(First::Http) => {
            return Box::pin(serve_begun(front, socket, &received, permit, peer)).await;
        }
        Ok(First::Poke) => return head::answer(socket, SHOUTCAST_REFUSED).await,
        Ok(First::Malformed(error)) => {
            front.counts.reject_for(Rejected::Protocol, peer, &error);
            return head::answer(socket, SHOUTCAST_REFUSED).await;
        }
        Ok(First::Login(login, used)) => {
            received.advance(used);
            login
        }
    };
    if let Err(reason) = permit.charge(peer.ip()) {
        return front.counts.reject(reason, peer);
    }
    let source = ShoutcastSource {
        name: front
            .ingest
            .settings
            .shoutcast
            .of(&login, front.ingest.is_taken),
        login,
        early: received.freeze(),
        peer,
    };
    let on_admitted = || permit.settle_publisher();
    let served =
        ingest::icecast::serve_shoutcast(&front.ingest, socket, source, patience, on_admitted);
    if let Err(error) = Box::pin(served).await {
        tracing::debug!(%peer, %error, "a source's connection ended");
    }
}

/// Classification of a connection by its first line.
enum First {
    Gone,
    Http,
    Poke,
    Malformed(http1::Error),
    Login(ShoutcastLogin, usize),
}

async fn first_line(socket: &mut TcpStream, received: &mut BytesMut) -> First {
    loop {
        match socket.read_buf(received).await {
            Ok(1..) => {}
            Ok(0) | Err(_) => return First::Gone,
        }
        match ShoutcastLogin::read(received) {
            Ok(ShoutcastLine::NeedMore) => received.reserve(READ_BYTES),
            Ok(ShoutcastLine::Http) => return First::Http,
            Ok(ShoutcastLine::Poke) => return First::Poke,
            Ok(ShoutcastLine::Login(login, used)) => return First::Login(login, used),
            Err(error) => return First::Malformed(error),
        }
    }
}
