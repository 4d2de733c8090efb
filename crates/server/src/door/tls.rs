//! TLS, by rustls with aws-lc-rs. Certificate and key are PEM files.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// A handshake takes two round trips; this allows for the worst of mobile networks.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// Why TLS cannot be offered.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read as PEM.
    #[error("{}: {source}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        source: rustls::pki_types::pem::Error,
    },
    /// The certificate file holds none.
    #[error("{}: there is no certificate in it", .0.display())]
    NoCertificate(PathBuf),
    /// Certificate and key do not fit each other, or are of no use.
    #[error("certificate and private key: {0}")]
    Pair(#[from] rustls::Error),
}

/// What the secure ports show, by what is spoken behind them.
#[derive(Clone)]
pub(crate) struct Acceptors {
    pub(crate) https: TlsAcceptor,
    pub(crate) rtmps: TlsAcceptor,
}

/// Reads the certificate chain and the key.
pub(crate) fn acceptors(certificate: &Path, key: &Path) -> Result<Acceptors, TlsError> {
    let unreadable = |path: &Path| {
        let path = path.to_owned();
        move |source| TlsError::File { path, source }
    };
    let chain = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(unreadable(certificate))?;
    if chain.is_empty() {
        return Err(TlsError::NoCertificate(certificate.to_owned()));
    }
    let key = PrivateKeyDer::from_pem_file(key).map_err(unreadable(key))?;
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let rtmps = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    // RTMP has no name in ALPN, and a client that offers another must not be refused for that.
    let mut https = rtmps.clone();
    https.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Acceptors {
        https: Arc::new(https).into(),
        rtmps: Arc::new(rtmps).into(),
    })
}

impl fmt::Debug for Acceptors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Acceptors")
    }
}

/// Performs the handshake, in bounded time.
pub(super) async fn accept(
    acceptor: &TlsAcceptor,
    socket: TcpStream,
) -> io::Result<TlsStream<TcpStream>> {
    tokio::time::timeout(HANDSHAKE_TIMEOUT, acceptor.accept(socket)).await?
}
