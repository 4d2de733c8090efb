//! A client's identity.

use std::sync::Arc;
use std::time::Duration;

use rtc_crypto::RTCCryptoProvider;
use rtc_crypto::providers::AwsLcRsProvider;
use rtc_dtls::cipher_suite::CipherSuiteId;
use rtc_dtls::config::{ConfigBuilder, ExtendedMasterSecretType, HandshakeConfig};
use rtc_dtls::crypto::Certificate;

use crate::dtls::{Error, theirs};
use crate::sdp::Fingerprint;
use crate::srtp::Profile;

/// When a flight is sent again.
const FLIGHT_INTERVAL: Duration = Duration::from_millis(700);

/// A certificate with its fingerprint, and what else a client's handshake needs. Cheap to clone,
/// and usable for any number of sessions.
#[derive(Clone)]
pub struct ClientIdentity {
    pub(super) provider: Arc<dyn RTCCryptoProvider>,
    pub(super) config: Arc<HandshakeConfig>,
    fingerprint: Fingerprint,
}

impl ClientIdentity {
    /// Makes a new self-signed certificate (ECDSA P-256), for handshakes that offer `profiles` in this
    /// order.
    ///
    /// # Errors
    /// When the cryptographic library fails.
    pub fn generate(profiles: &[Profile]) -> Result<Self, Error> {
        let provider: Arc<dyn RTCCryptoProvider> = Arc::new(AwsLcRsProvider::new());
        let names = vec!["peer".to_owned()];
        let certificate = Certificate::generate_self_signed(names, provider.crypto())
            .map_err(|_| Error::Crypto)?;
        let der = certificate.certificate.first().ok_or(Error::Crypto)?;
        let fingerprint = Fingerprint::of_certificate(der);
        let config = ConfigBuilder::default()
            .with_crypto_provider(provider.clone())
            .with_certificates(vec![certificate])
            .with_cipher_suites(vec![CipherSuiteId::Tls_Ecdhe_Ecdsa_With_Aes_128_Gcm_Sha256])
            .with_srtp_protection_profiles(profiles.iter().copied().map(theirs).collect())
            // The server's certificate is compared with its answer once the handshake is done.
            .with_insecure_skip_verify(true)
            .with_extended_master_secret(ExtendedMasterSecretType::Require)
            .with_flight_interval(FLIGHT_INTERVAL)
            .build(true, None)
            .map_err(|_| Error::Crypto)?;
        Ok(Self {
            provider,
            config: Arc::new(config),
            fingerprint,
        })
    }

    /// The fingerprint that an offer names.
    pub fn fingerprint(&self) -> &Fingerprint {
        &self.fingerprint
    }
}

base::debug!(ClientIdentity { fingerprint });
