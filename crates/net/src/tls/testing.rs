//! TLS connections for tests, under a certificate of their own.

#![allow(clippy::unwrap_used, reason = "a test says so when it fails")]

use std::sync::Arc;

use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::{PrivateKeyDer, ServerName};
use rustls::{
    ClientConfig, RootCertStore, ServerConfig, SupportedCipherSuite, SupportedProtocolVersion,
};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::{Stream, accept};

/// Name that the certificate is for.
const NAME: &str = "localhost";

/// TLS configurations of a server and a client that trust each other.
#[derive(Debug)]
pub struct TestTls {
    /// Configuration for [`accept`].
    pub server: Arc<ServerConfig>,
    /// Configuration for any client.
    pub client: Arc<ClientConfig>,
    /// The certificate, in PEM.
    pub certificate: String,
    /// Key of the certificate, in PEM.
    pub key: String,
    trusted: RootCertStore,
}

impl TestTls {
    /// Creates configurations like the server's.
    #[allow(
        clippy::new_without_default,
        reason = "it makes a key, which takes a while"
    )]
    pub fn new() -> Self {
        Self::of(rustls::ALL_VERSIONS, None)
    }

    /// Creates configurations with certain versions, and one cipher suite or all.
    ///
    /// # Panics
    /// rustls refuses its own defaults.
    pub fn of(
        versions: &[&'static SupportedProtocolVersion],
        suite: Option<SupportedCipherSuite>,
    ) -> Self {
        let mut provider = aws_lc_rs::default_provider();
        if let Some(suite) = suite {
            provider.cipher_suites = vec![suite];
        }
        let provider = Arc::new(provider);
        let pair = rcgen::generate_simple_self_signed([NAME.to_owned()]).unwrap();
        let certificate = pair.cert.der().clone();
        let key = PrivateKeyDer::try_from(pair.signing_key.serialize_der()).unwrap();
        let mut server = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(versions)
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.clone()], key)
            .unwrap();
        server.enable_secret_extraction = true;
        let mut trusted = RootCertStore::empty();
        trusted.add(certificate).unwrap();
        let client = client(provider, versions, &trusted);
        Self {
            server: Arc::new(server),
            client: Arc::new(client),
            certificate: pair.cert.pem(),
            key: pair.signing_key.serialize_pem(),
            trusted,
        }
    }

    /// Returns another client configuration that trusts the certificate, of certain versions. It knows none
    /// of the others' sessions.
    pub fn client_of(&self, versions: &[&'static SupportedProtocolVersion]) -> ClientConfig {
        let provider = Arc::new(aws_lc_rs::default_provider());
        client(provider, versions, &self.trusted)
    }

    /// Returns a client, and the server's end of its connection.
    ///
    /// # Panics
    /// The two do not agree.
    pub async fn connect(&self) -> (TlsStream<TcpStream>, Stream) {
        let door = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(door.local_addr().unwrap())
            .await
            .unwrap();
        let (socket, _) = door.accept().await.unwrap();
        let connector = TlsConnector::from(Arc::clone(&self.client));
        let name = ServerName::try_from(NAME).unwrap();
        let (client, server) = tokio::join!(
            connector.connect(name, client),
            accept(Arc::clone(&self.server), socket)
        );
        (client.unwrap(), server.unwrap())
    }
}

fn client(
    provider: Arc<CryptoProvider>,
    versions: &[&'static SupportedProtocolVersion],
    trusted: &RootCertStore,
) -> ClientConfig {
    ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)
        .unwrap()
        .with_root_certificates(trusted.clone())
        .with_no_client_auth()
}
