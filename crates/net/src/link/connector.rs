//! Connector of outgoing connections: every address of a host in turn, TLS if wanted.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::resolver::Resolver;
use crate::tcp;

/// Longest time from the name to the connection, encryption included.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);

/// Most addresses of one name that are tried; names of large services have more, all alike.
const ADDRESSES_MAX: usize = 8;

/// Reason why no connection was made. Names no more than the host.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The name has no address.
    #[error("the host `{host}` was not found: {source}")]
    Resolve {
        /// Host name.
        host: String,
        /// Error of the resolver.
        source: io::Error,
    },
    /// No address accepts connections.
    #[error("cannot connect to {peer}: {source}")]
    Connect {
        /// Last address tried.
        peer: SocketAddr,
        /// Error of the system.
        source: io::Error,
    },
    /// The server cannot be trusted, or does not support TLS.
    #[error("no encrypted connection to `{host}`: {source}")]
    Tls {
        /// Host name.
        host: String,
        /// Error that ended the handshake.
        source: io::Error,
    },
    /// The connection took longer than [`CONNECT_TIMEOUT`].
    #[error("connecting to `{0}` took too long")]
    Timeout(String),
}

/// Maker of connections under one set of trusted authorities.
#[derive(Clone)]
pub struct Connector {
    tls: TlsConnector,
    resolver: Resolver,
}

impl Connector {
    /// Creates a connector that trusts the authorities of `tls`.
    pub fn new(tls: Arc<ClientConfig>) -> Self {
        Self {
            tls: TlsConnector::from(tls),
            resolver: Resolver::default(),
        }
    }

    /// Connects to a host: a name, or an IP address without brackets.
    ///
    /// # Errors
    /// See [`ConnectError`].
    pub async fn connect(
        &self,
        host: &str,
        port: u16,
        is_secure: bool,
    ) -> Result<Link, ConnectError> {
        let deadline = Instant::now() + CONNECT_TIMEOUT;
        timeout_at(deadline, async {
            let socket = self.dial(host, port, deadline).await?;
            if is_secure {
                self.encrypt(host, socket).await
            } else {
                Ok(Link(Transport::Plain(socket)))
            }
        })
        .await
        .unwrap_or_else(|_| Err(ConnectError::Timeout(host.to_owned())))
    }

    /// Tries the addresses of a host, each for its share of the time that is left.
    async fn dial(
        &self,
        host: &str,
        port: u16,
        deadline: Instant,
    ) -> Result<TcpStream, ConnectError> {
        let not_found = |source| ConnectError::Resolve {
            host: host.to_owned(),
            source,
        };
        let found = self.resolver.resolve(host, port).await;
        let mut peers = found.map_err(not_found)?;
        peers.truncate(ADDRESSES_MAX);
        let mut failure = not_found(io::ErrorKind::NotFound.into());
        for (index, &peer) in peers.iter().enumerate() {
            let now = Instant::now();
            let share = deadline.saturating_duration_since(now) / (peers.len() - index) as u32;
            let connected = timeout_at(now + share, TcpStream::connect(peer)).await;
            let connected = connected.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
            match connected.and_then(|socket| tcp::prepare_accepted(&socket).map(|()| socket)) {
                Ok(socket) => return Ok(socket),
                Err(source) => failure = ConnectError::Connect { peer, source },
            }
        }
        Err(failure)
    }

    async fn encrypt(&self, host: &str, socket: TcpStream) -> Result<Link, ConnectError> {
        let failed = |source| ConnectError::Tls {
            host: host.to_owned(),
            source,
        };
        let name = ServerName::try_from(host.to_owned())
            .map_err(|error| failed(io::Error::new(io::ErrorKind::InvalidInput, error)))?;
        let stream = self.tls.connect(name, socket).await.map_err(failed)?;
        Ok(Link(Transport::Tls(Box::new(stream))))
    }
}

base::debug!(Connector {});

/// A connection to another server, encrypted or not.
#[derive(Debug)]
pub struct Link(Transport);

