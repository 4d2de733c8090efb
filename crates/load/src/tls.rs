//! A listener behind TLS, until it has joined, and for as long as its frames are checked.
//!
//! A listener that is not checked drops its keys once the media arrives, and discards records as others discard bytes: the load
//! then costs the same with and without TLS. Every server is trusted, because a load is for one's own servers.

use std::io::{self, Read, Write};
use std::sync::Arc;

use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, Error as TlsError, SignatureScheme,
};

use crate::target::Target;

/// Returns the TLS settings for all handshakes of a load.
pub(crate) fn config() -> io::Result<Arc<ClientConfig>> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Trusting(provider)))
        .with_no_client_auth();
    // Each listener represents a client of its own.
    config.resumption = Resumption::disabled();
    Ok(Arc::new(config))
}

/// One listener's side of TLS.
#[derive(Debug)]
pub(crate) struct Secured(ClientConnection);

impl Secured {
    /// Begins the handshake; `words` are the first message to the server of `target`.
    pub(crate) fn new(
        config: &Arc<ClientConfig>,
        target: &Target,
        words: &[u8],
    ) -> io::Result<Self> {
        let name = ServerName::try_from(target.host.clone()).map_err(io::Error::other)?;
        let connection = ClientConnection::new(Arc::clone(config), name);
        let mut secured = Self(connection.map_err(io::Error::other)?);
        secured.say(words)?;
        Ok(secured)
    }

    /// Queues `words` for sending.
    pub(crate) fn say(&mut self, words: &[u8]) -> io::Result<()> {
        self.0.writer().write_all(words)
    }

    /// Takes the bytes to be sent.
    pub(crate) fn take_output(&mut self) -> io::Result<Vec<u8>> {
        let mut output = Vec::new();
        while self.0.wants_write() {
            self.0.write_tls(&mut output)?;
        }
        Ok(output)
    }

    /// Takes bytes that the server sent. Returns their decrypted content.
    pub(crate) fn push(&mut self, mut bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut plain = Vec::new();
        while !bytes.is_empty() {
            self.0.read_tls(&mut bytes)?;
            let state = self.0.process_new_packets().map_err(io::Error::other)?;
            let begin = plain.len();
            plain.resize(begin + state.plaintext_bytes_to_read(), 0);
            self.0.reader().read_exact(&mut plain[begin..])?;
        }
        Ok(plain)
    }
}

/// Verifier that accepts every certificate, and checks that the server has its key.
#[derive(Debug)]
struct Trusting(Arc<CryptoProvider>);

impl ServerCertVerifier for Trusting {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, TlsError> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
