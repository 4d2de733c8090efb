//! Connections that a load balancer forwards with a PROXY header, which names the client.
//!
//! The header is read from trusted proxies on the ports for which the configuration enables it; such a proxy must then send
//! one. From any other peer, those bytes are part of its protocol, in which they are an error. Nothing after the header is
//! read, so what follows is served as if the client had connected directly.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use limits::ConnectionPermit;
use limits::Rejected;
use net::proxy_protocol::{self, BYTES_MAX, Header, Malformed};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::time::timeout;
use web::FrontDoor;

use super::Door;

/// Time limit for the header: balancers send it with the first packet, which may have to be retransmitted once.
const HEADER_TIMEOUT: Duration = Duration::from_secs(5);

/// Returns whether a connection begins with a PROXY header.
pub(super) fn is_expected(front: &FrontDoor, door: &Door, peer: SocketAddr) -> bool {
    let config = &front.config;
    let is_spoken = match door {
        Door::Rtmp | Door::Rtmps(_) => config.rtmp.proxy_protocol,
        Door::Http(_) | Door::Https(_) => config.http.proxy_protocol,
        Door::Shoutcast => config.shoutcast.proxy_protocol,
    };
    is_spoken && config.http.trusts(peer.ip())
}

/// Returns the client of a proxied connection: the one the header names, or the proxy itself. From here on, the connection
/// counts for that client. `None` if there is no header, or if the client may have no more connections.
pub(super) async fn client(
    front: &FrontDoor,
    socket: &mut TcpStream,
    permit: &mut ConnectionPermit,
    proxy: SocketAddr,
) -> Option<SocketAddr> {
    let named = match timeout(HEADER_TIMEOUT, header(socket)).await {
        Ok(Ok(named)) => named,
        Ok(Err(NoHeader::Gone)) => return None,
        Ok(Err(NoHeader::Malformed(why))) => {
            front.counts.reject_for(Rejected::Protocol, proxy, &why);
            return None;
        }
        Err(_) => {
            front.counts.reject(Rejected::HeadTimeout, proxy);
            return None;
        }
    };
    let Some(client) = named else {
        return Some(proxy);
    };
    let client = SocketAddr::new(client.ip().to_canonical(), client.port());
    let passed = permit.pass_on(client.ip(), front.config.http.trusts(client.ip()));
    match passed {
        Ok(()) => Some(client),
        Err(reason) => {
            front.counts.reject(reason, client);
            None
        }
    }
}

enum NoHeader {
    Gone,
    Malformed(Malformed),
}

impl From<io::Error> for NoHeader {
    fn from(_: io::Error) -> Self {
        Self::Gone
    }
}

/// Reads the header and nothing after it: received bytes are peeked at before they are consumed.
async fn header(socket: &mut TcpStream) -> Result<Option<SocketAddr>, NoHeader> {
    let mut received = [0; BYTES_MAX];
    let mut taken = 0;
    loop {
        let there = socket.peek(&mut received[taken..]).await?;
        if there == 0 {
            return Err(NoHeader::Gone);
        }
        let read = proxy_protocol::read(&received[..taken + there]);
        let (end, client) = match read.map_err(NoHeader::Malformed)? {
            Header::NeedMore => (taken + there, None),
            Header::Complete { client, bytes } => (bytes, Some(client)),
        };
        socket.read_exact(&mut received[taken..end]).await?;
        taken = end;
        if let Some(client) = client {
            return Ok(client);
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt;
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn what_follows_the_header_is_left_wherever_it_is_cut() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("it has one");
        let line = "PROXY TCP4 192.0.2.1 198.51.100.1 5678 1935\r\n";
        let sent = format!("{line}\u{3}rest");
        for cut in 0..=line.len() {
            let client = async {
                let mut socket = TcpStream::connect(address).await.expect("connected");
                socket.set_nodelay(true).expect("set");
                let (before, after) = sent.as_bytes().split_at(cut);
                socket.write_all(before).await.expect("sent");
                tokio::task::yield_now().await;
                socket.write_all(after).await.expect("sent");
            };
            let server = async {
                let (mut socket, _) = listener.accept().await.expect("accepted");
                let named = header(&mut socket).await.ok().flatten();
                assert_eq!(named, "192.0.2.1:5678".parse().ok(), "cut at {cut}");
                let mut rest = Vec::new();
                socket.read_to_end(&mut rest).await.expect("the rest");
                assert_eq!(rest, b"\x03rest", "cut at {cut}");
            };
            tokio::join!(client, server);
        }
    }
}
