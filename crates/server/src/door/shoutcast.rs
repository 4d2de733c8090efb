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
        Ok(None | Some(Ok(ShoutcastLine::NeedMore))) => return,
        Ok(Some(Ok(ShoutcastLine::Http))) => {
            return Box::pin(serve_begun(front, socket, &received, permit, peer)).await;
        }
        Ok(Some(Ok(ShoutcastLine::Poke))) => return head::answer(socket, SHOUTCAST_REFUSED).await,
        Ok(Some(Err(error))) => {
            front.counts.reject_for(Rejected::Protocol, peer, &error);
            return head::answer(socket, SHOUTCAST_REFUSED).await;
        }
        Ok(Some(Ok(ShoutcastLine::Login(login, used)))) => {
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

/// Reads the whole first line of a connection; `None` if the connection is gone before.
async fn first_line(
    socket: &mut TcpStream,
    received: &mut BytesMut,
) -> Option<Result<ShoutcastLine, http1::Error>> {
    loop {
        match socket.read_buf(received).await {
            Ok(1..) => {}
            Ok(0) | Err(_) => return None,
        }
        match ShoutcastLogin::read(received) {
            Ok(ShoutcastLine::NeedMore) => received.reserve(READ_BYTES),
            line => return Some(line),
        }
    }
}
