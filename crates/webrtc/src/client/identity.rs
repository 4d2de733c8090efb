//! A client's identity.

use std::sync::Arc;
use std::time::Duration;

use rtc_crypto::RTCCryptoProvider;
use rtc_crypto::providers::AwsLcRsProvider;
use rtc_dtls::cipher_suite::CipherSuiteId;
use rtc_dtls::config::HandshakeConfig;

use crate::dtls::{Error, Side, config, self_signed};
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
        let (certificate, fingerprint) = self_signed(&provider, "peer")?;
        let suites = [CipherSuiteId::Tls_Ecdhe_Ecdsa_With_Aes_128_Gcm_Sha256];
        let interval = FLIGHT_INTERVAL;
        let config = config(
            &provider,
            &certificate,
            Side::Client,
            &suites,
            profiles,
            interval,
        )?;
        Ok(Self {
            provider,
            config,
            fingerprint,
        })
    }

    /// The fingerprint that an offer names.
    pub fn fingerprint(&self) -> &Fingerprint {
        &self.fingerprint
    }
}

base::debug!(ClientIdentity { fingerprint });