#[derive(Debug)]
enum Transport {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl Link {
    /// Returns the socket beneath, for its options and addresses.
    pub fn socket(&self) -> &TcpStream {
        match &self.0 {
            Transport::Plain(socket) => socket,
            Transport::Tls(stream) => stream.get_ref().0,
        }
    }
}

impl AsyncRead for Link {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut self.0 {
            Transport::Plain(socket) => Pin::new(socket).poll_read(cx, buffer),
            Transport::Tls(stream) => Pin::new(stream).poll_read(cx, buffer),
        }
    }
}

impl AsyncWrite for Link {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match &mut self.0 {
            Transport::Plain(socket) => Pin::new(socket).poll_write(cx, bytes),
            Transport::Tls(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.0 {
            Transport::Plain(socket) => Pin::new(socket).poll_flush(cx),
            Transport::Tls(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.0 {
            Transport::Plain(socket) => Pin::new(socket).poll_shutdown(cx),
            Transport::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}

#[cfg(test)]
mod tests {
    use rustls::pki_types::PrivateKeyDer;
    use rustls::{RootCertStore, ServerConfig};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;
    use tokio_rustls::TlsAcceptor;

    use super::*;

    /// A connector that trusts one certificate, and an acceptor that shows it.
    fn trust(names: &[&str]) -> (Connector, TlsAcceptor) {
        let names: Vec<_> = names.iter().map(|&name| name.to_owned()).collect();
        let made = rcgen::generate_simple_self_signed(names).unwrap();
        let certificate = made.cert.der().clone();
        let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let server = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.clone()], key)
            .unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(certificate).unwrap();
        let client = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let acceptor = TlsAcceptor::from(Arc::new(server));
        (Connector::new(Arc::new(client)), acceptor)
    }

    /// A door, and its port.
    async fn door() -> (TcpListener, u16) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        (listener, port)
    }

    async fn echo<S: AsyncRead + AsyncWrite + Unpin>(mut stream: S) -> io::Result<()> {
        let mut word = [0; 4];
        stream.read_exact(&mut word).await?;
        stream.write_all(&word).await?;
        stream.shutdown().await
    }

    async fn talk(mut link: Link) -> Vec<u8> {
        link.write_all(b"ding").await.unwrap();
        link.flush().await.unwrap();
        let mut heard = Vec::new();
        link.read_to_end(&mut heard).await.unwrap();
        heard
    }

    #[tokio::test]
    async fn plain_and_encrypted_connections_carry_bytes_both_ways() {
        let (connector, acceptor) = trust(&["localhost", "127.0.0.1"]);
        let (listener, port) = door().await;
        let hosts = ["127.0.0.1", "localhost"];
        for (host, is_secure) in hosts.map(|host| [(host, false), (host, true)]).concat() {
            let serve = async {
                let (socket, _) = listener.accept().await.unwrap();
                match is_secure {
                    true => echo(acceptor.accept(socket).await.unwrap()).await,
                    false => echo(socket).await,
                }
            };
            let visit = async {
                let link = connector.connect(host, port, is_secure).await.unwrap();
                assert!(link.socket().nodelay().unwrap());
                talk(link).await
            };
            let (served, heard) = tokio::join!(serve, visit);
            served.unwrap();
            assert_eq!(heard, b"ding");
        }
    }

    #[tokio::test]
    async fn a_server_that_shows_another_name_is_not_trusted() {
        let (connector, acceptor) = trust(&["relay.example"]);
        let (listener, port) = door().await;
        let serve = async {
            let (socket, _) = listener.accept().await.unwrap();
            acceptor.accept(socket).await.is_err()
        };
        let (refused, error) = tokio::join!(serve, connector.connect("127.0.0.1", port, true));
        assert!(refused);
        assert!(matches!(error, Err(ConnectError::Tls { .. })), "{error:?}");
    }

    #[tokio::test]
    async fn what_cannot_be_reached_is_reported() {
        let (connector, _) = trust(&["localhost"]);
        let (listener, port) = door().await;
        drop(listener);
        let error = connector.connect("127.0.0.1", port, false).await;
        let is_so = matches!(error, Err(ConnectError::Connect { .. }));
        assert!(is_so, "{error:?}");
        let error = connector.connect("no such host", port, false).await;
        let is_so = matches!(error, Err(ConnectError::Resolve { .. }));
        assert!(is_so, "{error:?}");
    }
}
