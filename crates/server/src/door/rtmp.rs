//! The RTMP ports. Whoever publishes stays with ingest, whoever plays goes on to egress; what is no
//! RTMP gets an answer it understands, if there is one.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use egress_rtmp::PlayRequest;
use fanout::Permit;
use http1::{ResponseHead, Sniff, Status, Version};
use ingest::rtmp::{End, Player};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

use super::head;
use super::limits::ConnectionPermit;
use super::rejected::Rejected;
use crate::node::Node;
use crate::sockets::Port;

/// What carries a conversation: a socket, or TLS over one.
pub(super) trait RtmpTransport:
    AsyncRead + AsyncWrite + Send + Sized + Unpin + 'static
{
    /// Serves whoever is on it, up to the wish to play; `settle` is called when that is a publisher.
    fn publish(
        node: &Node,
        socket: Self,
        early: Bytes,
        peer: SocketAddr,
        settle: impl FnOnce() + Send,
    ) -> impl Future<Output = Result<End<Self>, ingest::Error>> + Send;

    /// Serves a player on it.
    fn play(
        node: &Node,
        request: PlayRequest<Self>,
        permit: Option<Permit>,
    ) -> impl Future<Output = ()> + Send;
}

impl RtmpTransport for TcpStream {
    async fn publish(
        node: &Node,
        socket: Self,
        early: Bytes,
        peer: SocketAddr,
        settle: impl FnOnce() + Send,
    ) -> Result<End<Self>, ingest::Error> {
        ingest::rtmp::serve_plain(&node.ingest, socket, early, peer, settle).await
    }

    async fn play(node: &Node, request: PlayRequest<Self>, permit: Option<Permit>) {
        egress_rtmp::serve_plain(&node.players, request, permit).await;
    }
}

impl RtmpTransport for TlsStream<TcpStream> {
    async fn publish(
        node: &Node,
        socket: Self,
        early: Bytes,
        peer: SocketAddr,
        settle: impl FnOnce() + Send,
    ) -> Result<End<Self>, ingest::Error> {
        ingest::rtmp::serve(&node.ingest, socket, early, peer, settle).await
    }

    async fn play(node: &Node, request: PlayRequest<Self>, permit: Option<Permit>) {
        egress_rtmp::serve_secure(&node.players, request, permit).await;
    }
}

pub(super) async fn serve<S: RtmpTransport>(
    node: &Arc<Node>,
    mut socket: S,
    mut place: ConnectionPermit,
    peer: SocketAddr,
) {
    let deadline = node.ingest.settings.handshake_timeout;
    let Ok(sniffed) = tokio::time::timeout(deadline, head::sniff(&mut socket)).await else {
        node.counts.reject(Rejected::HeadTimeout, peer);
        return;
    };
    match sniffed {
        Ok((Sniff::Rtmp, early)) => {
            let (early, settle) = (early.freeze(), || place.settle_publisher());
            let outcome = S::publish(node, socket, early, peer, settle).await;
            match outcome {
                Ok(End::Left) => {}
                Ok(End::Player(player)) => play(node, *player, place, peer).await,
                Err(error) => tracing::debug!(%peer, %error, "an RTMP connection ended"),
            }
        }
        Ok((Sniff::Http, _)) => {
            node.counts
                .reject_for(Rejected::Protocol, peer, &"HTTP on the RTMP port");
            head::answer(socket, &wrong_port(node)).await;
        }
        Ok((Sniff::NeedMore, _)) | Err(_) => {}
        Ok((other, _)) => {
            let detail = format!("{other} on the RTMP port");
            node.counts.reject_for(Rejected::Protocol, peer, &detail);
        }
    }
}

/// Passes a player on, if there is room for one more listener.
async fn play<S: RtmpTransport>(
    node: &Node,
    player: Player<S>,
    mut place: ConnectionPermit,
    peer: SocketAddr,
) {
    let Player {
        socket,
        session,
        request,
        input,
        agent,
    } = player;
    let request = PlayRequest {
        socket,
        session,
        request,
        input,
        agent,
        peer,
    };
    let permit = if node.drain.has_begun() {
        Err(Rejected::Draining)
    } else {
        node.limits.listener(peer.ip(), Instant::now())
    };
    match permit {
        Ok(permit) => {
            place.settle();
            S::play(node, request, Some(Permit::new((place, permit)))).await;
        }
        Err(reason) => {
            node.counts.reject(reason, peer);
            let seconds = node.drain.retry_after();
            request
                .refuse(&format!("{reason}; try again in {seconds} seconds"))
                .await;
        }
    }
}

fn wrong_port(node: &Node) -> Vec<u8> {
    let port = node.first(Port::Http).map_or(0, |address| address.port());
    let text = format!("This is the RTMP port. HTTP is served on port {port}.\n");
    let mut answer = ResponseHead::new(Version::Http11, Status::BAD_REQUEST)
        .header("Content-Type", "text/plain; charset=utf-8")
        .headers(http1::CORS)
        .header("Connection", "close")
        .content_length(text.len() as u64)
        .finish();
    answer.extend_from_slice(text.as_bytes());
    answer
}
