//! TLS, by rustls with aws-lc-rs. Certificate and key are PEM files, which can be reloaded while connections are open: each
//! handshake uses the certificate that is current when it begins.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use base::date;
use rustls::ServerConfig;
use rustls::crypto::CryptoProvider;
use rustls::crypto::aws_lc_rs::Ticketer;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use crate::pages::assets::hex;
use crate::secure::HTTP_2;

/// Reason why TLS cannot be offered.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read as PEM.
    #[error("{}: {source}", path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Parse error.
        source: rustls::pki_types::pem::Error,
    },
    /// The certificate file contains no certificate.
    #[error("{}: there is no certificate in it", .0.display())]
    NoCertificate(PathBuf),
    /// Certificate and key do not fit each other, or are unusable.
    #[error("certificate and private key: {0}")]
    Pair(#[from] rustls::Error),
    /// The certificate is not valid X.509.
    #[error("{}: the certificate cannot be read", .0.display())]
    Malformed(PathBuf),
    /// The certificate has expired, so no client would accept it.
    #[error("{}: the certificate has expired ({facts})", path.display())]
    Expired {
        /// Path of the certificate.
        path: PathBuf,
        /// Identity of the certificate.
        facts: Facts,
    },
}

/// Serial number and expiry of a certificate.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Facts {
    /// Serial number in hexadecimal digits, as `openssl x509 -serial` prints it.
    pub serial: String,
    /// Time from which no client accepts the certificate.
    pub expires: SystemTime,
}

impl fmt::Display for Facts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let expires = date::rfc3339(self.expires);
        write!(f, "serial {}, expires {expires}", self.serial)
    }
}

/// TLS configurations of the ports, by protocol.
#[derive(Clone)]
pub struct Handshakes {
    /// Configuration for HTTP/1 and HTTP/2.
    pub https: Arc<ServerConfig>,
    /// Configuration for RTMP, which has no ALPN name.
    pub rtmps: Arc<ServerConfig>,
    /// Configuration for connections that begin as plain HTTP/1.1, and stay HTTP/1.1 within TLS.
    pub upgrade: Arc<ServerConfig>,
}

/// Certificate that handshakes use, and the files it is read from.
pub struct Certificate {
    chain: PathBuf,
    key: PathBuf,
    provider: Arc<CryptoProvider>,
    shown: RwLock<Shown>,
}

#[derive(Clone)]
struct Shown {
    pair: Arc<CertifiedKey>,
    facts: Facts,
}

/// Result of a reload.
#[derive(Debug, Eq, PartialEq)]
pub enum Renewal {
    /// A different certificate.
    New(Facts),
    /// The certificate that was already in use.
    Same(Facts),
}

impl Certificate {
    /// Reads the certificate chain and the key. An expired certificate is accepted: a client may not check, and the operator is
    /// warned.
    pub fn read(chain: &Path, key: &Path) -> Result<Self, TlsError> {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let shown = Shown::read(chain, key, &provider)?;
        let facts = &shown.facts;
        if facts.expires < SystemTime::now() {
            tracing::warn!(%facts, "the certificate has expired");
        } else {
            tracing::info!(%facts, "the certificate is read");
        }
        Ok(Self {
            chain: chain.to_owned(),
            key: key.to_owned(),
            provider,
            shown: RwLock::new(shown),
        })
    }

    /// Reads both again. An unusable pair is refused.
    pub fn renew(&self, now: SystemTime) -> Result<Renewal, TlsError> {
        let read = Shown::read(&self.chain, &self.key, &self.provider)?;
        let facts = read.facts.clone();
        if facts.expires < now {
            let path = self.chain.clone();
            return Err(TlsError::Expired { path, facts });
        }
        let mut shown = self.shown.write().unwrap_or_else(PoisonError::into_inner);
        let is_same = shown.pair.cert == read.pair.cert;
        *shown = read;
        Ok(match is_same {
            true => Renewal::Same(facts),
            false => Renewal::New(facts),
        })
    }

    /// Returns the facts of the certificate in use.
    pub fn facts(&self) -> Facts {
        self.shown().facts
    }

    /// Creates the TLS configurations of the ports.
    pub fn handshakes(self: &Arc<Self>) -> Result<Handshakes, TlsError> {
        let mut rtmps = ServerConfig::builder_with_provider(Arc::clone(&self.provider))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_cert_resolver(Arc::clone(self) as _);
        // Sessions are resumed by tickets, so that any number of clients can: the library's own table has 256 sessions. The
        // ticket keys are random and change every six hours; a ticket is accepted for twelve hours at most. The holder of a
        // ticket was shown a certificate, and is not shown one again.
        rtmps.ticketer = Ticketer::new()?;
        // Secrets are extracted for the workers that encrypt.
        rtmps.enable_secret_extraction = true;
        // RTMP has no ALPN name, and a client that offers another protocol must not be refused for that. After an upgrade the
        // protocol is agreed already.
        let mut https = rtmps.clone();
        https.alpn_protocols = vec![HTTP_2.to_vec(), b"http/1.1".to_vec()];
        let rtmps = Arc::new(rtmps);
        Ok(Handshakes {
            https: Arc::new(https),
            upgrade: Arc::clone(&rtmps),
            rtmps,
        })
    }

    fn shown(&self) -> Shown {
        self.shown
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl Shown {
    fn read(chain: &Path, key: &Path, provider: &CryptoProvider) -> Result<Self, TlsError> {
        let unreadable = |path: &Path| {
            let path = path.to_owned();
            move |source| TlsError::File { path, source }
        };
        let certificates = CertificateDer::pem_file_iter(chain)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(unreadable(chain))?;
        let Some(first) = certificates.first() else {
            return Err(TlsError::NoCertificate(chain.to_owned()));
        };
        let facts = facts(first).ok_or_else(|| TlsError::Malformed(chain.to_owned()))?;
        let key = PrivateKeyDer::from_pem_file(key).map_err(unreadable(key))?;
        let pair = Arc::new(CertifiedKey::from_der(certificates, key, provider)?);
        Ok(Self { pair, facts })
    }
}

fn facts(certificate: &CertificateDer<'_>) -> Option<Facts> {
    let (_, parsed) = x509_parser::parse_x509_certificate(certificate).ok()?;
    let expires = parsed.validity().not_after.timestamp();
    let since_epoch = Duration::from_secs(u64::try_from(expires).unwrap_or(0));
    Some(Facts {
        serial: hexadecimal(parsed.raw_serial()),
        expires: SystemTime::UNIX_EPOCH.checked_add(since_epoch)?,
    })
}

/// Formats a number of DER, whose first byte is 0 if the next one would make it negative: openssl omits that byte.
fn hexadecimal(number: &[u8]) -> String {
    match number {
        [0, rest @ ..] if !rest.is_empty() => hex(rest),
        all => hex(all),
    }
}

impl ResolvesServerCert for Certificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.shown().pair)
    }
}

impl fmt::Debug for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Certificate({})", self.facts())
    }
}

base::debug!(Handshakes {});

#[cfg(test)]
mod tests {
    use super::hexadecimal;

    #[test]
    fn serial_numbers_are_as_openssl_prints_them() {
        for (number, expected) in [
            (&[0x28, 0x08][..], "2808"),
            (&[0, 0xAD, 0x7E], "ad7e"),
            (&[0x0A], "0a"),
            (&[0], "00"),
        ] {
            assert_eq!(hexadecimal(number), expected);
        }
    }
}
