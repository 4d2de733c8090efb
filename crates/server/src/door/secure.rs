//! The handshake of a connection that is to be within TLS.

use std::net::SocketAddr;
use std::sync::Arc;

use limits::Rejected;
use net::holdings::Kind;
use rustls::ServerConfig;
use tokio::net::TcpStream;

use super::tls::{self, NoTls};
use crate::head;
use crate::node::Node;

/// The connection within TLS, if the handshake succeeds.
pub(crate) async fn secure(
    node: &Node,
    config: Arc<ServerConfig>,
    socket: TcpStream,
    peer: SocketAddr,
) -> Option<net::tls::Stream> {
    match Box::pin(tls::accept(config, socket)).await {
        Ok(mut secure) => {
            secure.charge(node.holdings.note(Kind::Connections, 0));
            return Some(secure);
        }
        Err(NoTls::Failed(error)) => node.counts.reject_for(Rejected::Tls, peer, &error),
        Err(NoTls::Unspoken(socket)) => {
            let detail = "it does not begin with TLS";
            node.counts.reject_for(Rejected::Tls, peer, &detail);
            head::answer(socket, b"").await;
        }
    }
    None
}
