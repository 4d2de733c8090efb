//! Certificate and DTLS configuration of a client.

use std::sync::Arc;
use std::time::Duration;

use rtc_crypto::RTCCryptoProvider;
use rtc_crypto::providers::AwsLcRsProvider;
use rtc_dtls::cipher_suite::CipherSuiteId;
use rtc_dtls::config::HandshakeConfig;

use crate::dtls::{Error, Side, config, self_signed};
use crate::sdp::Fingerprint;
use crate::srtp::Profile;

/// Time after which a flight is retransmitted.
const FLIGHT_INTERVAL: Duration = Duration::from_millis(700);

/// A certificate with its fingerprint, and everything else that a client's handshake needs. Cheap to clone, and usable for any
/// number of sessions.
#[derive(Clone)]
pub struct ClientIdentity {
    pub(super) provider: Arc<dyn RTCCryptoProvider>,
    pub(super) config: Arc<HandshakeConfig>,
    fingerprint: Fingerprint,
}

impl ClientIdentity {
    /// Creates a new self-signed certificate (ECDSA P-256), for handshakes that offer `profiles` in this order.
    ///
    /// # Errors
    /// The cryptographic library fails.
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

    /// Returns the fingerprint for the offer.
    pub fn fingerprint(&self) -> &Fingerprint {
        &self.fingerprint
    }
}

base::debug!(ClientIdentity { fingerprint });
