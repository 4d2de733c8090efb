//! The handshake of a connection that is to be within TLS.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use limits::Rejected;
use net::holdings::Kind;
use rustls::ServerConfig;
use tokio::net::TcpStream;

use crate::front_door::FrontDoor;
use crate::head;

/// A handshake takes two round trips; this is enough for the worst mobile networks.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// What a client of TLS begins with (RFC 8446 §5.1).
const HANDSHAKE_RECORD: u8 = 22;

/// HTTP/2's ALPN name (RFC 9113 §3.2). A client that offers nothing is served HTTP/1.
pub const HTTP_2: &[u8] = b"h2";

/// The connection within TLS, if the handshake succeeds.
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

/// Why there is no TLS.
enum NoTls {
    /// The client speaks something else. It must be sent no alert: libshout, which finds out by trying what a port speaks,
    /// would wait for the rest of that answer.
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
