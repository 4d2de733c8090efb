//! The RTMP ports. Publishers are passed to ingest and players to egress; a peer that does not speak RTMP gets a reply it
//! understands, if there is one.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::BytesMut;
use fanout::Permit;
use http1::{ResponseHead, Sniff, Status, Version};
use limits::{ConnectionPermit, Rejected};
use net::rtmp::{NextRequest, PlayRequest, PublishRequest, RtmpConnection, next_request};
use net::{TransportStream, tls};
use rtmp::server::HANDSHAKE_TIMEOUT;
use tokio::net::TcpStream;
use web::{FrontDoor, head};

use super::Protocols;

/// Shared state for connections over RTMP.
pub(crate) struct Players {
    /// Used by each connection until it requests a stream.
    pub(crate) connections: net::rtmp::Context,
    /// Used by connections that play a stream.
    pub(crate) egress: Arc<egress_rtmp::Context>,
}

/// A plain socket, or TLS over one. Threads that serve many publishers take plain sockets from their tasks.
pub(super) trait RtmpTransport: TransportStream {
    /// Serves a publisher on this transport; calls `on_admitted` once the publisher is admitted. Returns the connection if it
    /// may make another request.
    fn publish(
        front: &FrontDoor,
        request: PublishRequest<Self>,
        on_admitted: impl FnOnce() + Send,
    ) -> impl Future<Output = Result<Option<RtmpConnection<Self>>, ingest::Error>> + Send;
}

impl RtmpTransport for TcpStream {
    async fn publish(
        front: &FrontDoor,
        request: PublishRequest<Self>,
        on_admitted: impl FnOnce() + Send,
    ) -> Result<Option<RtmpConnection<Self>>, ingest::Error> {
        ingest::rtmp::serve_plain(&front.ingest, request, on_admitted).await
    }
}

impl RtmpTransport for tls::Stream {
    async fn publish(
        front: &FrontDoor,
        request: PublishRequest<Self>,
        on_admitted: impl FnOnce() + Send,
    ) -> Result<Option<RtmpConnection<Self>>, ingest::Error> {
        ingest::rtmp::serve(&front.ingest, request, on_admitted).await
    }
}

/// Serves a newly accepted connection.
pub(super) async fn serve<S: RtmpTransport>(
    protocols: &Protocols,
    mut socket: S,
    permit: ConnectionPermit,
    peer: SocketAddr,
) {
    let sniffing = head::sniff(&mut socket);
    let Ok(sniffed) = tokio::time::timeout(HANDSHAKE_TIMEOUT, sniffing).await else {
        protocols.front.counts.reject(Rejected::HeadTimeout, peer);
        return;
    };
    match sniffed {
        Ok((Sniff::Rtmp, early)) => {
            if let Err(error) = converse(protocols, socket, early, permit, peer).await {
                tracing::debug!(%peer, %error, "an RTMP connection ended");
            }
        }
        Ok((Sniff::NeedMore, _)) | Err(_) => {}
        Ok((other, _)) => {
            let counts = &protocols.front.counts;
            let detail = format!("{other} on the RTMP port");
            counts.reject_for(Rejected::Protocol, peer, &detail);
            if other == Sniff::Http {
                head::answer(socket, &wrong_port(protocols.http_port)).await;
            }
        }
    }
}

/// Serves one request after another until the peer leaves or plays.
async fn converse<S: RtmpTransport>(
    protocols: &Protocols,
    socket: S,
    early: BytesMut,
    mut permit: ConnectionPermit,
    peer: SocketAddr,
) -> Result<(), ingest::Error> {
    let mut connection = RtmpConnection::new(&protocols.players.connections, socket, early, peer)?;
    loop {
        // Boxed, so that a publisher's task, which may live for days, holds only what publishing needs.
        match Box::pin(next_request(&protocols.players.connections, connection)).await {
            NextRequest::Publish(request) => {
                let on_admitted = || permit.settle_publisher();
                match Box::pin(S::publish(&protocols.front, request, on_admitted)).await? {
                    Some(back) => connection = back,
                    None => return Ok(()),
                }
            }
            NextRequest::Play(request) => {
                Box::pin(play(protocols, request, permit)).await;
                return Ok(());
            }
            NextRequest::Closed => return Ok(()),
            NextRequest::Failed(failed) => {
                return Err(Box::pin(ingest::rtmp::refuse(&protocols.front.ingest, failed)).await);
            }
        }
    }
}

/// Passes a player to egress if the listener limit allows one more.
async fn play<S: RtmpTransport>(
    protocols: &Protocols,
    request: PlayRequest<S>,
    mut permit: ConnectionPermit,
) {
    let peer = request.connection.peer;
    match protocols.front.admission.listener(peer.ip()) {
        Ok(listener) => {
            permit.settle();
            let permit = Some(Permit::new((permit, listener)));
            egress_rtmp::serve(&protocols.players.egress, request, permit).await;
        }
        Err(reason) => {
            protocols.front.counts.reject(reason, peer);
            let seconds = protocols.front.drain.retry_after();
            request
                .refuse(&format!("{reason}; try again in {seconds} seconds"))
                .await;
        }
    }
}

fn wrong_port(port: u16) -> Vec<u8> {
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
