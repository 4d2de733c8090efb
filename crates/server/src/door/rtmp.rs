//! The RTMP port. What is no RTMP gets an answer it understands, if there is one.

use std::net::SocketAddr;
use std::sync::Arc;

use http1::{ResponseHead, Sniff, Status, Version};
use tokio::net::TcpStream;

use super::head;
use super::limits::{Place, Rejected};
use crate::node::Node;
use crate::relay::Port;

pub(super) async fn serve(
    node: &Arc<Node>,
    mut socket: TcpStream,
    mut place: Place,
    peer: SocketAddr,
) {
    let deadline = node.ingest.settings.handshake_timeout;
    let Ok(sniffed) = tokio::time::timeout(deadline, head::sniff(&mut socket)).await else {
        node.counts.reject(Rejected::HeadTimeout, peer);
        return;
    };
    match sniffed {
        Ok((Sniff::Rtmp, early)) => {
            let (early, settle) = (early.freeze(), || place.settle());
            let outcome = ingest::rtmp::serve(&node.ingest, socket, early, peer, settle).await;
            if let Err(error) = outcome {
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
            let detail = format!("{other:?} on the RTMP port");
            node.counts.reject_for(Rejected::Protocol, peer, &detail);
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
