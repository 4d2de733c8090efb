//! TLS handshake of a connection.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use base::holdings::Kind;
use limits::Rejected;
use rustls::ServerConfig;
use tokio::net::TcpStream;

use crate::front_door::FrontDoor;
use crate::head;

/// Time limit of a handshake. It takes two round trips; this is enough for the worst mobile networks.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// First byte from a TLS client (RFC 8446 §5.1).
const HANDSHAKE_RECORD: u8 = 22;

/// ALPN name of HTTP/2 (RFC 9113 §3.2). A client that offers nothing is served HTTP/1.
pub const HTTP_2: &[u8] = b"h2";

/// Performs the handshake; returns the connection within TLS if it succeeds.
pub async fn secure(
    front: &FrontDoor,
    config: Arc<ServerConfig>,
    socket: TcpStream,
    peer: SocketAddr,
) -> Option<net::tls::Stream> {
    match Box::pin(accept(config, socket)).await {
        Ok(mut secure) => {
            secure.charge(front.holdings.note(Kind::Connections, 0));
            return Some(secure);
        }
        Err(NoTls::Failed(error)) => front.counts.reject_for(Rejected::Tls, peer, &error),
        Err(NoTls::Unspoken(socket)) => {
            let detail = "it does not begin with TLS";
            front.counts.reject_for(Rejected::Tls, peer, &detail);
            head::answer(socket, b"").await;
        }
    }
    None
}

/// Reason why there is no TLS.
enum NoTls {
    /// The client speaks another protocol. It must be sent no alert: libshout, which detects a port's protocol by trying, would
    /// wait for the rest of that reply.
    Unspoken(TcpStream),
    Failed(io::Error),
}

impl From<io::Error> for NoTls {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

/// Performs the handshake, in bounded time.
async fn accept(config: Arc<ServerConfig>, socket: TcpStream) -> Result<net::tls::Stream, NoTls> {
    let handshake = async {
        let mut first = [0];
        socket.peek(&mut first).await?;
        match first == [HANDSHAKE_RECORD] {
            true => Ok(net::tls::accept(config, socket).await?),
            false => Err(NoTls::Unspoken(socket)),
        }
    };
    let done = tokio::time::timeout(HANDSHAKE_TIMEOUT, handshake).await;
    done.unwrap_or_else(|late| Err(NoTls::Failed(late.into())))
}
