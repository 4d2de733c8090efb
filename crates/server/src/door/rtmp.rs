//! The RTMP ports. Publishers go on to ingest, players to egress; what is no RTMP gets an answer it
//! understands, if there is one.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::BytesMut;
use fanout::Permit;
use http1::{ResponseHead, Sniff, Status, Version};
use net::{TransportStream, tls};
use rtmp_io::{NextRequest, PlayRequest, PublishRequest, RtmpConnection, next_request};
use tokio::net::TcpStream;

use crate::head;
use crate::node::Node;
use crate::ports::Port;
use limits::ConnectionPermit;
use limits::Rejected;

/// A plain socket, or TLS over one. Threads that serve many publishers take plain sockets from their tasks.
pub(super) trait RtmpTransport: TransportStream {
    /// Serves a publisher on it; `on_admitted` is called when the publisher is let in. Gives the connection
    /// back if it may have another request.
    fn publish(
        node: &Node,
        request: PublishRequest<Self>,
        on_admitted: impl FnOnce() + Send,
    ) -> impl Future<Output = Result<Option<RtmpConnection<Self>>, ingest::Error>> + Send;
}

impl RtmpTransport for TcpStream {
    async fn publish(
        node: &Node,
        request: PublishRequest<Self>,
        on_admitted: impl FnOnce() + Send,
    ) -> Result<Option<RtmpConnection<Self>>, ingest::Error> {
        ingest::rtmp::serve_plain(&node.ingest, request, on_admitted).await
    }
}

impl RtmpTransport for tls::Stream {
    async fn publish(
        node: &Node,
        request: PublishRequest<Self>,
        on_admitted: impl FnOnce() + Send,
    ) -> Result<Option<RtmpConnection<Self>>, ingest::Error> {
        ingest::rtmp::serve(&node.ingest, request, on_admitted).await
    }
}

/// Serves a connection that has just been accepted.
pub(super) async fn serve<S: RtmpTransport>(
    node: &Arc<Node>,
    mut socket: S,
    permit: ConnectionPermit,
    peer: SocketAddr,
) {
    let deadline = node.rtmp.session.handshake_timeout;
    let Ok(sniffed) = tokio::time::timeout(deadline, head::sniff(&mut socket)).await else {
        node.counts.reject(Rejected::HeadTimeout, peer);
        return;
    };
    match sniffed {
        Ok((Sniff::Rtmp, early)) => {
            if let Err(error) = converse(node, socket, early, permit, peer).await {
                tracing::debug!(%peer, %error, "an RTMP connection ended");
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

/// Serves one request after the other, until the peer has left or plays.
async fn converse<S: RtmpTransport>(
    node: &Node,
    socket: S,
    early: BytesMut,
    mut permit: ConnectionPermit,
    peer: SocketAddr,
) -> Result<(), ingest::Error> {
    let mut connection = RtmpConnection::new(&node.rtmp, socket, early, peer)?;
    loop {
        // Boxed, so that a publisher's task, which may live for days, holds only what publishing needs.
        match Box::pin(next_request(&node.rtmp, connection)).await {
            NextRequest::Publish(request) => {
                let on_admitted = || permit.settle_publisher();
                match Box::pin(S::publish(node, request, on_admitted)).await? {
                    Some(back) => connection = back,
                    None => return Ok(()),
                }
            }
            NextRequest::Play(request) => {
                Box::pin(play(node, request, permit)).await;
                return Ok(());
            }
            NextRequest::Closed => return Ok(()),
            NextRequest::Failed(failed) => {
                return Err(Box::pin(ingest::rtmp::refuse(&node.ingest, failed)).await);
            }
        }
    }
}

/// Passes a player on, if one more listener is within the limits.
async fn play<S: RtmpTransport>(
    node: &Node,
    request: PlayRequest<S>,
    mut permit: ConnectionPermit,
) {
    let peer = request.connection.peer;
    match node.admission.listener(peer.ip()) {
        Ok(listener) => {
            permit.settle();
            let permit = Some(Permit::new((permit, listener)));
            egress_rtmp::serve(&node.players, request, permit).await;
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
